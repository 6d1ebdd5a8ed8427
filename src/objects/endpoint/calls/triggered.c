/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/calls/trigger.h"
#include "objects/endpoint/log.h"

/*
 * Operations with FI_TRIGGER (fi_trigger(3)). The application may reuse its vectors as
 * soon as the call returns, so everything that the descriptor refers to is copied; with
 * FI_INJECT the data too.
 */
struct triggered {
	struct wf_work work;
	struct wf_op op;
	struct wf_op_atomic atomic;
	_Alignas(max_align_t) unsigned char space[]; /* copies of what @op points to */
};

static struct triggered *triggered_of(const struct wf_work *work)
{
	return wf_container_of(work, struct triggered, work);
}

/* Memory for the copies; while @base is NULL, @used only measures. */
struct arena {
	unsigned char *base;
	size_t used; /* bytes that were allocated from @base */
};

static void *triggered_keep(struct arena *arena, const void *src, size_t size)
{
	const size_t mask = _Alignof(max_align_t) - 1;
	unsigned char *to = arena->base ? arena->base + arena->used : NULL;

	if (!src || !size)
		return NULL;
	arena->used += (size + mask) & ~mask;
	if (to)
		memcpy(to, src, size);
	return to;
}

/* Copy @iov; if @data is set, also the bytes in its buffers. */
static const struct iovec *triggered_keep_iov(
	struct arena *arena, const struct iovec *iov, size_t count, bool data)
{
	struct iovec *copy = triggered_keep(arena, iov, count * sizeof(*iov));

	for (size_t i = 0; data && i < count; i++) {
		void *piece = triggered_keep(arena, iov[i].iov_base, iov[i].iov_len);

		if (copy)
			copy[i].iov_base = piece;
	}
	return copy;
}

static void triggered_keep_atomic(struct arena *arena, const struct wf_op_atomic *from,
	struct wf_op_atomic *to, bool data)
{
	*to = *from;
	to->result = triggered_keep_iov(arena, from->result, from->result_count, false);
	to->result_desc = triggered_keep(arena, from->result_desc,
		from->result_count * sizeof(*from->result_desc));
	to->compare =
		triggered_keep_iov(arena, from->compare, from->compare_count, data);
	to->compare_desc = triggered_keep(arena, from->compare_desc,
		from->compare_count * sizeof(*from->compare_desc));
}

static void triggered_keep_op(
	struct arena *arena, const struct wf_op *op, struct triggered *to)
{
	bool data =
		op->flags & FI_INJECT && wf_op_reports[op->kind].cntr != WF_CNTR_RECV;

	to->op = *op;
	to->op.iov = triggered_keep_iov(arena, op->iov, op->iov_count, data);
	to->op.desc =
		triggered_keep(arena, op->desc, op->iov_count * sizeof(*op->desc));
	to->op.rma = triggered_keep(arena, op->rma, op->rma_count * sizeof(*op->rma));
	if (!op->atomic)
		return;
	triggered_keep_atomic(arena, op->atomic, &to->atomic, data);
	to->op.atomic = &to->atomic;
}

static struct triggered *triggered_new(const struct wf_op *op)
{
	struct arena arena = { NULL, 0 };
	struct triggered measured, *t;

	triggered_keep_op(&arena, op, &measured);
	t = malloc(sizeof(*t) + arena.used);
	if (!t)
		return NULL;
	arena = (struct arena){ t->space, 0 };
	triggered_keep_op(&arena, op, t);
	t->op.flags &= ~FI_TRIGGER;
	return t;
}

void wf_trigger_free_op(struct wf_work *work)
{
	free(triggered_of(work));
}

static bool triggered_start_op(struct wf_work *work)
{
	struct triggered *t = triggered_of(work);
	ssize_t ret = wf_op_launch(work->ep, &t->op);

	if (ret == -FI_EAGAIN)
		return false;
	if (ret)
		wf_trigger_failed(work->ep, &t->op, (int)-ret);
	free(t);
	return true;
}

ssize_t wf_trigger_post(struct wf_ep *ep, const struct wf_op *op)
{
	/* struct fi_triggered_context2 begins with the same members. */
	const struct fi_triggered_context *context = op->context;
	struct triggered *t;
	struct wf_cntr *cntr;
	int ret;

	if (!context || context->event_type != FI_TRIGGER_THRESHOLD) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"FI_TRIGGER needs a struct fi_triggered_context of type "
			"FI_TRIGGER_THRESHOLD\n");
		return context ? -FI_ENOSYS : -FI_EINVAL;
	}
	cntr = wf_trigger_cntr(ep->domain, context->trigger.threshold.cntr);
	if (!cntr)
		return -FI_EINVAL;
	t = triggered_new(op);
	if (!t)
		return -FI_ENOMEM;
	t->work = (struct wf_work){
		.threshold = context->trigger.threshold.threshold,
		.cntr = cntr,
		.ep = ep,
		.start = triggered_start_op,
	};
	ret = wf_trigger_queue(ep->domain, &t->work);
	if (ret)
		free(t);
	return ret;
}

/* The work that fi_cancel looks for: that of an operation with @context. */
struct wanted {
	const struct wf_ep *ep;
	const void *context;
};

static bool triggered_is_of_context(const struct wf_work *work, const void *arg)
{
	const struct wanted *wanted = arg;

	return !work->deferred && work->ep == wanted->ep &&
	       triggered_of(work)->op.context == wanted->context;
}

bool wf_trigger_cancel(struct wf_ep *ep, const void *context)
{
	struct wanted wanted = { ep, context };
	struct wf_list taken;
	bool any = false;

	if (!atomic_load_explicit(&ep->triggers, memory_order_acquire))
		return false;
	wf_trigger_take(
		&ep->domain->triggers, triggered_is_of_context, &wanted, &taken);
	wf_list_foreach_safe(link, &taken)
	{
		struct triggered *t =
			triggered_of(wf_container_of(link, struct wf_work, link));

		wf_trigger_failed(ep, &t->op, FI_ECANCELED);
		free(t);
		any = true;
	}
	return any;
}

static ssize_t triggered_queue_or_launch(struct wf_ep *ep, struct wf_op *op)
{
	return op->flags & FI_TRIGGER ? wf_trigger_post(ep, op) : wf_op_launch(ep, op);
}

ssize_t wf_op_start_special(struct wf_ep *ep, struct wf_op *op)
{
	ssize_t ret;

	/* The provider above @ep has reserved memory for transfers of its peer. */
	if (!(op->flags & FI_PEER_TRANSFER) || !wf_transfer_owned(ep))
		return triggered_queue_or_launch(ep, op);
	ret = wf_transfer_reserve(ep->transfer);
	if (ret)
		return ret;
	ret = triggered_queue_or_launch(ep, op);
	if (ret)
		wf_transfer_unreserve(ep->transfer);
	return ret;
}

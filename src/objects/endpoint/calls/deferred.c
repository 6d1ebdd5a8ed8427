/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/calls/peer_tag.h"
#include "objects/endpoint/calls/trigger.h"

/*
 * Deferred work (fi_trigger(3)). The application keeps its structures until the work
 * has ended, so they are not copied: the operation is built when it is queued, for the
 * checks, and again when it starts. Until the operation has ended, its context is the
 * struct fi_deferred_work; wf_work_done replaces it by the application's context.
 */

static const enum wf_op_kind kind_of[] = {
	[FI_OP_RECV] = WF_OP_RECV,
	[FI_OP_SEND] = WF_OP_SEND,
	[FI_OP_TRECV] = WF_OP_TRECV,
	[FI_OP_TSEND] = WF_OP_TSEND,
	[FI_OP_READ] = WF_OP_READ,
	[FI_OP_WRITE] = WF_OP_WRITE,
	[FI_OP_ATOMIC] = WF_OP_ATOMIC,
	[FI_OP_FETCH_ATOMIC] = WF_OP_FETCH,
	[FI_OP_COMPARE_ATOMIC] = WF_OP_COMPARE,
};

/* The capabilities that an operation needs of its endpoint. */
static const uint64_t needs[] = {
	[FI_OP_RECV] = FI_MSG | FI_RECV,
	[FI_OP_SEND] = FI_MSG | FI_SEND,
	[FI_OP_TRECV] = FI_TAGGED | FI_RECV,
	[FI_OP_TSEND] = FI_TAGGED | FI_SEND,
	[FI_OP_READ] = FI_RMA | FI_READ,
	[FI_OP_WRITE] = FI_RMA | FI_WRITE,
	[FI_OP_ATOMIC] = FI_ATOMIC | FI_WRITE,
	[FI_OP_FETCH_ATOMIC] = FI_ATOMIC | FI_READ,
	[FI_OP_COMPARE_ATOMIC] = FI_ATOMIC | FI_READ,
	[FI_OP_CNTR_SET] = 0,
	[FI_OP_CNTR_ADD] = 0,
};

/* Flags of operations that have several completions, or that identify the operation by
 * the application's context. */
static const uint64_t not_deferred =
	FI_TRIGGER | FI_PEEK | FI_CLAIM | FI_DISCARD | FI_MULTI_RECV;

static struct fi_deferred_work *deferred_of(struct wf_work *work)
{
	return (struct fi_deferred_work *)(void *)work;
}
_Static_assert(offsetof(struct fi_deferred_work, context) == 0, "context is first");

static struct wf_work *deferred_work_of(struct fi_deferred_work *deferred)
{
	return (struct wf_work *)(void *)&deferred->context;
}

static bool deferred_is_on_cntr(const struct fi_deferred_work *deferred)
{
	return deferred->op_type == FI_OP_CNTR_SET ||
	       deferred->op_type == FI_OP_CNTR_ADD;
}

/* The members that the message structures of all transfers have. */
struct transfer {
	struct fid_ep *ep;
	void *context;
	uint64_t flags;
};

#define TRANSFER(op) ((struct transfer){ (op)->ep, (op)->msg.context, (op)->flags })

static struct transfer deferred_transfer_of(const struct fi_deferred_work *deferred)
{
	switch (deferred->op_type) {
	case FI_OP_RECV:
	case FI_OP_SEND:
		return TRANSFER(deferred->op.msg);
	case FI_OP_TRECV:
	case FI_OP_TSEND:
		return TRANSFER(deferred->op.tagged);
	case FI_OP_READ:
	case FI_OP_WRITE:
		return TRANSFER(deferred->op.rma);
	case FI_OP_ATOMIC:
		return TRANSFER(deferred->op.atomic);
	case FI_OP_FETCH_ATOMIC:
		return TRANSFER(deferred->op.fetch_atomic);
	case FI_OP_COMPARE_ATOMIC:
		return TRANSFER(deferred->op.compare_atomic);
	default:
		return (struct transfer){ NULL, NULL, 0 };
	}
}

static int deferred_build_transfer(struct wf_ep *ep,
	const struct fi_deferred_work *deferred, struct wf_op_atomic_call *call)
{
	const struct fi_op_msg *msg = deferred->op.msg;
	const struct fi_op_tagged *tagged = deferred->op.tagged;
	const struct fi_op_rma *rma = deferred->op.rma;
	const struct fi_op_atomic *atomic = deferred->op.atomic;
	const struct fi_op_fetch_atomic *fetch = deferred->op.fetch_atomic;
	const struct fi_op_compare_atomic *compare = deferred->op.compare_atomic;

	switch (deferred->op_type) {
	case FI_OP_RECV:
		return wf_op_recv(ep, &msg->msg, msg->flags, &call->op);
	case FI_OP_SEND:
		return wf_op_send(ep, &msg->msg, msg->flags, &call->op);
	case FI_OP_TRECV:
		return wf_op_trecv(ep, &tagged->msg, tagged->flags, &call->op);
	case FI_OP_TSEND:
		return wf_op_tsend(ep, &tagged->msg, tagged->flags, &call->op);
	case FI_OP_READ:
		return wf_op_read(ep, &rma->msg, rma->flags, &call->op);
	case FI_OP_WRITE:
		return wf_op_write(ep, &rma->msg, rma->flags, &call->op);
	case FI_OP_ATOMIC:
		return wf_op_set_atomic(ep, WF_OP_ATOMIC, &atomic->msg, NULL, NULL,
			atomic->flags, call);
	case FI_OP_FETCH_ATOMIC:
		return wf_op_set_atomic(ep, WF_OP_FETCH, &fetch->msg, &fetch->fetch,
			NULL, fetch->flags, call);
	case FI_OP_COMPARE_ATOMIC:
		return wf_op_set_atomic(ep, WF_OP_COMPARE, &compare->msg,
			&compare->fetch, &compare->compare, compare->flags, call);
	default:
		return -FI_ENOSYS;
	}
}

static bool deferred_is_tagged(const struct fi_deferred_work *deferred)
{
	return deferred->op_type == FI_OP_TSEND || deferred->op_type == FI_OP_TRECV;
}

/* Build the operation. Its own flags alone decide whether it writes a CQ entry, not the
 * endpoint's default flags. On failure kind, flags and context are set, for the error
 * entry. */
static int deferred_build(struct wf_ep *ep, struct fi_deferred_work *deferred,
	struct wf_op_atomic_call *call)
{
	int ret = deferred_build_transfer(ep, deferred, call);

	if (!ret && deferred_is_tagged(deferred))
		ret = wf_ep_peer_tag_check(ep, call->op.tag, &call->op.ignore);
	call->op.kind = kind_of[deferred->op_type];
	call->op.flags &= ~FI_COMPLETION;
	call->op.flags |= deferred_transfer_of(deferred).flags & FI_COMPLETION;
	call->op.flags |= WF_OP_WORK;
	call->op.context = deferred;
	return ret;
}

static int deferred_refuse(const struct wf_domain *domain, int err, const char *why)
{
	FI_WARN(domain->prov->fi, FI_LOG_DOMAIN, "deferred work refused: %s\n", why);
	return err;
}

static int deferred_check_support(const struct wf_domain *domain)
{
	const struct fi_info *const *info = domain->prov->templates;

	for (; info && *info; info++)
		if ((*info)->caps & FI_TRIGGER)
			return 0;
	FI_INFO(domain->prov->fi, FI_LOG_DOMAIN,
		"deferred work refused: %s has no FI_TRIGGER\n",
		domain->prov->fi->name);
	return -FI_ENOSYS;
}

static bool deferred_transfers(const struct fid_ep *ep)
{
	size_t class = ep ? ep->fid.fclass : FI_CLASS_UNSPEC;

	return class == FI_CLASS_EP || class == FI_CLASS_TX_CTX ||
	       class == FI_CLASS_RX_CTX;
}

static int deferred_check_transfer(struct wf_domain *domain,
	struct fi_deferred_work *deferred, struct wf_ep **ret_ep)
{
	struct transfer transfer = deferred_transfer_of(deferred);
	struct wf_op_atomic_call call = { .op.flags = 0 };
	struct wf_ep *ep;
	int ret;

	if (!deferred_transfers(transfer.ep))
		return deferred_refuse(domain, -FI_EINVAL, "no endpoint");
	ep = wf_ep_resolve(&transfer.ep->fid);
	if (ep->domain != domain)
		return deferred_refuse(
			domain, -FI_EINVAL, "endpoint of another domain");
	if (!ep->enabled)
		return deferred_refuse(domain, -FI_EOPBADSTATE, "endpoint not enabled");
	if (needs[deferred->op_type] & ~ep->caps)
		return deferred_refuse(domain, -FI_ENOSYS,
			"the endpoint lacks the capability or direction");
	if (transfer.flags & not_deferred)
		return deferred_refuse(domain, -FI_ENOSYS,
			"none of FI_TRIGGER, FI_PEEK, FI_CLAIM, FI_DISCARD and "
			"FI_MULTI_RECV is possible");
	ret = deferred_build(ep, deferred, &call);
	if (!ret)
		*ret_ep = ep;
	return ret;
}

static int deferred_check(struct wf_domain *domain, struct fi_deferred_work *deferred,
	struct wf_ep **ret_ep)
{
	struct fid_cntr *completion;

	if (!deferred || !deferred->op.msg)
		return deferred_refuse(domain, -FI_EINVAL, "no work");
	if ((size_t)deferred->op_type >= WF_ARRAY_SIZE(needs))
		return deferred_refuse(domain, -FI_ENOSYS, "unknown operation type");
	completion = deferred->completion_cntr;
	if (deferred_is_on_cntr(deferred)) {
		if (completion)
			return deferred_refuse(domain, -FI_EINVAL,
				"work on counters has no completion counter");
		*ret_ep = NULL;
		return wf_trigger_cntr(domain, deferred->op.cntr->cntr) ? 0
									: -FI_EINVAL;
	}
	if (completion && (completion->fid.fclass != FI_CLASS_CNTR ||
				  wf_cntr_of(completion)->domain != domain))
		return deferred_refuse(domain, -FI_EINVAL,
			"the completion counter is none of this domain");
	return deferred_check_transfer(domain, deferred, ret_ep);
}

static void deferred_change_cntr(const struct fi_deferred_work *deferred)
{
	struct wf_cntr *cntr = wf_cntr_of(deferred->op.cntr->cntr);
	uint64_t value = deferred->op.cntr->value;

	/* A reference keeps the counter open until its sleepers are woken. */
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
	if (deferred->op_type == FI_OP_CNTR_ADD)
		wf_cntr_add_value(cntr, value);
	else
		wf_cntr_set_value(cntr, value);
	atomic_fetch_sub_explicit(&cntr->refs, 1, memory_order_release);
}

static bool deferred_start_work(struct wf_work *work)
{
	struct fi_deferred_work *deferred = deferred_of(work);
	struct wf_ep *ep = work->ep;
	struct wf_op_atomic_call call = { .op.flags = 0 };
	ssize_t ret;

	if (!ep) {
		deferred_change_cntr(deferred);
		return true;
	}
	ret = deferred_build(ep, deferred, &call);
	if (!ret)
		ret = wf_op_launch(ep, &call.op);
	if (ret == -FI_EAGAIN)
		return false;
	if (ret)
		wf_trigger_failed(ep, &call.op, (int)-ret);
	return true;
}

int wf_work_queue(struct wf_domain *domain, struct fi_deferred_work *deferred)
{
	struct wf_cntr *cntr;
	struct wf_ep *ep = NULL;
	int ret;

	ret = deferred_check_support(domain);
	if (!ret)
		ret = deferred_check(domain, deferred, &ep);
	if (ret)
		return ret;
	cntr = wf_trigger_cntr(domain, deferred->triggering_cntr);
	if (!cntr)
		return -FI_EINVAL;
	*deferred_work_of(deferred) = (struct wf_work){
		.threshold = deferred->threshold,
		.cntr = cntr,
		.ep = ep,
		.start = deferred_start_work,
		.deferred = true,
	};
	return wf_trigger_queue(domain, deferred_work_of(deferred));
}

bool wf_work_done(
	void **context, uint64_t op_flags, const struct wf_cntr *own, bool failed)
{
	const struct fi_deferred_work *deferred = *context;
	struct wf_cntr *cntr = deferred->completion_cntr
				       ? wf_cntr_of(deferred->completion_cntr)
				       : NULL;

	/* Read before counting: the application may reuse the structure afterwards. */
	*context = deferred_transfer_of(deferred).context;
	if (cntr) {
		atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
		if (failed)
			wf_cntr_add_err(cntr);
		else
			wf_cntr_add(cntr, 1);
		atomic_fetch_sub_explicit(&cntr->refs, 1, memory_order_release);
	}
	return op_flags & FI_COMPLETION && (!own || wf_cntr_target(own) != cntr);
}

static bool deferred_is_work(const struct wf_work *work, const void *wanted)
{
	return work == wanted;
}

int wf_work_cancel(struct wf_domain *domain, struct fi_deferred_work *deferred)
{
	struct wf_list taken;
	int ret = deferred_check_support(domain);

	if (ret)
		return ret;
	if (!deferred)
		return deferred_refuse(domain, -FI_EINVAL, "no work to cancel");
	wf_trigger_take(&domain->triggers, deferred_is_work, deferred_work_of(deferred),
		&taken);
	return wf_list_empty(&taken) ? deferred_refuse(domain, -FI_ENOENT,
					       "it does not wait (any more)")
				     : 0;
}

static bool deferred_is_waiting_for(const struct wf_work *work, const void *cntr)
{
	return work->deferred && (!cntr || work->cntr == cntr);
}

int wf_work_flush(struct wf_domain *domain, struct fid_cntr *fid)
{
	struct wf_cntr *cntr = NULL;
	struct wf_list taken;
	int ret = deferred_check_support(domain);

	if (ret)
		return ret;
	if (fid) {
		cntr = wf_trigger_cntr(domain, fid);
		if (!cntr)
			return -FI_EINVAL;
	}
	wf_trigger_take(&domain->triggers, deferred_is_waiting_for, cntr, &taken);
	return 0;
}

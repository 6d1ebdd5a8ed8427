/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_TRIGGER_FIXTURE_H
#define TESTS_UNIT_OBJECTS_TRIGGER_FIXTURE_H

#include "endpoint_fixture.h"

#include "objects/open/open.h"
#include "objects/provider.h"
#include "objects/trigger/queue.h"

/*
 * Triggered operations and deferred work over a transport that records the order of its
 * calls, and completes operations when the test decides.
 */

enum { MAX_STARTED = 64 };

struct started {
	enum wf_op_kind kind;
	uint64_t flags;
	void *context;
	size_t len;
	unsigned char first; /* byte of the data */
};

static struct started started[MAX_STARTED];
static atomic_uint start_count;
static ssize_t start_result;
static bool complete_at_once;

static void complete(struct wf_ep *ep, const struct started *s)
{
	const struct wf_op_report *report = &wf_op_reports[s->kind];

	if (report->cntr == WF_CNTR_RECV)
		wf_ep_rx_done(ep, s->context, s->flags, report->comp_flags, s->len,
			NULL, 0, 0, 0);
	else
		wf_ep_tx_done(ep, report->cntr, s->context, s->flags,
			report->comp_flags, s->len);
}

static ssize_t order_start(struct wf_ep *ep, struct wf_op *op)
{
	struct started *s = &started[start_count % MAX_STARTED];

	if (start_result)
		return start_result;
	*s = (struct started){ op->kind, op->flags, op->context, op->len, 0 };
	if (op->iov_count && op->iov[0].iov_len)
		s->first = *(unsigned char *)op->iov[0].iov_base;
	start_count++;
	if (complete_at_once) {
		wf_lock(&ep->lock);
		complete(ep, s);
		wf_unlock(&ep->lock);
	}
	return 0;
}

static struct wf_xfer_ops order_ops;
static struct fi_info trigger_info = { .caps = FI_TRIGGER };
static const struct fi_info *const trigger_templates[] = { &trigger_info, NULL };

struct test {
	struct around a;
	struct fid_cntr *trigger, *done;
	struct fid_ep *ep;
	struct fid_domain *domain;
};

static struct fid_cntr *new_cntr(struct domain_fixture *f, enum fi_wait_obj obj)
{
	struct fi_cntr_attr attr = { .wait_obj = obj };
	struct fid_cntr *cntr = NULL;

	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &cntr, NULL), 0);
	return cntr;
}

static struct test open_test(struct domain_fixture *f, uint64_t cq_flags)
{
	struct fi_info *info = new_info();
	struct test t;

	f->prov.templates = trigger_templates;
	f->prov.max_atomic_size = 64;
	f->domain.fid.fid.ops = &wf_domain_fid_ops;
	info->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER;
	info->ep_attr->type = FI_EP_RDM;
	info->tx_attr->rma_iov_limit = 2;
	order_ops = fake_ops;
	order_ops.start = order_start;
	start_count = 0;
	start_result = 0;
	complete_at_once = false;
	t.domain = &f->domain.fid;
	t.ep = open_enabled(f, &t.a, info, cq_flags);
	wf_ep_of(t.ep)->xfer = &order_ops;
	wf_ep_of(t.ep)->start_rx = order_ops.start;
	t.trigger = new_cntr(f, FI_WAIT_NONE);
	t.done = new_cntr(f, FI_WAIT_NONE);
	return t;
}

static void close_test(struct test *t)
{
	close_ep(t->ep);
	assert_int_equal(fi_close(&t->trigger->fid), 0);
	assert_int_equal(fi_close(&t->done->fid), 0);
	close_around(&t->a);
}

static inline void run(struct test *t)
{
	(void)fi_cq_read(t->a.cq, NULL, 0);
}

static inline struct fi_triggered_context at(struct test *t, size_t threshold)
{
	return (struct fi_triggered_context){ .event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { t->trigger, threshold } };
}

static inline ssize_t post_send(struct test *t, struct fi_triggered_context *context,
	void *buf, size_t len, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { &iov, NULL, 1, 5, context, 0 };
	ssize_t ret = fi_sendmsg(t->ep, &msg, FI_TRIGGER | flags);

	memset(&iov, 0xee, sizeof(iov)); /* ours again */
	memset(&msg, 0xee, sizeof(msg));
	return ret;
}

static inline struct fi_deferred_work send_work(
	struct test *t, uint64_t threshold, struct fi_op_msg *op)
{
	return (struct fi_deferred_work){
		.threshold = threshold,
		.triggering_cntr = t->trigger,
		.completion_cntr = t->done,
		.op_type = FI_OP_SEND,
		.op.msg = op,
	};
}

static inline int queue(struct test *t, struct fi_deferred_work *work)
{
	return fi_control(&t->domain->fid, FI_QUEUE_WORK, work);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <pthread.h>

#include "endpoint_fixture.h"

#include "../../log_lines.h"
#include "shortage.h"

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

static void run(struct test *t)
{
	(void)fi_cq_read(t->a.cq, NULL, 0);
}

static struct fi_triggered_context at(struct test *t, size_t threshold)
{
	return (struct fi_triggered_context){ .event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { t->trigger, threshold } };
}

static ssize_t post_send(struct test *t, struct fi_triggered_context *context,
	void *buf, size_t len, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { &iov, NULL, 1, 5, context, 0 };
	ssize_t ret = fi_sendmsg(t->ep, &msg, FI_TRIGGER | flags);

	memset(&iov, 0xee, sizeof(iov)); /* ours again */
	memset(&msg, 0xee, sizeof(msg));
	return ret;
}

/* TRG-001, TRG-002 */
static void test_triggered(void **state)
{
	struct test t = open_test(*state, 0);
	struct fi_triggered_context context = at(&t, 2), now = at(&t, 0);
	char buf[8] = "a";

	assert_int_equal(post_send(&t, &context, buf, 3, 0), 0);
	assert_int_equal(start_count, 0);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(fi_cntr_adderr(t.trigger, 5), 0); /* successes only */
	assert_int_equal(start_count, 0);
	assert_int_equal(fi_close(&t.trigger->fid), -FI_EBUSY);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(start_count, 1);
	assert_int_equal(started[0].kind, WF_OP_SEND);
	assert_int_equal(started[0].flags, FI_COMPLETION);
	assert_ptr_equal(started[0].context, &context);
	assert_int_equal(started[0].len, 3);
	assert_int_equal(started[0].first, 'a');
	assert_int_equal(post_send(&t, &now, buf, 4, 0), 0);
	assert_int_equal(start_count, 2);

	now.event_type = FI_TRIGGER_XPU;
	assert_int_equal(post_send(&t, &now, buf, 4, 0), -FI_ENOSYS); /* TRG-010 */
	now = at(&t, 0);
	now.trigger.threshold.cntr = NULL;
	assert_int_equal(post_send(&t, &now, buf, 4, 0), -FI_EINVAL);
	assert_int_equal(post_send(&t, NULL, buf, 4, 0), -FI_EINVAL);
	assert_int_equal(post_send(&t, &context, buf, 1001, 0), -FI_EMSGSIZE);
	close_test(&t);
}

/* TRG-003 */
static void test_order(void **state)
{
	static const size_t thresholds[] = { 5, 3, 5, 1, 3, 9, 5 };
	static const size_t order[] = { 3, 1, 4, 0, 2, 6 };
	struct test t = open_test(*state, 0);
	struct fi_triggered_context context[WF_ARRAY_SIZE(thresholds)];
	char buf[8];

	for (size_t i = 0; i < WF_ARRAY_SIZE(thresholds); i++) {
		context[i] = at(&t, thresholds[i]);
		assert_int_equal(post_send(&t, &context[i], buf, 1, 0), 0);
	}
	assert_int_equal(fi_cntr_set(t.trigger, 8), 0);
	assert_int_equal(start_count, WF_ARRAY_SIZE(order));
	for (size_t i = 0; i < WF_ARRAY_SIZE(order); i++)
		assert_ptr_equal(started[i].context, &context[order[i]]);
	close_test(&t); /* with one that never started */
}

/* Counting under the endpoint's lock only queues; progress starts. */
static void test_from_progress(void **state)
{
	struct test t = open_test(*state, 0);
	struct fi_triggered_context context = at(&t, 1), second = at(&t, 2);
	struct wf_ep *ep = wf_ep_of(t.ep);
	char buf[8];

	assert_int_equal(post_send(&t, &context, buf, 1, 0), 0);
	wf_lock(&ep->lock);
	wf_cntr_add(wf_cntr_of(t.trigger), 1);
	wf_unlock(&ep->lock);
	assert_int_equal(start_count, 0);
	start_result = -FI_EAGAIN;
	run(&t);
	assert_int_equal(start_count, 0);
	start_result = 0;
	run(&t);
	assert_int_equal(start_count, 1);
	run(&t);
	assert_int_equal(start_count, 1);

	assert_int_equal(post_send(&t, &second, buf, 1, 0), 0);
	wf_lock(&ep->lock);
	wf_cntr_add(wf_cntr_of(t.trigger), 1);
	wf_unlock(&ep->lock);
	assert_int_equal(start_count, 1);
	assert_int_equal(fi_cntr_read(t.trigger), 2);
	assert_int_equal(start_count, 2);
	close_test(&t);
}

/* With FI_INJECT the data are the application's again when the call returns; the
 * failure of an operation that was accepted is an entry. */
static void test_copies(void **state)
{
	struct test t = open_test(*state, 0);
	struct fi_triggered_context context = at(&t, 1), second = at(&t, 2);
	struct fi_cq_err_entry err = { 0 };
	uint64_t value = 1, result, compare = 2;
	struct fi_ioc operand = { &value, 1 }, results = { &result, 1 },
		      compares = { &compare, 1 };
	struct fi_rma_ioc rma = { 0, 1, 7 };
	struct fi_msg_atomic msg = { &operand, NULL, 1, 5, &rma, 1, FI_UINT64, FI_CSWAP,
		&second, 0 };
	char buf[8] = "inject";

	assert_int_equal(post_send(&t, &context, buf, 6, FI_INJECT), 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(fi_compare_atomicmsg(t.ep, &msg, &compares, NULL, 1, &results,
				 NULL, 1, FI_TRIGGER | FI_INJECT),
		0);
	value = 0xff;
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(started[0].first, 'i');
	assert_int_equal(started[0].flags, FI_COMPLETION | FI_INJECT);
	start_result = -FI_EHOSTUNREACH;
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	start_result = 0;
	assert_int_equal(start_count, 1);
	assert_int_equal(fi_cq_readerr(t.a.cq, &err, 0), 1);
	assert_int_equal(err.err, FI_EHOSTUNREACH);
	assert_ptr_equal(err.op_context, &second);
	assert_int_equal(err.flags, FI_ATOMIC | FI_READ);

	second = at(&t, 3);
	value = 9;
	assert_int_equal(fi_compare_atomicmsg(t.ep, &msg, &compares, NULL, 1, &results,
				 NULL, 1, FI_TRIGGER),
		0);
	assert_int_equal(fi_cancel(&t.ep->fid, &second), 0);
	assert_int_equal(fi_cq_readerr(t.a.cq, &err, 0), 1);
	assert_int_equal(err.err, FI_ECANCELED);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(start_count, 1);
	close_test(&t);
}

static struct fi_deferred_work send_work(
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

static int queue(struct test *t, struct fi_deferred_work *work)
{
	return fi_control(&t->domain->fid, FI_QUEUE_WORK, work);
}

/* TRG-004, TRG-005, TRG-006 */
static void test_deferred(void **state)
{
	struct test t = open_test(*state, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_deferred_work work = send_work(&t, 2, &op);
	struct fi_cq_tagged_entry entry;

	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(start_count, 0);
	assert_int_equal(fi_cntr_adderr(t.trigger, 1), 0); /* errors count too */
	assert_int_equal(start_count, 1);
	assert_int_equal(started[0].flags, WF_OP_WORK);
	assert_int_equal(fi_cntr_read(t.done), 0);
	complete(wf_ep_of(t.ep), &started[0]);
	assert_int_equal(fi_cntr_read(t.done), 1);
	assert_int_equal(fi_cq_read(t.a.cq, &entry, 1), -FI_EAGAIN);

	op.flags = FI_COMPLETION;
	work = send_work(&t, 0, &op);
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(start_count, 2);
	complete(wf_ep_of(t.ep), &started[1]);
	assert_int_equal(fi_cntr_read(t.done), 2);
	assert_int_equal(fi_cq_read(t.a.cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &iov);
	assert_int_equal(entry.flags, FI_SEND | FI_MSG);
	close_test(&t);
}

/* TRG-006: the endpoint's own counter, and failures. */
static void test_deferred_counters(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_deferred_work work = send_work(&t, 0, &op);
	struct fi_cq_err_entry err = { 0 };
	struct fid_cntr *own = new_cntr(f, FI_WAIT_NONE);
	struct wf_ep *ep = wf_ep_of(t.ep);

	ep->cntr[WF_CNTR_SEND] = wf_cntr_of(own);
	complete_at_once = true;
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_read(own), 0);
	op.flags = FI_COMPLETION;
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_read(own), 1);
	assert_int_equal(fi_cntr_read(t.done), 2);
	work.completion_cntr = own; /* once, not twice */
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_read(own), 2);

	op.flags = 0;
	work.completion_cntr = t.done;
	start_result = -FI_EHOSTUNREACH;
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_readerr(t.done), 1);
	assert_int_equal(fi_cntr_readerr(own), 0);
	while (fi_cq_readerr(t.a.cq, &err, 0) != 1)
		assert_int_equal(
			fi_cq_read(t.a.cq, &(struct fi_cq_tagged_entry){ 0 }, 1), 1);
	assert_ptr_equal(err.op_context, &iov);
	ep->cntr[WF_CNTR_SEND] = NULL;
	assert_int_equal(fi_close(&own->fid), 0);
	close_test(&t);
}

/* Every type, chained: each one's completion triggers the next, all from one call. */
static void test_chain(void **state)
{
	static const enum wf_op_kind kinds[] = { WF_OP_RECV, WF_OP_SEND, WF_OP_TRECV,
		WF_OP_TSEND, WF_OP_READ, WF_OP_WRITE, WF_OP_ATOMIC, WF_OP_FETCH,
		WF_OP_COMPARE };
	struct test t = open_test(*state, 0);
	uint64_t value = 1, result;
	struct iovec iov = { &value, 8 };
	struct fi_ioc ioc = { &value, 1 }, res = { &result, 1 };
	struct fi_rma_iov rma = { 0, 8, 7 };
	struct fi_rma_ioc rma_ioc = { 0, 1, 7 };
	struct fi_msg_atomic atomic_msg = { &ioc, NULL, 1, 5, &rma_ioc, 1, FI_UINT64,
		FI_SUM, NULL, 0 };
	struct fi_op_msg msg = { t.ep, { &iov, NULL, 1, 5, NULL, 0 }, 0 };
	struct fi_op_tagged tagged = { t.ep, { &iov, NULL, 1, 5, 3, 0, NULL, 0 }, 0 };
	struct fi_op_rma rma_op = { t.ep, { &iov, NULL, 1, 5, &rma, 1, NULL, 0 }, 0 };
	struct fi_op_atomic atomic = { t.ep, atomic_msg, 0 };
	struct fi_op_fetch_atomic fetch = { t.ep, atomic_msg, { &res, NULL, 1 }, 0 };
	struct fi_op_compare_atomic compare = { t.ep, atomic_msg, { &res, NULL, 1 },
		{ &ioc, NULL, 1 }, 0 };
	struct fi_op_cntr set = { t.done, 100 }, add = { t.done, 11 };
	struct fi_deferred_work work[FI_OP_CNTR_ADD + 1];

	compare.msg.op = FI_CSWAP;
	for (int i = 0; i <= FI_OP_CNTR_ADD; i++)
		work[i] = (struct fi_deferred_work){
			.threshold = (uint64_t)i + 1,
			.triggering_cntr = t.trigger,
			.completion_cntr = t.trigger,
			.op_type = (enum fi_op_type)i,
		};
	work[FI_OP_RECV].op.msg = work[FI_OP_SEND].op.msg = &msg;
	work[FI_OP_TRECV].op.tagged = work[FI_OP_TSEND].op.tagged = &tagged;
	work[FI_OP_READ].op.rma = work[FI_OP_WRITE].op.rma = &rma_op;
	work[FI_OP_ATOMIC].op.atomic = &atomic;
	work[FI_OP_FETCH_ATOMIC].op.fetch_atomic = &fetch;
	work[FI_OP_COMPARE_ATOMIC].op.compare_atomic = &compare;
	work[FI_OP_CNTR_SET].op.cntr = &set;
	work[FI_OP_CNTR_ADD].op.cntr = &add;
	assert_int_equal(queue(&t, &work[FI_OP_CNTR_SET]), -FI_EINVAL); /* TRG-005 */
	work[FI_OP_CNTR_SET].completion_cntr = NULL;
	work[FI_OP_CNTR_ADD].completion_cntr = NULL;
	/* The set is executed with the completion of the last transfer, the add after
	 * it. */
	work[FI_OP_CNTR_ADD].threshold = work[FI_OP_CNTR_SET].threshold;

	complete_at_once = true;
	for (int i = FI_OP_CNTR_ADD - 2; i >= 0; i--)
		assert_int_equal(queue(&t, &work[i]), 0);
	assert_int_equal(queue(&t, &work[FI_OP_CNTR_SET]), 0);
	assert_int_equal(queue(&t, &work[FI_OP_CNTR_ADD]), 0);
	assert_int_equal(start_count, 0);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(start_count, WF_ARRAY_SIZE(kinds));
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++)
		assert_int_equal(started[i].kind, kinds[i]);
	assert_int_equal(fi_cntr_read(t.done), 111);
	close_test(&t);
}

/* TRG-007 */
static void test_cancel(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_deferred_work work[3] = { send_work(&t, 1, &op),
		send_work(&t, 1, &op), send_work(&t, 1, &op) };
	struct fi_triggered_context context = at(&t, 1);
	struct fid_cntr *other = new_cntr(f, FI_WAIT_NONE);
	struct fid *domain = &t.domain->fid;

	work[2].triggering_cntr = other;
	for (int i = 0; i < 3; i++)
		assert_int_equal(queue(&t, &work[i]), 0);
	assert_int_equal(post_send(&t, &context, buf, 1, 0), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &work[0]), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &work[0]), -FI_ENOENT);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, t.trigger), 0);
	assert_int_equal(fi_cntr_add(t.trigger, 1), 0);
	assert_int_equal(start_count, 1); /* the triggered one is no deferred work */
	assert_int_equal(fi_close(&other->fid), -FI_EBUSY);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, NULL), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(start_count, 1);

	/* What is ready and cannot start may be taken back as well. */
	start_result = -FI_EAGAIN;
	assert_int_equal(queue(&t, &work[1]), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &work[1]), 0);
	start_result = 0;
	run(&t);
	assert_int_equal(start_count, 1);
	close_test(&t);
}

/* TRG-008 */
static void test_refused(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_op_tagged tagged = { t.ep, { &iov, NULL, 1, 5, 3, 0, &iov, 0 },
		FI_PEEK };
	struct fi_deferred_work work = send_work(&t, 0, &op);

	assert_int_equal(queue(&t, NULL), -FI_EINVAL);
	work.op_type = FI_OP_CNTR_ADD + 1;
	assert_int_equal(queue(&t, &work), -FI_ENOSYS);
	work = send_work(&t, 0, &op);
	work.triggering_cntr = NULL;
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	work = send_work(&t, 0, &op);
	op.ep = NULL;
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	op.ep = t.ep;
	iov.iov_len = 1001;
	assert_int_equal(queue(&t, &work), -FI_EMSGSIZE);
	iov.iov_len = 4;
	work.op_type = FI_OP_TRECV;
	work.op.tagged = &tagged;
	assert_int_equal(queue(&t, &work), -FI_ENOSYS);
	wf_ep_of(t.ep)->caps &= ~FI_RECV;
	tagged.flags = 0;
	assert_int_equal(queue(&t, &work), -FI_ENOSYS);
	wf_ep_of(t.ep)->caps |= FI_RECV;
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(start_count, 1);

	f->prov.templates = NULL;
	assert_int_equal(queue(&t, &work), -FI_ENOSYS);
	assert_int_equal(fi_control(&t.domain->fid, FI_CANCEL_WORK, &work), -FI_ENOSYS);
	assert_int_equal(fi_control(&t.domain->fid, FI_FLUSH_WORK, NULL), -FI_ENOSYS);
	assert_int_equal(start_count, 1);
	close_test(&t);
}

/* The objects that work names are of the same domain, and in use. */
static void test_foreign(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_deferred_work work = send_work(&t, 0, &op);
	struct fi_triggered_context context = at(&t, 0);
	struct wf_cntr *trigger = wf_cntr_of(t.trigger), *done = wf_cntr_of(t.done);
	struct wf_ep *ep = wf_ep_of(t.ep);
	struct fid *domain = &t.domain->fid;
	struct wf_domain other;

	memset(&other, 0, sizeof(other));
	trigger->domain = &other;
	log_lines_start();
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	assert_true(log_lines_have("work refused: counter of another domain"));
	assert_int_equal(post_send(&t, &context, buf, 4, 0), -FI_EINVAL);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, t.trigger), -FI_EINVAL);
	trigger->domain = &f->domain;
	trigger->owner = NULL;
	log_lines_start();
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	assert_true(log_lines_have("work refused: counter of a peer, whose value is "
				   "not known here"));
	trigger->owner = &trigger->self;
	log_lines_start();
	assert_int_equal(
		fi_control(domain, FI_FLUSH_WORK, (void *)&t.ep->fid), -FI_EINVAL);
	assert_true(log_lines_have("work refused: no counter"));

	done->domain = &other;
	log_lines_start();
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	assert_true(log_lines_have("the completion counter is none of this domain"));
	done->domain = &f->domain;
	work.completion_cntr = (struct fid_cntr *)(void *)t.ep;
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	work.completion_cntr = t.done;
	ep->domain = &other;
	log_lines_start();
	assert_int_equal(queue(&t, &work), -FI_EINVAL);
	assert_true(log_lines_have("endpoint of another domain"));
	ep->domain = &f->domain;
	ep->enabled = false;
	log_lines_start();
	assert_int_equal(queue(&t, &work), -FI_EOPBADSTATE);
	assert_true(log_lines_have("endpoint not enabled"));
	ep->enabled = true;
	assert_int_equal(start_count, 0);
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(start_count, 1);
	close_test(&t);
}

/* The sum of successes and errors does not overflow. */
static void test_largest(void **state)
{
	struct test t = open_test(*state, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	struct fi_deferred_work work = send_work(&t, UINT64_MAX, &op);

	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_set(t.trigger, UINT64_MAX - 1), 0);
	assert_int_equal(start_count, 0);
	assert_int_equal(fi_cntr_adderr(t.trigger, 5), 0);
	assert_int_equal(start_count, 1);
	close_test(&t);
}

static struct domain_fixture *fixture;

static ssize_t post_without(void *arg)
{
	struct test *t = arg;
	struct fi_triggered_context context = at(t, 1);
	unsigned int left = shortage_left, items = fixture->domain.items.count;
	struct fid_cntr *cntr;
	char buf[8];
	ssize_t ret;

	shortage_left = SHORTAGE_NONE;
	cntr = new_cntr(fixture, FI_WAIT_NONE);
	shortage_left = left;
	context.trigger.threshold.cntr = cntr;
	ret = post_send(t, &context, buf, 4, FI_INJECT);
	shortage_left = SHORTAGE_NONE;
	/* The item is in both lists, or in none; the counter is in use, or not. */
	assert_int_equal(wf_cntr_of(cntr)->progress.count, !ret);
	assert_int_equal(wf_cntr_of(cntr)->watched, !ret);
	assert_int_equal(wf_cntr_of(cntr)->refs, !ret);
	if (ret) {
		assert_int_equal(fi_close(&cntr->fid), 0);
		assert_true(fixture->domain.items.count <= items + 1);
		return ret;
	}
	assert_int_equal(fi_cntr_add(cntr, 1), 0);
	assert_int_equal(start_count, 1);
	assert_int_equal(wf_cntr_of(cntr)->refs, 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	return 0;
}

/* For the operation; for the item in the lists of the endpoint's queue, the counter and
 * the domain, whose list is there already. */
static void test_without_memory(void **state)
{
	struct test t = open_test(*state, 0);

	fixture = *state;
	assert_int_equal(shortage_each(post_without, &t), 4);
	close_test(&t);
}

static ssize_t add_without(void *arg)
{
	struct test *t = arg;
	unsigned int left = shortage_left;
	struct fi_op_cntr op = { t->done, 3 };
	struct fid_cntr *cntr;
	struct fi_deferred_work work = { .op_type = FI_OP_CNTR_ADD, .op.cntr = &op };
	int ret;

	shortage_left = SHORTAGE_NONE;
	cntr = new_cntr(fixture, FI_WAIT_NONE);
	shortage_left = left;
	work.triggering_cntr = cntr;
	ret = queue(t, &work);
	shortage_left = SHORTAGE_NONE;
	assert_int_equal(wf_cntr_of(cntr)->progress.count, !ret);
	assert_int_equal(fixture->domain.items.count, !ret);
	assert_int_equal(fi_cntr_read(t->done), ret ? 0 : 3);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fixture->domain.items.count, 0);
	return ret;
}

/* Work on counters has no endpoint: the item is in no list before. */
static void test_work_without_memory(void **state)
{
	struct test t = open_test(*state, 0);

	fixture = *state;
	close_ep(t.ep);
	assert_int_equal(shortage_each(add_without, &t), 3);
	t.ep = &open_fake(fixture, new_info())->ep.fid;
	close_test(&t);
}

static bool looked;

static bool look(const struct wf_work *work, const void *arg)
{
	struct test *t = (struct test *)(uintptr_t)arg;
	struct wf_triggers *triggers = &wf_domain_of(t->domain)->triggers;

	assert_ptr_equal(work->cntr, wf_cntr_of(t->trigger));
	assert_false(wf_trylock(&triggers->ready.run_lock));
	assert_false(wf_trylock(&triggers->ready.lock));
	looked = true;
	return false;
}

static bool are_free(struct wf_triggers *triggers)
{
	bool free = wf_trylock(&triggers->ready.run_lock);

	if (free)
		wf_unlock(&triggers->ready.run_lock);
	if (!wf_trylock(&triggers->ready.lock))
		return false;
	wf_unlock(&triggers->ready.lock);
	return free;
}

/* What is taken is looked for with both locks, where it waits and where it is due. */
static void test_locks(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	struct fi_triggered_context context = at(&t, 2), due = at(&t, 0);
	struct wf_list taken;
	char buf[8];

	assert_int_equal(post_send(&t, &context, buf, 1, 0), 0);
	assert_true(are_free(&f->domain.triggers));
	wf_trigger_take(&f->domain.triggers, look, &t, &taken);
	assert_true(looked);
	assert_true(wf_list_empty(&taken));
	assert_true(are_free(&f->domain.triggers));
	looked = false;
	assert_int_equal(fi_cancel(&t.ep->fid, &context), 0);
	start_result = -FI_EAGAIN;
	assert_int_equal(post_send(&t, &due, buf, 1, 0), 0);
	assert_true(are_free(&f->domain.triggers));
	wf_trigger_take(&f->domain.triggers, look, &t, &taken);
	assert_true(looked);
	assert_true(are_free(&f->domain.triggers));
	close_test(&t);
}

/* A sleeping thread is woken by work that another thread's counting made ready. */
static void test_wakes(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	struct fid_cntr *slow = new_cntr(f, FI_WAIT_FD);
	struct fi_triggered_context context = at(&t, 1);
	struct fid *fid = &slow->fid;
	struct pollfd fds = { .events = POLLIN };
	char buf[8];

	context.trigger.threshold.cntr = slow;
	assert_int_equal(post_send(&t, &context, buf, 1, 0), 0);
	assert_int_equal(fi_control(fid, FI_GETWAIT, &fds.fd), 0);
	(void)wf_wait_arm(&wf_cntr_of(slow)->wait);
	assert_true(wf_progress_list_arm(&wf_cntr_of(slow)->progress));
	assert_int_equal(poll(&fds, 1, 0), 0);
	wf_cntr_of(slow)->wait.armed = false; /* only the work may wake it */
	wf_cntr_add(wf_cntr_of(slow), 1);
	assert_int_equal(poll(&fds, 1, 0), 1);
	assert_false(wf_progress_list_arm(&wf_cntr_of(slow)->progress));
	assert_int_equal(fi_cntr_read(slow), 1);
	assert_int_equal(start_count, 1);
	assert_true(wf_progress_list_arm(&wf_cntr_of(slow)->progress));
	assert_int_equal(poll(&fds, 1, 0), 0);
	close_ep(t.ep);
	assert_int_equal(fi_close(fid), 0);
	t.ep = &open_fake(f, new_info())->ep.fid;
	close_test(&t);
}

enum { ROUNDS = 2000 };

static void *count_up(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		fi_cntr_add(arg, 1);
	return NULL;
}

/* Queued while the counter runs: each starts exactly once, in order. */
static void test_threads(void **state)
{
	struct test t = open_test(*state, 0);
	static struct fi_deferred_work work[ROUNDS];
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, 0 };
	pthread_t threads[2];

	complete_at_once = true;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count_up, t.trigger);
	for (int i = 0; i < ROUNDS; i++) {
		work[i] = send_work(&t, (uint64_t)(2 * i + 1), &op);
		assert_int_equal(queue(&t, &work[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fi_cntr_read(t.trigger), 2 * ROUNDS);
	assert_int_equal(fi_cntr_read(t.done), ROUNDS);
	assert_int_equal(start_count, ROUNDS);
	close_test(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_triggered),
		DOMAIN_TEST(test_order),
		DOMAIN_TEST(test_from_progress),
		DOMAIN_TEST(test_copies),
		DOMAIN_TEST(test_deferred),
		DOMAIN_TEST(test_deferred_counters),
		DOMAIN_TEST(test_chain),
		DOMAIN_TEST(test_cancel),
		DOMAIN_TEST(test_refused),
		DOMAIN_TEST(test_foreign),
		DOMAIN_TEST(test_largest),
		DOMAIN_TEST(test_without_memory),
		DOMAIN_TEST(test_work_without_memory),
		DOMAIN_TEST(test_locks),
		DOMAIN_TEST(test_wakes),
		DOMAIN_TEST(test_threads),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}

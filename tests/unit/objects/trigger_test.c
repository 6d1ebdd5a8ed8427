/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <pthread.h>

#include "trigger_fixture.h"

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
		DOMAIN_TEST(test_wakes),
		DOMAIN_TEST(test_threads),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}

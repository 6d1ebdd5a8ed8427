/* SPDX-License-Identifier: BSD-2-Clause */
/* Triggered operations and deferred work: what is refused, taken back, and done without
 * memory. */
#include "endpoint_fixture.h"

#include "../../log_lines.h"
#include "shortage.h"
#include "trigger_fixture.h"

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

/* A receive that cannot start is an error of the receive queue and its counter; deferred
 * ones with FI_COMPLETION count there, too. */
static void test_receives(void **state)
{
	struct domain_fixture *f = *state;
	struct test t = open_test(f, 0);
	struct fi_triggered_context context = at(&t, 0);
	char buf[8];
	struct iovec iov = { buf, 4 };
	struct fi_msg msg = { &iov, NULL, 1, 5, &context, 0 };
	struct fi_msg_tagged tagged = { &iov, NULL, 1, 5, 9, 0, &context, 0 };
	struct fi_op_msg op = { t.ep, { &iov, NULL, 1, 5, &iov, 0 }, FI_COMPLETION };
	struct fi_deferred_work work = send_work(&t, 0, &op);
	struct fid_cntr *own = new_cntr(f, FI_WAIT_NONE);
	struct fi_cq_err_entry err = { 0 };
	struct wf_ep *ep = wf_ep_of(t.ep);

	ep->cntr[WF_CNTR_RECV] = wf_cntr_of(own);
	start_result = -FI_EHOSTUNREACH;
	assert_int_equal(fi_recvmsg(t.ep, &msg, FI_TRIGGER), 0);
	assert_int_equal(fi_trecvmsg(t.ep, &tagged, FI_TRIGGER), 0);
	start_result = 0;
	assert_int_equal(fi_cq_readerr(t.a.cq, &err, 0), 1);
	assert_int_equal(err.tag, 0);
	assert_int_equal(err.err, FI_EHOSTUNREACH);
	assert_int_equal(err.prov_errno, FI_EHOSTUNREACH);
	assert_int_equal(err.flags, FI_RECV | FI_MSG);
	assert_ptr_equal(err.op_context, &context);
	assert_int_equal(fi_cq_readerr(t.a.cq, &err, 0), 1);
	assert_int_equal(err.tag, 9);
	assert_int_equal(err.flags, FI_RECV | FI_TAGGED);
	assert_int_equal(fi_cntr_readerr(own), 2);
	assert_int_equal(fi_cntr_read(own), 0);

	work.op_type = FI_OP_RECV;
	complete_at_once = true;
	assert_int_equal(queue(&t, &work), 0);
	assert_int_equal(fi_cntr_read(own), 1);
	assert_int_equal(fi_cntr_read(t.done), 1);
	ep->cntr[WF_CNTR_RECV] = NULL;
	assert_int_equal(fi_close(&own->fid), 0);
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
	unsigned int items = fixture->domain.items.count;
	struct fid_cntr *cntr;
	char buf[8];
	ssize_t ret;

	PREPARE(cntr = new_cntr(fixture, FI_WAIT_NONE));
	context.trigger.threshold.cntr = cntr;
	ret = post_send(t, &context, buf, 4, FI_INJECT);
	(void)refuse_end();
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
	struct fi_op_cntr op = { t->done, 3 };
	struct fid_cntr *cntr;
	struct fi_deferred_work work = { .op_type = FI_OP_CNTR_ADD, .op.cntr = &op };
	int ret;

	PREPARE(cntr = new_cntr(fixture, FI_WAIT_NONE));
	work.triggering_cntr = cntr;
	ret = queue(t, &work);
	(void)refuse_end();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_foreign),
		DOMAIN_TEST(test_receives),
		DOMAIN_TEST(test_largest),
		DOMAIN_TEST(test_without_memory),
		DOMAIN_TEST(test_work_without_memory),
		DOMAIN_TEST(test_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "exec_fixture.h"

/* The end of joins, and what is told of it (outcome.c). */

enum { GROUPS = 3 };

static struct coll_group *groups[GROUPS];

/* What the callbacks of the joins were told, in order. */
static struct {
	struct coll_group *group;
	int err;
} told[8];
static unsigned int told_count, running;
static bool calls_back;

static void joined(void *context, int err)
{
	struct coll_group *at = context;

	/* One at a time, without the lock, and it can be seen which one. */
	assert_int_equal(running, 0);
	assert_ptr_equal(ep->reporting, at);
	assert_true(pthread_equal(ep->reporter, pthread_self()));
	assert_true(wf_trylock(&ep->ep.lock));
	wf_unlock(&ep->ep.lock);
	told[told_count].group = at;
	told[told_count++].err = err;
	running++;
	if (calls_back)
		coll_report_joined(ep);
	running--;
	assert_ptr_equal(ep->reporting, at);
}

static int open_groups(void **state)
{
	(void)open_group(state);
	told_count = 0;
	calls_back = false;
	for (int i = 0; i < GROUPS; i++) {
		groups[i] = i ? new_group() : group;
		groups[i]->state = COLL_JOINING;
		groups[i]->joined = joined;
		groups[i]->join_context = groups[i];
		wf_list_push(&ep->joining, &groups[i]->join_link);
	}
	return 0;
}

static int close_groups(void **state)
{
	for (int i = 1; i < GROUPS; i++)
		free(groups[i]);
	return close_group(state);
}

static void end_join(int i, int err)
{
	wf_lock(&ep->ep.lock);
	coll_group_joined(groups[i], err);
	coll_ep_unlock(ep);
}

static void a_join_ends(void **state)
{
	for (int i = 0; i < 2; i++) {
		int err = i ? -FI_ETIMEDOUT : 0;

		ep->has_ended_joins = false;
		/* What a join that fails has made of a node, stopping it closes. */
		groups[1]->node = (struct coll_node *)groups;
		end_join(i, err);
		assert_int_equal(groups[i]->state, i ? COLL_FAILED : COLL_OPEN);
		assert_int_equal(groups[i]->err, err);
		assert_true(ep->has_ended_joins);
		/* It left the list of joins. */
		assert_ptr_equal(ep->joining.next, &groups[i + 1]->join_link);
		/* The other members are told of a failure. */
		assert_int_equal(calls.aborts, i);
		assert_int_equal(calls.stops, i);
		assert_int_equal(told_count, i);
		coll_report_joined(ep);
		assert_int_equal(told_count, i + 1);
		assert_ptr_equal(told[i].group, groups[i]);
		assert_int_equal(told[i].err, err);
		assert_null(ep->reporting);
	}
	assert_int_equal(calls.abort_err, -FI_ETIMEDOUT);
	assert_int_equal(calls.nodes_closed, 0);
	coll_report_joined(ep);
	assert_int_equal(told_count, 2);
	/* Without a callback that is due, the lock is not taken. */
	wf_lock(&ep->ep.lock);
	coll_report_joined(ep);
	wf_unlock(&ep->ep.lock);
}

/* All that are due are told by one call, in their order. */
static void several_joins_end(void **state)
{
	for (int back = 0; back < 2; back++) {
		if (back) {
			(void)close_groups(state);
			(void)open_groups(state);
		}
		/* In a callback the application may make progress, which reports. */
		calls_back = back;
		for (int i = 0; i < GROUPS; i++)
			end_join(i, i == 1 ? -FI_EIO : 0);
		coll_report_joined(ep);
		assert_int_equal(told_count, GROUPS);
		for (int i = 0; i < GROUPS; i++) {
			assert_ptr_equal(told[i].group, groups[i]);
			assert_int_equal(told[i].err, i == 1 ? -FI_EIO : 0);
		}
		assert_null(ep->reporting);
		assert_true(wf_list_empty(&ep->joined));
		assert_false(atomic_load(&ep->has_joined));
	}
}

/* Another thread is reporting: it goes on with the list. */
static void another_thread_reports(void **state)
{
	end_join(0, 0);
	ep->reporting = groups[1];
	coll_report_joined(ep);
	assert_int_equal(told_count, 0);
	assert_ptr_equal(ep->reporting, groups[1]);
	assert_false(wf_list_empty(&ep->joined));
	ep->reporting = NULL;
	coll_report_joined(ep);
	assert_int_equal(told_count, 1);
}

/* A main provider without a callback gets an event, of a join that succeeded. */
static void an_event_is_written(void **state)
{
	struct fid_mc mc = { .fi_addr = 5 };

	for (int i = 0; i < GROUPS; i++) {
		groups[i]->joined = NULL;
		groups[i]->main_mc = &mc;
	}
	end_join(0, 0);
	coll_report_joined(ep);
	assert_int_equal(written.count, 1);
	assert_int_equal(written.event, FI_JOIN_COMPLETE);
	assert_ptr_equal(written.entry.fid, &mc.fid);
	assert_ptr_equal(written.entry.context, groups[0]);
	assert_null(ep->reporting);
	end_join(1, -FI_EIO);
	coll_report_joined(ep);
	assert_int_equal(written.count, 1);
	/* Where it cannot be written, it is lost, and that is all. */
	has_eq = false;
	end_join(2, 0);
	coll_report_joined(ep);
	assert_int_equal(written.count, 1);
	assert_null(ep->reporting);
}

/* A group that was joined fails: its node goes, and its place among those that use
 * nodes; nothing is told again. One that failed before does not change. */
static void a_group_fails_later(void **state)
{
	end_join(0, 0);
	coll_report_joined(ep);
	groups[0]->node = (struct coll_node *)groups;
	groups[0]->has_node = true;
	wf_list_init(&ep->node_groups);
	wf_list_push(&ep->node_groups, &groups[0]->node_link);
	wf_lock(&ep->ep.lock);
	for (int i = 0; i < 2; i++) {
		coll_group_fail(groups[0], i ? -FI_EIO : -FI_ECONNRESET);
		assert_int_equal(groups[0]->state, COLL_FAILED);
		assert_int_equal(groups[0]->err, -FI_ECONNRESET);
		assert_int_equal(calls.aborts, 1);
		assert_int_equal(calls.stops, 0);
		assert_int_equal(calls.nodes_closed, 1);
		assert_null(groups[0]->node);
		assert_false(groups[0]->has_node);
		assert_true(wf_list_empty(&ep->node_groups));
	}
	coll_ep_unlock(ep);
	coll_report_joined(ep);
	assert_int_equal(told_count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_groups, close_groups)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_join_ends),
		CASE(several_joins_end),
		CASE(another_thread_reports),
		CASE(an_event_is_written),
		CASE(a_group_fails_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

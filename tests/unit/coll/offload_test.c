/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/coll.h"

#include "members.h"

/*
 * An engine of another library beside off_coll: its bootstrap, which is an allgather of
 * off_coll, has no space for a while, or fails, or lacks memory; the group is joined
 * all the same, with the other engine or without, or its join fails.
 */

/* Answers of off_coll to the next allgathers. */
static unsigned int gathers_left;    /* that are answered as follows ... */
static ssize_t gather_ret;           /* ... and the answer */
static unsigned int gathers_skipped; /* that are taken first */

static ssize_t (*real_allgather)(struct fid_ep *ep, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context);

static ssize_t allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	if (gathers_skipped) {
		gathers_skipped--;
	} else if (gathers_left) {
		gathers_left--;
		return gather_ret;
	}
	return real_allgather(ep, buf, count, desc, result, result_desc, coll_addr,
		datatype, flags, context);
}

/* The rounds of the bootstrap go on when there is space, whichever step lacks it. */
static void the_bootstrap_has_no_space(void **state)
{
	for (unsigned int skipped = 0; skipped < 10; skipped++) {
		gathers_skipped = skipped;
		gathers_left = 3;
		gather_ret = -FI_EAGAIN;
		assert_int_equal(run_all(), 0);
		assert_int_equal(gathers_left, 0);
		close_all();
	}
}

/* A step that fails at a member ends its join. */
static void the_bootstrap_fails(void **state)
{
	for (unsigned int skipped = 0; skipped < 2; skipped++) {
		gathers_skipped = skipped;
		gathers_left = 1;
		gather_ret = -FI_EIO;
		assert_int_equal(run_all(), -FI_EIO);
		assert_int_equal(gathers_left, 0);
		close_all();
	}
}

/* Closed before the bootstrap has ended. */
static void groups_are_closed_meanwhile(void **state)
{
	for (unsigned int turns = 0; turns < 40; turns++) {
		assert_int_equal(open_all(), 0);
		for (unsigned int i = 0; i < turns; i++)
			poll_members();
		close_all();
	}
}

static void each_allocation_fails_once(void **state)
{
	unsigned int before = descriptors(), number = 1;

	do {
		int ret;

		left = number++;
		has_failed = false;
		polls = 0;
		ret = run_all();
		left = 0;
		close_all();
		if (ret && !has_failed)
			fail_msg("%s", fi_strerror(-ret));
		assert_int_equal(descriptors(), before);
	} while (has_failed);
	assert_true(number > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bootstrap_has_no_space),
		cmocka_unit_test(the_bootstrap_fails),
		cmocka_unit_test(groups_are_closed_meanwhile),
		cmocka_unit_test(each_allocation_fails_once),
	};

	real_allgather = coll_calls.allgather;
	coll_calls.allgather = allgather;
	(void)setenv("FI_OFFLOAD_COLL_PROVIDER", "off_testcoll", 1);
	(void)setenv("FI_OFF_COLL_ENGINE", "p2p", 1);
	return cmocka_run_group_tests(tests, find, forget);
}

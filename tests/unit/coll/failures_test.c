/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/set.h"

#include "members.h"

/*
 * Two members of a group, opened and joined again and again: each time another
 * allocation fails. What it was for tells an error, in the call or by an event, or goes
 * on without; or, where it was for a message of a peer, does not go on. Everything can
 * be closed then, and nothing is left, neither descriptors nor (under AddressSanitizer)
 * memory.
 */

/* ---- a set that is changed while its members are read ---- */

static bool shrinks;

int __wrap_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);
int __real_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);

int __wrap_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count)
{
	int ret = __real_wf_av_set_members(set, addr, count);

	if (addr && shrinks)
		--*count;
	return ret;
}

static void a_set_changes_meanwhile(void **state)
{
	coll = coll_prov_ini();
	shrinks = true;
	assert_int_equal(open_all(), -FI_EAGAIN);
	assert_null(members[0].mc);
	shrinks = false;
	close_all();
}

/* Each allocation fails once, with the engine @engine. */
static void with_engine(const char *engine)
{
	unsigned int before, number = 1;
	int ret;

	assert_int_equal(setenv("FI_OFF_COLL_ENGINE", engine, 1), 0);
	coll = coll_prov_ini();
	/* What is made once in a process. */
	left = 0;
	assert_int_equal(run_all(), 0);
	close_all();
	before = descriptors();
	do {
		left = number;
		has_failed = false;
		polls = 0;
		ret = run_all();
		left = 0;
		close_all();
		if (ret && !has_failed)
			fail_msg("%s", fi_strerror(-ret));
		if (descriptors() != before)
			fail_msg("allocation %u leaves descriptors", number);
		number++;
	} while (has_failed);
	assert_true(number > 20);
}

static void messages(void **state)
{
	with_engine("p2p");
}

static void shared_memory(void **state)
{
	with_engine("node");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_changes_meanwhile),
		cmocka_unit_test(messages),
		cmocka_unit_test(shared_memory),
	};

	return cmocka_run_group_tests(tests, find, forget);
}

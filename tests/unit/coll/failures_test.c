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

/* ---- random numbers ---- */

static struct {
	unsigned int left; /* calls that succeed */
	unsigned int failed;
} randoms = { UINT32_MAX, 0 };

ssize_t __wrap_wf_sys_getrandom(void *buf, size_t len, unsigned int flags);
ssize_t __real_wf_sys_getrandom(void *buf, size_t len, unsigned int flags);

ssize_t __wrap_wf_sys_getrandom(void *buf, size_t len, unsigned int flags)
{
	static const int errors[] = { EPERM, EIO, ENOSYS };

	if (randoms.left) {
		randoms.left--;
		return __real_wf_sys_getrandom(buf, len, flags);
	}
	errno = errors[randoms.failed++ % WF_ARRAY_SIZE(errors)];
	return -1;
}

/* Without a mask for ids, or a secret, a join tells the first error, and can be
 * repeated. */
static void without_random_numbers(void **state)
{
	assert_int_equal(setenv("FI_OFF_COLL_ENGINE", "p2p", 1), 0);
	coll = coll_prov_ini();
	left = 0;
	has_failed = false;
	assert_int_equal(shm->fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(open_objects(&members[i]), 0);
	for (unsigned int number = 0; number < 2; number++) {
		randoms.left = number;
		randoms.failed = 0;
		assert_int_equal(join(&members[0]), -EPERM);
		randoms.left = UINT32_MAX;
		assert_int_equal(randoms.failed, 1);
		assert_null(members[0].mc);
		CLOSE(members[0].set);
	}
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(join(&members[i]), 0);
	assert_int_equal(wait_joined(), 0);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_changes_meanwhile),
		cmocka_unit_test(messages),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(without_random_numbers),
	};

	return cmocka_run_group_tests(tests, find, forget);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/set.h"
#include "providers/coll/xfer.h"

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
static size_t claimed; /* number of members that a set claims to have */
static bool claims;

int __wrap_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);
int __real_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);

int __wrap_wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count)
{
	int ret = __real_wf_av_set_members(set, addr, count);

	if (addr && shrinks)
		--*count;
	if (!addr && claims)
		*count = claimed;
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

/* A set has members, and no more than there are ranks. */
static void a_set_has_members(void **state)
{
	static const struct {
		size_t count;
		int ret;
	} rows[] = {
		{ 0, -FI_EINVAL },
		{ COLL_MEMBERS_MAX + 1, -FI_EINVAL },
		/* It has fewer when they are read. */
		{ COLL_MEMBERS_MAX, -FI_EAGAIN },
	};

	claims = true;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		claimed = rows[i].count;
		assert_int_equal(open_all(), rows[i].ret);
		close_all();
	}
	claims = false;
}

/* ---- what a main provider asks for ---- */

static bool checks_join;

int __wrap_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);
int __real_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);

static void check_refused(struct wf_ep *wf, const struct fi_collective_addr *addr,
	uint64_t flags, struct fi_peer_mc_context *context)
{
	struct fid_mc *mc = NULL;

	assert_int_equal(__real_coll_join(wf, addr, flags, &mc, context), -FI_EINVAL);
	assert_null(mc);
}

int __wrap_coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context)
{
	const struct fi_collective_addr *where = addr;
	struct fi_peer_mc_context *given = context, bad = *given;
	struct fi_collective_addr elsewhere = *where;
	uint32_t refs = atomic_load(&wf->refs);
	int ret;

	if (!checks_join)
		return __real_coll_join(wf, addr, flags, ret_mc, context);
	check_refused(wf, where, flags & ~FI_PEER, given);
	check_refused(wf, where, flags & ~FI_COLLECTIVE, given);
	check_refused(wf, where, flags | FI_MULTICAST, given);
	check_refused(wf, where, flags, NULL);
	bad.size--;
	check_refused(wf, where, flags, &bad);
	bad = *given;
	bad.mc = NULL;
	check_refused(wf, where, flags, &bad);
	check_refused(wf, NULL, flags, given);
	elsewhere.set = NULL;
	check_refused(wf, &elsewhere, flags, given);
	/* A set of the main provider. */
	elsewhere.set = members[0].set;
	check_refused(wf, &elsewhere, flags, given);
	assert_int_equal(atomic_load(&wf->refs), refs);
	/* A later version may have a longer context. */
	given->size++;
	ret = __real_coll_join(wf, addr, flags | FI_COMPLETION, ret_mc, context);
	given->size--;
	assert_int_equal(atomic_load(&wf->refs), refs + 1);
	return ret;
}

static void joins_are_checked(void **state)
{
	checks_join = true;
	assert_int_equal(run_all(), 0);
	checks_join = false;
	close_all();
}

/* ---- a record of a wrong length ---- */

static unsigned int posts_left; /* sends until the one that is changed */
static int longer;              /* bytes that it has more */
static size_t changed_at;       /* position of the byte that is changed */
static uint8_t changed;         /* its bits that are changed */

int __wrap_coll_xfer_post(struct coll_xfer *xfer);
int __real_coll_xfer_post(struct coll_xfer *xfer);

int __wrap_coll_xfer_post(struct coll_xfer *xfer)
{
	if (!xfer->is_recv && posts_left && !--posts_left) {
		xfer->len += (size_t)longer;
		((uint8_t *)xfer->buf)[changed_at] ^= changed;
	}
	return __real_coll_xfer_post(xfer);
}

/* The member that gets it has an error, and leaves nothing. */
static void a_record_is_cut_short(void **state)
{
	assert_int_equal(setenv("FI_OFF_COLL_ENGINE", "p2p", 1), 0);
	coll = coll_prov_ini();
	longer = -1;
	changed = 0;
	posts_left = 1;
	assert_int_equal(open_all(), 0);
	assert_int_equal(wait_joined(), -FI_EINVAL);
	assert_int_equal(posts_left, 0);
	close_all();
}

/* A member of another version, and one that says that it cannot join. */
static void a_record_is_refused(void **state)
{
	enum { MAGIC = 0, ERR = 4, SECRET = 8 };
	static const struct {
		size_t at;
		uint8_t bits;
		int ret;
	} rows[] = {
		{ MAGIC, 1, -FI_EINVAL },
		{ MAGIC + 3, 128, -FI_EINVAL },
		{ ERR, 1, -FI_ECONNREFUSED },
		{ ERR + 3, 1, -FI_ECONNREFUSED },
		/* Any secret is one. */
		{ SECRET, 1, 0 },
	};

	longer = 0;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		changed_at = rows[i].at;
		changed = rows[i].bits;
		posts_left = 1;
		assert_int_equal(open_all(), 0);
		assert_int_equal(wait_joined(), rows[i].ret);
		close_all();
	}
	changed = 0;
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
		cmocka_unit_test(a_set_has_members),
		cmocka_unit_test(joins_are_checked),
		cmocka_unit_test(a_record_is_cut_short),
		cmocka_unit_test(a_record_is_refused),
		cmocka_unit_test(messages),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(without_random_numbers),
	};

	return cmocka_run_group_tests(tests, find, forget);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

#include "objects/av/set.h"

/* No endpoint is open and no provider runs, so every call is local: AVS-016. */

enum { ADDRS = 100 };

static int query_collective(struct fid_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	return coll == FI_BARRIER || coll == FI_BROADCAST ? 0 : -FI_ENOSYS;
}

/* An AV of 100 addresses, 0 to 99. */
static struct fid_av *open_av(struct av_fixture *f)
{
	struct fid_av *av = av_fixture_open(f, (struct fi_av_attr){ 0 });

	f->domain_ops.query_collective = query_collective;
	for (unsigned int i = 0; i < ADDRS; i++) {
		struct sockaddr_in sa = in_addr_of(1 + i, 1);

		assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	}
	return av;
}

static const struct fi_av_set_attr empty = {
	.start_addr = FI_ADDR_NOTAVAIL,
	.end_addr = FI_ADDR_NOTAVAIL,
};

static struct fid_av_set *open_set(struct fid_av *av, struct fi_av_set_attr attr)
{
	struct fid_av_set *set = NULL;

	assert_int_equal(fi_av_set(av, &attr, &set, NULL), 0);
	return set;
}

static struct fid_av_set *open_range(
	struct fid_av *av, fi_addr_t start, fi_addr_t end, uint64_t stride)
{
	struct fi_av_set_attr attr = {
		.start_addr = start,
		.end_addr = end,
		.stride = stride,
	};

	return open_set(av, attr);
}

static void assert_members(struct fid_av_set *set, size_t count, const fi_addr_t *want)
{
	fi_addr_t got[ADDRS];
	size_t n = ADDRS;

	assert_int_equal(wf_av_set_members(wf_av_set_of(set), got, &n), 0);
	assert_int_equal(n, count);
	assert_memory_equal(got, want, count * sizeof(*want));
}

#define ASSERT_MEMBERS(set, ...)                                                       \
	assert_members(set,                                                            \
		sizeof((const fi_addr_t[]){ __VA_ARGS__ }) / sizeof(fi_addr_t),        \
		(const fi_addr_t[]){ __VA_ARGS__ })

static int try_open(struct fid_av *av, struct fi_av_set_attr attr)
{
	struct fid_av_set *set = NULL;
	int ret = fi_av_set(av, &attr, &set, NULL);

	if (!ret)
		assert_int_equal(fi_close(&set->fid), 0);
	return ret;
}

/* AVS-001, AVS-002, AVS-003, AVS-005, AVS-008 */
static void ranges(void **state)
{
	struct fid_av *av = open_av(*state);
	struct fid_av_set *set;
	fi_addr_t gone = 14;
	struct fi_av_set_attr attr;

	set = open_range(av, 10, 20, 4);
	assert_int_equal(set->fid.fclass, FI_CLASS_AV_SET);
	ASSERT_MEMBERS(set, 10, 14, 18);
	assert_int_equal(fi_close(&set->fid), 0);
	set = open_range(av, 10, 12, 1);
	ASSERT_MEMBERS(set, 10, 11, 12);
	assert_int_equal(fi_close(&set->fid), 0);
	set = open_set(av, empty);
	assert_members(set, 0, NULL);
	assert_int_equal(fi_close(&set->fid), 0);
	/* Only what is inserted; an end far out is no danger. */
	assert_int_equal(fi_av_remove(av, &gone, 1, 0), 0);
	set = open_range(av, 10, 20, 4);
	ASSERT_MEMBERS(set, 10, 18);
	assert_int_equal(fi_close(&set->fid), 0);
	set = open_range(av, 95, FI_ADDR_NOTAVAIL - 1, 3);
	ASSERT_MEMBERS(set, 95, 98);
	assert_int_equal(fi_close(&set->fid), 0);
	set = open_range(av, 95, FI_ADDR_NOTAVAIL - 1, UINT64_MAX);
	ASSERT_MEMBERS(set, 95);
	assert_int_equal(fi_close(&set->fid), 0);

	attr = (struct fi_av_set_attr){
		.start_addr = 1, .end_addr = FI_ADDR_NOTAVAIL, .stride = 1
	};
	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	attr = (struct fi_av_set_attr){ .start_addr = FI_ADDR_NOTAVAIL, .stride = 1 };
	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	attr = (struct fi_av_set_attr){ .start_addr = 5, .end_addr = 4, .stride = 1 };
	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	attr = (struct fi_av_set_attr){ .start_addr = 5, .end_addr = 6 };
	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	/* Programs exist that leave the other members as they are. */
	attr = empty;
	attr.stride = 1;
	attr.comm_key_size = 1;
	attr.comm_key = (uint8_t *)(uintptr_t)1;
	assert_int_equal(try_open(av, attr), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AVS-006, AVS-007, AVS-017 */
static void flags(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_av(f);
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE };
	struct fid_av_set *set = open_set(av, attr);

	assert_int_equal(wf_av_set_of(set)->count, ADDRS);
	assert_int_equal(fi_close(&set->fid), 0);
	attr = empty;
	attr.flags = FI_BARRIER_SET | FI_BROADCAST_SET;
	assert_int_equal(try_open(av, attr), 0);
	attr.flags |= FI_GATHER_SET;
	assert_int_equal(try_open(av, attr), -FI_ENOSYS);
	/* One bit has no meaning: the others mean nothing either. */
	attr.flags |= FI_UNIVERSE | FI_MORE;
	set = open_set(av, attr);
	assert_int_equal(wf_av_set_of(set)->count, 0);
	assert_int_equal(fi_close(&set->fid), 0);
	/* The bit of FI_PEER is that of a collective, too. */
	attr.flags = FI_ALLREDUCE_SET;
	assert_int_equal(try_open(av, attr), -FI_ENOSYS);
	f->prov.av_sets = false;
	assert_int_equal(try_open(av, empty), -FI_ENOSYS);
	/* P-07 */
	attr.flags = FI_PEER;
	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AVS-004, AVS-012, AVS-013 */
static void single_members(void **state)
{
	struct fid_av *av = open_av(*state);
	struct fi_av_set_attr attr = {
		.count = 3, .start_addr = 0, .end_addr = 3, .stride = 1
	};
	struct fid_av_set *set;

	assert_int_equal(try_open(av, attr), -FI_EINVAL);
	attr.end_addr = 1;
	set = open_set(av, attr);
	assert_int_equal(fi_av_set_insert(set, 50), 0);
	assert_int_equal(fi_av_set_insert(set, 51), -FI_ENOMEM);
	ASSERT_MEMBERS(set, 0, 1, 50);
	assert_int_equal(fi_av_set_remove(set, 1), 0);
	assert_int_equal(fi_av_set_remove(set, 1), -FI_EINVAL);
	assert_int_equal(fi_av_set_remove(set, 5000), -FI_EINVAL);
	assert_int_equal(fi_av_set_remove(set, FI_ADDR_NOTAVAIL), -FI_EINVAL);
	ASSERT_MEMBERS(set, 0, 50);
	assert_int_equal(fi_av_set_insert(set, 50), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, ADDRS), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, FI_ADDR_NOTAVAIL), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, 1), 0);
	ASSERT_MEMBERS(set, 0, 50, 1);
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AVS-009, AVS-010, AVS-011 */
static void combining(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_av(f),
		      *av2 = av_fixture_open(f, (struct fi_av_attr){ 0 });
	struct fid_av_set *a = open_range(av, 10, 30, 10);
	struct fid_av_set *b = open_range(av, 30, 50, 10);
	struct fid_av_set *other = open_set(av2, empty), *small;
	struct fi_av_set_attr attr = {
		.count = 2, .start_addr = 30, .end_addr = 30, .stride = 1
	};

	assert_int_equal(fi_av_set_union(b, a), 0);
	ASSERT_MEMBERS(b, 30, 40, 50, 10, 20);
	ASSERT_MEMBERS(a, 10, 20, 30);
	assert_int_equal(fi_av_set_remove(a, 20), 0);
	assert_int_equal(fi_av_set_diff(b, a), 0);
	ASSERT_MEMBERS(b, 40, 50, 20);
	assert_int_equal(fi_av_set_insert(b, 10), 0);
	assert_int_equal(fi_av_set_intersect(b, a), 0);
	ASSERT_MEMBERS(b, 10);
	/* What was dropped can come again. */
	assert_int_equal(fi_av_set_insert(b, 40), 0);
	ASSERT_MEMBERS(b, 10, 40);

	/* A union that does not fit changes nothing. */
	small = open_set(av, attr);
	assert_int_equal(fi_av_set_union(small, b), -FI_ENOMEM);
	ASSERT_MEMBERS(small, 30);
	assert_int_equal(fi_av_set_insert(small, 10), 0);

	/* With itself. */
	assert_int_equal(fi_av_set_union(b, b), 0);
	assert_int_equal(fi_av_set_intersect(b, b), 0);
	ASSERT_MEMBERS(b, 10, 40);
	assert_int_equal(fi_av_set_diff(b, b), 0);
	assert_members(b, 0, NULL);

	assert_int_equal(fi_av_set_union(a, other), -FI_EINVAL);
	assert_int_equal(fi_close(&small->fid), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(fi_close(&av2->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AVS-014, AVS-015, VER-018 */
static void life(void **state)
{
	struct fid_av *av = open_av(*state);
	struct fid_av_set *a = open_set(av, empty), *b = open_set(av, empty);
	fi_addr_t addr_a, addr_b;

	assert_int_equal(fi_av_set_addr(a, &addr_a), 0);
	assert_int_equal(fi_av_set_addr(b, &addr_b), 0);
	assert_true(addr_a != FI_ADDR_NOTAVAIL && addr_a != addr_b);
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	wf_av_set_ref(wf_av_set_of(a));
	assert_int_equal(fi_close(&a->fid), -FI_EBUSY);
	wf_av_set_unref(wf_av_set_of(a));
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void missing_arguments(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_av(f),
		      *av2 = av_fixture_open(f, (struct fi_av_attr){ 0 });
	struct fid_av_set *set = open_range(av, 3, 5, 1), *other = open_set(av2, empty);
	struct fi_av_set_attr attr = empty;
	fi_addr_t member[3], at;
	size_t count = 1;

	assert_int_equal(av->ops->av_set(av, NULL, &set, NULL), -FI_EINVAL);
	assert_int_equal(av->ops->av_set(av, &attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_set_addr(set, NULL), -FI_EINVAL);
	assert_int_equal(
		wf_av_set_members(wf_av_set_of(set), member, NULL), -FI_EINVAL);
	assert_int_equal(
		wf_av_set_members(wf_av_set_of(set), NULL, &count), -FI_EINVAL);
	assert_int_equal(count, 1);
	count = 0;
	assert_int_equal(
		wf_av_set_members(wf_av_set_of(set), NULL, &count), -FI_ETOOSMALL);
	assert_int_equal(count, 3);

	/* Sets of two AVs are not combined. */
	assert_int_equal(fi_av_set_diff(set, other), -FI_EINVAL);
	assert_int_equal(fi_av_set_intersect(set, other), -FI_EINVAL);
	ASSERT_MEMBERS(set, 3, 4, 5);

	assert_int_equal(fi_av_set_addr(set, &at), 0);
	member[0] = 3;
	member[1] = 5;
	member[2] = 6;
	assert_int_equal(wf_av_set_covers(wf_av_of(av), at, member, 2), 0);
	assert_int_equal(wf_av_set_covers(wf_av_of(av), at, member, 3), -FI_EINVAL);
	assert_int_equal(wf_av_set_covers(wf_av_of(av2), at, member, 0), -FI_EINVAL);
	assert_ptr_equal(wf_av_set_open_on(wf_av_of(av), set), wf_av_set_of(set));
	assert_null(wf_av_set_open_on(wf_av_of(av2), set));
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fi_close(&av2->fid), 0);
}

/* P-23 and the import. */
static void peers(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_av(f), *peer_av;
	struct fid_av_set *set = open_range(av, 3, 5, 1), *peer;
	struct fid_peer_av_set exported, again;
	struct fi_peer_av_set_context context = { .size = sizeof(context) };
	struct fi_av_set_attr attr = { .flags = FI_PEER };
	struct fid_peer_av owner;
	struct fi_peer_av_context av_context = { .size = sizeof(av_context), &owner };
	struct fi_av_attr av_attr = { .flags = FI_PEER };
	fi_addr_t got[3];
	size_t count = 2;

	assert_int_equal(wf_av_set_export(wf_av_set_of(set), &exported), 0);
	assert_int_equal(exported.fid.fclass, FI_CLASS_PEER_AV_SET);
	assert_int_equal(
		exported.owner_ops->members(&exported, got, &count), -FI_ETOOSMALL);
	assert_int_equal(count, 3);
	assert_int_equal(exported.owner_ops->members(&exported, got, &count), 0);
	assert_int_equal(got[2], 5);

	assert_int_equal(wf_av_export(wf_av_of(av), &owner), 0);
	assert_int_equal(
		wf_av_open(&f->domain.fid, &av_attr, &peer_av, &av_context), 0);
	assert_int_equal(fi_av_set(peer_av, &attr, &peer, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_set(peer_av, &attr, &peer, &context), -FI_EINVAL);
	context.av_set = (struct fi_peer_av_set *)(void *)&exported;
	context.size--;
	assert_int_equal(fi_av_set(peer_av, &attr, &peer, &context), -FI_EINVAL);
	context.size++;
	assert_int_equal(fi_av_set(peer_av, &attr, &peer, &context), 0);
	ASSERT_MEMBERS(peer, 3, 4, 5);
	/* Only the owner exports it, and no collective is joined with it. */
	assert_int_equal(wf_av_set_export(wf_av_set_of(peer), &again), -FI_EINVAL);
	assert_null(wf_av_set_open_on(wf_av_of(peer_av), peer));
	assert_int_equal(fi_av_set_insert(peer, 1), -FI_ENOSYS);
	assert_int_equal(fi_av_set_remove(peer, 3), -FI_ENOSYS);
	assert_int_equal(fi_av_set_union(peer, peer), -FI_ENOSYS);
	assert_int_equal(fi_close(&peer->fid), 0);
	/* A set of one's own on an imported AV knows as many addresses as the owner. */
	attr = (struct fi_av_set_attr){ .flags = FI_UNIVERSE };
	peer = open_set(peer_av, attr);
	assert_int_equal(wf_av_set_of(peer)->count, ADDRS);
	assert_int_equal(fi_av_set_insert(peer, ADDRS), -FI_EINVAL);
	assert_int_equal(fi_close(&peer->fid), 0);
	assert_int_equal(fi_close(&peer_av->fid), 0);
	/* P-08 */
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	wf_av_set_unexport(&exported);
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	wf_av_unexport(&owner);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(ranges),
		AV_TEST(flags),
		AV_TEST(single_members),
		AV_TEST(combining),
		AV_TEST(life),
		AV_TEST(missing_arguments),
		AV_TEST(peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* AV sets: seen through what they accept and refuse, as they have no reading calls. */
#include <rdma/fi_collective.h>

#include "suites.h"

enum { PORT = 23000, COUNT = 8 };

static struct fid_av *filled_av(struct cf_env *env)
{
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE,
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set;
	struct fid_av *av;
	void *addrs;
	int ret;

	cf_open_domain(env, NULL);
	addrs = cf_addrs(env->info, PORT, COUNT);
	av = cf_new_av(env);
	CHECK_EQ(fi_av_insert(av, addrs, COUNT, NULL, 0, NULL), COUNT);
	free(addrs);
	ret = fi_av_set(av, &attr, &set, NULL);
	if (ret == -FI_ENOSYS)
		SKIP("AV sets are not offered");
	CHECK_OK(ret);
	CF_CLOSE(set);
	return av;
}

static void sets_need_collectives(void)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	if (cf_provider_has(FI_COLLECTIVE))
		SKIP("the provider has collectives");
	cf_open_domain(&env, NULL);
	av = cf_new_av(&env);
	CHECK_EQ(fi_av_set(av, &attr, &set, NULL), -FI_ENOSYS);
	CF_CLOSE(av);
	cf_close(&env);
}

static struct fid_av_set *new_set(
	struct fid_av *av, fi_addr_t start, fi_addr_t end, uint64_t stride)
{
	struct fi_av_set_attr attr = {
		.count = COUNT, .start_addr = start, .end_addr = end, .stride = stride
	};
	struct fid_av_set *set;
	int context;

	CHECK_OK(fi_av_set(av, &attr, &set, &context));
	CHECK_EQ(set->fid.fclass, FI_CLASS_AV_SET);
	CHECK(set->fid.context == &context);
	return set;
}

static struct fid_av_set *empty_set(struct fid_av *av)
{
	return new_set(av, FI_ADDR_NOTAVAIL, FI_ADDR_NOTAVAIL, 0);
}

/* Membership shows when inserting: a member is refused, another one is taken. */
static bool has(struct fid_av_set *set, fi_addr_t addr)
{
	int ret = fi_av_set_insert(set, addr);

	if (ret == -FI_EINVAL)
		return true;
	CHECK_OK(ret);
	CHECK_OK(fi_av_set_remove(set, addr));
	return false;
}

static void check_members(struct fid_av_set *set, unsigned int mask)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		if (has(set, i) != ((mask >> i) & 1))
			cf_fail(__FILE__, __LINE__, "address %u of mask 0x%x", i, mask);
	}
}

static void close_all(struct cf_env *env, struct fid_av *av)
{
	CF_CLOSE(av);
	cf_close(env);
}

static void ranges_and_strides(void)
{
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	set = new_set(av, 2, 5, 1);
	/* Four of eight: one more fits while a member is tried. */
	check_members(set, 0x3c);
	CF_CLOSE(set);
	set = new_set(av, 1, 7, 3);
	check_members(set, 0x92);
	CF_CLOSE(set);
	set = empty_set(av);
	check_members(set, 0);
	CF_CLOSE(set);
	close_all(&env, av);
}

static void bad_ranges_are_refused(void)
{
	static const struct fi_av_set_attr bad[] = {
		{ .count = COUNT, .start_addr = 0, .end_addr = FI_ADDR_NOTAVAIL },
		{ .count = COUNT, .start_addr = FI_ADDR_NOTAVAIL, .end_addr = 3 },
		{ .count = 2, .start_addr = 0, .end_addr = 4, .stride = 1 },
		{ .count = COUNT, .start_addr = 0, .end_addr = 3 },
	};
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		struct fi_av_set_attr attr = bad[i];

		CHECK_EQ(fi_av_set(av, &attr, &set, NULL), -FI_EINVAL);
	}
	close_all(&env, av);
}

static void union_intersection_difference(void)
{
	struct fid_av_set *a, *b;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	a = new_set(av, 0, 3, 1);
	b = new_set(av, 2, 5, 1);
	CHECK_OK(fi_av_set_union(a, b));
	check_members(a, 0x3f);
	CHECK_OK(fi_av_set_intersect(a, b));
	check_members(a, 0x3c);
	CHECK_OK(fi_av_set_remove(b, 3));
	CHECK_OK(fi_av_set_diff(a, b));
	check_members(a, 0x08);
	check_members(b, 0x34);
	CF_CLOSE(a);
	CF_CLOSE(b);
	close_all(&env, av);
}

static void members_come_and_go_once(void)
{
	struct fi_av_set_attr attr = {
		.count = 2, .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL
	};
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	CHECK_OK(fi_av_set(av, &attr, &set, NULL));
	CHECK_OK(fi_av_set_insert(set, 5));
	CHECK_EQ(fi_av_set_insert(set, 5), -FI_EINVAL);
	CHECK_OK(fi_av_set_insert(set, 1));
	CHECK_EQ(fi_av_set_insert(set, 2), -FI_ENOMEM);
	CHECK_EQ(fi_av_set_remove(set, 2), -FI_EINVAL);
	CHECK_OK(fi_av_set_remove(set, 5));
	CHECK_EQ(fi_av_set_remove(set, 5), -FI_EINVAL);
	CF_CLOSE(set);
	close_all(&env, av);
}

static void a_set_has_an_address(void)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	set = new_set(av, 0, 3, 1);
	CHECK_OK(fi_av_set_addr(set, &addr));
	CHECK(addr != FI_ADDR_NOTAVAIL);
	CF_CLOSE(set);
	close_all(&env, av);
}

static void a_set_keeps_its_av(void)
{
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env);
	set = empty_set(av);
	CHECK_EQ(fi_close(&av->fid), -FI_EBUSY);
	CF_CLOSE(set);
	close_all(&env, av);
}

CF_SUITE(av_set, CF_CASE(sets_need_collectives, "AVS-017", 0),
	CF_CASE(ranges_and_strides, "AVS-001 AVS-002 AVS-003 AVS-005", 0),
	CF_CASE(bad_ranges_are_refused, "AVS-003 AVS-004 AVS-005", 0),
	CF_CASE(union_intersection_difference, "AVS-009 AVS-010 AVS-011", 0),
	CF_CASE(members_come_and_go_once, "AVS-012 AVS-013", 0),
	CF_CASE(a_set_has_an_address, "AVS-014", 0),
	CF_CASE(a_set_keeps_its_av, "VER-018", 0));

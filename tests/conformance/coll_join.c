/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: how they are described, joined and left. */
#include "coll_env.h"

static struct cl_env env;
static struct cl_group group;

enum { COUNT = 5 };

/* An allreduce shows which members there are, an allgather their order. */
static void check_group(struct cl_group *of)
{
	struct cl_work sum = { .group = of,
		.call = { .kind = FI_ALLREDUCE,
			.type = cl_type(FI_INT64),
			.op = FI_SUM,
			.count = 4 } };
	struct cl_work order = { .group = of,
		.call = {
			.kind = FI_ALLGATHER, .type = cl_type(FI_INT64), .count = 2 } };

	cl_run(&env, &sum);
	cl_run(&env, &order);
}

static void check_and_leave(struct cl_group *of)
{
	cl_join(&env, of);
	check_group(of);
	cl_leave(of);
}

/* A set from @attr at each member; then the members of @of that it lacks. */
static void sets_from(
	struct cl_group *of, const struct fi_av_set_attr *wanted, uint32_t has)
{
	for (uint32_t r = 0; r < of->count; r++) {
		struct cl_member *member = &env.member[of->at[r]];
		struct fi_av_set_attr attr = *wanted;

		CHECK_OK(fi_av_set(member->av, &attr, &of->set[r], NULL));
		for (uint32_t s = has; s < of->count; s++)
			CHECK_OK(fi_av_set_insert(of->set[r], member->addr[of->at[s]]));
	}
}

static void every_kind_of_set(void)
{
	struct fi_av_set_attr range = {
		.count = 3, .start_addr = 1, .end_addr = 3, .stride = 1
	};
	struct fi_av_set_attr strides = { .start_addr = 0, .end_addr = 4, .stride = 2 };
	struct fi_av_set_attr all = { .flags = FI_UNIVERSE,
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fi_av_set_attr first = { .count = COUNT, .stride = 1 };
	struct fi_av_set_attr none = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };

	cl_open(&env, COUNT, NULL);
	cl_range(&group, 3, 1, 1);
	sets_from(&group, &range, 3);
	check_and_leave(&group);
	cl_range(&group, 3, 0, 2);
	sets_from(&group, &strides, 3);
	check_and_leave(&group);
	cl_range(&group, COUNT, 0, 1);
	sets_from(&group, &all, COUNT);
	check_and_leave(&group);
	cl_range(&group, COUNT, 0, 1);
	sets_from(&group, &first, 1);
	check_and_leave(&group);
	cl_range(&group, COUNT, 0, 1);
	sets_from(&group, &none, 0);
	check_and_leave(&group);
	cl_close(&env);
}

/* Callers leave the fields alone that they do not know. */
static void fields_that_are_not_set(void)
{
	uint64_t known = FI_UNIVERSE | FI_PEER | FI_BARRIER_SET | FI_BROADCAST_SET |
			 FI_ALLTOALL_SET | FI_ALLREDUCE_SET | FI_ALLGATHER_SET |
			 FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET |
			 FI_GATHER_SET;
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL,
		.stride = 13,
		.comm_key_size = 77,
		.comm_key = (uint8_t *)(uintptr_t)1,
		.flags = ~known };

	cl_open(&env, 3, NULL);
	cl_range(&group, 3, 0, 1);
	sets_from(&group, &attr, 0);
	check_and_leave(&group);
	cl_close(&env);
}

/* Every collective can be asked for. */
static void sets_for_collectives(void)
{
	static const uint64_t flags[] = { FI_BARRIER_SET, FI_BROADCAST_SET,
		FI_ALLTOALL_SET, FI_ALLREDUCE_SET, FI_ALLGATHER_SET,
		FI_REDUCE_SCATTER_SET, FI_REDUCE_SET, FI_SCATTER_SET, FI_GATHER_SET,
		FI_BARRIER_SET | FI_ALLREDUCE_SET };

	cl_open(&env, 2, NULL);
	for (size_t i = 0; i < CF_COUNT(flags); i++) {
		struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
			.end_addr = FI_ADDR_NOTAVAIL,
			.flags = flags[i] };

		cl_range(&group, 2, 0, 1);
		sets_from(&group, &attr, 0);
		cl_leave(&group);
	}
	cl_close(&env);
}

/* The members are those of the set when it was joined, in its order. */
static void members_of_combined_sets(void)
{
	static const uint32_t wanted[] = { 4, 2, 0 };

	cl_open(&env, COUNT, NULL);
	cl_range(&group, 3, 0, 1);
	memcpy(group.at, wanted, sizeof(wanted));
	for (uint32_t r = 0; r < group.count; r++) {
		struct cl_member *member = &env.member[group.at[r]];
		struct fid_av_set *a = cl_empty_set(member), *b = cl_empty_set(member);
		struct fid_av_set *c = cl_empty_set(member);

		/* ({4, 3} + {3, 2, 1} + {0}) - {1, 3} in {0, ..., 4} */
		CHECK_OK(fi_av_set_insert(a, member->addr[4]));
		CHECK_OK(fi_av_set_insert(a, member->addr[3]));
		for (int i = 3; i > 0; i--)
			CHECK_OK(fi_av_set_insert(b, member->addr[i]));
		CHECK_OK(fi_av_set_union(a, b));
		CHECK_OK(fi_av_set_insert(a, member->addr[0]));
		CHECK_OK(fi_av_set_remove(b, member->addr[2]));
		CHECK_OK(fi_av_set_diff(a, b));
		for (int i = 0; i < COUNT; i++)
			CHECK_OK(fi_av_set_insert(c, member->addr[i]));
		CHECK_OK(fi_av_set_intersect(a, c));
		CF_CLOSE(b);
		CF_CLOSE(c);
		group.set[r] = a;
	}
	cl_join(&env, &group);
	/* What becomes of the set later is no matter of the group. */
	for (uint32_t r = 0; r < group.count; r++)
		CHECK_OK(fi_av_set_insert(
			group.set[r], env.member[group.at[r]].addr[1]));
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

static void join_with(
	struct cl_group *of, fi_addr_t (*coll_addr)(struct cl_group *of, uint32_t rank))
{
	for (uint32_t r = 0; r < of->count; r++) {
		struct cl_member *member = &env.member[of->at[r]];

		CL_RETRY(&env, fi_join_collective(member->ep, coll_addr(of, r),
				       of->set[r], 0, &of->mc[r], &of->mc[r]));
	}
	for (uint32_t r = 0; r < of->count; r++)
		cl_end_join(&env, of, r);
}

static fi_addr_t set_address(struct cl_group *of, uint32_t rank)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;

	CHECK_OK(fi_av_set_addr(of->set[rank], &addr));
	return addr;
}

static void join_by_the_address_of_the_set(void)
{
	cl_open(&env, COUNT, NULL);
	cl_range(&group, COUNT, 0, 1);
	cl_insert_sets(&env, &group);
	join_with(&group, set_address);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

/* Endpoint at[rank] of a part of the group is a member of that, too. */
static fi_addr_t parent_address(struct cl_group *of, uint32_t rank)
{
	return group.addr[of->at[rank]];
}

static void groups_within_groups(void)
{
	static struct cl_group even, pair;

	cl_open(&env, COUNT, NULL);
	cl_range(&group, COUNT, 0, 1);
	cl_form(&env, &group);
	cl_range(&even, 3, 0, 2);
	cl_insert_sets(&env, &even);
	join_with(&even, parent_address);
	check_group(&even);
	cl_range(&pair, 2, 1, 2);
	cl_insert_sets(&env, &pair);
	join_with(&pair, parent_address);
	check_group(&pair);
	check_group(&group);
	check_group(&even);
	cl_leave(&even);
	check_group(&group);
	cl_leave(&group);
	check_group(&pair);
	cl_leave(&pair);
	cl_close(&env);
}

enum { PAIRS = COUNT * (COUNT - 1) / 2 };

static void start_pairs_of(struct cl_group *pair, uint32_t member)
{
	for (uint32_t k = 0; k < PAIRS; k++) {
		/* Every second member begins with the last pair. */
		struct cl_group *of = &pair[member % 2 ? PAIRS - 1 - k : k];

		for (uint32_t r = 0; r < 2; r++)
			if (of->at[r] == member)
				cl_start_join(&env, of, r);
	}
	for (int i = 0; i < 50; i++)
		cl_step(&env);
}

/* Each member joins a group of two with each other one at the same time, in an order of
 * its own, some long after the others. */
static void joins_in_any_order(void)
{
	static struct cl_group pair[PAIRS];
	uint32_t count = 0;

	cl_open(&env, COUNT, NULL);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t j = i + 1; j < COUNT; j++) {
			cl_range(&pair[count], 2, i, j - i);
			cl_insert_sets(&env, &pair[count++]);
		}
	for (uint32_t i = 0; i < COUNT; i++)
		start_pairs_of(pair, i);
	for (uint32_t i = 0; i < COUNT; i++) {
		CL_UNTIL(&env, env.member[i].joins == COUNT - 1);
		CHECK_OK(-env.member[i].join_err);
		env.member[i].joined = NULL;
	}
	for (uint32_t k = 0; k < PAIRS; k++) {
		for (uint32_t r = 0; r < 2; r++)
			pair[k].addr[r] = fi_mc_addr(pair[k].mc[r]);
		check_group(&pair[k]);
		cl_leave(&pair[k]);
	}
	cl_close(&env);
}

static void no_member_has_joined_before_all_have_called(void)
{
	cl_open(&env, 3, NULL);
	cl_range(&group, 3, 0, 1);
	cl_insert_sets(&env, &group);
	cl_start_join(&env, &group, 0);
	cl_start_join(&env, &group, 2);
	for (int i = 0; i < 200; i++) {
		cl_step(&env);
		CHECK(!env.member[0].joined && !env.member[2].joined);
	}
	cl_start_join(&env, &group, 1);
	for (uint32_t r = 0; r < 3; r++)
		cl_end_join(&env, &group, r);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

/* The others' messages wait until their addresses are inserted. */
static void members_that_are_inserted_late(void)
{
	struct cl_member *late = &env.member[0];
	char name[3][256];

	cl_open(&env, 3, NULL);
	for (uint32_t i = 1; i < 3; i++) {
		size_t len = sizeof(name[i]);

		CHECK_OK(fi_getname(&env.member[i].ep->fid, name[i], &len));
		CHECK_OK(fi_av_remove(late->av, &late->addr[i], 1, 0));
	}
	cl_range(&group, 3, 0, 1);
	for (uint32_t r = 1; r < 3; r++) {
		group.set[r] = cl_empty_set(&env.member[r]);
		for (uint32_t s = 0; s < 3; s++)
			CHECK_OK(fi_av_set_insert(group.set[r], env.member[r].addr[s]));
		cl_start_join(&env, &group, r);
	}
	for (int i = 0; i < 200; i++)
		cl_step(&env);
	group.set[0] = cl_empty_set(late);
	for (uint32_t i = 0; i < 3; i++) {
		if (i)
			CHECK_EQ(fi_av_insert(
					 late->av, name[i], 1, &late->addr[i], 0, NULL),
				1);
		CHECK_OK(fi_av_set_insert(group.set[0], late->addr[i]));
	}
	cl_start_join(&env, &group, 0);
	for (uint32_t r = 0; r < 3; r++)
		cl_end_join(&env, &group, r);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

/* The events of all members are read without a buffer, and nothing else is called. */
static void events_without_a_buffer(void)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	uint32_t left = 3, event;
	bool joined[3] = { false };

	cl_open(&env, 3, NULL);
	cl_range(&group, 3, 0, 1);
	cl_insert_sets(&env, &group);
	for (uint32_t r = 0; r < 3; r++)
		cl_start_join(&env, &group, r);
	while (left) {
		CHECK(cf_now_ms() < deadline);
		for (uint32_t r = 0; r < 3; r++) {
			ssize_t n;

			if (joined[r])
				continue;
			n = fi_eq_read(env.member[r].eq, &event, NULL, 0, 0);
			if (n == -FI_EAGAIN)
				continue;
			CHECK(n >= 0);
			CHECK_EQ(event, FI_JOIN_COMPLETE);
			joined[r] = true;
			group.addr[r] = fi_mc_addr(group.mc[r]);
			left--;
		}
	}
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

/* A sleeper is woken by its own group of one, which needs no other member, and with
 * automatic progress by those of others. */
static void sleep_until_joined(enum fi_progress progress, uint32_t count)
{
	struct cl_options options = { .progress = progress };
	struct fi_eq_entry entry;
	uint32_t event;

	cl_open(&env, count, &options);
	cl_range(&group, count, 0, 1);
	cl_insert_sets(&env, &group);
	for (uint32_t r = 0; r < count; r++)
		cl_start_join(&env, &group, r);
	for (uint32_t r = 0; r < count; r++) {
		CHECK_EQ(fi_eq_sread(env.member[r].eq, &event, &entry, sizeof(entry),
				 CF_TIMEOUT_MS, 0),
			sizeof(entry));
		CHECK_EQ(event, FI_JOIN_COMPLETE);
		CHECK(entry.fid == &group.mc[r]->fid);
		CHECK(entry.context == &group.mc[r]);
		group.addr[r] = fi_mc_addr(group.mc[r]);
	}
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

static void a_sleeper_joins(void)
{
	sleep_until_joined(FI_PROGRESS_UNSPEC, 1);
}

static void sleepers_join_on_their_own(void)
{
	sleep_until_joined(FI_PROGRESS_AUTO, 3);
}

/* Numbers of groups are used again. */
static void a_thousand_groups(void)
{
	int rounds = limit_amount() ? 50 : 1000;

	cl_open(&env, 3, NULL);
	cl_range(&group, 3, 0, 1);
	cl_insert_sets(&env, &group);
	for (int i = 0; i < rounds; i++) {
		cl_join(&env, &group);
		if (i % 100 == 0)
			check_group(&group);
		for (uint32_t r = 0; r < group.count; r++)
			CF_CLOSE(group.mc[r]);
	}
	cl_join(&env, &group);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

static void a_set_is_busy_while_its_group_is_open(void)
{
	cl_open(&env, 2, NULL);
	cl_range(&group, 2, 0, 1);
	cl_form(&env, &group);
	CHECK_EQ(fi_close(&group.set[0]->fid), -FI_EBUSY);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

static void groups_of_one(void)
{
	cl_open(&env, 1, NULL);
	cl_range(&group, 1, 0, 1);
	cl_form(&env, &group);
	check_group(&group);
	cl_leave(&group);
	cl_close(&env);
}

/* A member that leaves before all have joined does not delay the others' next group. */
static void closing_before_the_join_is_complete(void)
{
	cl_open(&env, 2, NULL);
	cl_range(&group, 2, 0, 1);
	cl_insert_sets(&env, &group);
	cl_start_join(&env, &group, 0);
	for (int i = 0; i < 10; i++)
		cl_step(&env);
	CF_CLOSE(group.mc[0]);
	CF_CLOSE(group.set[0]);
	CF_CLOSE(group.set[1]);
	cl_close(&env);
}

static void without_an_event_queue(void)
{
	struct fid_av_set *set;
	struct fid_mc *mc;
	struct cf_env base;
	struct cf_options options = { .caps = FI_COLLECTIVE };

	cf_need_connectionless();
	cf_open_pair(&base, &options);
	CHECK_OK(fi_av_set(base.side[0].av,
		&(struct fi_av_set_attr){ .flags = FI_UNIVERSE,
			.start_addr = FI_ADDR_NOTAVAIL,
			.end_addr = FI_ADDR_NOTAVAIL },
		&set, NULL));
	CHECK_EQ(fi_join_collective(
			 base.side[0].ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL),
		-FI_ENOEQ);
	CF_CLOSE(set);
	cf_close(&base);
}

static void joins_that_are_refused(void)
{
	struct fid_av_set *set;
	struct fid_mc *mc;

	cl_open(&env, 3, NULL);
	/* The endpoint is not a member. */
	set = cl_empty_set(&env.member[0]);
	CHECK_OK(fi_av_set_insert(set, env.member[0].addr[1]));
	CHECK_FAILS(fi_join_collective(
		env.member[0].ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL));
	/* Not a group's address, nor a set's. */
	CHECK_OK(fi_av_set_insert(set, env.member[0].addr[0]));
	CHECK_FAILS(fi_join_collective(env.member[0].ep, 12345, set, 0, &mc, NULL));
	CHECK_FAILS(fi_join_collective(
		env.member[0].ep, FI_ADDR_NOTAVAIL, NULL, 0, &mc, NULL));
	/* A set of another endpoint's AV. */
	CHECK_FAILS(fi_join_collective(
		env.member[1].ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL));
	CF_CLOSE(set);
	cl_close(&env);
}

CF_SUITE(coll_join,
	CF_CASE(every_kind_of_set, "AVS-001 AVS-002 AVS-003 AVS-005 AVS-006",
		FI_COLLECTIVE),
	CF_CASE(fields_that_are_not_set, "AVS-008", FI_COLLECTIVE),
	CF_CASE(sets_for_collectives, "AVS-007", FI_COLLECTIVE),
	CF_CASE(members_of_combined_sets,
		"AVS-009 AVS-010 AVS-011 AVS-012 AVS-013 AVS-016", FI_COLLECTIVE),
	CF_CASE(join_by_the_address_of_the_set, "AVS-014 COL-004", FI_COLLECTIVE),
	CF_CASE(groups_within_groups, "COL-004 COL-005", FI_COLLECTIVE),
	CF_CASE(joins_in_any_order, "COL-002", FI_COLLECTIVE),
	CF_CASE(no_member_has_joined_before_all_have_called, "COL-003", FI_COLLECTIVE),
	CF_CASE(members_that_are_inserted_late, "COL-003", FI_COLLECTIVE),
	CF_CASE(events_without_a_buffer, "COL-002", FI_COLLECTIVE),
	CF_CASE(a_sleeper_joins, "COL-002", FI_COLLECTIVE),
	CF_CASE(sleepers_join_on_their_own, "COL-002", FI_COLLECTIVE),
	CF_CASE(a_thousand_groups, "COL-016", FI_COLLECTIVE),
	CF_CASE(a_set_is_busy_while_its_group_is_open, "AVS-015", FI_COLLECTIVE),
	CF_CASE(groups_of_one, "COL-001", FI_COLLECTIVE),
	CF_CASE(closing_before_the_join_is_complete, "COL-016", FI_COLLECTIVE),
	CF_CASE(without_an_event_queue, "COL-002", FI_COLLECTIVE),
	CF_CASE(joins_that_are_refused, "COL-001 COL-004", FI_COLLECTIVE));

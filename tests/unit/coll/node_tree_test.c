/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

#include "providers/coll/node/tree.h"

/* The intra-node engine: operations that go through a tree of the members. */

static const enum fi_collective_op kinds[] = { FI_BARRIER, FI_ALLREDUCE, FI_REDUCE,
	FI_BROADCAST };

/* Data in a line, in a cell, of the largest size, and of one that no tree takes. */
static const size_t byte_counts[] = { 0, 8, 56, 64, 4096, 4104 };

static bool goes_through_tree(const struct cm_call *call)
{
	size_t bytes = call->count * call->type->size;

	return call->kind == FI_BARRIER || (bytes && bytes <= 4096);
}

static void add_all(struct test_list *list, uint32_t members, uint64_t *state)
{
	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(byte_counts); i++)
		for (size_t k = 0; k < WF_ARRAY_SIZE(kinds); k++) {
			const struct am_type *type = test_type(FI_DOUBLE);

			test_add(list,
				&(struct cm_call){
					.kind = kinds[k],
					.type = type,
					.op = FI_SUM,
					.count = byte_counts[i / 2] / type->size,
					.members = members,
					.root = (uint32_t)(random_next(state) %
							   members),
				},
				random_next(state) & 1);
		}
}

/* An operation on two numbers, whose root is member 0. */
static void add_two(
	struct test_list *list, enum fi_collective_op kind, uint32_t members)
{
	test_add(list,
		&(struct cm_call){
			.kind = kind,
			.type = test_type(FI_INT32),
			.op = FI_SUM,
			.count = 2,
			.members = members,
		},
		false);
}

/* The tree has all members once, none has more children than it may have, and below the
 * children of a member are equally many, but for one. */
static void check_tree(const struct coll_node *node, uint32_t degree)
{
	const struct coll_tree *tree = &node->tree;
	uint32_t children[TEST_MEMBERS_MAX] = { 0 }, first[TEST_MEMBERS_MAX];

	assert_int_equal(tree->degree, degree);
	assert_int_equal(tree->end[0], node->members);
	for (uint32_t vrank = 1; vrank < node->members; vrank++) {
		uint32_t parent = tree->parent[vrank];

		assert_true(parent < vrank);
		assert_true(tree->end[vrank] > vrank);
		assert_true(tree->end[vrank] <= tree->end[parent]);
		assert_true(++children[parent] <= degree);
		if (children[parent] == 1)
			first[parent] = tree->end[vrank] - vrank;
		assert_in_range(first[parent] + 1 - (tree->end[vrank] - vrank), 1, 2);
	}
}

static void check_plan(const struct test_member *m)
{
	if (m->busy && m->members > 1)
		assert_int_equal(m->node->plan.is_tree, goes_through_tree(&m->call));
}

static void run_checked(struct test_group *group, uint64_t *state)
{
	uint32_t ended = 0;

	while (ended < group->members) {
		ended = 0;
		for (uint32_t i = 0; i < group->members; i++) {
			struct test_member *m = &group->member[i];

			if (m->at < m->list->count && random_next(state) % 4) {
				assert_in_range(test_step(m), 0, 1);
				check_plan(m);
			}
			ended += m->at == m->list->count;
		}
	}
}

static void open_tree(struct test_group *group, uint32_t members, uint32_t degree,
	const struct test_list *list)
{
	test_set_degree(degree);
	test_open(group, members, list);
	test_set_degree(COLL_DEGREE_AUTO);
	test_set_oversubscribed(group, false);
}

/* Give an open group, of which no operation is in progress, a tree of @degree, and let
 * the members run their list again. */
static void set_tree(struct test_group *group, uint32_t degree)
{
	for (uint32_t i = 0; i < group->members; i++) {
		struct test_member *m = &group->member[i];

		m->node->setting[COLL_NODE_DEGREE] = degree;
		coll_tree_build(m->node);
		m->at = 0;
	}
}

/* Each group is opened once: to open it takes longer than to run the list. */
static void members_and_degrees(void **unused)
{
	static const uint32_t degrees[] = { 2, 3, 5, 8 };
	uint64_t state = 1;

	(void)unused;
	test_skip_turns();
	for (uint32_t n = 1; n <= TEST_MEMBERS_MAX; n++) {
		struct test_list list = { 0 };
		struct test_group group;

		open_tree(&group, n, degrees[0], &list);
		for (size_t d = 0; d < WF_ARRAY_SIZE(degrees); d++) {
			add_all(&list, n, &state);
			set_tree(&group, degrees[d]);
			if (n > 1)
				check_tree(group.member[0].node, degrees[d]);
			run_checked(&group, &state);
			test_list_free(&list);
		}
		test_close(&group);
	}
}

/* With operations of other forms in between, members far ahead of others. */
static void mixed_with_others(void **unused)
{
	uint64_t state = 2;

	(void)unused;
	test_skip_turns();
	for (int i = 0; i < test_mixes(); i++) {
		uint32_t n = test_mix_members(&state);
		struct test_list list = { 0 };
		struct test_group group;

		test_add_random(&list, n, 200, i % 2 ? 60000 : 4000, &state);
		open_tree(&group, n, 2 + (uint32_t)i % 4, &list);
		test_run_and_close(&group, &list, &state);
	}
}

/* ---- the same bits ---- */

enum { SUMS = 5, ELEMENTS = 7 };

/* Sums of numbers whose order changes the rounding, and no model tells it. */
static void sum(struct test_group *group, uint64_t seed, double result[][ELEMENTS])
{
	double in[TEST_MEMBERS_MAX][ELEMENTS];
	bool is_busy[TEST_MEMBERS_MAX] = { false },
	     is_over[TEST_MEMBERS_MAX] = { false };
	uint64_t state = 77, turns = seed;
	uint32_t ended = 0;

	for (uint32_t i = 0; i < group->members; i++)
		for (size_t k = 0; k < ELEMENTS; k++)
			in[i][k] = (double)(random_next(&state) >> 11) *
				   (random_next(&state) & 1 ? 1e-9 : -1e7);
	while (ended < group->members) {
		uint32_t i = (uint32_t)(random_next(&turns) % group->members);
		struct coll_node *node = group->member[i].node;
		struct coll_args args = {
			.kind = FI_ALLREDUCE,
			.datatype = FI_DOUBLE,
			.op = FI_SUM,
			.count = ELEMENTS,
			.size = sizeof(double),
			.buf = in[i],
			.result = result[i],
			.rank = i,
			.members = group->members,
		};
		int ret;

		if (is_over[i])
			continue;
		ret = is_busy[i] ? coll_node_progress(node)
				 : coll_node_start(node, &args);
		assert_in_range(ret, 0, 1);
		is_busy[i] = true;
		is_over[i] = ret;
		ended += (uint32_t)ret;
	}
}

static void the_same_bits(void **unused)
{
	static double first[TEST_MEMBERS_MAX][ELEMENTS],
		again[TEST_MEMBERS_MAX][ELEMENTS];
	static const uint32_t members[] = { 2, 7, 16, 33 };
	struct test_list none = { 0 };

	(void)unused;
	test_skip_turns();
	for (size_t m = 0; m < WF_ARRAY_SIZE(members); m++)
		for (uint32_t degree = COLL_DEGREE_FLAT; degree <= 8; degree++) {
			struct test_group group;

			open_tree(&group, members[m], degree, &none);
			sum(&group, 1, first);
			for (uint64_t seed = 2; seed < 2 + SUMS; seed++) {
				sum(&group, seed, again);
				for (uint32_t i = 0; i < members[m]; i++)
					assert_memory_equal(
						again[i], first[0], sizeof(first[0]));
			}
			test_close(&group);
		}
}

/* ---- data before their flag ---- */

static const struct coll_node *reducing;

/* A sum during which the slot that it fills is not full yet. */
static void sum_unseen(void *dst, const void *a, const void *b, size_t count)
{
	assert_false(coll_is_full(reducing->own, reducing->base));
	for (size_t i = 0; i < count; i++)
		((int32_t *)dst)[i] = ((const int32_t *)a)[i] + ((const int32_t *)b)[i];
}

/* Member 1 of the tree of degree 2 has member 2 below it, and 0 above. */
static void data_come_first(void **unused)
{
	static const uint32_t order[] = { 1, 2, 1, 0, 3, 0, 1, 2, 3 };
	struct test_list list = { 0 };
	struct test_group group;

	(void)unused;
	test_skip_turns();
	test_add(&list,
		&(struct cm_call){
			.kind = FI_ALLREDUCE,
			.type = test_type(FI_INT32),
			.op = FI_SUM,
			.count = 20,
			.members = 4,
		},
		false);
	open_tree(&group, 4, 2, &list);
	for (size_t i = 0; i < WF_ARRAY_SIZE(order); i++) {
		struct test_member *m = &group.member[order[i]];

		reducing = m->node;
		if (m->at == list.count)
			continue;
		assert_in_range(test_step(m), 0, 1);
		m->node->plan.reduce = sum_unseen;
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(group.member[i].at, list.count);
	test_close(&group);
	test_list_free(&list);
}

/* @ahead waits for no member, until its slots are needed again. */
static void run_ahead(enum fi_collective_op kind, uint32_t ahead)
{
	struct test_list list = { 0 };
	struct test_group group;
	uint64_t state = 3;

	for (int i = 0; i < 3 * COLL_SLOTS; i++)
		add_two(&list, kind, 4);
	open_tree(&group, 4, 2, &list);
	for (int i = 0; i < 3 * COLL_SLOTS; i++)
		assert_in_range(test_step(&group.member[ahead]), 0, 1);
	assert_int_equal(group.member[ahead].at, COLL_SLOTS);
	test_run_and_close(&group, &list, &state);
}

static void as_far_ahead_as_there_are_slots(void **unused)
{
	(void)unused;
	test_skip_turns();
	run_ahead(FI_BROADCAST, 0);
	run_ahead(FI_REDUCE, 3);
}

/* ---- the degree ---- */

static void the_first_member_decides(void **unused)
{
	static const uint64_t published[] = { 0, COLL_DEGREE_FLAT, 2, COLL_DEGREE_MAX,
		COLL_DEGREE_MAX + 1, UINT64_MAX };
	struct test_list none = { 0 };

	(void)unused;
	for (size_t i = 0; i < WF_ARRAY_SIZE(published); i++) {
		uint64_t degree = published[i];
		bool is_valid = degree > COLL_DEGREE_FLAT && degree <= COLL_DEGREE_MAX;
		struct test_group group;

		open_tree(&group, 3, COLL_DEGREE_FLAT, &none);
		for (uint32_t m = 0; m < 3; m++)
			assert_int_equal(group.member[m].node->tree.degree, 0);
		/* It may be any number, which others check. */
		atomic_store(
			&group.member[0].node->own->setting[COLL_NODE_DEGREE], degree);
		for (uint32_t m = 0; m < 3; m++) {
			coll_node_settled(group.member[m].node);
			assert_int_equal(group.member[m].node->tree.degree,
				is_valid ? degree : 0);
		}
		test_close(&group);
	}
}

/* Does an operation of a group whose degree is not set go through a tree? */
static bool has_tree(uint32_t members, bool is_oversubscribed,
	enum fi_collective_op kind, size_t bytes)
{
	struct test_list list = { 0 };
	struct test_group group;
	bool ret;

	test_add(&list,
		&(struct cm_call){
			.kind = kind,
			.type = test_type(FI_INT64),
			.op = FI_SUM,
			.count = bytes / 8,
			.members = members,
		},
		false);
	open_tree(&group, members, COLL_DEGREE_AUTO, &list);
	test_set_oversubscribed(&group, is_oversubscribed);
	assert_int_equal(test_step(&group.member[1]), 0);
	ret = group.member[1].node->plan.is_tree;
	for (uint32_t ended = 0; ended < members;) {
		ended = 0;
		for (uint32_t i = 0; i < members; i++) {
			if (!group.member[i].at)
				(void)test_step(&group.member[i]);
			ended += (uint32_t)group.member[i].at;
		}
	}
	test_close(&group);
	test_list_free(&list);
	return ret;
}

static void where_no_degree_is_set(void **unused)
{
	(void)unused;
	assert_true(has_tree(32, false, FI_ALLREDUCE, 64));
	assert_true(has_tree(33, false, FI_ALLREDUCE, 4096));
	assert_false(has_tree(32, false, FI_ALLREDUCE, 56));
	assert_false(has_tree(32, false, FI_BARRIER, 0));
	assert_false(has_tree(32, false, FI_BROADCAST, 64));
	assert_false(has_tree(31, false, FI_ALLREDUCE, 64));
	assert_true(has_tree(12, true, FI_ALLREDUCE, 64));
	assert_false(has_tree(12, true, FI_ALLREDUCE, 56));
	assert_false(has_tree(12, true, FI_BROADCAST, 64));
	assert_false(has_tree(11, true, FI_ALLREDUCE, 64));
}

/* Members that share processors have a tree of one level. */
static void one_level(void **unused)
{
	struct test_list none = { 0 };
	struct test_group group;

	(void)unused;
	open_tree(&group, TEST_MEMBERS_MAX, COLL_DEGREE_AUTO, &none);
	check_tree(group.member[0].node, 8);
	test_set_oversubscribed(&group, true);
	for (uint32_t i = 1; i < TEST_MEMBERS_MAX; i++)
		assert_int_equal(group.member[0].node->tree.parent[i], 0);
	test_close(&group);
}

/* ---- members that leave ---- */

enum { MEMBERS = 15, DEGREE = 2 };

/*
 * Member @gone has closed the group. The others come to an operation, and those that
 * need it learn of that, however far from it they are in the tree.
 */
static void leave(enum fi_collective_op kind, uint32_t gone, const bool *fails)
{
	struct test_list list = { 0 };
	struct test_group group;
	bool over[MEMBERS] = { false };
	uint32_t left = MEMBERS - 1;

	add_two(&list, kind, MEMBERS);
	open_tree(&group, MEMBERS, DEGREE, &list);
	coll_node_close(group.member[gone].node);
	over[gone] = true;
	while (left)
		for (uint32_t i = 0; i < MEMBERS; i++) {
			int ret = over[i] ? 0 : test_step(&group.member[i]);

			if (!ret)
				continue;
			assert_int_equal(ret, fails[i] ? -FI_ECONNRESET : 1);
			over[i] = true;
			left--;
		}
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (i != gone)
			coll_node_close(group.member[i].node);
	test_list_free(&list);
}

/* The tree: 0 has 1 and 8; 1 has 2 and 5; 2 has 3 and 4; 5 has 6 and 7; 8 has 9 and
 * 12. */
static void a_member_has_left(void **unused)
{
	bool all[MEMBERS], above[MEMBERS] = { false }, below[MEMBERS] = { false };

	(void)unused;
	memset(all, true, sizeof(all));
	above[0] = above[1] = above[2] = true;
	below[3] = below[4] = true;
	leave(FI_BARRIER, 2, all);
	leave(FI_ALLREDUCE, 0, all);
	leave(FI_ALLREDUCE, 14, all);
	leave(FI_REDUCE, 2, (bool[MEMBERS]){ [0] = true, [1] = true });
	leave(FI_REDUCE, 4, above);
	leave(FI_BROADCAST, 2, below);
}

/* @waiting has begun an operation. Which others does it need? */
static void check_needs(
	enum fi_collective_op kind, uint32_t waiting, uint32_t first, uint32_t last)
{
	struct test_list list = { 0 };
	struct test_group group;
	uint64_t state = 4;

	add_two(&list, kind, MEMBERS);
	open_tree(&group, MEMBERS, DEGREE, &list);
	assert_int_equal(test_step(&group.member[waiting]), 0);
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (i != waiting)
			assert_int_equal(coll_tree_needs(group.member[waiting].node, i),
				i >= first && i <= last);
	test_run_and_close(&group, &list, &state);
}

/* Member 1 waits for the inputs of its descendants. Member 3 has none: in an allreduce
 * it waits for the result, which needs all. */
static void members_that_are_needed(void **unused)
{
	(void)unused;
	test_skip_turns();
	check_needs(FI_REDUCE, 1, 2, 7);
	check_needs(FI_ALLREDUCE, 3, 0, MEMBERS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_degrees),
		cmocka_unit_test(mixed_with_others),
		cmocka_unit_test(the_same_bits),
		cmocka_unit_test(data_come_first),
		cmocka_unit_test(as_far_ahead_as_there_are_slots),
		cmocka_unit_test(the_first_member_decides),
		cmocka_unit_test(where_no_degree_is_set),
		cmocka_unit_test(one_level),
		cmocka_unit_test(a_member_has_left),
		cmocka_unit_test(members_that_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

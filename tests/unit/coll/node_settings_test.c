/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"
#include "params.h"

/* The intra-node engine: the parameters that say where its methods change. */

static bool is_tree(const struct coll_plan *plan)
{
	return plan->is_tree;
}

static bool shares(const struct coll_plan *plan)
{
	return plan->shares;
}

static bool is_divided(const struct coll_plan *plan)
{
	return plan->chunks > 1;
}

static bool is_direct(const struct coll_plan *plan)
{
	return plan->is_direct;
}

static bool streams(const struct coll_plan *plan)
{
	return plan->streams;
}

/* Operations on FI_INT64. */
struct size {
	uint32_t members;
	size_t count;
};

/* By default a plan is @before for both sizes. With the parameter it still is for
 * @edge, and is not for @beyond, which is the next size. */
static const struct row {
	const char *param, *value;
	bool (*is)(const struct coll_plan *plan);
	bool before, is_oversubscribed;
	enum fi_collective_op kind;
	struct size edge, beyond;
} rows[] = {
	{ "FI_OFF_COLL_DEGREE", "2", is_tree, false, false, FI_ALLREDUCE, { 5, 513 },
		{ 5, 512 } },
	{ "FI_OFF_COLL_TREE_MEMBERS", "5", is_tree, false, false, FI_ALLREDUCE,
		{ 4, 8 }, { 5, 8 } },
	{ "FI_OFF_COLL_TREE_OVERSUBSCRIBED_MEMBERS", "5", is_tree, false, true,
		FI_ALLREDUCE, { 4, 8 }, { 5, 8 } },
	{ "FI_OFF_COLL_TREE_SIZE", "800", is_tree, true, false, FI_ALLREDUCE,
		{ 32, 100 }, { 32, 101 } },
	{ "FI_OFF_COLL_SHARE_MEMBERS", "5", shares, true, false, FI_ALLREDUCE,
		{ 5, 1024 }, { 4, 1024 } },
	{ "FI_OFF_COLL_SHARE_SIZE", "800", shares, false, false, FI_REDUCE, { 3, 99 },
		{ 3, 100 } },
	{ "FI_OFF_COLL_CHUNK_SIZE", "512", is_divided, false, false, FI_ALLREDUCE,
		{ 2, 64 }, { 2, 65 } },
	{ "FI_OFF_COLL_DIRECT_SIZE", "800", is_direct, false, false, FI_BROADCAST,
		{ 2, 99 }, { 2, 100 } },
	{ "FI_OFF_COLL_DIRECT_OVERSUBSCRIBED_SIZE", "800", is_direct, false, true,
		FI_ALLTOALL, { 3, 99 }, { 3, 100 } },
	{ "FI_OFF_COLL_STREAM_SIZE", "6400", streams, false, false, FI_ALLGATHER,
		{ 4, 49 }, { 4, 50 } },
};

static struct coll_setting defaults[COLL_NODE_SETTINGS];

static void restore(void)
{
	memcpy(coll_node_settings, defaults, sizeof(defaults));
}

static struct cm_call call_of(const struct row *row, struct size size)
{
	return (struct cm_call){
		.kind = row->kind,
		.type = test_type(FI_INT64),
		.op = FI_SUM,
		.count = size.count,
		.members = size.members,
		.root = size.members - 1,
	};
}

/* Is the operation planned like that, at all members? Its results are checked. */
static bool is_planned(const struct row *row, struct size size)
{
	struct cm_call call = call_of(row, size);
	struct test_list list = { 0 };
	uint64_t state = 1;
	struct test_group group;
	uint32_t planned = 0;

	for (int i = 0; i < 4; i++)
		test_add(&list, &call, i % 2);
	test_open(&group, size.members, &list);
	test_set_oversubscribed(&group, row->is_oversubscribed);
	test_run_in_turn(&group, &state);
	for (uint32_t i = 0; i < size.members; i++)
		planned += row->is(&group.member[i].node->plan);
	assert_true(!planned || planned == size.members);
	test_close(&group);
	test_list_free(&list);
	return planned;
}

static void where_methods_change(void **state)
{
	bool covered[COLL_NODE_SETTINGS] = { false };

	(void)state;
	test_skip_turns();
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int which = 0;

		assert_int_equal(is_planned(row, row->edge), row->before);
		assert_int_equal(is_planned(row, row->beyond), row->before);
		params_set(row->param, row->value);
		assert_int_equal(params_changed(coll_node_settings, defaults,
					 COLL_NODE_SETTINGS, &which),
			1);
		covered[which] = true;
		assert_int_equal(is_planned(row, row->edge), row->before);
		assert_int_equal(is_planned(row, row->beyond), !row->before);
		restore();
	}
	for (int i = 0; i < COLL_NODE_SETTINGS; i++)
		assert_true(covered[i]);
}

/* Mixes of operations with the smallest value of each setting, and the largest one. */
static void values_at_their_limits(void **unused)
{
	uint64_t state = 2;

	(void)unused;
	test_skip_turns();
	for (int i = 0; i < 2 * COLL_NODE_SETTINGS; i++) {
		struct coll_setting *setting = &coll_node_settings[i / 2];
		uint32_t n = 2 + (uint32_t)(random_next(&state) % 7);
		struct test_list list = { 0 };
		struct test_group group;

		setting->value = i % 2 ? setting->max : setting->min;
		test_add_random(&list, n, limit_amount() ? 60 : 200, 60000, &state);
		test_open(&group, n, &list);
		test_set_oversubscribed(&group, false);
		test_run_in_turn(&group, &state);
		test_close(&group);
		test_list_free(&list);
		restore();
	}
}

/* The first member may publish any number, which others check. */
static void the_first_member_decides(void **unused)
{
	struct test_list none = { 0 };
	struct test_group group;

	(void)unused;
	test_open(&group, 3, &none);
	for (int i = 0; i < COLL_NODE_SETTINGS; i++) {
		const struct coll_setting *setting = &defaults[i];
		const uint64_t published[] = { setting->min, setting->max,
			setting->min - 1, (uint64_t)setting->max + 1, UINT64_MAX };

		for (size_t k = 0; k < WF_ARRAY_SIZE(published); k++) {
			bool is_valid = published[k] >= setting->min &&
					published[k] <= setting->max;

			atomic_store(
				&group.member[0].node->own->setting[i], published[k]);
			for (uint32_t m = 0; m < 3; m++) {
				struct coll_node *node = group.member[m].node;

				coll_node_settled(node);
				assert_int_equal(node->setting[i],
					is_valid ? published[k] : setting->value);
			}
		}
	}
	test_close(&group);
}

static void values_that_are_ignored(void **state)
{
	static const struct {
		const char *param, *value;
	} bad[] = {
		{ "FI_OFF_COLL_DEGREE", "65" },
		{ "FI_OFF_COLL_TREE_MEMBERS", "1" },
		{ "FI_OFF_COLL_TREE_OVERSUBSCRIBED_MEMBERS", "1" },
		{ "FI_OFF_COLL_TREE_SIZE", "32769" },
		{ "FI_OFF_COLL_SHARE_MEMBERS", "1" },
		{ "FI_OFF_COLL_SHARE_SIZE", "56" },
		{ "FI_OFF_COLL_CHUNK_SIZE", "63" },
		{ "FI_OFF_COLL_CHUNK_SIZE", "32769" },
		{ "FI_OFF_COLL_DIRECT_SIZE", "56" },
		{ "FI_OFF_COLL_DIRECT_OVERSUBSCRIBED_SIZE", "0" },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		params_check_ignored(bad[i].param, bad[i].value, coll_node_settings,
			defaults, COLL_NODE_SETTINGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_methods_change),
		cmocka_unit_test(values_at_their_limits),
		cmocka_unit_test(the_first_member_decides),
		cmocka_unit_test(values_that_are_ignored),
	};

	memcpy(defaults, coll_node_settings, sizeof(defaults));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

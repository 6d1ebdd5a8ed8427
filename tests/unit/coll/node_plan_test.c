/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/coll/node/copy.h"
#include "providers/coll/node/tree.h"

/* The intra-node engine: the settings of a group, its tree, and what is planned for an
 * operation at a member, field by field. The memory of the first member is the test's,
 * and no other member exists. */

enum { K = 1 << 10 };

static struct coll_segment first;
static struct coll_node node;
static const struct coll_segment *segments[1] = { &first };
static uint8_t in[1], out[32];

static int open_node(void **state)
{
	memset(&first, 0, sizeof(first));
	node = (struct coll_node){
		.own = &first, .segment = segments, .copy = COLL_COPY_AUTO, .members = 4
	};
	coll_settings_publish(&node);
	coll_settings_read(&node);
	coll_copy_init(&node);
	return 0;
}

static int close_node(void **state)
{
	coll_tree_free(&node);
	return 0;
}

/* ---- settings ---- */

/* All settings of the first member are those of the group, unless one of them is not
 * possible. */
static void settings_are_published(void **state)
{
	for (int i = 0; i < COLL_NODE_SETTINGS; i++) {
		const struct coll_setting *setting = &coll_node_settings[i];

		assert_int_equal(atomic_load(&first.setting[i]), setting->value);
		assert_int_equal(node.setting[i], setting->value);
		atomic_store(&first.setting[i], setting->min);
		coll_settings_read(&node);
		assert_int_equal(node.setting[i], setting->min);
		atomic_store(&first.setting[i], setting->max);
		coll_settings_read(&node);
		assert_int_equal(node.setting[i], setting->max);
		if (setting->max < SIZE_MAX)
			atomic_store(&first.setting[i], (uint64_t)setting->max + 1);
		else
			atomic_store(&first.setting[i], setting->min - 1);
		coll_settings_read(&node);
		assert_int_equal(node.setting[i],
			setting->max < SIZE_MAX || setting->min ? setting->value
								: SIZE_MAX);
		atomic_store(&first.setting[i], setting->value);
	}
	atomic_store(&first.setting[COLL_NODE_STREAM_BYTES], 800);
	node.members = 5;
	coll_settings_read(&node);
	assert_int_equal(node.stream_part, 800 / 25);
}

/* ---- the tree ---- */

static void build(uint32_t members, size_t degree)
{
	coll_tree_free(&node);
	node.members = members;
	node.setting[COLL_NODE_DEGREE] = degree;
	assert_true(coll_tree_init(&node));
	coll_tree_build(&node);
}

static void trees_have_degrees(void **state)
{
	static const struct {
		uint32_t members;
		size_t setting;
		bool oversubscribed, is_auto;
		uint32_t degree;
	} rows[] = {
		{ 1, 2, false, false, 0 },
		{ 2, 2, false, false, 2 },
		{ 9, COLL_DEGREE_FLAT, false, false, 0 },
		{ 9, 3, false, false, 3 },
		{ 31, COLL_DEGREE_AUTO, false, true, 0 },
		{ 32, COLL_DEGREE_AUTO, false, true, 8 },
		{ 11, COLL_DEGREE_AUTO, true, true, 0 },
		{ 12, COLL_DEGREE_AUTO, true, true, COLL_DEGREE_MAX },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		node.oversubscribed = rows[i].oversubscribed;
		build(rows[i].members, rows[i].setting);
		assert_int_equal(node.tree.degree, rows[i].degree);
		assert_int_equal(node.tree.is_auto, rows[i].is_auto);
		assert_int_equal(
			coll_has_tiny_tree(&node), rows[i].degree && !rows[i].is_auto);
	}
}

/* Below the children of a member are equally many; the first ones have one more. */
static void trees_have_a_form(void **state)
{
	static const uint16_t parent7[] = { 0, 0, 1, 1, 0, 4, 4 };
	static const uint16_t end7[] = { 7, 4, 3, 4, 7, 6, 7 };
	static const uint16_t parent8[] = { 0, 0, 1, 1, 0, 4, 0, 6 };
	static const uint16_t end8[] = { 8, 4, 3, 4, 6, 6, 8, 8 };

	build(7, 2);
	assert_memory_equal(node.tree.parent, parent7, sizeof(parent7));
	assert_memory_equal(node.tree.end, end7, sizeof(end7));
	build(8, 3);
	assert_memory_equal(node.tree.parent, parent8, sizeof(parent8));
	assert_memory_equal(node.tree.end, end8, sizeof(end8));
	coll_tree_free(&node);
	assert_null(node.tree.parent);
	assert_int_equal(node.tree.degree, 0);
}

/* ---- plans ---- */

/* As an earlier operation may have left it. */
static const struct coll_plan dirty = {
	.shares = true,
	.is_joint = true,
	.stride = 77,
	.chunks = 77,
	.uses = 77,
	.ahead = 77,
	.size = 77,
	.part = 77,
	.piece = 77,
	.parts = 77,
	.first = 77,
	.end = 77,
	.streams = true,
	.is_direct = true,
	.is_tree = true,
	.has_up = true,
	.has_down = true,
	.copy_class = 77,
	.kind = FI_GATHER,
	.root = 77,
};

static const struct coll_plan *plan(enum fi_collective_op kind, uint32_t members,
	uint32_t rank, uint32_t root, size_t bytes, bool in_place)
{
	struct coll_args args = {
		.kind = kind,
		.datatype = FI_UINT8,
		.op = FI_BOR,
		.count = bytes,
		.size = 1,
		.buf = in_place ? out : in,
		.result = out,
		.root = root,
		.rank = rank,
		.members = members,
	};

	node.members = members;
	node.rank = rank;
	node.plan = dirty;
	coll_plan(&node, &args);
	assert_int_equal(node.plan.kind, kind);
	assert_int_equal(node.plan.size, 1);
	assert_int_equal(node.plan.part, kind == FI_BARRIER ? 0 : bytes);
	assert_ptr_equal(node.plan.out, out);
	if (coll_roles[kind][0].combines)
		assert_ptr_equal(node.plan.reduce, coll_reduce(FI_UINT8, FI_BOR));
	return &node.plan;
}

/* How data are divided into chunks. */
static const struct chunk_row {
	enum fi_collective_op kind;
	uint32_t members;
	size_t bytes;
	bool shares;
	uint32_t parts, stride;
	uint64_t chunks;
	size_t piece;
} chunk_rows[] = {
	{ FI_BARRIER, 4, 5, false, 1, 1, 1, 4 * K },
	{ FI_BROADCAST, 4, 0, false, 1, 1, 0, 4 * K },
	{ FI_BROADCAST, 4, 4 * K, false, 1, 1, 1, 4 * K },
	{ FI_BROADCAST, 4, 4 * K + 1, false, 1, 1, 2, 4 * K },
	{ FI_BROADCAST, 4, 8 * K, false, 1, 1, 2, 4 * K },
	{ FI_BROADCAST, 4, 40000, false, 1, 1, 5, 9984 },
	{ FI_BROADCAST, 4, 200000, false, 1, 1, 7, 32 * K },
	{ FI_SCATTER, 8, 4 * K, false, 8, 1, 1, 4 * K },
	{ FI_SCATTER, 16, 4 * K, false, 16, 1, 2, 2 * K },
	{ FI_ALLTOALL, 3, 40000, false, 3, 1, 5, 9984 },
	{ FI_REDUCE_SCATTER, 9, 8 * K, false, 9, 1, 3, 3584 },
	{ FI_GATHER, 16, 4 * K, false, 1, 1, 1, 4 * K },
	{ FI_ALLREDUCE, 3, 8 * K - 1, false, 1, 1, 2, 4 * K },
	{ FI_ALLREDUCE, 2, 8 * K, false, 1, 1, 2, 4 * K },
	{ FI_ALLREDUCE, 3, 8 * K, true, 1, 2, 2, 4 * K },
	{ FI_REDUCE, 3, 8 * K, true, 1, 2, 2, 4 * K },
};

static void data_are_divided(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(chunk_rows); i++) {
		const struct chunk_row *row = &chunk_rows[i];
		const struct coll_plan *p =
			plan(row->kind, row->members, 1, 0, row->bytes, false);

		assert_int_equal(p->shares, row->shares);
		assert_int_equal(p->parts, row->parts);
		assert_int_equal(p->stride, row->stride);
		assert_int_equal(p->chunks, row->chunks);
		assert_int_equal(p->piece, row->piece);
		assert_int_equal(p->uses, row->chunks * row->stride);
		assert_int_equal(p->ahead, COLL_SLOTS / row->stride);
		assert_int_equal(p->copy_class, -1);
		assert_int_equal(p->root, 0);
		assert_false(p->is_direct);
		assert_false(p->is_tree);
		assert_false(p->streams);
	}
}

static void check_sources(
	const struct coll_plan *p, uint32_t from, uint32_t end, bool is_joint)
{
	assert_int_equal(p->first, from);
	assert_int_equal(p->end, end);
	assert_int_equal(p->is_joint, is_joint);
}

/* From which members a member takes, and whether that are all others. */
static void members_have_sources(void **state)
{
	check_sources(plan(FI_BARRIER, 4, 1, 0, 0, false), 0, 4, true);
	check_sources(plan(FI_ALLREDUCE, 4, 1, 0, 8, false), 0, 4, true);
	check_sources(plan(FI_ALLREDUCE, 4, 1, 0, 0, false), 0, 4, false);
	check_sources(plan(FI_GATHER, 4, 2, 2, 8, false), 0, 4, false);
	check_sources(plan(FI_BROADCAST, 4, 1, 2, 8, false), 2, 3, false);
	check_sources(plan(FI_SCATTER, 4, 1, 3, 8, false), 3, 4, false);
	/* The other one of two members is all others. */
	check_sources(plan(FI_BROADCAST, 2, 1, 0, 8, false), 0, 1, true);
	check_sources(plan(FI_BROADCAST, 2, 0, 0, 8, false), 0, 1, false);
	check_sources(plan(FI_SCATTER, 2, 0, 0, 8, false), 0, 1, false);
	check_sources(plan(FI_BROADCAST, 2, 1, 0, 0, false), 0, 1, false);
}

static bool posts(enum fi_collective_op kind, uint32_t rank, uint32_t root,
	size_t bytes, bool in_place)
{
	return plan(kind, 3, rank, root, bytes, in_place)->role.posts;
}

/* The root of a reduction posts its input if it would overwrite it, or if all members
 * share the work. */
static void roots_post_or_not(void **state)
{
	assert_false(posts(FI_REDUCE, 2, 2, 8, false));
	assert_true(posts(FI_REDUCE, 2, 2, 8, true));
	assert_false(posts(FI_REDUCE, 1, 1, 8, true));
	assert_true(posts(FI_REDUCE, 1, 1, 8 * K, false));
	assert_true(posts(FI_REDUCE, 1, 2, 8, false));
	assert_false(posts(FI_GATHER, 2, 2, 8 * K, true));
	assert_true(posts(FI_ALLREDUCE, 2, 0, 8, false));
}

/* In place, the input of a member is its part of the result. */
static void inputs_are_in_place(void **state)
{
	assert_ptr_equal(plan(FI_ALLGATHER, 4, 3, 0, 8, true)->in, out + 24);
	assert_ptr_equal(plan(FI_GATHER, 4, 2, 2, 8, true)->in, out + 16);
	assert_ptr_equal(plan(FI_ALLTOALL, 4, 2, 0, 8, true)->in, out);
	assert_ptr_equal(plan(FI_ALLREDUCE, 4, 2, 0, 8, true)->in, out);
	assert_ptr_equal(plan(FI_ALLGATHER, 4, 3, 0, 8, false)->in, in);
}

static void results_are_streamed(void **state)
{
	node.stream_part = 100;
	assert_true(plan(FI_ALLGATHER, 4, 1, 0, 100, false)->streams);
	assert_true(plan(FI_ALLTOALL, 4, 1, 0, 100, false)->streams);
	assert_false(plan(FI_ALLGATHER, 4, 1, 0, 99, false)->streams);
	assert_false(plan(FI_ALLREDUCE, 4, 1, 0, 100, false)->streams);
	assert_false(plan(FI_GATHER, 4, 0, 0, 100, false)->streams);
}

/* ---- direct operations ---- */

static const struct direct_row {
	enum fi_collective_op kind;
	uint32_t members;
	size_t bytes;
	bool may_read, oversubscribed;
	bool is_direct, is_joint;
	uint32_t stride;
	int copy_class;
} direct_rows[] = {
	{ FI_BROADCAST, 4, 128 * K, true, false, true, false, 2, -1 },
	{ FI_BROADCAST, 4, 128 * K, false, false, false, false, 1, -1 },
	{ FI_BROADCAST, 4, 128 * K - 1, true, false, false, false, 1, -1 },
	{ FI_BROADCAST, 4, 128 * K, true, true, false, false, 1, -1 },
	{ FI_GATHER, 1, 128 * K, true, false, false, false, 1, -1 },
	{ FI_GATHER, 2, 32 * K, true, true, true, false, 2, -1 },
	{ FI_GATHER, 2, 32 * K - 1, true, true, false, false, 1, -1 },
	{ FI_REDUCE, 4, 128 * K, true, false, true, false, 3, -1 },
	{ FI_ALLREDUCE, 4, 128 * K, true, false, true, true, 3, 0 },
	{ FI_ALLREDUCE, 4, 512 * K - 1, true, false, true, true, 3, 0 },
	{ FI_ALLREDUCE, 4, 512 * K, true, false, true, true, 3, 1 },
	{ FI_REDUCE_SCATTER, 4, 2048 * K, true, false, true, true, 2, 6 },
	{ FI_ALLGATHER, 4, 8192 * K, true, false, true, true, 2, 11 },
	{ FI_ALLTOALL, 4, 128 * K, true, false, true, true, 2, 12 },
	{ FI_ALLTOALL, 4, 32768 * K, true, false, true, true, 2, 15 },
};

static void large_data_are_direct(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(direct_rows); i++) {
		const struct direct_row *row = &direct_rows[i];
		const struct coll_plan *p;

		node.may_read = row->may_read;
		node.oversubscribed = row->oversubscribed;
		p = plan(row->kind, row->members, 0, 0, row->bytes, false);
		assert_int_equal(p->is_direct, row->is_direct);
		assert_int_equal(p->copy_class, row->copy_class);
		assert_int_equal(p->stride, row->stride);
		if (!row->is_direct)
			continue;
		assert_int_equal(p->uses, row->stride);
		assert_int_equal(p->chunks, 0);
		assert_int_equal(p->is_joint, row->is_joint);
		assert_false(p->shares);
		assert_false(p->is_tree);
	}
}

static bool is_direct(uint64_t base)
{
	node.base = base;
	return plan(FI_ALLTOALL, 4, 0, 0, 128 * K, false)->is_direct;
}

/* A choice is valid from a later slot use on, and until then the one before. */
static void choices_are_valid_later(void **state)
{
	const int copy_class = 3 * COLL_COPY_SIZES;

	node.may_read = true;
	node.next = 100;
	coll_copy_publish(&node, copy_class, COLL_COPY_SEGMENT);
	assert_true(is_direct(100));
	assert_true(is_direct(100 + 2 * COLL_SLOTS - 1));
	assert_false(is_direct(100 + 2 * COLL_SLOTS));
	assert_int_equal(node.plan.copy_class, copy_class);
	/* Other classes have choices of their own. */
	assert_true(plan(FI_ALLTOALL, 4, 0, 0, 512 * K, false)->is_direct);
	node.next = 200;
	coll_copy_publish(&node, copy_class, COLL_COPY_DIRECT);
	assert_false(is_direct(215));
	assert_true(is_direct(216));
	node.members = 1;
	atomic_store(&first.done, 215);
	assert_false(coll_copy_is_in_force(&node, copy_class));
	atomic_store(&first.done, 216);
	assert_true(coll_copy_is_in_force(&node, copy_class));
}

/* The parameter forces a choice from the beginning. */
static void choices_are_forced(void **state)
{
	node.may_read = true;
	for (enum coll_copy copy = COLL_COPY_DIRECT; copy <= COLL_COPY_AUTO; copy++) {
		node.copy = copy;
		coll_copy_init(&node);
		assert_int_equal(is_direct(0), copy != COLL_COPY_SEGMENT);
		/* There is no choice for it: it is always better. */
		assert_true(plan(FI_GATHER, 4, 0, 0, 128 * K, false)->is_direct);
	}
}

/* ---- operations that go through the tree ---- */

static const struct tree_row {
	enum fi_collective_op kind;
	bool is_root;
	size_t bytes;
	bool is_tree, has_up, has_down, is_joint;
} tree_rows[] = {
	{ FI_BARRIER, false, 0, true, true, true, true },
	{ FI_ALLREDUCE, false, 8, true, true, true, true },
	{ FI_ALLREDUCE, false, 4 * K, true, true, true, true },
	{ FI_ALLREDUCE, false, 4 * K + 1, false, false, false, true },
	{ FI_ALLREDUCE, false, 0, false, false, false, false },
	{ FI_BROADCAST, true, 8, true, false, true, false },
	{ FI_BROADCAST, false, 8, true, false, true, false },
	{ FI_REDUCE, true, 8, true, true, false, true },
	{ FI_REDUCE, false, 8, true, true, false, false },
	{ FI_GATHER, true, 8, false, false, false, false },
	{ FI_ALLGATHER, false, 8, false, false, false, true },
};

static void check_tree_plan(const struct tree_row *row)
{
	const struct coll_plan *p =
		plan(row->kind, 4, 2, row->is_root ? 2 : 3, row->bytes, false);

	assert_int_equal(p->is_tree, row->is_tree);
	assert_int_equal(p->is_joint, row->is_joint);
	if (!row->is_tree)
		return;
	assert_int_equal(p->has_up, row->has_up);
	assert_int_equal(p->has_down, row->has_down);
	assert_int_equal(p->stride, row->has_up + row->has_down);
	assert_int_equal(p->uses, p->stride);
	assert_int_equal(p->chunks, 0);
	/* Where no member is the root, member 0 is at the top. */
	if (row->has_up && row->has_down)
		assert_int_equal(p->root, 0);
	else
		assert_int_equal(p->root, row->is_root ? 2 : 3);
}

static void operations_go_through_the_tree(void **state)
{
	build(4, 2);
	for (size_t i = 0; i < WF_ARRAY_SIZE(tree_rows); i++)
		check_tree_plan(&tree_rows[i]);
}

/* Without a parameter only those that become faster. */
static void few_do_by_default(void **state)
{
	build(32, COLL_DEGREE_AUTO);
	assert_true(plan(FI_ALLREDUCE, 32, 1, 0, 57, false)->is_tree);
	assert_false(plan(FI_ALLREDUCE, 32, 1, 0, 56, false)->is_tree);
	assert_false(plan(FI_BARRIER, 32, 1, 0, 0, false)->is_tree);
	assert_false(plan(FI_BROADCAST, 32, 1, 0, 57, false)->is_tree);
	assert_false(plan(FI_REDUCE, 32, 1, 0, 57, false)->is_tree);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(settings_are_published),
		CASE(trees_have_degrees),
		CASE(trees_have_a_form),
		CASE(data_are_divided),
		CASE(members_have_sources),
		CASE(roots_post_or_not),
		CASE(inputs_are_in_place),
		CASE(results_are_streamed),
		CASE(large_data_are_direct),
		CASE(choices_are_valid_later),
		CASE(choices_are_forced),
		CASE(operations_go_through_the_tree),
		CASE(few_do_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

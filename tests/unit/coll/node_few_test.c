/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

/*
 * The intra-node engine: each kind of operation, each root, in place and not, with few
 * members and data of each form: none, those of a line, one chunk, several chunks, and
 * data that are copied directly. It takes milliseconds; node_test.c has all
 * combinations.
 */

enum { FEW = 4 };

static const struct {
	size_t degree;
	size_t share_bytes, direct_bytes, stream_part;
	bool may_read;
} forms[] = {
	{ COLL_DEGREE_FLAT, SIZE_MAX, SIZE_MAX, SIZE_MAX, false },
	{ COLL_DEGREE_FLAT, 64, SIZE_MAX, 0, false },
	{ 2, SIZE_MAX, SIZE_MAX, SIZE_MAX, false },
	{ COLL_DEGREE_FLAT, SIZE_MAX, 64, SIZE_MAX, true },
	{ COLL_DEGREE_FLAT, SIZE_MAX, 64, 0, true },
};

static void add_each(struct test_list *list, uint32_t members)
{
	static const size_t counts[] = { 0, 1, 7, 8, 37, 150 };

	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++) {
			struct cm_call call = {
				.kind = (enum fi_collective_op)kind,
				.type = test_type(FI_INT64),
				.op = FI_SUM,
				.count = counts[i],
				.members = members,
			};

			for (; call.root < members; call.root++) {
				test_add(list, &call, false);
				test_add(list, &call, true);
				if (!cm_has_root(call.kind))
					break;
			}
		}
}

static void set_form(struct coll_node *node, size_t form)
{
	node->setting[COLL_NODE_DEGREE] = forms[form].degree;
	node->setting[COLL_NODE_SHARE_BYTES] = forms[form].share_bytes;
	node->setting[COLL_NODE_CHUNK_BYTES] = 128;
	node->setting[COLL_NODE_DIRECT_BYTES] = forms[form].direct_bytes;
	node->stream_part = forms[form].stream_part;
	node->may_read = node->may_read && forms[form].may_read;
	coll_tree_build(node);
}

static void each_form(void **unused)
{
	uint64_t state = 1;

	(void)unused;
	test_skip_turns();
	for (uint32_t members = 1; members <= FEW; members++) {
		struct test_list list = { 0 };

		add_each(&list, members);
		for (size_t form = 0; form < WF_ARRAY_SIZE(forms); form++) {
			struct test_group group;

			test_open(&group, members, &list);
			test_set_oversubscribed(&group, false);
			for (uint32_t i = 0; i < members; i++)
				set_form(group.member[i].node, form);
			test_run_in_turn(&group, &state);
			test_close(&group);
		}
		test_list_free(&list);
	}
}

/* A member that leaves while others wait for it ends their operation. */
static void each_kind_without_a_member(void **unused)
{
	(void)unused;
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++)
		for (uint32_t gone = 0; gone < 2; gone++) {
			struct cm_call call = {
				.kind = (enum fi_collective_op)kind,
				.type = test_type(FI_INT64),
				.op = FI_SUM,
				.count = 8,
				.members = 2,
				.root = gone,
			};
			struct test_list list = { 0 };
			struct test_group group;
			bool needed = kind != FI_REDUCE && kind != FI_GATHER;
			int ret;

			test_add(&list, &call, false);
			test_open(&group, 2, &list);
			test_set_oversubscribed(&group, false);
			coll_node_close(group.member[gone].node);
			while (!(ret = test_step(&group.member[!gone])))
				;
			assert_int_equal(ret, needed ? -FI_ECONNRESET : 1);
			coll_node_close(group.member[!gone].node);
			test_list_free(&list);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form),
		cmocka_unit_test(each_kind_without_a_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

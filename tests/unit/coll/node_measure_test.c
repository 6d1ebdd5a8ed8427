/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

#include "providers/coll/node/copy.h"
#include "sys/clock.h"

/* The intra-node engine: for how many operations the first member tries a method of
 * copying, and which one it then prefers. The times of the operations are played. */

enum { COSTS_MAX = 5, PART = 1 << 20, COPY_CLASS = 3 * COLL_COPY_SIZES };

/* Seconds for each operation, so that the time the test itself takes changes
 * nothing. */
#define UNIT UINT64_C(10000000)

/* Operations by direct copies cost 10, 12, 10 and 12 units. Then those of @costs, up to
 * 0, go through the segments, and operations are @then from there on. */
static const struct row {
	uint64_t costs[COSTS_MAX];
	enum coll_copy then;
} rows[] = {
	{ { 20 }, COLL_COPY_DIRECT },
	{ { 19, 13 }, COLL_COPY_DIRECT },
	{ { 19, 12, 13, 11 }, COLL_COPY_DIRECT },
	{ { 12, 12, 20 }, COLL_COPY_DIRECT },
	{ { 12, 9, 12, 12 }, COLL_COPY_SEGMENT },
	{ { 5, 6, 5, 6 }, COLL_COPY_SEGMENT },
};

/* The method of the next operation. */
static enum coll_copy method(const struct coll_node *node)
{
	return node->sample[COPY_CLASS].now;
}

static void play(struct coll_node *node, uint64_t cost)
{
	node->plan = (struct coll_plan){
		.kind = FI_ALLTOALL,
		.part = PART,
		.copy_class = COPY_CLASS,
		.is_direct = method(node) == COLL_COPY_DIRECT,
	};
	node->started_ns = wf_now_ns() - cost * UNIT * (PART >> 10);
	coll_copy_end(node);
}

static void play_row(struct coll_node *node, const struct row *row)
{
	static const uint64_t direct[] = { 10, 12, 10, 12 };

	for (size_t i = 0; i < WF_ARRAY_SIZE(direct); i++) {
		assert_int_equal(method(node), COLL_COPY_DIRECT);
		play(node, direct[i]);
	}
	for (size_t i = 0; i < COSTS_MAX && row->costs[i]; i++) {
		assert_int_equal(method(node), COLL_COPY_SEGMENT);
		assert_int_equal(node->sample[COPY_CLASS].phase, COLL_COPY_OTHER);
		play(node, row->costs[i]);
	}
	assert_int_equal(node->sample[COPY_CLASS].phase, COLL_COPY_SETTLED);
	assert_int_equal(method(node), row->then);
}

static void methods_that_are_slower_are_given_up(void **state)
{
	struct test_list none = { 0 };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct test_group group;

		test_open(&group, 2, &none);
		/* The members see each choice at once. */
		for (uint32_t m = 0; m < 2; m++)
			atomic_store(&group.member[m].node->own->done, COLL_DONE_ALL);
		play_row(group.member[0].node, &rows[i]);
		test_close(&group);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_that_are_slower_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

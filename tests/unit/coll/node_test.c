/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

#include <pthread.h>

/* The intra-node engine: operations of members in one process. */

/* Data in lines and cells, in several chunks, and in shares. */
static const size_t byte_counts[] = { 0, 1, 16, 56, 57, 64, 400, 4096, 9000, 40000,
	200000 };

static void add_kinds(struct test_list *list, uint32_t members, size_t count,
	const struct am_type *type, uint64_t *state)
{
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++)
		test_add(list,
			&(struct cm_call){
				.kind = (enum fi_collective_op)kind,
				.type = type,
				.op = FI_SUM,
				.count = count,
				.members = members,
				.root = (uint32_t)(random_next(state) % members),
			},
			random_next(state) & 1);
}

static void members_1_to_17(void **unused)
{
	const struct am_type *type = test_type(FI_INT32);
	uint64_t state = 1;

	(void)unused;
	test_skip_turns();
	for (uint32_t n = 1; n <= 17; n++) {
		struct test_list list = { 0 };
		struct test_group group;

		for (size_t i = 0; i < WF_ARRAY_SIZE(byte_counts); i++)
			if (byte_counts[i] <= 9000 || n <= 4)
				for (int round = 0; round < 2; round++)
					add_kinds(&list, n, byte_counts[i] / type->size,
						type, &state);
		test_open(&group, n, &list);
		test_set_oversubscribed(&group, false);
		test_run_and_close(&group, &list, &state);
	}
}

static void datatypes_and_ops(void **unused)
{
	static const uint32_t members[] = { 2, 3, 7, 8 };
	static const enum fi_collective_op kinds[] = { FI_ALLREDUCE, FI_REDUCE,
		FI_REDUCE_SCATTER };
	uint64_t state = 2;

	(void)unused;
	test_skip_turns();
	for (size_t i = 0; i < WF_ARRAY_SIZE(members); i++) {
		struct test_list list = { 0 };
		struct test_group group;

		for (size_t j = 0; j < am_type_count * REDUCTIONS * 3; j++) {
			struct cm_call call = {
				.kind = kinds[j % 3],
				.op = (enum fi_op)(j / 3 % REDUCTIONS),
				.type = &am_types[j / 3 / REDUCTIONS],
				.count = 1 + random_next(&state) % 40,
				.members = members[i],
				.root = (uint32_t)(random_next(&state) % members[i]),
			};

			if (cm_reduces(call.type, call.op))
				test_add(&list, &call, random_next(&state) & 1);
		}
		test_open(&group, members[i], &list);
		test_set_oversubscribed(&group, false);
		test_run_and_close(&group, &list, &state);
	}
}

static void random_mixes(void **unused)
{
	uint64_t state = 3;

	(void)unused;
	test_skip_turns();
	for (int i = 0; i < test_mixes(); i++) {
		uint32_t n = test_mix_members(&state);
		struct test_list list = { 0 };
		struct test_group group;

		test_add_random(&list, n, 60, 60000, &state);
		test_open(&group, n, &list);
		test_set_oversubscribed(&group, i < 2);
		if (i % 2)
			test_forbid_reading(&group);
		test_run_and_close(&group, &list, &state);
	}
}

/* Bytes of the parts in the test of measurements: several chunks, and no more than
 * that, because the check of all results takes most of the time. */
enum { MEASURED_PART = 32 << 10 };

/* The choices of one group that were reported, by enum fi_collective_op. */
struct told {
	size_t calls[FI_GATHER + 1];
	enum coll_copy copy[FI_GATHER + 1];
};

static void on_choice(void *arg, const struct coll_node_choice *choice)
{
	struct told *told = arg;
	uint64_t taken = choice->direct_ns, other = choice->segment_ns;

	/* A choice is reported again only after a change. */
	if (told->calls[choice->kind]++)
		assert_int_not_equal(told->copy[choice->kind], choice->copy);
	told->copy[choice->kind] = choice->copy;
	if (choice->copy == COLL_COPY_SEGMENT) {
		taken = choice->segment_ns;
		other = choice->direct_ns;
	}
	assert_true(taken <= other + other / 8 + 1);
	assert_true(taken && other != UINT64_MAX);
	assert_int_equal(choice->part, MEASURED_PART);
}

/* Groups that are opened from now on copy parts of @bytes or more directly. */
static void set_direct_bytes(size_t bytes)
{
	coll_node_settings[COLL_NODE_DIRECT_BYTES].value = bytes;
}

/* The first member changes the way of large data again and again, while others run
 * ahead of it or behind. */
static void copies_by_measurement(void **unused)
{
	static const enum fi_collective_op kinds[] = { FI_ALLREDUCE, FI_ALLGATHER,
		FI_ALLTOALL, FI_REDUCE_SCATTER, FI_BROADCAST, FI_GATHER };
	const size_t default_bytes = coll_node_settings[COLL_NODE_DIRECT_BYTES].value;
	const struct am_type *type = test_type(FI_INT32);
	uint64_t state = 5;

	(void)unused;
	test_skip_turns();
	set_direct_bytes(MEASURED_PART);
	for (uint32_t n = 2; n <= 4; n++) {
		struct test_list list = { 0 };
		struct test_group group;
		struct told told = { { 0 } };
		size_t measured = 0;

		for (size_t i = 0; i < (limit_amount() ? 150 : 400); i++) {
			enum fi_collective_op kind =
				kinds[random_next(&state) % WF_ARRAY_SIZE(kinds)];
			size_t bytes = kind == FI_BROADCAST || kind == FI_GATHER
					       ? random_next(&state) % 64
					       : MEASURED_PART;

			test_add(&list,
				&(struct cm_call){
					.kind = kind,
					.type = type,
					.op = FI_SUM,
					.count = bytes / type->size,
					.members = n,
					.root = (uint32_t)(random_next(&state) % n),
				},
				random_next(&state) & 1);
		}
		test_open(&group, n, &list);
		test_set_oversubscribed(&group, false);
		group.member[0].measures_on = true;
		coll_node_set_tell(group.member[0].node, on_choice, &told);
		test_run_in_turn(&group, &state);
		for (size_t i = 0; i < COLL_COPY_CLASSES; i++)
			measured += group.member[0].node->own->choice[i] != 0;
		assert_int_equal(measured, 4);
		assert_true(told.calls[FI_ALLREDUCE] && told.calls[FI_REDUCE_SCATTER] &&
			    told.calls[FI_ALLGATHER] && told.calls[FI_ALLTOALL]);
		test_close(&group);
		test_list_free(&list);
	}
	set_direct_bytes(default_bytes);
}

static void *thread_main(void *arg)
{
	return test_run(arg) ? arg : NULL;
}

static void members_in_threads(void **unused)
{
	uint64_t state = 4;

	(void)unused;
	for (uint32_t n = 2; n <= 5; n++) {
		struct test_list list = { 0 };
		struct test_group group;
		pthread_t thread[TEST_MEMBERS_MAX];

		test_add_random(&list, n, limit_amount() ? 100 : 300, 100000, &state);
		/* The largest group has a tree. */
		test_set_degree(n == 5 ? 2 : COLL_DEGREE_AUTO);
		test_open(&group, n, &list);
		test_set_degree(COLL_DEGREE_AUTO);
		test_set_oversubscribed(&group, n == 4);
		if (n % 2)
			test_forbid_reading(&group);
		if (THREAD_SANITIZER)
			test_use_one_mapping(&group);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, thread_main,
						 &group.member[i]),
				0);
		for (uint32_t i = 0; i < n; i++) {
			void *failed;

			assert_int_equal(pthread_join(thread[i], &failed), 0);
			assert_null(failed);
		}
		if (THREAD_SANITIZER)
			test_forget_mappings(&group);
		test_close(&group);
		test_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_1_to_17),
		cmocka_unit_test(datatypes_and_ops),
		cmocka_unit_test(random_mixes),
		cmocka_unit_test(copies_by_measurement),
		cmocka_unit_test(members_in_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

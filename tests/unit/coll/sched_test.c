/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched_cases.h"
#include "../../time_limits.h"
#include "providers/coll/sched/choose.h"

/* Every algorithm against the model of collectives, by the simulator of sim.h. */

static void test_members(void **state)
{
	static const size_t counts[] = { 0, 1, 3, 17 };

	(void)state;
	sim.call = (struct cm_call){ .type = sim_type(FI_INT64), .op = FI_SUM };
	for (uint32_t members = 1; members <= SIM_MEMBERS; members++) {
		if (limit_amount() && members > 9 && members % 8 > 1)
			continue;
		sim.call.members = members;
		for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++) {
			sim.call.count = counts[i];
			each_kind_and_root();
		}
	}
}

/* Blocks, or parts of them, of several pieces that are not equal. */
static void test_large(void **state)
{
	static const uint32_t members[] = { 2, 3, 4, 7, 16 };
	const size_t piece = coll_piece_bytes() / sizeof(double _Complex);

	(void)state;
	sim.call =
		(struct cm_call){ .type = sim_type(FI_DOUBLE_COMPLEX), .op = FI_SUM };
	for (size_t i = 0; i < WF_ARRAY_SIZE(members); i++) {
		sim.call.members = members[i];
		sim.call.count = 1000;
		each_kind_and_root();
		if (members[i] > (limit_amount() ? 2 : 4))
			continue;
		for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
			sim.call.kind = kind;
			sim.call.root = members[i] / 2;
			sim.call.count = 2 * piece + 7 * (i % 2);
			if (cm_is_reduction(kind) || kind == FI_BROADCAST)
				each_algorithm();
			sim.call.count = (piece + 11) * members[i] + 1;
			if (kind == FI_ALLREDUCE || kind == FI_REDUCE)
				each_algorithm();
		}
	}
}

/* Two levels, with every algorithm above. */
static void test_levels(void **state)
{
	static struct coll_nodes nodes[SIM_MEMBERS];
	static const size_t counts[] = { 0, 1, 17 };

	(void)state;
	sim.nodes = nodes;
	for (uint32_t i = 0; i < 17 * 5 * WF_ARRAY_SIZE(counts); i++) {
		sim.call = (struct cm_call){ .type = sim_type(FI_INT64),
			.op = FI_SUM,
			.members = 1 + i % 17,
			.count = counts[i / 17 % WF_ARRAY_SIZE(counts)] };
		divide(nodes, i / 17 / WF_ARRAY_SIZE(counts));
		for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
			sim.call.kind = kind;
			for (uint32_t root = 0; root < 3; root++) {
				sim.call.root = root * (sim.call.members - 1) / 2;
				if (coll_sched_has_levels(kind))
					each_algorithm();
			}
		}
	}
}

/* So many bytes that the number of pieces is at its limit. */
static void test_most_pieces(void **state)
{
	const size_t limit =
		coll_piece_bytes() / sizeof(double _Complex) * COLL_PIECES_MAX;

	(void)state;
	sim.call = (struct cm_call){ .type = sim_type(FI_DOUBLE_COMPLEX),
		.op = FI_SUM,
		.members = 2,
		.count = limit + limit / 8 + 5 };
	if (limit_amount())
		skip();
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
		sim.call.kind = kind;
		if (kind == FI_BROADCAST || kind == FI_ALLREDUCE || kind == FI_REDUCE)
			each_algorithm();
	}
}

static void test_datatypes(void **state)
{
	static const uint32_t members[] = { 2, 3, 7, 8 };

	(void)state;
	for (size_t i = 0; i < am_type_count * WF_ARRAY_SIZE(members); i++)
		for (int op = FI_MIN; op <= FI_BXOR; op++) {
			sim.call = (struct cm_call){ .type = &am_types[i / 4],
				.op = op,
				.members = members[i % 4],
				.count = 17,
				.root = 1,
				.seed = (uint32_t)(i + 1) };
			assert_int_equal(cm_reduces(sim.call.type, op),
				coll_reduce(sim.call.type->datatype, op) != NULL);
			for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
				sim.call.kind = kind;
				if (cm_is_reduction(kind)
						? cm_reduces(sim.call.type, op)
						: op == FI_MIN)
					each_algorithm();
			}
		}
}

static void first_of(void *dst, const void *a, const void *b, size_t count)
{
	(void)b;
	memmove(dst, a, count * sizeof(int64_t));
}

static void second_of(void *dst, const void *a, const void *b, size_t count)
{
	(void)a;
	memmove(dst, b, count * sizeof(int64_t));
}

/* Members that compute the same element have its operands in the order of the ranks. */
static void test_order(void **state)
{
	static const enum coll_algo algos[] = { COLL_ALGO_RECURSIVE_DOUBLING,
		COLL_ALGO_RABENSEIFNER };

	(void)state;
	sim.call = (struct cm_call){
		.kind = FI_ALLREDUCE, .type = sim_type(FI_INT64), .count = 40
	};
	sim.in_place = false;
	for (uint32_t i = 0; i < 2 * SIM_MEMBERS; i++) {
		sim.call.members = 1 + i / 2;
		sim.algo = algos[i % 2];
		for (int last = 0; last < 2; last++) {
			const struct sim_member *from =
				&sim.member[last ? sim.call.members - 1 : 0];

			sim.reduce = last ? second_of : first_of;
			sim_run(NULL);
			for (uint32_t rank = 0; rank < sim.call.members; rank++)
				assert_memory_equal(sim.member[rank].result, from->buf,
					from->buf_len);
			sim_end();
		}
	}
}

/* Sums that are not exact have the same bits at all members. */
static void test_same_bits(void **state)
{
	static double values[SIM_MEMBERS][257];
	uint64_t seed = 0x853c49e6748fea9b;

	(void)state;
	for (uint32_t rank = 0; rank < SIM_MEMBERS; rank++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(values[0]); i++)
			values[rank][i] = (double)(int64_t)random_next(&seed) /
					  (double)(1 + random_next(&seed) % 1000);
	for (uint32_t members = 1; members <= SIM_MEMBERS; members++)
		for (int algo = 0; algo < COLL_ALGO_COUNT; algo++) {
			sim.call = (struct cm_call){ .kind = FI_ALLREDUCE,
				.type = sim_type(FI_DOUBLE),
				.op = FI_SUM,
				.count = WF_ARRAY_SIZE(values[0]),
				.members = members };
			sim.algo = algo;
			sim.in_place = false;
			if (!coll_algo_fits(FI_ALLREDUCE, algo))
				continue;
			sim_run(values);
			for (uint32_t rank = 1; rank < members; rank++)
				assert_memory_equal(sim.member[rank].result,
					sim.member[0].result, sim.member[0].result_len);
			sim_end();
		}
}

/* Without memory a schedule is not built, and can be built for less data afterwards. */
static void test_no_memory(void **state)
{
	enum { MEMBERS = 5, ROOT = 2 };
	int failed = 0;

	(void)state;
	if (SANITIZED) /* they end the program instead */
		skip();
	for (int i = 0; i < (FI_GATHER + 1) * COLL_ALGO_COUNT * MEMBERS; i++) {
		struct coll_sched *sched = &sim.member[0].sched;
		struct coll_args args = { .kind = i / MEMBERS / COLL_ALGO_COUNT,
			.datatype = FI_UINT8,
			.op = FI_BOR,
			.count = (size_t)1 << 50,
			.size = 1,
			.root = ROOT,
			.rank = i % MEMBERS,
			.members = MEMBERS };
		int algo = i / MEMBERS % COLL_ALGO_COUNT;

		/* No action is executed: it does not matter where these are. */
		args.buf = args.result = &args;
		if (!coll_algo_fits(args.kind, algo))
			continue;
		if (coll_sched_build(sched, &args, algo)) {
			assert_true(has_in_place(args.kind) || args.kind == FI_SCATTER);
			failed++;
		}
		args.count = 1;
		assert_int_equal(coll_sched_build(sched, &args, algo), 0);
	}
	assert_true(failed > 0);
}

/* The choice is one that the operation has, and the same at all members. */
static void test_choice(void **state)
{
	struct coll_args args = { .datatype = FI_UINT8, .size = 1 };

	(void)state;
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++)
		for (uint32_t members = 1; members <= 1025; members += members / 3 + 1)
			for (size_t count = 0; count < (size_t)1 << 32;
				count += count / 2 + 1) {
				enum coll_algo algo;

				args.kind = kind;
				args.members = members;
				args.count = count;
				args.rank = args.root = 0;
				algo = coll_choose(&args, COLL_ALGO_AUTO);
				assert_true(coll_algo_fits(kind, algo));
				args.rank = members - 1;
				args.root = members / 2;
				assert_int_equal(
					coll_choose(&args, COLL_ALGO_AUTO), algo);
			}
}

/* A forced algorithm is taken where it fits; each has a name of its own. */
static void test_forced(void **state)
{
	struct coll_args args = { .members = 4, .count = 1, .size = 1 };

	(void)state;
	for (int algo = 0; algo < COLL_ALGO_COUNT; algo++) {
		int kinds = 0;

		for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
			args.kind = kind;
			assert_int_equal(coll_choose(&args, algo),
				coll_algo_fits(kind, algo)
					? algo
					: (int)coll_choose(&args, COLL_ALGO_AUTO));
			kinds += coll_algo_fits(kind, algo);
		}
		assert_int_equal(kinds > 0, algo != COLL_ALGO_AUTO);
		for (int other = 0; other < algo; other++)
			assert_string_not_equal(
				coll_algo_name(algo), coll_algo_name(other));
	}
	assert_false(coll_algo_fits(FI_GATHER + 1, COLL_ALGO_LINEAR));
	assert_false(coll_algo_fits(FI_GATHER, COLL_ALGO_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_members, done),
		cmocka_unit_test_teardown(test_large, done),
		cmocka_unit_test_teardown(test_most_pieces, done),
		cmocka_unit_test_teardown(test_datatypes, done),
		cmocka_unit_test_teardown(test_levels, done),
		cmocka_unit_test_teardown(test_order, done),
		cmocka_unit_test_teardown(test_same_bits, done),
		cmocka_unit_test_teardown(test_no_memory, done),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_forced),
	};

	return cmocka_run_group_tests_name("coll_sched", tests, NULL, NULL);
}

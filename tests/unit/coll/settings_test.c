/* SPDX-License-Identifier: BSD-2-Clause */
#include "params.h"
#include "sim.h"

#include "providers/coll/sched/choose.h"
#include "providers/coll/sched/pipeline.h"

/* The engine over messages: the parameters that say where its algorithms change. */

/* Operations on FI_INT64. */
struct size {
	uint32_t members;
	size_t count;
};

/* By default @before is chosen for both sizes. With the parameter it is chosen for
 * @edge, and @after for @beyond, which is the next larger size. */
static const struct row {
	const char *param, *value;
	enum fi_collective_op kind;
	enum coll_algo before, after;
	struct size edge, beyond;
} rows[] = {
	{ "FI_OFF_COLL_BROADCAST_BINOMIAL_SIZE", "800", FI_BROADCAST,
		COLL_ALGO_BINOMIAL, COLL_ALGO_SCATTER_ALLGATHER, { 5, 100 },
		{ 5, 101 } },
	{ "FI_OFF_COLL_ALLREDUCE_DOUBLING_SIZE", "800", FI_ALLREDUCE,
		COLL_ALGO_RECURSIVE_DOUBLING, COLL_ALGO_RABENSEIFNER, { 4, 100 },
		{ 4, 101 } },
	{ "FI_OFF_COLL_ALLREDUCE_DOUBLING_SIZE_OF_TWO", "800", FI_ALLREDUCE,
		COLL_ALGO_RECURSIVE_DOUBLING, COLL_ALGO_RABENSEIFNER, { 2, 100 },
		{ 2, 101 } },
	{ "FI_OFF_COLL_ALLREDUCE_RABENSEIFNER_SIZE", "40000", FI_ALLREDUCE,
		COLL_ALGO_RABENSEIFNER, COLL_ALGO_RING, { 3, 5000 }, { 3, 5001 } },
	{ "FI_OFF_COLL_ALLGATHER_DOUBLING_SIZE", "800", FI_ALLGATHER,
		COLL_ALGO_RECURSIVE_DOUBLING, COLL_ALGO_BRUCK, { 4, 25 }, { 4, 26 } },
	{ "FI_OFF_COLL_ALLGATHER_BRUCK_SIZE", "720", FI_ALLGATHER, COLL_ALGO_BRUCK,
		COLL_ALGO_RING, { 3, 30 }, { 3, 31 } },
	{ "FI_OFF_COLL_ALLTOALL_BRUCK_SIZE", "80", FI_ALLTOALL, COLL_ALGO_BRUCK,
		COLL_ALGO_PAIRWISE, { 8, 10 }, { 8, 11 } },
	{ "FI_OFF_COLL_ALLTOALL_BRUCK_MEMBERS", "5", FI_ALLTOALL, COLL_ALGO_PAIRWISE,
		COLL_ALGO_BRUCK, { 4, 10 }, { 5, 10 } },
	{ "FI_OFF_COLL_REDUCE_BINOMIAL_SIZE", "800", FI_REDUCE, COLL_ALGO_BINOMIAL,
		COLL_ALGO_RABENSEIFNER, { 3, 100 }, { 3, 101 } },
	{ "FI_OFF_COLL_REDUCE_SCATTER_HALVING_SIZE", "800", FI_REDUCE_SCATTER,
		COLL_ALGO_RECURSIVE_HALVING, COLL_ALGO_RING, { 4, 25 }, { 4, 26 } },
	{ "FI_OFF_COLL_REDUCE_SCATTER_FOLDED_SIZE", "720", FI_REDUCE_SCATTER,
		COLL_ALGO_RECURSIVE_HALVING, COLL_ALGO_RING, { 3, 30 }, { 3, 31 } },
	{ "FI_OFF_COLL_SCATTER_BINOMIAL_SIZE", "80", FI_SCATTER, COLL_ALGO_BINOMIAL,
		COLL_ALGO_LINEAR, { 32, 10 }, { 32, 11 } },
	{ "FI_OFF_COLL_SCATTER_BINOMIAL_MEMBERS", "5", FI_SCATTER, COLL_ALGO_LINEAR,
		COLL_ALGO_BINOMIAL, { 4, 10 }, { 5, 10 } },
	{ "FI_OFF_COLL_SCATTER_BINOMIAL_MEMBERS", "5", FI_GATHER, COLL_ALGO_LINEAR,
		COLL_ALGO_BINOMIAL, { 4, 10 }, { 5, 10 } },
};

static struct coll_setting defaults[COLL_SCHED_SETTINGS];

static void restore(void)
{
	memcpy(coll_sched_settings, defaults, sizeof(defaults));
}

static enum coll_algo choice(enum fi_collective_op kind, struct size size)
{
	return coll_choose(
		&(struct coll_args){
			.kind = kind,
			.datatype = FI_INT64,
			.op = FI_SUM,
			.count = size.count,
			.size = sizeof(int64_t),
			.members = size.members,
		},
		COLL_ALGO_AUTO);
}

/* Execute the operation by the algorithm that is chosen, and check the results. */
static void run(enum fi_collective_op kind, struct size size)
{
	sim.call = (struct cm_call){
		.kind = kind,
		.type = sim_type(FI_INT64),
		.op = FI_SUM,
		.count = size.count,
		.members = size.members,
		.root = size.members - 1,
	};
	sim.algo = choice(kind, size);
	sim_run_and_check();
}

static void where_algorithms_change(void **state)
{
	bool covered[COLL_SCHED_SETTINGS] = { [COLL_PIECE_BYTES] = true };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		int which = 0;

		assert_int_equal(choice(row->kind, row->edge), row->before);
		assert_int_equal(choice(row->kind, row->beyond), row->before);
		params_set(row->param, row->value);
		assert_int_equal(params_changed(coll_sched_settings, defaults,
					 COLL_SCHED_SETTINGS, &which),
			1);
		covered[which] = true;
		assert_int_equal(choice(row->kind, row->edge), row->before);
		assert_int_equal(choice(row->kind, row->beyond), row->after);
		run(row->kind, row->edge);
		run(row->kind, row->beyond);
		restore();
	}
	for (int i = 0; i < COLL_SCHED_SETTINGS; i++)
		assert_true(covered[i]);
}

static void no_limit(void **state)
{
	const struct size large = { 5, (size_t)1 << 40 };

	(void)state;
	assert_int_equal(choice(FI_BROADCAST, large), COLL_ALGO_SCATTER_ALLGATHER);
	params_set("FI_OFF_COLL_BROADCAST_BINOMIAL_SIZE", "-1");
	assert_int_equal(choice(FI_BROADCAST, large), COLL_ALGO_BINOMIAL);
	restore();
}

/* Number of actions of member 0. */
static size_t acts(void)
{
	size_t count;

	sim_run(NULL);
	sim_check_results();
	count = sim.member[0].sched.count;
	sim_end();
	return count;
}

static void pieces(void **state)
{
	static const enum fi_collective_op kinds[] = { FI_ALLREDUCE, FI_REDUCE,
		FI_BROADCAST };
	size_t whole;

	(void)state;
	assert_int_equal(coll_pieces(256 << 10), 1);
	assert_int_equal(coll_pieces((256 << 10) + 1), 2);
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		sim.call = (struct cm_call){
			.kind = kinds[i],
			.type = sim_type(FI_INT64),
			.op = FI_SUM,
			.count = 67,
			.members = 3,
		};
		sim.algo = kinds[i] == FI_ALLREDUCE ? COLL_ALGO_RECURSIVE_DOUBLING
						    : COLL_ALGO_BINOMIAL;
		whole = acts();
		/* A multiple of 64. */
		params_set("FI_OFF_COLL_PIECE_SIZE", "191");
		assert_int_equal(coll_pieces(128), 1);
		assert_int_equal(coll_pieces(129), 2);
		assert_true(acts() > whole);
		restore();
	}
}

static void values_that_are_ignored(void **state)
{
	static const struct {
		const char *param, *value;
	} bad[] = {
		{ "FI_OFF_COLL_PIECE_SIZE", "63" },
		{ "FI_OFF_COLL_ALLTOALL_BRUCK_MEMBERS", "1" },
		{ "FI_OFF_COLL_SCATTER_BINOMIAL_MEMBERS", "0" },
		{ "FI_OFF_COLL_REDUCE_BINOMIAL_SIZE", "99999999999999999999999" },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		params_check_ignored(bad[i].param, bad[i].value, coll_sched_settings,
			defaults, COLL_SCHED_SETTINGS);
}

static int done(void **state)
{
	(void)state;
	sim_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(where_algorithms_change, done),
		cmocka_unit_test(no_limit),
		cmocka_unit_test_teardown(pieces, done),
		cmocka_unit_test(values_that_are_ignored),
	};

	memcpy(defaults, coll_sched_settings, sizeof(defaults));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

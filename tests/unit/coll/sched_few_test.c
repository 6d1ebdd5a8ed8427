/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched_cases.h"
#include "providers/coll/sched/choose.h"

/* Every algorithm with few members, each division of them among nodes, and data of one
 * piece and of several. It takes milliseconds; sched_test.c has many of them. */

enum { FEW = 6 };

static void few_members(void **state)
{
	static const size_t counts[] = { 0, 1, 5 };

	(void)state;
	sim.call = (struct cm_call){ .type = sim_type(FI_INT64), .op = FI_SUM };
	for (uint32_t members = 1; members <= FEW; members++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++) {
			sim.call.members = members;
			sim.call.count = counts[i];
			each_kind_and_root();
		}
}

static void few_members_of_nodes(void **state)
{
	static struct coll_nodes nodes[SIM_MEMBERS];
	enum { LAYOUTS = 5 };

	(void)state;
	sim.nodes = nodes;
	for (uint32_t i = 0; i < FEW * LAYOUTS; i++) {
		sim.call = (struct cm_call){ .type = sim_type(FI_INT64),
			.op = FI_SUM,
			.members = 1 + i % FEW,
			.count = i / FEW % 3 };
		divide(nodes, i / FEW);
		for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
			sim.call.kind = kind;
			for (uint32_t root = 0; root < sim.call.members; root++) {
				sim.call.root = root;
				if (coll_sched_has_levels(kind))
					each_algorithm();
			}
		}
	}
}

static void few_pieces(void **state)
{
	const size_t piece = coll_piece_bytes() / sizeof(double _Complex);

	(void)state;
	sim.call =
		(struct cm_call){ .type = sim_type(FI_DOUBLE_COMPLEX), .op = FI_SUM };
	for (uint32_t members = 2; members <= 3; members++)
		for (int kind = FI_BROADCAST; kind <= FI_REDUCE; kind++) {
			sim.call.members = members;
			sim.call.kind = kind;
			sim.call.root = members - 1;
			sim.call.count = piece + 11;
			if (cm_is_reduction(kind) || kind == FI_BROADCAST)
				each_algorithm();
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(few_members, done),
		cmocka_unit_test_teardown(few_members_of_nodes, done),
		cmocka_unit_test_teardown(few_pieces, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_SCHED_CASES_H
#define TESTS_UNIT_COLL_SCHED_CASES_H

#include "sim.h"

/* Collectives that the simulator runs: with each algorithm and root, and with members
 * that are divided among nodes. */

static inline bool has_in_place(enum fi_collective_op kind)
{
	return kind != FI_BARRIER && kind != FI_BROADCAST && kind != FI_SCATTER;
}

/* With each algorithm of the kind of sim.call, in place and not. */
static inline void each_algorithm(void)
{
	for (int algo = 0; algo < COLL_ALGO_COUNT; algo++) {
		if (!coll_algo_fits(sim.call.kind, algo))
			continue;
		sim.algo = algo;
		for (int place = 0; place <= has_in_place(sim.call.kind); place++) {
			sim.in_place = place;
			sim_run_and_check();
		}
	}
}

static inline void each_kind_and_root(void)
{
	for (int kind = FI_BARRIER; kind <= FI_GATHER; kind++) {
		uint32_t members = sim.call.members;

		sim.call.kind = kind;
		for (uint32_t i = 0; i < (cm_has_root(kind) ? 3u : 1u); i++) {
			sim.call.root = i * (members - 1) / 2;
			each_algorithm();
		}
	}
}

/* How the members of a group are divided among nodes, from all in one to all alone. */
static inline uint32_t node_of(uint32_t layout, uint32_t rank, uint32_t members)
{
	switch (layout) {
	case 0:
		return 0;
	case 1:
		return rank / 4;
	case 2: /* in turn */
		return rank % ((members + 2) / 3);
	case 3: /* of different sizes */
		return rank < 3 ? 0 : rank < 4 ? 1 : 2;
	default:
		return rank;
	}
}

static inline void divide(struct coll_nodes *nodes, uint32_t layout)
{
	static uint32_t of[SIM_MEMBERS], ranks[SIM_MEMBERS], first[SIM_MEMBERS],
		size[SIM_MEMBERS];
	uint32_t members = sim.call.members, count = 0;

	memset(size, 0, sizeof(size));
	for (uint32_t rank = 0; rank < members; rank++) {
		uint32_t node = node_of(layout, rank, members);

		of[rank] = node;
		if (!size[node])
			first[node] = rank;
		ranks[rank] = size[node]++;
		count = WF_MAX(count, node + 1);
	}
	for (uint32_t rank = 0; rank < members; rank++)
		nodes[rank] = (struct coll_nodes){ .count = count,
			.members = size[of[rank]],
			.node_of = of,
			.rank_in_node = ranks,
			.first = first };
}

static inline int done(void **state)
{
	(void)state;
	sim.nodes = NULL;
	sim.reduce = NULL;
	sim_done();
	return 0;
}

#endif

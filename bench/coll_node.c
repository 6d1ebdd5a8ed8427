/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of coll_rows.h on the intra-node engine of collectives alone, without a
 * provider:
 *
 *   coll_node MEMBERS [OPERATION [DEGREE]]
 */
#include <stdatomic.h>

#include "coll_fork.h"
#include "pair.h"
#include "providers/coll/node/node.h"

struct board {
	atomic_int written, attached;
	struct coll_node_card card[COLL_NODE_MEMBERS_MAX];
};

static void run(struct coll_group *group, struct coll_args *args)
{
	struct coll_node *node = group->library;
	int ret;

	args->size = sizeof(double);
	args->datatype = FI_DOUBLE;
	args->rank = (uint32_t)group->rank;
	args->members = (uint32_t)group->members;
	ret = coll_node_start(node, args);
	while (!ret)
		ret = coll_node_progress(node);
	if (ret < 0) {
		errno = -ret;
		pair_fail("collective");
	}
}

static void one_call(struct coll_group *group, const struct coll_call *call)
{
	static const enum fi_collective_op kinds[] = {
		[COLL_BARRIER] = FI_BARRIER,
		[COLL_ALLREDUCE] = FI_ALLREDUCE,
		[COLL_BROADCAST] = FI_BROADCAST,
		[COLL_ALLTOALL] = FI_ALLTOALL,
		[COLL_ALLGATHER] = FI_ALLGATHER,
		[COLL_REDUCE_BROADCAST] = FI_REDUCE,
	};
	struct coll_args args = {
		.kind = kinds[call->op],
		.op = FI_SUM,
		.count = call->count,
		.buf = call->op == COLL_BROADCAST ? call->to : call->from,
		.result = call->to,
		.root = (uint32_t)call->root,
	};

	run(group, &args);
	if (call->op == COLL_REDUCE_BROADCAST) {
		args.kind = FI_BROADCAST;
		args.buf = call->to;
		run(group, &args);
	}
}

static double max(struct coll_group *group, double mine)
{
	double all;
	struct coll_args args = {
		.kind = FI_ALLREDUCE,
		.op = FI_MAX,
		.count = 1,
		.buf = &mine,
		.result = &all,
	};

	run(group, &args);
	return all;
}

static void join(struct coll_group *group, void *memory)
{
	struct board *board = memory;
	struct coll_node *node;

	if (coll_node_prepare(&node, &board->card[group->rank]))
		pair_fail("coll_node_prepare");
	board->written++;
	while (board->written < group->members)
		sched_yield();
	if (coll_node_attach(
		    node, board->card, (uint32_t)group->members, (uint32_t)group->rank))
		pair_fail("coll_node_attach");
	board->attached++;
	while (board->attached < group->members)
		sched_yield();
	coll_node_settled(node);
	group->library = node;
}

int main(int argc, char **argv)
{
	struct coll_group group = { .call = one_call, .max = max };

	group.members = argc > 1 ? atoi(argv[1]) : 0;
	if (group.members < 1 || group.members > COLL_NODE_MEMBERS_MAX) {
		fprintf(stderr, "usage: coll_node MEMBERS [OPERATION [DEGREE]]\n");
		return 2;
	}
	if (argc > 3)
		coll_node_settings[COLL_NODE_DEGREE].value = (size_t)atoi(argv[3]);
	return coll_fork(&group, sizeof(struct board), join, argc > 2 ? argv[2] : NULL);
}

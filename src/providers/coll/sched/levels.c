/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <rdma/fi_errno.h>

#include "providers/coll/sched/algorithms.h"

/*
 * Operations in two levels. In the level above, the leaders are the members, numbered
 * by their nodes. The leader of a node is its first member, but the root is the leader
 * of its own node, so that no data take two steps to reach it.
 */

bool coll_sched_has_levels(enum fi_collective_op kind)
{
	return kind == FI_BARRIER || kind == FI_BROADCAST || kind == FI_REDUCE ||
	       kind == FI_ALLREDUCE;
}

uint32_t coll_leader(const struct coll_leaders *leaders, uint32_t node)
{
	const struct coll_nodes *nodes = leaders->nodes;

	if (leaders->has_root && nodes->node_of[leaders->root] == node)
		return leaders->root;
	return nodes->first[node];
}

static struct coll_leaders levels_leaders_of(
	const struct coll_args *args, const struct coll_nodes *nodes)
{
	return (struct coll_leaders){
		.nodes = nodes,
		.has_root = args->kind == FI_BROADCAST || args->kind == FI_REDUCE,
		.root = args->root,
	};
}

struct coll_args coll_leader_args(
	const struct coll_args *args, const struct coll_nodes *nodes)
{
	struct coll_args upper = *args;

	upper.members = nodes->count;
	upper.rank = nodes->node_of[args->rank];
	upper.root = 0;
	if (levels_leaders_of(args, nodes).has_root)
		upper.root = nodes->node_of[args->root];
	return upper;
}

/* Add an operation of @kind on @buf and @result among the members of the node, with
 * their leader as the root. */
static void levels_node_op(struct coll_build *b, uint32_t i, enum fi_collective_op kind,
	const void *buf, void *result)
{
	const struct coll_nodes *nodes = b->leaders->nodes;
	struct coll_args op = *b->args;
	uint32_t leader = coll_leader(b->leaders, nodes->node_of[op.rank]);

	if (nodes->members == 1)
		return;
	op.kind = kind;
	op.buf = buf;
	op.result = result;
	op.members = nodes->members;
	op.root = nodes->rank_in_node[leader];
	op.rank = nodes->rank_in_node[op.rank];
	coll_node_act(b, i, &op);
}

/* Add the operation among the leaders, on @buf and @result. Other members take no part
 * in it. */
static void levels_upper_op(
	struct coll_build *b, enum coll_algo algo, const void *buf, void *result)
{
	const struct coll_args *args = b->args;
	struct coll_args upper = coll_leader_args(args, b->leaders->nodes);

	if (coll_leader(b->leaders, upper.rank) != args->rank)
		return;
	upper.buf = buf;
	upper.result = result;
	b->args = &upper;
	coll_run_algorithm(b, algo);
	b->args = args;
}

/* Memory for the result of the node's reduction: the root's result, or memory of the
 * schedule. NULL: no memory. */
static void *levels_partial_of(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_sched *sched = b->sched;
	size_t len = coll_block_len(args);

	if (args->rank == args->root)
		return args->result;
	if (len > sched->partial_size) {
		free(sched->partial);
		sched->partial = malloc(len);
		sched->partial_size = sched->partial ? len : 0;
	}
	if (!sched->partial)
		b->err = -FI_ENOMEM;
	return sched->partial;
}

static void levels_reduce(struct coll_build *b, enum coll_algo algo)
{
	const struct coll_args *args = b->args;
	const struct coll_nodes *nodes = b->leaders->nodes;
	void *partial;

	if (nodes->members == 1) {
		levels_upper_op(b, algo, args->buf, args->result);
		return;
	}
	if (coll_leader(b->leaders, nodes->node_of[args->rank]) != args->rank) {
		levels_node_op(b, 0, FI_REDUCE, args->buf, NULL);
		return;
	}
	partial = levels_partial_of(b);
	if (!partial)
		return;
	levels_node_op(b, 0, FI_REDUCE, args->buf, partial);
	levels_upper_op(b, algo, partial, args->result);
}

static void levels_allreduce(struct coll_build *b, enum coll_algo algo)
{
	const struct coll_args *args = b->args;

	if (b->leaders->nodes->members == 1) {
		levels_upper_op(b, algo, args->buf, args->result);
		return;
	}
	levels_node_op(b, 0, FI_REDUCE, args->buf, args->result);
	levels_upper_op(b, algo, args->result, args->result);
	levels_node_op(b, 1, FI_BROADCAST, args->result, args->result);
}

int coll_sched_build_levels(struct coll_sched *sched, const struct coll_args *args,
	const struct coll_nodes *nodes, enum coll_algo algo)
{
	struct coll_leaders leaders = levels_leaders_of(args, nodes);
	struct coll_build b = { .sched = sched, .args = args, .leaders = &leaders };

	coll_sched_begin(sched, args);
	if (args->kind != FI_BARRIER && !args->count)
		return 0;
	switch (args->kind) {
	case FI_BARRIER:
		levels_node_op(&b, 0, FI_BARRIER, NULL, NULL);
		levels_upper_op(&b, algo, NULL, NULL);
		levels_node_op(&b, 1, FI_BARRIER, NULL, NULL);
		break;
	case FI_BROADCAST:
		levels_upper_op(&b, algo, args->buf, args->result);
		levels_node_op(&b, 0, FI_BROADCAST, args->buf, args->result);
		break;
	case FI_REDUCE:
		levels_reduce(&b, algo);
		break;
	default:
		levels_allreduce(&b, algo);
		break;
	}
	return b.err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_SCHED_H
#define WF_COLL_SCHED_SCHED_H

#include <stdbool.h>

#include "providers/coll/args.h"
#include "providers/coll/reduce.h"

/*
 * A schedule: what one member does in one collective operation, as a list of actions.
 * It is built completely before it runs (build functions below) and runs without
 * knowing the algorithm, so that algorithms are tested without a network.
 *
 * Actions are executed in their order. SEND and RECV are only started; COPY and REDUCE
 * are done at once; WAIT waits until all transfers that were started before it have
 * ended. The end of the list waits, too. So one piece can be reduced while the next one
 * is under way. Transfers between two members match in the order in which both list
 * them.
 */
enum coll_act_kind {
	COLL_ACT_SEND,   /* send @len bytes at @src to member @peer */
	COLL_ACT_RECV,   /* receive exactly @len bytes from member @peer to @dst */
	COLL_ACT_COPY,   /* copy @len bytes from @src to @dst */
	COLL_ACT_REDUCE, /* dst = src op src2, @len bytes */
	COLL_ACT_WAIT,
	/* WAIT, then execute the operation coll_sched.node[@peer] in the node engine,
	 * to its end. */
	COLL_ACT_NODE,
};

struct coll_act {
	enum coll_act_kind kind;
	uint32_t peer; /* rank of the other member */
	size_t len;    /* length in bytes; may be 0 in SEND and RECV */
	const void *src, *src2;
	void *dst;
};

/* Zeroed initially. The caller serialises the calls for one schedule. */
struct coll_sched {
	struct coll_act *act;
	size_t count, capacity;
	void *temp; /* memory that the actions use */
	size_t temp_size;
	void *partial; /* the same; for the partial result of a node */
	size_t partial_size;
	struct coll_args node[2]; /* operations among the members of one node */
	coll_reduce_fn *reduce;
	size_t elem; /* size of an element of REDUCE in bytes */
};

enum coll_algo {
	COLL_ALGO_AUTO,
	COLL_ALGO_DISSEMINATION,     /* barrier */
	COLL_ALGO_BINOMIAL,          /* broadcast, reduce, scatter, gather */
	COLL_ALGO_SCATTER_ALLGATHER, /* broadcast */
	/* allreduce; allgather, by Bruck's algorithm if the number of members is no
	 * power of two */
	COLL_ALGO_RECURSIVE_DOUBLING,
	COLL_ALGO_RABENSEIFNER, /* allreduce, reduce */
	COLL_ALGO_RING,         /* allreduce, allgather, reduce_scatter */
	COLL_ALGO_BRUCK,        /* alltoall, allgather */
	COLL_ALGO_PAIRWISE,     /* alltoall, reduce_scatter */
	/* Scatter, gather, broadcast: the root communicates with each member. */
	COLL_ALGO_LINEAR,
	COLL_ALGO_RECURSIVE_HALVING, /* reduce_scatter */
	COLL_ALGO_COUNT,
};

/* The name of @algo in parameters and in the log. */
const char *coll_algo_name(enum coll_algo algo);

/* Is @algo an algorithm for @kind? */
bool coll_algo_fits(enum fi_collective_op kind, enum coll_algo algo);

/* The algorithm for @args; never COLL_ALGO_AUTO. It depends only on what all members
 * have in common: kind, bytes, members, op and datatype. @forced: the parameter for
 * this kind, or COLL_ALGO_AUTO. */
enum coll_algo coll_choose(const struct coll_args *args, enum coll_algo forced);

/* Build the schedule of @args by @algo, which is one for its kind. A schedule that was
 * built before, and has run to its end, is replaced and keeps its memory. 0 or
 * -FI_ENOMEM. In either case coll_sched_done frees the memory. */
int coll_sched_build(
	struct coll_sched *sched, const struct coll_args *args, enum coll_algo algo);
void coll_sched_done(struct coll_sched *sched);

/*
 * Two levels, for groups whose members are on several nodes. The members of each node
 * use the node engine. One of them, the leader, takes part for all of them in the level
 * above, which uses messages. A node is a set of members with a node engine of their
 * own, in which they are ordered by rank.
 */
struct coll_nodes {
	uint32_t count;               /* number of nodes */
	uint32_t members;             /* number of members of this member's node */
	const uint32_t *node_of;      /* by rank: node, from 0 to @count - 1 */
	const uint32_t *rank_in_node; /* by rank: rank in the node's engine */
	const uint32_t *first;        /* by node: rank of its first member */
};

/* Does @kind have a schedule in two levels? */
bool coll_sched_has_levels(enum fi_collective_op kind);

/* Like coll_sched_build, but in two levels. @algo: algorithm of the level above, for
 * the arguments that coll_leader_args returns. */
int coll_sched_build_levels(struct coll_sched *sched, const struct coll_args *args,
	const struct coll_nodes *nodes, enum coll_algo algo);

/* The arguments of the operation @args among the leaders, one per node. */
struct coll_args coll_leader_args(
	const struct coll_args *args, const struct coll_nodes *nodes);

#endif

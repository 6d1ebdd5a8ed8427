/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_SCHED_H
#define WF_PROVIDERS_COLL_SCHED_H

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
 * ended. The end of the list waits, too. So a piece can be reduced while the next one
 * is under way. Transfers between two members match in the order in which both list
 * them.
 */
enum coll_act_kind {
	COLL_ACT_SEND,   /* @len bytes at @src to member @peer */
	COLL_ACT_RECV,   /* exactly @len bytes from member @peer to @dst */
	COLL_ACT_COPY,   /* @len bytes from @src to @dst */
	COLL_ACT_REDUCE, /* dst = a op b, @len bytes; @src is a, @src2 is b */
	COLL_ACT_WAIT,
};

struct coll_act {
	enum coll_act_kind kind;
	uint32_t peer; /* rank */
	size_t len;    /* bytes; 0 is possible in SEND and RECV */
	const void *src, *src2;
	void *dst;
};

/* Initialised with zeros. The caller serialises the calls for one schedule. */
struct coll_sched {
	struct coll_act *act;
	size_t count, capacity;
	void *temp; /* memory of the actions */
	size_t temp_size;
	coll_reduce_fn *reduce;
	size_t elem; /* bytes of an element in REDUCE */
};

enum coll_algo {
	COLL_ALGO_AUTO,
	COLL_ALGO_DISSEMINATION,     /* barrier */
	COLL_ALGO_BINOMIAL,          /* broadcast, reduce, scatter, gather */
	COLL_ALGO_SCATTER_ALLGATHER, /* broadcast */
	/* allreduce; allgather, by Bruck if the members are no power of two */
	COLL_ALGO_RECURSIVE_DOUBLING,
	COLL_ALGO_RABENSEIFNER,      /* allreduce, reduce */
	COLL_ALGO_RING,              /* allreduce, allgather, reduce_scatter */
	COLL_ALGO_BRUCK,             /* alltoall, allgather */
	COLL_ALGO_PAIRWISE,          /* alltoall, reduce_scatter */
	COLL_ALGO_LINEAR,            /* scatter, gather, broadcast: the root does all */
	COLL_ALGO_RECURSIVE_HALVING, /* reduce_scatter */
	COLL_ALGO_COUNT,
};

/* The name of @algo as parameters and the log write it. */
const char *coll_algo_name(enum coll_algo algo);

/* Does @kind have @algo? */
bool coll_algo_fits(enum fi_collective_op kind, enum coll_algo algo);

/* The algorithm for @args; never COLL_ALGO_AUTO. Depends only on what all members
 * have in common: kind, bytes, members, op and datatype. @forced: the parameter for
 * this kind, or COLL_ALGO_AUTO. */
enum coll_algo coll_choose(const struct coll_args *args, enum coll_algo forced);

/* Build the schedule of @args by @algo, which fits. A schedule that was built before,
 * and has run to its end, is replaced and keeps its memory. 0 or -FI_ENOMEM. In every
 * case coll_sched_done frees its memory. */
int coll_sched_build(
	struct coll_sched *sched, const struct coll_args *args, enum coll_algo algo);
void coll_sched_done(struct coll_sched *sched);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_ALGORITHMS_H
#define WF_COLL_SCHED_ALGORITHMS_H

#include "providers/coll/sched/build.h"

/*
 * The algorithms, coll_<operation>_<algorithm>. Each one has at least two members; all
 * but the barrier have at least one element. An algorithm for any number of members
 * that pairs members of a power of two first folds the vectors of the other members
 * (fold.h).
 */
typedef void coll_algo_fn(struct coll_build *b);

/* Initialise @sched as an empty schedule for @args. */
void coll_sched_begin(struct coll_sched *sched, const struct coll_args *args);

/* Add the actions of @algo, for any number of members and elements. */
void coll_run_algorithm(struct coll_build *b, enum coll_algo algo);

coll_algo_fn coll_barrier_dissemination;

coll_algo_fn coll_broadcast_linear, coll_broadcast_binomial,
	coll_broadcast_scatter_allgather;
coll_algo_fn coll_scatter_linear, coll_scatter_binomial;
coll_algo_fn coll_gather_linear, coll_gather_binomial;

coll_algo_fn coll_reduce_binomial, coll_reduce_rabenseifner;
coll_algo_fn coll_allreduce_doubling, coll_allreduce_rabenseifner, coll_allreduce_ring;
coll_algo_fn coll_reduce_scatter_halving, coll_reduce_scatter_pairwise,
	coll_reduce_scatter_ring;

coll_algo_fn coll_allgather_doubling, coll_allgather_bruck, coll_allgather_ring;
coll_algo_fn coll_alltoall_bruck, coll_alltoall_pairwise;

#endif

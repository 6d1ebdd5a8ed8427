/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/coll/sched/algorithms.h"
#include "sys/compiler.h"

enum { KINDS = FI_GATHER + 1 };

static const char *const names[COLL_ALGO_COUNT] = {
	[COLL_ALGO_AUTO] = "auto",
	[COLL_ALGO_DISSEMINATION] = "dissemination",
	[COLL_ALGO_BINOMIAL] = "binomial",
	[COLL_ALGO_SCATTER_ALLGATHER] = "scatter_allgather",
	[COLL_ALGO_RECURSIVE_DOUBLING] = "recursive_doubling",
	[COLL_ALGO_RABENSEIFNER] = "rabenseifner",
	[COLL_ALGO_RING] = "ring",
	[COLL_ALGO_BRUCK] = "bruck",
	[COLL_ALGO_PAIRWISE] = "pairwise",
	[COLL_ALGO_LINEAR] = "linear",
	[COLL_ALGO_RECURSIVE_HALVING] = "recursive_halving",
};

static coll_algo_fn *const algorithms[KINDS][COLL_ALGO_COUNT] = {
	[FI_BARRIER] = {
		[COLL_ALGO_DISSEMINATION] = coll_barrier_dissemination,
	},
	[FI_BROADCAST] = {
		[COLL_ALGO_LINEAR] = coll_broadcast_linear,
		[COLL_ALGO_BINOMIAL] = coll_broadcast_binomial,
		[COLL_ALGO_SCATTER_ALLGATHER] = coll_broadcast_scatter_allgather,
	},
	[FI_ALLTOALL] = {
		[COLL_ALGO_BRUCK] = coll_alltoall_bruck,
		[COLL_ALGO_PAIRWISE] = coll_alltoall_pairwise,
	},
	[FI_ALLREDUCE] = {
		[COLL_ALGO_RECURSIVE_DOUBLING] = coll_allreduce_doubling,
		[COLL_ALGO_RABENSEIFNER] = coll_allreduce_rabenseifner,
		[COLL_ALGO_RING] = coll_allreduce_ring,
	},
	[FI_ALLGATHER] = {
		[COLL_ALGO_RECURSIVE_DOUBLING] = coll_allgather_doubling,
		[COLL_ALGO_BRUCK] = coll_allgather_bruck,
		[COLL_ALGO_RING] = coll_allgather_ring,
	},
	[FI_REDUCE_SCATTER] = {
		[COLL_ALGO_RECURSIVE_HALVING] = coll_reduce_scatter_halving,
		[COLL_ALGO_PAIRWISE] = coll_reduce_scatter_pairwise,
		[COLL_ALGO_RING] = coll_reduce_scatter_ring,
	},
	[FI_REDUCE] = {
		[COLL_ALGO_BINOMIAL] = coll_reduce_binomial,
		[COLL_ALGO_RABENSEIFNER] = coll_reduce_rabenseifner,
	},
	[FI_SCATTER] = {
		[COLL_ALGO_BINOMIAL] = coll_scatter_binomial,
		[COLL_ALGO_LINEAR] = coll_scatter_linear,
	},
	[FI_GATHER] = {
		[COLL_ALGO_BINOMIAL] = coll_gather_binomial,
		[COLL_ALGO_LINEAR] = coll_gather_linear,
	},
};

const char *coll_algo_name(enum coll_algo algo)
{
	return names[algo];
}

bool coll_algo_fits(enum fi_collective_op kind, enum coll_algo algo)
{
	return (size_t)kind < KINDS && (size_t)algo < COLL_ALGO_COUNT &&
	       algorithms[kind][algo];
}

static bool sched_reduces(enum fi_collective_op kind)
{
	return kind == FI_REDUCE || kind == FI_ALLREDUCE || kind == FI_REDUCE_SCATTER;
}

void coll_sched_begin(struct coll_sched *sched, const struct coll_args *args)
{
	sched->count = 0;
	sched->elem = args->size;
	sched->reduce = sched_reduces(args->kind)
				? coll_reduce(args->datatype, args->op)
				: NULL;
}

void coll_run_algorithm(struct coll_build *b, enum coll_algo algo)
{
	const struct coll_args *args = b->args;

	if (args->kind != FI_BARRIER && !args->count)
		return;
	if (args->members > 1)
		algorithms[args->kind][algo](b);
	else if (args->kind != FI_BARRIER)
		coll_copy(b, args->result, args->buf, coll_block_len(args));
}

int coll_sched_build(
	struct coll_sched *sched, const struct coll_args *args, enum coll_algo algo)
{
	struct coll_build b = { .sched = sched, .args = args };

	coll_sched_begin(sched, args);
	coll_run_algorithm(&b, algo);
	return b.err;
}

void coll_sched_done(struct coll_sched *sched)
{
	free(sched->act);
	free(sched->temp);
	free(sched->partial);
	*sched = (struct coll_sched){ .act = NULL };
}

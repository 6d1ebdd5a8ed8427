/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/choose.h"
#include "providers/coll/sched/sched.h"

/* The defaults are measured by ./dev bench coll: bench/results/2026-11-22-epyc.md. */
struct coll_setting coll_sched_settings[COLL_SCHED_SETTINGS] = {
	[COLL_BROADCAST_BINOMIAL_BYTES] = { 256 << 10, 0, SIZE_MAX },
	[COLL_ALLREDUCE_DOUBLING_BYTES] = { 32 << 10, 0, SIZE_MAX },
	[COLL_ALLREDUCE_DOUBLING_BYTES_OF_TWO] = { 256 << 10, 0, SIZE_MAX },
	[COLL_ALLREDUCE_RABENSEIFNER_BYTES] = { 256 << 10, 0, SIZE_MAX },
	[COLL_ALLGATHER_DOUBLING_BYTES] = { 8 << 20, 0, SIZE_MAX },
	[COLL_ALLGATHER_BRUCK_BYTES] = { 256 << 10, 0, SIZE_MAX },
	[COLL_ALLTOALL_BRUCK_BYTES] = { 1 << 10, 0, SIZE_MAX },
	[COLL_ALLTOALL_BRUCK_MEMBERS] = { 8, 2, SIZE_MAX },
	[COLL_REDUCE_BINOMIAL_BYTES] = { 1 << 20, 0, SIZE_MAX },
	[COLL_REDUCE_SCATTER_HALVING_BYTES] = { 1 << 20, 0, SIZE_MAX },
	[COLL_REDUCE_SCATTER_FOLDED_BYTES] = { 32 << 10, 0, SIZE_MAX },
	[COLL_SCATTER_BINOMIAL_BYTES] = { 1 << 10, 0, SIZE_MAX },
	[COLL_SCATTER_BINOMIAL_MEMBERS] = { 32, 2, SIZE_MAX },
	[COLL_PIECE_BYTES] = { 256 << 10, COLL_PIECE_ALIGN, SIZE_MAX },
};

static size_t choose_setting(enum coll_sched_setting which)
{
	return coll_sched_settings[which].value;
}

static bool choose_power_of_two(uint32_t members)
{
	return !(members & (members - 1));
}

static enum coll_algo choose_broadcast(uint32_t members, size_t block)
{
	return members <= 2 || block <= choose_setting(COLL_BROADCAST_BINOMIAL_BYTES)
		       ? COLL_ALGO_BINOMIAL
		       : COLL_ALGO_SCATTER_ALLGATHER;
}

static enum coll_algo choose_alltoall(uint32_t members, size_t block)
{
	return members >= choose_setting(COLL_ALLTOALL_BRUCK_MEMBERS) &&
			       block <= choose_setting(COLL_ALLTOALL_BRUCK_BYTES)
		       ? COLL_ALGO_BRUCK
		       : COLL_ALGO_PAIRWISE;
}

static enum coll_algo choose_allreduce(uint32_t members, size_t block)
{
	if (block <= choose_setting(members == 2 ? COLL_ALLREDUCE_DOUBLING_BYTES_OF_TWO
						 : COLL_ALLREDUCE_DOUBLING_BYTES))
		return COLL_ALGO_RECURSIVE_DOUBLING;
	if (choose_power_of_two(members) ||
		block <= choose_setting(COLL_ALLREDUCE_RABENSEIFNER_BYTES))
		return COLL_ALGO_RABENSEIFNER;
	return COLL_ALGO_RING;
}

static enum coll_algo choose_allgather(uint32_t members, size_t total)
{
	if (choose_power_of_two(members) &&
		total <= choose_setting(COLL_ALLGATHER_DOUBLING_BYTES))
		return COLL_ALGO_RECURSIVE_DOUBLING;
	return total <= choose_setting(COLL_ALLGATHER_BRUCK_BYTES) ? COLL_ALGO_BRUCK
								   : COLL_ALGO_RING;
}

static enum coll_algo choose_reduce_scatter(uint32_t members, size_t total)
{
	if (total <= choose_setting(choose_power_of_two(members)
					    ? COLL_REDUCE_SCATTER_HALVING_BYTES
					    : COLL_REDUCE_SCATTER_FOLDED_BYTES))
		return COLL_ALGO_RECURSIVE_HALVING;
	return members == 2 ? COLL_ALGO_PAIRWISE : COLL_ALGO_RING;
}

/* Scatter and gather. */
static enum coll_algo choose_scatter(uint32_t members, size_t block)
{
	return members >= choose_setting(COLL_SCATTER_BINOMIAL_MEMBERS) &&
			       block <= choose_setting(COLL_SCATTER_BINOMIAL_BYTES)
		       ? COLL_ALGO_BINOMIAL
		       : COLL_ALGO_LINEAR;
}

enum coll_algo coll_choose(const struct coll_args *args, enum coll_algo forced)
{
	uint32_t members = args->members;
	size_t block = args->count * args->size, total = block * members;

	if (coll_algo_fits(args->kind, forced))
		return forced;
	switch (args->kind) {
	case FI_BARRIER:
		return COLL_ALGO_DISSEMINATION;
	case FI_BROADCAST:
		return choose_broadcast(members, block);
	case FI_ALLTOALL:
		return choose_alltoall(members, block);
	case FI_ALLREDUCE:
		return choose_allreduce(members, block);
	case FI_ALLGATHER:
		return choose_allgather(members, total);
	case FI_REDUCE_SCATTER:
		return choose_reduce_scatter(members, total);
	case FI_REDUCE:
		return block <= choose_setting(COLL_REDUCE_BINOMIAL_BYTES)
			       ? COLL_ALGO_BINOMIAL
			       : COLL_ALGO_RABENSEIFNER;
	default:
		return choose_scatter(members, block);
	}
}

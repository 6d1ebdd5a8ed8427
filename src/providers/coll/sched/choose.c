/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/choose.h"
#include "providers/coll/sched/sched.h"

/* Up to so many bytes the first algorithm of the name is chosen, and above the second.
 * A block is what fi_collective(3) calls count; total is a block for each member. */
enum {
	BROADCAST_BINOMIAL_BLOCK = 256 << 10,
	ALLREDUCE_DOUBLING_BLOCK = 8 << 10,
	/* Above: Rabenseifner for a power of two of members, else the ring. */
	ALLREDUCE_RING_BLOCK = 128 << 10,
	ALLGATHER_DOUBLING_TOTAL = 64 << 10,
	ALLTOALL_BRUCK_BLOCK = 256,
	ALLTOALL_BRUCK_MEMBERS = 8, /* at least */
	REDUCE_BINOMIAL_BLOCK = 64 << 10,
	REDUCE_SCATTER_HALVING_TOTAL = 32 << 10,
	SCATTER_BINOMIAL_TOTAL = 32 << 10,
};

static bool power_of_two(uint32_t members)
{
	return !(members & (members - 1));
}

static enum coll_algo choose_allreduce(uint32_t members, size_t block)
{
	if (block <= ALLREDUCE_DOUBLING_BLOCK)
		return COLL_ALGO_RECURSIVE_DOUBLING;
	if (power_of_two(members) || block <= ALLREDUCE_RING_BLOCK)
		return COLL_ALGO_RABENSEIFNER;
	return COLL_ALGO_RING;
}

static enum coll_algo choose_allgather(uint32_t members, size_t total)
{
	if (total > ALLGATHER_DOUBLING_TOTAL)
		return COLL_ALGO_RING;
	return power_of_two(members) ? COLL_ALGO_RECURSIVE_DOUBLING : COLL_ALGO_BRUCK;
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
		return members <= 2 || block <= BROADCAST_BINOMIAL_BLOCK
			       ? COLL_ALGO_BINOMIAL
			       : COLL_ALGO_SCATTER_ALLGATHER;
	case FI_ALLTOALL:
		return members >= ALLTOALL_BRUCK_MEMBERS &&
				       block <= ALLTOALL_BRUCK_BLOCK
			       ? COLL_ALGO_BRUCK
			       : COLL_ALGO_PAIRWISE;
	case FI_ALLREDUCE:
		return choose_allreduce(members, block);
	case FI_ALLGATHER:
		return choose_allgather(members, total);
	case FI_REDUCE_SCATTER:
		return total <= REDUCE_SCATTER_HALVING_TOTAL
			       ? COLL_ALGO_RECURSIVE_HALVING
			       : COLL_ALGO_PAIRWISE;
	case FI_REDUCE:
		return block <= REDUCE_BINOMIAL_BLOCK ? COLL_ALGO_BINOMIAL
						      : COLL_ALGO_RABENSEIFNER;
	default: /* scatter and gather */
		return total <= SCATTER_BINOMIAL_TOTAL ? COLL_ALGO_BINOMIAL
						       : COLL_ALGO_LINEAR;
	}
}

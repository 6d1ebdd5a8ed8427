/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/choose.h"
#include "providers/coll/sched/sched.h"

/* Up to this many bytes the first algorithm in the name is chosen, above it the second.
 * A block has the count of fi_collective(3); the total is one block for each member. */
enum {
	BROADCAST_BINOMIAL_BLOCK = 256 << 10,
	ALLREDUCE_DOUBLING_BLOCK = 32 << 10,
	ALLREDUCE_DOUBLING_BLOCK_OF_TWO = 256 << 10, /* for two members */
	/* If the number of members is no power of two, Rabenseifner's algorithm has to
	 * fold; above this size the ring is used. */
	ALLREDUCE_RABENSEIFNER_BLOCK = 256 << 10,
	ALLGATHER_DOUBLING_TOTAL = 8 << 20,
	ALLGATHER_BRUCK_TOTAL = 256 << 10,
	ALLTOALL_BRUCK_BLOCK = 1 << 10,
	ALLTOALL_BRUCK_MEMBERS = 8, /* smallest number of members */
	REDUCE_BINOMIAL_BLOCK = 1 << 20,
	REDUCE_SCATTER_HALVING_TOTAL = 1 << 20,
	/* If the number of members is no power of two. */
	REDUCE_SCATTER_FOLDED_TOTAL = 32 << 10,
	/* With fewer members, or larger blocks, the root communicates with each member.
	 */
	SCATTER_BINOMIAL_MEMBERS = 32,
	SCATTER_BINOMIAL_BLOCK = 1 << 10,
};

static bool power_of_two(uint32_t members)
{
	return !(members & (members - 1));
}

static enum coll_algo choose_allreduce(uint32_t members, size_t block)
{
	if (block <= (members == 2 ? ALLREDUCE_DOUBLING_BLOCK_OF_TWO
				   : ALLREDUCE_DOUBLING_BLOCK))
		return COLL_ALGO_RECURSIVE_DOUBLING;
	if (power_of_two(members) || block <= ALLREDUCE_RABENSEIFNER_BLOCK)
		return COLL_ALGO_RABENSEIFNER;
	return COLL_ALGO_RING;
}

static enum coll_algo choose_allgather(uint32_t members, size_t total)
{
	if (power_of_two(members) && total <= ALLGATHER_DOUBLING_TOTAL)
		return COLL_ALGO_RECURSIVE_DOUBLING;
	return total <= ALLGATHER_BRUCK_TOTAL ? COLL_ALGO_BRUCK : COLL_ALGO_RING;
}

static enum coll_algo choose_reduce_scatter(uint32_t members, size_t total)
{
	size_t halving = power_of_two(members) ? REDUCE_SCATTER_HALVING_TOTAL
					       : REDUCE_SCATTER_FOLDED_TOTAL;

	if (total <= halving)
		return COLL_ALGO_RECURSIVE_HALVING;
	return members == 2 ? COLL_ALGO_PAIRWISE : COLL_ALGO_RING;
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
		return choose_reduce_scatter(members, total);
	case FI_REDUCE:
		return block <= REDUCE_BINOMIAL_BLOCK ? COLL_ALGO_BINOMIAL
						      : COLL_ALGO_RABENSEIFNER;
	default: /* scatter and gather */
		return members >= SCATTER_BINOMIAL_MEMBERS &&
				       block <= SCATTER_BINOMIAL_BLOCK
			       ? COLL_ALGO_BINOMIAL
			       : COLL_ALGO_LINEAR;
	}
}

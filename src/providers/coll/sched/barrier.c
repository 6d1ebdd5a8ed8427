/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"

/* After round i a member knows that the 2^(i + 1) - 1 members before it have entered
 * the barrier. */
void coll_barrier_dissemination(struct coll_build *b)
{
	uint32_t rank = b->args->rank, members = b->args->members;

	for (uint64_t distance = 1; distance < members; distance *= 2) {
		coll_signal(b, coll_after(rank, (uint32_t)distance, members),
			coll_before(rank, (uint32_t)distance, members));
		coll_wait(b);
	}
}

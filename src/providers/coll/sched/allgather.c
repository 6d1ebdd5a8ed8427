/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/ring.h"
#include "sys/compiler.h"

/* This member's block of the result. */
static const char *allgather_own_block(const struct coll_args *args)
{
	return args->buf == args->result ? coll_block(args, args->result, args->rank)
					 : args->buf;
}

void coll_allgather_ring(struct coll_build *b)
{
	const struct coll_args *args = b->args;

	coll_ring_gather(b, args->count * args->members, 0, allgather_own_block(args));
}

/* In round i, members at distance 2^i exchange the 2^i blocks that they have. */
void coll_allgather_doubling(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args);

	if (args->members & (args->members - 1)) {
		coll_allgather_bruck(b);
		return;
	}
	for (uint32_t step = 1; step < args->members; step *= 2) {
		uint32_t mine = args->rank & ~(step - 1), theirs = mine ^ step;
		const char *src = step > 1 ? coll_block(args, args->result, mine)
					   : allgather_own_block(args);

		coll_recv(b, args->rank ^ step, coll_block(args, args->result, theirs),
			step * len);
		coll_send(b, args->rank ^ step, src, step * len);
		if (step == 1)
			coll_copy(b, coll_block(args, args->result, args->rank), src,
				len);
		coll_wait(b);
	}
}

/* Bruck: a member has the blocks from its own one up, in memory of the schedule, and in
 * each round gets as many again. */
void coll_allgather_bruck(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	uint32_t n = args->members, rank = args->rank;
	size_t len = coll_block_len(args);
	char *temp;

	if (!coll_temp(b, n * len, 0, &temp))
		return;
	coll_copy(b, temp, allgather_own_block(args), len);
	for (uint64_t have = 1; have < n; have *= 2) {
		uint32_t distance = (uint32_t)have,
			 more = WF_MIN(distance, n - distance);

		coll_recv(b, coll_after(rank, distance, n),
			coll_block(args, temp, distance), more * len);
		coll_send(b, coll_before(rank, distance, n), temp, more * len);
		coll_wait(b);
	}
	coll_copy(b, coll_block(args, args->result, rank), temp, (n - rank) * len);
	coll_copy(b, args->result, coll_block(args, temp, n - rank), rank * len);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/choose.h"

/* The memory of Bruck's algorithm: n blocks, of which block i is for the member i ranks
 * after this one, and the blocks that are sent and received in a round. */
struct bruck {
	char *blocks, *out, *in;
};

/* Copy the blocks whose number has the bit @distance to @packed, or back. Returns their
 * number. */
static size_t alltoall_pack(
	struct coll_build *b, const struct bruck *bruck, uint32_t distance, bool unpack)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args), packed = 0;

	for (uint32_t i = distance; i < args->members; i++) {
		char *block = coll_block(args, bruck->blocks, i);

		if (!(i & distance))
			continue;
		if (unpack)
			coll_copy(b, block, coll_block(args, bruck->in, packed), len);
		else
			coll_copy(b, coll_block(args, bruck->out, packed), block, len);
		packed++;
	}
	return packed;
}

/* Bruck: a block goes to its member in steps of powers of two, together with all other
 * blocks for which the same step is due. */
void coll_alltoall_bruck(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	uint32_t n = args->members, rank = args->rank;
	size_t len = coll_block_len(args), half = (n + 1) / 2 * len;
	struct bruck bruck;

	if (!coll_temp(b, n * len + 2 * half, 0, &bruck.blocks))
		return;
	bruck.out = bruck.blocks + n * len;
	bruck.in = bruck.out + half;
	coll_copy(b, bruck.blocks, coll_block(args, args->buf, rank), (n - rank) * len);
	coll_copy(b, coll_block(args, bruck.blocks, n - rank), args->buf, rank * len);
	for (uint64_t step = 1; step < n; step *= 2) {
		uint32_t distance = (uint32_t)step;
		size_t packed = alltoall_pack(b, &bruck, distance, false) * len;

		coll_recv(b, coll_before(rank, distance, n), bruck.in, packed);
		coll_send(b, coll_after(rank, distance, n), bruck.out, packed);
		coll_wait(b);
		(void)alltoall_pack(b, &bruck, distance, true);
	}
	for (uint32_t i = 0; i < n; i++)
		coll_copy(b, coll_block(args, args->result, coll_before(rank, i, n)),
			coll_block(args, bruck.blocks, i), len);
}

/* In round i the members whose ranks add up to i exchange blocks. The received block is
 * kept in memory of the schedule until the other block has been sent. */
static void alltoall_pairwise_in_place(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	uint32_t n = args->members, before = args->rank;
	size_t len = coll_block_len(args);
	char *temp;

	if (!coll_temp(b, 2 * len, 0, &temp))
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t peer = coll_before(i, args->rank, n);

		coll_wait(b);
		if (peer != args->rank) {
			coll_recv(b, peer, coll_block(args, temp, i % 2), len);
			coll_send(b, peer, coll_block(args, args->result, peer), len);
		}
		if (before != args->rank)
			coll_copy(b, coll_block(args, args->result, before),
				coll_block(args, temp, (i + 1) % 2), len);
		before = peer;
	}
	coll_wait(b);
	if (before != args->rank)
		coll_copy(b, coll_block(args, args->result, before),
			coll_block(args, temp, (n + 1) % 2), len);
}

void coll_alltoall_pairwise(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	uint32_t n = args->members, rank = args->rank;
	size_t len = coll_block_len(args);

	if (args->buf == args->result) {
		alltoall_pairwise_in_place(b);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t from = coll_before(rank, i, n), to = coll_after(rank, i, n);

		coll_recv(b, from, coll_block(args, args->result, from), len);
		coll_send(b, to, coll_block(args, args->buf, to), len);
		if (i % COLL_WINDOW == 0)
			coll_wait(b);
	}
	coll_copy(b, coll_block(args, args->result, rank),
		coll_block(args, args->buf, rank), len);
}

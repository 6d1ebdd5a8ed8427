/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/pipeline.h"
#include "providers/coll/sched/ring.h"

/* A reduction around the ring. In step i a member sends one part and receives the part
 * before it, which it reduces with its own data. */
struct ring {
	size_t count;    /* number of elements of all parts */
	uint32_t pieces; /* number of pieces of each part */
	uint32_t shift;  /* the first part sent is that of rank - shift */
	/* Memory of partial results: if @acc is not NULL, each part at its position in
	 * it; else the part of a step in @step_acc, and that of the last step in
	 * args->result. */
	char *acc, *step_acc;
};

static size_t ring_part_of(
	const struct coll_build *b, const struct ring *ring, uint32_t i)
{
	return coll_part(ring->count, b->args->members, i);
}

/* Address of the partial result of @part in @step. */
static char *ring_partial_of(const struct coll_build *b, const struct ring *ring,
	uint32_t part, uint32_t step)
{
	if (ring->acc)
		return ring->acc + ring_part_of(b, ring, part) * b->args->size;
	if (step == b->args->members - 2)
		return b->args->result;
	return ring->step_acc;
}

static void ring_unit(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit)
{
	const struct coll_args *args = b->args;
	const struct ring *ring = arg;
	uint32_t n = args->members, step = (uint32_t)(i / ring->pieces),
		 k = (uint32_t)(i % ring->pieces),
		 out = coll_before(coll_before(args->rank, ring->shift, n), step, n),
		 in = coll_before(out, 1, n);
	size_t begin = ring_part_of(b, ring, out),
	       len = ring_part_of(b, ring, out + 1) - begin,
	       at = coll_part(len, ring->pieces, k) * args->size;

	unit->to = coll_after(args->rank, 1, n);
	unit->out = step ? ring_partial_of(b, ring, out, step - 1)
			 : (const char *)args->buf + begin * args->size;
	unit->out += at;
	unit->out_len = coll_part(len, ring->pieces, k + 1) * args->size - at;
	begin = ring_part_of(b, ring, in);
	len = ring_part_of(b, ring, in + 1) - begin;
	at = coll_part(len, ring->pieces, k) * args->size;
	unit->from = coll_before(args->rank, 1, n);
	unit->in_len = coll_part(len, ring->pieces, k + 1) * args->size - at;
	unit->own = (const char *)args->buf + begin * args->size + at;
	unit->dst = ring_partial_of(b, ring, in, step) + at;
	unit->own_second = true;
}

/* With one piece per part, each step sends what the previous step reduced. */
static void ring_reduce_around(struct coll_build *b, const struct ring *ring)
{
	coll_pipeline(b, (size_t)ring->pieces * (b->args->members - 1),
		ring->pieces == 1, ring_unit, ring);
}

static uint32_t ring_pieces_of(
	const struct coll_args *args, size_t count, uint32_t parts)
{
	return coll_pieces(coll_part(count, parts, 1) * args->size);
}

size_t coll_ring_piece(const struct coll_args *args, size_t count, uint32_t parts)
{
	return coll_piece_len(
		args, coll_part(count, parts, 1), ring_pieces_of(args, count, parts));
}

void coll_ring_reduce(struct coll_build *b, char *acc)
{
	const struct coll_args *args = b->args;
	struct ring ring = {
		.count = args->count,
		.pieces = ring_pieces_of(args, args->count, args->members),
		.acc = acc,
	};

	ring_reduce_around(b, &ring);
}

/* The part of the last step is the member's own block. In an in-place operation it is
 * stored in the first block, whose data the member has sent or reduced before, or
 * reduces in this step. */
void coll_reduce_scatter_ring(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args);
	struct ring ring = {
		.count = args->count * args->members,
		.pieces = coll_pieces(len),
		.shift = 1,
	};

	if (!coll_temp(b, len, coll_piece_len(args, args->count, ring.pieces),
		    &ring.step_acc))
		return;
	ring_reduce_around(b, &ring);
}

void coll_ring_gather(
	struct coll_build *b, size_t count, uint32_t shift, const char *own)
{
	const struct coll_args *args = b->args;
	uint32_t n = args->members, out = coll_after(args->rank, shift, n);
	char *all = args->result;
	const char *src = own;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t in = coll_before(out, 1, n);
		size_t begin = coll_part(count, n, in) * args->size,
		       end = coll_part(count, n, in + 1) * args->size,
		       sent = coll_part(count, n, out) * args->size,
		       len = coll_part(count, n, out + 1) * args->size - sent;

		coll_recv(b, coll_before(args->rank, 1, n), all + begin, end - begin);
		coll_send(b, coll_after(args->rank, 1, n), src, len);
		if (i == 1)
			coll_copy(b, all + sent, own, len);
		coll_wait(b);
		out = in;
		src = all + begin;
	}
}

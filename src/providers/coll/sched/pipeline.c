/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/choose.h"
#include "providers/coll/sched/pipeline.h"
#include "sys/compiler.h"

uint32_t coll_pieces(size_t len)
{
	size_t piece = coll_piece_bytes(), pieces = len / piece + !!(len % piece);

	return (uint32_t)WF_MIN(WF_MAX(pieces, (size_t)1), (size_t)COLL_PIECES_MAX);
}

size_t coll_piece_len(const struct coll_args *args, size_t count, uint32_t pieces)
{
	return coll_part(count, pieces, 1) * args->size;
}

static void pipeline_start_unit(
	struct coll_build *b, const struct coll_unit *unit, size_t i)
{
	coll_recv(b, unit->from, b->piece[i % 2], unit->in_len);
	if (!unit->out_after)
		coll_send(b, unit->to, unit->out, unit->out_len);
}

static void pipeline_reduce_unit(
	struct coll_build *b, const struct coll_unit *unit, size_t i)
{
	const char *in = b->piece[i % 2];

	if (unit->own_second)
		coll_combine(b, unit->dst, in, unit->own, unit->in_len);
	else
		coll_combine(b, unit->dst, unit->own, in, unit->in_len);
	if (unit->out_after)
		coll_send(b, unit->to, unit->out, unit->out_len);
}

void coll_pipeline(struct coll_build *b, size_t count, bool chained, coll_unit_fn *fill,
	const void *arg)
{
	struct coll_unit unit = { .out = NULL };

	if (!count)
		return;
	fill(b, arg, 0, &unit);
	pipeline_start_unit(b, &unit, 0);
	for (size_t i = 0; i < count; i++) {
		struct coll_unit next = { .out = NULL };

		if (i + 1 < count)
			fill(b, arg, i + 1, &next);
		coll_wait(b);
		if (chained)
			pipeline_reduce_unit(b, &unit, i);
		if (i + 1 < count)
			pipeline_start_unit(b, &next, i + 1);
		if (!chained)
			pipeline_reduce_unit(b, &unit, i);
		unit = next;
	}
	coll_wait(b);
}

/* An exchange with one peer in @count pieces. */
struct pieces {
	const struct coll_exchange *x;
	uint32_t count;
};

static void pipeline_exchange_unit(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit)
{
	const struct pieces *pieces = arg;
	const struct coll_exchange *x = pieces->x;
	uint32_t k = (uint32_t)i, parts = pieces->count;
	size_t size = b->args->size, out = coll_part(x->out_count, parts, k),
	       in = coll_part(x->in_count, parts, k);

	unit->to = unit->from = x->peer;
	unit->out_len = (coll_part(x->out_count, parts, k + 1) - out) * size;
	unit->in_len = (coll_part(x->in_count, parts, k + 1) - in) * size;
	if (unit->out_len)
		unit->out = x->out + out * size;
	if (unit->in_len) {
		unit->own = x->own + in * size;
		unit->dst = x->dst + in * size;
	}
	unit->own_second = x->own_second;
}

void coll_exchange(struct coll_build *b, const struct coll_exchange *x)
{
	size_t most = WF_MAX(x->out_count, x->in_count);
	struct pieces pieces = { x, coll_pieces(most * b->args->size) };

	coll_pipeline(b, pieces.count, false, pipeline_exchange_unit, &pieces);
}

size_t coll_exchange_piece(const struct coll_args *args, size_t count)
{
	uint32_t pieces = coll_pieces(count * args->size);
	size_t whole = count * args->size;

	/* Fewer elements than @count may have larger pieces, but none is above this
	 * size, which is a multiple of all element sizes. */
	if (pieces < COLL_PIECES_MAX)
		return WF_MIN(whole, coll_piece_bytes());
	return coll_piece_len(args, count, pieces);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/fold.h"

/* A slot of a folded pair gets the blocks of both members. */
void coll_reduce_scatter_halving(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args), all = args->count * args->members;
	struct coll_fold fold;
	char *acc;

	if (!coll_temp(b, all * args->size, coll_exchange_piece(args, all), &acc))
		return;
	fold = coll_fold(b, all, 0, acc);
	if (fold.aside) {
		coll_recv(b, coll_fold_partner(&fold), args->result, len);
		return;
	}
	coll_fold_halve(b, &fold, true);
	if (fold.number < 2 * fold.rest)
		coll_send(b, coll_fold_partner(&fold),
			coll_block(args, acc, args->rank + 1), len);
	coll_copy(b, args->result, coll_block(args, acc, args->rank), len);
}

/* A unit sends a piece of another member's block, and receives the same piece of this
 * member's block from a third one. */
struct pairwise {
	uint32_t pieces; /* number of pieces of a block */
	char *acc;       /* memory of the partial result */
};

static void reduce_scatter_pairwise_unit(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit)
{
	const struct coll_args *args = b->args;
	const struct pairwise *pairwise = arg;
	uint32_t distance = 1 + (uint32_t)(i / pairwise->pieces),
		 k = (uint32_t)(i % pairwise->pieces);
	size_t begin = coll_part(args->count, pairwise->pieces, k) * args->size,
	       end = coll_part(args->count, pairwise->pieces, k + 1) * args->size;

	unit->to = coll_after(args->rank, distance, args->members);
	unit->out = coll_block(args, args->buf, unit->to) + begin;
	unit->from = coll_before(args->rank, distance, args->members);
	unit->in_len = unit->out_len = end - begin;
	unit->dst = pairwise->acc + begin;
	unit->own = distance > 1 ? unit->dst
				 : coll_block(args, args->buf, args->rank) + begin;
}

void coll_reduce_scatter_pairwise(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	bool in_place = args->buf == args->result;
	size_t len = coll_block_len(args);
	struct pairwise pairwise = { .pieces = coll_pieces(len) };

	if (!coll_temp(b, in_place ? len : 0,
		    coll_piece_len(args, args->count, pairwise.pieces), &pairwise.acc))
		return;
	if (!in_place)
		pairwise.acc = args->result;
	coll_pipeline(b, (size_t)pairwise.pieces * (args->members - 1), false,
		reduce_scatter_pairwise_unit, &pairwise);
	coll_copy(b, args->result, pairwise.acc, len);
}

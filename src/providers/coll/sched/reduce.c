/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/fold.h"
#include "providers/coll/sched/tree.h"

/* Memory in which a member collects partial results: at the root the result, at the
 * others memory of the schedule. False: no memory. */
static bool reduce_accumulator(struct coll_build *b, size_t piece_len, char **ret_acc)
{
	const struct coll_args *args = b->args;
	bool root = args->rank == args->root;

	if (!coll_temp(b, root ? 0 : coll_block_len(args), piece_len, ret_acc))
		return false;
	if (root)
		*ret_acc = args->result;
	return true;
}

/* A member of the binomial tree with children: for each piece there is a unit for each
 * child; the last one passes the piece on to the parent. */
struct inner {
	struct coll_tree tree;
	uint32_t pieces, children; /* number of pieces, number of children */
	char *acc;                 /* memory of the partial result */
};

static void reduce_inner_unit(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit)
{
	const struct coll_args *args = b->args;
	const struct inner *inner = arg;
	const struct coll_tree *tree = &inner->tree;
	uint32_t k = (uint32_t)(i / inner->children),
		 child = (uint32_t)(i % inner->children);
	size_t begin = coll_part(args->count, inner->pieces, k) * args->size,
	       end = coll_part(args->count, inner->pieces, k + 1) * args->size;

	unit->from = coll_tree_rank(tree, tree->number + (1u << child));
	unit->in_len = end - begin;
	unit->own = (child ? inner->acc : (const char *)args->buf) + begin;
	unit->dst = inner->acc + begin;
	if (tree->number && child == inner->children - 1) {
		unit->to = coll_tree_parent(tree);
		unit->out = unit->dst;
		unit->out_len = unit->in_len;
		unit->out_after = true;
	}
}

static void reduce_send_pieces(struct coll_build *b, const struct inner *inner)
{
	const struct coll_args *args = b->args;

	for (uint32_t k = 0; k < inner->pieces; k++) {
		size_t begin = coll_part(args->count, inner->pieces, k) * args->size,
		       end = coll_part(args->count, inner->pieces, k + 1) * args->size;

		coll_send(b, coll_tree_parent(&inner->tree),
			(const char *)args->buf + begin, end - begin);
	}
}

void coll_reduce_binomial(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct inner inner = {
		.tree = coll_tree(args),
		.pieces = coll_pieces(coll_block_len(args)),
	};
	const struct coll_tree *tree = &inner.tree;

	for (uint32_t step = 1;
		step < tree->limit && step < tree->members - tree->number; step *= 2)
		inner.children++;
	if (!inner.children) {
		reduce_send_pieces(b, &inner);
		return;
	}
	if (reduce_accumulator(
		    b, coll_piece_len(args, args->count, inner.pieces), &inner.acc))
		coll_pipeline(b, (size_t)inner.pieces * inner.children, false,
			reduce_inner_unit, &inner);
}

/* Gather the parts of all slots at slot 0, which is the root's, along a binomial
 * tree. */
static void reduce_gather_parts(struct coll_build *b, const struct coll_fold *fold)
{
	size_t size = b->args->size;

	for (uint32_t step = 1; step < fold->slots; step *= 2) {
		bool gives = fold->slot & step;
		uint32_t first = gives ? fold->slot : fold->slot + step;
		size_t begin = coll_fold_part(fold, false, first) * size,
		       end = coll_fold_part(fold, false, first + step) * size;

		if (gives) {
			coll_wait(b);
			coll_send(b, coll_fold_rank(fold, fold->slot - step),
				fold->acc + begin, end - begin);
			return;
		}
		coll_recv(
			b, coll_fold_rank(fold, first), fold->acc + begin, end - begin);
	}
}

/* Rabenseifner: scatter the parts of the result, then gather them at the root. */
void coll_reduce_rabenseifner(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_fold fold;
	char *acc;

	if (!reduce_accumulator(b, coll_exchange_piece(args, args->count), &acc))
		return;
	fold = coll_fold(b, args->count, args->root, acc);
	if (fold.aside)
		return;
	coll_fold_halve(b, &fold, false);
	reduce_gather_parts(b, &fold);
}

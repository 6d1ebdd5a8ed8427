/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/pipeline.h"
#include "providers/coll/sched/tree.h"

void coll_broadcast_linear(struct coll_build *b)
{
	const struct coll_args *args = b->args;

	if (args->rank != args->root) {
		coll_recv(b, args->root, args->result, coll_block_len(args));
		return;
	}
	for (uint32_t i = 1; i < args->members; i++)
		coll_send(b, coll_after(args->rank, i, args->members), args->result,
			coll_block_len(args));
}

struct range {
	size_t begin, len; /* offset in the data, and length, in bytes */
};

static struct range broadcast_piece_range(
	const struct coll_args *args, uint32_t pieces, uint32_t k)
{
	size_t begin = coll_part(args->count, pieces, k) * args->size,
	       end = coll_part(args->count, pieces, k + 1) * args->size;

	return (struct range){ begin, end - begin };
}

static void broadcast_send_to_children(
	struct coll_build *b, const struct coll_tree *tree, struct range piece)
{
	const char *buf = b->args->result;

	for (uint32_t step = tree->limit / 2; step; step /= 2)
		if (step < tree->members - tree->number)
			coll_send(b, coll_tree_rank(tree, tree->number + step),
				buf + piece.begin, piece.len);
}

/* A member with children passes a piece on while it receives the next one. The root and
 * members without children do not wait for a piece. */
void coll_broadcast_binomial(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_tree tree = coll_tree(args);
	uint32_t pieces = args->members > 2 ? coll_pieces(coll_block_len(args)) : 1;
	char *buf = args->result;

	for (uint32_t k = 0; k < pieces; k++) {
		struct range piece = broadcast_piece_range(args, pieces, k);

		if (tree.number)
			coll_recv(b, coll_tree_parent(&tree), buf + piece.begin,
				piece.len);
		if (k && tree.number)
			broadcast_send_to_children(
				b, &tree, broadcast_piece_range(args, pieces, k - 1));
		if (!tree.number)
			broadcast_send_to_children(b, &tree, piece);
		else if (tree.extent > 1)
			coll_wait(b);
	}
	if (tree.number)
		broadcast_send_to_children(
			b, &tree, broadcast_piece_range(args, pieces, pieces - 1));
}

/* Scatter the buffer, in as many parts as there are members; a member passes on the
 * parts of its subtree. */
static void broadcast_scatter_parts(struct coll_build *b, const struct coll_tree *tree)
{
	const struct coll_args *args = b->args;
	uint32_t n = tree->members, at = tree->number;
	size_t size = args->size, begin = coll_part(args->count, n, at) * size,
	       end = coll_part(args->count, n, at + tree->extent) * size;
	char *buf = args->result;

	if (at)
		coll_recv(b, coll_tree_parent(tree), buf + begin, end - begin);
	coll_wait(b);
	for (uint32_t step = tree->limit / 2; step; step /= 2) {
		uint32_t child = at + step;

		if (step >= n - at)
			continue;
		begin = coll_part(args->count, n, child) * size;
		end = coll_part(args->count, n, child + coll_tree_extent(child, n)) *
		      size;
		coll_send(b, coll_tree_rank(tree, child), buf + begin, end - begin);
	}
}

/* Does the member get @part by the scatter? */
static bool broadcast_has_part(uint32_t number, uint32_t part, uint32_t members)
{
	return part >= number && part - number < coll_tree_extent(number, members);
}

/* Van de Geijn: scatter the parts, then pass them around a ring, except the parts that
 * the next member got by the scatter. */
void coll_broadcast_scatter_allgather(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_tree tree = coll_tree(args);
	uint32_t n = tree.members, at = tree.number, next = coll_after(at, 1, n),
		 before = coll_before(at, 1, n);
	char *buf = args->result;

	broadcast_scatter_parts(b, &tree);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t in = coll_before(at, i, n), out = coll_after(in, 1, n);
		size_t begin = coll_part(args->count, n, in) * args->size,
		       end = coll_part(args->count, n, in + 1) * args->size;

		if (!broadcast_has_part(at, in, n))
			coll_recv(b, coll_tree_rank(&tree, before), buf + begin,
				end - begin);
		begin = coll_part(args->count, n, out) * args->size;
		end = coll_part(args->count, n, out + 1) * args->size;
		if (!broadcast_has_part(next, out, n))
			coll_send(b, coll_tree_rank(&tree, next), buf + begin,
				end - begin);
		if (!broadcast_has_part(at, in, n))
			coll_wait(b);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/tree.h"

/* Scatter and gather: the same tree or star, in opposite directions. */

void coll_scatter_linear(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args);

	if (args->rank != args->root) {
		coll_recv(b, args->root, args->result, len);
		return;
	}
	for (uint32_t i = 1; i < args->members; i++) {
		uint32_t to = coll_after(args->rank, i, args->members);

		coll_send(b, to, coll_block(args, args->buf, to), len);
	}
	coll_copy(b, args->result, coll_block(args, args->buf, args->rank), len);
}

void coll_gather_linear(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args);

	if (args->rank != args->root) {
		coll_send(b, args->root, args->buf, len);
		return;
	}
	for (uint32_t i = 1; i < args->members; i++) {
		uint32_t from = coll_after(args->rank, i, args->members);

		coll_recv(b, from, coll_block(args, args->result, from), len);
	}
	if (args->buf != args->result)
		coll_copy(
			b, coll_block(args, args->result, args->rank), args->buf, len);
}

/* The blocks of a subtree are two ranges at the root if the subtree contains both the
 * last rank and rank 0. */
struct range {
	uint32_t first;   /* first rank */
	uint32_t low;     /* number of blocks from @first up */
	uint32_t wrapped; /* number of blocks from rank 0 up */
};

static struct range scatter_subtree(const struct coll_tree *tree, uint32_t number)
{
	uint32_t first = coll_tree_rank(tree, number),
		 extent = coll_tree_extent(number, tree->members),
		 low = WF_MIN(extent, tree->members - first);

	return (struct range){ first, low, extent - low };
}

/* Add the transfers between a child of the root, which has the blocks of its subtree at
 * @blocks in one piece, and the root @peer. */
static void scatter_child_of_root(
	struct coll_build *b, const struct range *r, char *blocks, bool scatter)
{
	const struct coll_args *args = b->args;
	size_t len = coll_block_len(args);

	if (scatter) {
		coll_recv(b, args->root, blocks, r->low * len);
		coll_recv(b, args->root, blocks + r->low * len, r->wrapped * len);
	} else {
		coll_send(b, args->root, blocks, r->low * len);
		coll_send(b, args->root, blocks + r->low * len, r->wrapped * len);
	}
}

static void scatter_with_parent(
	struct coll_build *b, const struct coll_tree *tree, char *blocks, bool scatter)
{
	struct range r = scatter_subtree(tree, tree->number);
	size_t len = tree->extent * coll_block_len(b->args);

	if (tree->number == tree->limit) /* the parent is the root */
		scatter_child_of_root(b, &r, blocks, scatter);
	else if (scatter)
		coll_recv(b, coll_tree_parent(tree), blocks, len);
	else
		coll_send(b, coll_tree_parent(tree), blocks, len);
}

/* Add the transfers with all children of a member that has the blocks of its subtree at
 * @blocks. */
static void scatter_with_children(
	struct coll_build *b, const struct coll_tree *tree, char *blocks, bool scatter)
{
	for (uint32_t step = tree->limit / 2; step; step /= 2) {
		uint32_t child = tree->number + step,
			 rank = coll_tree_rank(tree, child);
		char *at = coll_block(b->args, blocks, step);
		size_t len;

		if (step >= tree->members - tree->number)
			continue;
		len = coll_tree_extent(child, tree->members) * coll_block_len(b->args);
		if (scatter)
			coll_send(b, rank, at, len);
		else
			coll_recv(b, rank, at, len);
	}
}

/* Add the transfers with all children of the root, whose blocks at @blocks are ordered
 * by rank. */
static void scatter_with_children_of_root(
	struct coll_build *b, const struct coll_tree *tree, char *blocks, bool scatter)
{
	size_t len = coll_block_len(b->args);

	for (uint32_t step = tree->limit / 2; step; step /= 2) {
		struct range r = scatter_subtree(tree, step);
		char *low = coll_block(b->args, blocks, r.first);

		if (scatter) {
			coll_send(b, r.first, low, r.low * len);
			coll_send(b, r.first, blocks, r.wrapped * len);
		} else {
			coll_recv(b, r.first, low, r.low * len);
			coll_recv(b, r.first, blocks, r.wrapped * len);
		}
	}
}

void coll_scatter_binomial(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_tree tree = coll_tree(args);
	size_t len = coll_block_len(args);
	char *blocks = args->result;

	if (!tree.number) {
		blocks = (char *)(uintptr_t)args->buf;
		scatter_with_children_of_root(b, &tree, blocks, true);
		coll_copy(b, args->result, coll_block(args, blocks, args->rank), len);
		return;
	}
	if (tree.extent > 1 && !coll_temp(b, tree.extent * len, 0, &blocks))
		return;
	scatter_with_parent(b, &tree, blocks, true);
	coll_wait(b);
	scatter_with_children(b, &tree, blocks, true);
	coll_copy(b, args->result, blocks, len);
}

void coll_gather_binomial(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_tree tree = coll_tree(args);
	size_t len = coll_block_len(args);
	char *blocks = (char *)(uintptr_t)args->buf;

	if (!tree.number) {
		scatter_with_children_of_root(b, &tree, args->result, false);
		if (args->buf != args->result)
			coll_copy(b, coll_block(args, args->result, args->rank),
				args->buf, len);
		return;
	}
	if (tree.extent > 1) {
		if (!coll_temp(b, tree.extent * len, 0, &blocks))
			return;
		scatter_with_children(b, &tree, blocks, false);
		coll_copy(b, blocks, args->buf, len);
		coll_wait(b);
	}
	scatter_with_parent(b, &tree, blocks, false);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_TREE_H
#define WF_COLL_SCHED_TREE_H

#include "providers/coll/sched/build.h"
#include "sys/compiler.h"

/*
 * The binomial tree of a group, in ranks relative to the root, which is 0. The subtree
 * of a member consists of @extent members with consecutive numbers, of which it is the
 * first. Its children are number + step, for each power of two step below @limit for
 * which that is a member.
 */
struct coll_tree {
	uint32_t members, root;
	uint32_t number; /* relative rank of this member */
	uint32_t limit, extent;
};

static inline uint32_t coll_tree_limit(uint32_t number, uint32_t members)
{
	uint32_t limit = 1;

	if (number)
		return number & (~number + 1);
	while (limit < members)
		limit *= 2;
	return limit;
}

static inline uint32_t coll_tree_extent(uint32_t number, uint32_t members)
{
	return WF_MIN(coll_tree_limit(number, members), members - number);
}

static inline struct coll_tree coll_tree(const struct coll_args *args)
{
	uint32_t number = coll_before(args->rank, args->root, args->members);

	return (struct coll_tree){
		.members = args->members,
		.root = args->root,
		.number = number,
		.limit = coll_tree_limit(number, args->members),
		.extent = coll_tree_extent(number, args->members),
	};
}

static inline uint32_t coll_tree_rank(const struct coll_tree *tree, uint32_t number)
{
	return coll_after(tree->root, number, tree->members);
}

static inline uint32_t coll_tree_parent(const struct coll_tree *tree)
{
	return coll_tree_rank(tree, tree->number - tree->limit);
}

#endif

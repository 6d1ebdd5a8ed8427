/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_TREE_H
#define WF_COLL_NODE_TREE_H

#include "providers/coll/node/state.h"

/*
 * Barriers, and small allreduces, reduces and broadcasts of groups so large that lines
 * of all members are too many to read. The members form a tree, the root of the
 * operation at its top:
 *
 *   up      a member waits for its children, reduces what they have posted and its own
 *           input, in the order of the tree, and posts that (not in a broadcast)
 *   down    the top posts the result, and each member posts what its parent has posted
 *           (not in a reduce)
 *
 * So a member reads a line of each child and one of its parent. A result is computed
 * once, at the top, and the same members are reduced in the same order in every run.
 */

/* Allocate the memory of the tree. False: there is none. */
bool coll_tree_init(struct coll_node *node);

/* The settings of the group are known: build the tree, if it has one. */
void coll_tree_build(struct coll_node *node);

void coll_tree_free(struct coll_node *node);

/* Complete the plan of an operation that goes through the tree. False: it does not. The
 * same answer at every member. */
bool coll_tree_plan(const struct coll_node *node, struct coll_plan *plan);

/* Begin the operation of node->plan. */
void coll_tree_start(struct coll_node *node);

/* Go on. 1: the operation has ended; 0: it waits. @ret_moved: something was done. */
int coll_tree_advance(struct coll_node *node, bool *ret_moved);

/* Does the operation wait for @member, also through members between the two? */
bool coll_tree_needs(const struct coll_node *node, uint32_t member);

#endif

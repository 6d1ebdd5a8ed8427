/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/tree.h"

#include <stdlib.h>
#include <string.h>

#include "sys/compiler.h"

/* The degree that is chosen by the number of members. Measured on two processors
 * (bench/results/2026-11-26-zen3.md). Members that share processors run one after the
 * other: then each level of the tree costs a round of all members. */
enum { AUTO_DEGREE = 8, AUTO_DEGREE_OVERSUBSCRIBED = COLL_DEGREE_MAX };

/* ---- the tree ---- */

bool coll_tree_init(struct coll_node *node)
{
	node->tree.parent = calloc(2 * (size_t)node->members, sizeof(uint16_t));
	if (!node->tree.parent)
		return false;
	node->tree.end = node->tree.parent + node->members;
	return true;
}

/*
 * The members of the tree have virtual ranks: 0 is the top, and the descendants of a
 * member follow it. So their ranks are neighbours, too, as their processors often are.
 *
 * Divide the descendants of @vrank among its children.
 */
static void tree_divide(struct coll_tree *tree, uint32_t vrank)
{
	uint32_t below = tree->end[vrank] - vrank - 1, child = vrank + 1;
	uint32_t children = WF_MIN(below, tree->degree);

	for (uint32_t i = 0; i < children; i++) {
		uint32_t size = below / children + (i < below % children);

		tree->parent[child] = (uint16_t)vrank;
		tree->end[child] = (uint16_t)(child + size);
		child += size;
	}
}

static size_t tree_auto_degree(const struct coll_node *node)
{
	bool shared = node->oversubscribed;
	size_t least = node->setting[shared ? COLL_NODE_TREE_MEMBERS_OVERSUBSCRIBED
					    : COLL_NODE_TREE_MEMBERS];

	if (node->members < least)
		return COLL_DEGREE_FLAT;
	return shared ? AUTO_DEGREE_OVERSUBSCRIBED : AUTO_DEGREE;
}

void coll_tree_build(struct coll_node *node)
{
	struct coll_tree *tree = &node->tree;
	size_t degree = node->setting[COLL_NODE_DEGREE];

	tree->is_auto = degree == COLL_DEGREE_AUTO;
	if (tree->is_auto)
		degree = tree_auto_degree(node);
	tree->degree = 0;
	if (degree <= COLL_DEGREE_FLAT || node->members < 2)
		return;
	tree->degree = (uint32_t)degree;
	tree->end[0] = (uint16_t)node->members;
	for (uint32_t vrank = 0; vrank < node->members; vrank++)
		tree_divide(tree, vrank);
}

void coll_tree_free(struct coll_node *node)
{
	free(node->tree.parent);
	node->tree = (struct coll_tree){ 0 };
}

/* Virtual rank of member @rank: the root of the operation is at the top. */
static uint32_t tree_vrank_of(const struct coll_node *node, uint32_t rank)
{
	uint32_t root = node->plan.root;

	return rank >= root ? rank - root : rank + node->members - root;
}

static const struct coll_segment *tree_segment_at(
	const struct coll_node *node, uint32_t vrank)
{
	uint32_t rank = vrank + node->plan.root;

	return node->segment[rank < node->members ? rank : rank - node->members];
}

/* ---- the steps ---- */

enum step { STEP_FREE, STEP_UP, STEP_DOWN };

static uint64_t tree_use_down(const struct coll_node *node)
{
	return node->base + node->plan.stride - 1;
}

static bool tree_has_children(const struct coll_node *node)
{
	const struct coll_climb *climb = &node->climb;

	return node->tree.end[climb->vrank] > climb->vrank + 1;
}

/* Does the tree take less time than direct reads of all members' slots? Not where the
 * data fit into lines, nor where one member reads from all others or all from one. */
static bool tree_is_best(const struct coll_plan *plan)
{
	return plan->kind == FI_ALLREDUCE && plan->part > COLL_LINE_BYTES;
}

bool coll_tree_plan(const struct coll_node *node, struct coll_plan *plan)
{
	bool is_barrier = plan->kind == FI_BARRIER;

	if (!node->tree.degree || plan->part > node->setting[COLL_NODE_TREE_BYTES] ||
		!(plan->part || is_barrier) ||
		(node->tree.is_auto && !tree_is_best(plan)))
		return false;
	switch (plan->kind) {
	case FI_BARRIER:
	case FI_ALLREDUCE:
		plan->root = 0;
		plan->has_up = plan->has_down = true;
		break;
	case FI_BROADCAST:
	case FI_REDUCE:
		plan->has_up = plan->kind == FI_REDUCE;
		plan->has_down = !plan->has_up;
		break;
	default:
		return false;
	}
	plan->is_tree = true;
	plan->stride = plan->has_up + plan->has_down;
	plan->uses = plan->stride;
	plan->chunks = 0;
	/* Where this member takes the inputs of all others, they have all begun. */
	plan->is_joint = plan->has_up && (plan->has_down || plan->role.takes);
	return true;
}

void coll_tree_start(struct coll_node *node)
{
	uint32_t vrank = tree_vrank_of(node, node->rank);

	node->climb = (struct coll_climb){
		.step = STEP_FREE,
		.vrank = vrank,
		.child = vrank + 1,
	};
}

/* Have the children posted? The next call skips the children that have. */
static bool tree_have_come(struct coll_node *node)
{
	struct coll_climb *climb = &node->climb;
	const uint16_t *end = node->tree.end;

	for (; climb->child < end[climb->vrank]; climb->child = end[climb->child])
		if (!coll_is_full(tree_segment_at(node, climb->child), node->base))
			return false;
	return true;
}

/* Reduce the input and what the children have posted into @to. */
static void tree_combine(struct coll_node *node, uint8_t *to)
{
	const struct coll_plan *plan = &node->plan;
	const uint16_t *end = node->tree.end;
	uint32_t vrank = node->climb.vrank;
	const uint8_t *sum = plan->in;

	for (uint32_t child = vrank + 1; child < end[vrank]; child = end[child]) {
		plan->reduce(to, sum,
			coll_data_of(
				tree_segment_at(node, child), node->base, plan->part),
			plan->part / plan->size);
		sum = to;
	}
	if (sum != to)
		coll_copy_data(to, sum, plan->part);
}

static void tree_go_up(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	bool is_top = !node->climb.vrank;

	if (plan->has_up && plan->part)
		tree_combine(
			node, is_top ? plan->out
				     : coll_own_data(node, node->base, plan->part));
	if (plan->has_up && !is_top)
		coll_publish(node, node->base);
}

static bool tree_may_go_down(const struct coll_node *node)
{
	uint32_t vrank = node->climb.vrank;

	return !vrank || coll_is_full(tree_segment_at(node, node->tree.parent[vrank]),
				 tree_use_down(node));
}

/* The children wait for the result, so it is posted before it is copied to @out. */
static void tree_go_down(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	uint64_t use = tree_use_down(node);
	uint32_t vrank = node->climb.vrank;
	const uint8_t *from = plan->has_up ? plan->out : plan->in;

	if (vrank)
		from = coll_data_of(tree_segment_at(node, node->tree.parent[vrank]),
			use, plan->part);
	if (tree_has_children(node)) {
		if (plan->part)
			coll_copy_data(
				coll_own_data(node, use, plan->part), from, plan->part);
		coll_publish(node, use);
	}
	if (vrank && plan->part)
		coll_copy_data(plan->out, from, plan->part);
}

/* Does this member post, in the latest of its slots? */
static bool tree_posts(const struct coll_node *node)
{
	return (node->plan.has_down && tree_has_children(node)) ||
	       (node->plan.has_up && node->climb.vrank);
}

int coll_tree_advance(struct coll_node *node, bool *ret_moved)
{
	const struct coll_plan *plan = &node->plan;
	struct coll_climb *climb = &node->climb;

	*ret_moved = false;
	if (climb->step == STEP_FREE) {
		if (tree_posts(node) && !coll_is_free(node, tree_use_down(node)))
			return 0;
		climb->step++;
		*ret_moved = true;
	}
	if (climb->step == STEP_UP) {
		if (plan->has_up && !tree_have_come(node))
			return 0;
		tree_go_up(node);
		climb->step++;
		*ret_moved = true;
	}
	if (!plan->has_down)
		return 1;
	if (!tree_may_go_down(node))
		return 0;
	tree_go_down(node);
	*ret_moved = true;
	return 1;
}

/* ---- members that are gone ---- */

static bool tree_has_posted(const struct coll_node *node, uint32_t vrank, uint64_t use)
{
	return coll_is_full(tree_segment_at(node, vrank), use);
}

bool coll_tree_needs(const struct coll_node *node, uint32_t member)
{
	const struct coll_plan *plan = &node->plan;
	const uint16_t *end = node->tree.end;
	uint32_t own = node->climb.vrank, vrank = tree_vrank_of(node, member);

	switch ((enum step)node->climb.step) {
	case STEP_FREE:
		return !coll_is_past(atomic_load_explicit(&node->segment[member]->done,
					     memory_order_acquire),
			tree_use_down(node));
	case STEP_UP:
		return vrank > own && vrank < end[own] &&
		       !tree_has_posted(node, vrank, node->base);
	case STEP_DOWN:
		break;
	}
	/* The ancestors of this member, and all members whose input the result
	 * needs. */
	if (vrank < own && end[vrank] > own)
		return !tree_has_posted(node, vrank, tree_use_down(node));
	return plan->has_up && vrank && !tree_has_posted(node, vrank, node->base);
}

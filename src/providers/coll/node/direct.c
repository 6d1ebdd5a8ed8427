/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/direct_work.h"

/* The steps of direct operations; direct_work.c does their work. */

enum { BUDGET = 1 << 20 }; /* bytes that one call processes */

/* The range of members for whose slots this step waits. */
static void direct_range(
	const struct coll_node *node, uint32_t *ret_first, uint32_t *ret_end)
{
	const struct coll_plan *plan = &node->plan;
	const struct coll_role *role = &plan->role;
	bool to_root = plan->kind == FI_GATHER || plan->kind == FI_REDUCE;
	bool is_root = node->rank == plan->root;
	bool all = role->all;

	switch ((enum coll_direct_step)node->direct.step) {
	case COLL_STEP_READ:
		all |= plan->kind == FI_REDUCE || (to_root && is_root) ||
		       (is_root && coll_direct_in_halves(node));
		break;
	case COLL_STEP_RESULTS:
		all |= is_root;
		break;
	case COLL_STEP_END:
		/* The root of a broadcast or scatter waits for all others; the other
		 * members wait for the root of a gather or reduce. */
		all |= !to_root && is_root;
		break;
	default:
		break;
	}
	*ret_first = 0;
	*ret_end = 0;
	if (all)
		*ret_end = node->members;
	else if (!is_root &&
		 (node->direct.step == COLL_STEP_READ
				 ? !to_root
				 : node->direct.step == COLL_STEP_END &&
					   (to_root || coll_direct_in_halves(node)))) {
		*ret_first = plan->root;
		*ret_end = plan->root + 1;
	}
}

static uint64_t direct_use_of_step(const struct coll_node *node)
{
	switch ((enum coll_direct_step)node->direct.step) {
	case COLL_STEP_READ:
		return node->base;
	case COLL_STEP_RESULTS:
		return node->base + 1;
	default:
		return node->base + node->plan.stride - 1;
	}
}

static bool direct_works(const struct coll_node *node)
{
	return node->direct.step == COLL_STEP_RESULTS || coll_direct_reduces(node) ||
	       node->plan.role.takes || coll_direct_in_halves(node);
}

/*
 * Does this step wait for a member only before it processes that member? Copies do: of
 * inputs, and of shares of a result. The share of a member in this one's input is read
 * by that member alone, so the result may overwrite it as soon as that member has
 * published it.
 */
static bool direct_waits_per_member(const struct coll_node *node)
{
	if (node->direct.step == COLL_STEP_READ)
		return node->plan.role.all && !coll_direct_reduces(node);
	return node->direct.step == COLL_STEP_RESULTS;
}

/* Have the members posted for which this step, or its next piece, waits? */
static bool direct_may_go_on(struct coll_node *node)
{
	struct coll_direct *direct = &node->direct;
	uint32_t first, end, member = coll_direct_member(node);

	if (direct_waits_per_member(node))
		return member == node->rank ||
		       coll_is_full(node->segment[member], direct_use_of_step(node));
	direct_range(node, &first, &end);
	return coll_all_full(node, &direct->seen, end, direct_use_of_step(node));
}

static void direct_next_step(struct coll_node *node)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t end;

	if (direct->step == COLL_STEP_READ)
		coll_publish(node, node->base + 1);
	else if (direct->step == COLL_STEP_RESULTS)
		coll_publish(node, node->base + 2);
	direct->step++;
	if (direct->step == COLL_STEP_RESULTS &&
		(plan->stride < 3 || !plan->role.takes))
		direct->step++;
	direct->members_done = 0;
	direct->at = 0;
	direct_range(node, &direct->seen, &end);
}

bool coll_direct_needs(const struct coll_node *node, uint32_t member)
{
	uint32_t first, end;

	if (node->direct.step == COLL_STEP_POST)
		return !coll_is_past(atomic_load_explicit(&node->segment[member]->done,
					     memory_order_acquire),
			node->base + node->plan.stride - 1);
	direct_range(node, &first, &end);
	return member >= first && member < end &&
	       !coll_is_full(node->segment[member], direct_use_of_step(node));
}

int coll_direct_advance(struct coll_node *node, bool *ret_moved)
{
	struct coll_direct *direct = &node->direct;
	size_t bytes = 0, piece;
	int ret;

	*ret_moved = false;
	for (;;) {
		if (direct->step == COLL_STEP_POST) {
			if (!coll_is_free(node, node->base + node->plan.stride - 1))
				return 0;
			ret = coll_direct_post(node);
			if (ret)
				return ret;
			direct_next_step(node);
			*ret_moved = true;
		}
		if (!direct_may_go_on(node))
			return 0;
		if (direct->step == COLL_STEP_END)
			return 1;
		*ret_moved = true;
		while (direct_works(node) && direct->members_done < node->members) {
			if (bytes > BUDGET || !direct_may_go_on(node))
				return 0;
			ret = coll_direct_work(node, &piece);
			if (ret)
				return ret;
			bytes += piece;
		}
		direct_next_step(node);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>
#include <sched.h>

#include "providers/coll/node/direct.h"
#include "providers/coll/node/tree.h"
#include "sys/clock.h"

/* Waiting for the other members: yielding the processor, and detection of members that
 * left or died. */

enum {
	CHECK_NS = 20 * 1000 * 1000,
	/* A check reads a file for each member, so many members are checked less
	 * often. */
	CHECK_NS_MEMBER = 2 * 1000 * 1000,
	YIELDS = 16, /* yields between two readings of the clock */
	/* Yields inside a call, for each attempt to end the operation in that call. If
	 * processes share a processor, all members have run after one yield; the second
	 * one compensates for processors that are not in step. */
	CALL_YIELDS = 2,
};

/* Does the operation need another post of @member before it can end? */
static bool wait_needs_post(const struct coll_node *node, uint32_t member)
{
	const struct coll_plan *plan = &node->plan;
	const struct coll_segment *segment = node->segment[member];

	if (plan->is_direct)
		return coll_direct_needs(node, member);
	if (plan->is_tree)
		return coll_tree_needs(node, member);
	if (plan->shares && node->share.chunk < plan->chunks &&
		!coll_is_full(segment, coll_use(node, node->share.chunk)))
		return true;
	return plan->role.takes && member >= plan->first && member < plan->end &&
	       node->take.chunk < plan->chunks &&
	       !coll_is_full(
		       segment, coll_use(node, node->take.chunk) + plan->stride - 1);
}

/* Must @member read the contents of a slot before the operation can end? */
static bool wait_needs_slot(const struct coll_node *node, uint32_t member)
{
	const struct coll_plan *plan = &node->plan;
	uint64_t done = atomic_load_explicit(
		&node->segment[member]->done, memory_order_acquire);

	if (plan->is_direct || plan->is_tree)
		return false;
	if (plan->role.posts && node->posted < plan->chunks &&
		!coll_is_past(done, coll_use(node, node->posted)))
		return true;
	return plan->shares && node->share.chunk < plan->chunks &&
	       !coll_is_past(done, coll_use(node, node->share.chunk) + 1);
}

static bool wait_is_gone(const struct coll_node *node, uint32_t member)
{
	const struct coll_card *card = &node->card[member];

	/* Pairs with coll_leave: what the member posted before is visible, too. */
	if (atomic_load_explicit(&node->segment[member]->left, memory_order_acquire))
		return true;
	return card->pid != (uint32_t)node->pid && coll_card_alive(card) == COLL_DEAD;
}

/* A member that is gone may have posted shortly before. So the operation fails at the
 * next check after the one that noticed it. */
static int wait_check(struct coll_node *node)
{
	for (uint32_t i = 0; i < node->members; i++) {
		if (i == node->rank ||
			(!wait_needs_post(node, i) && !wait_needs_slot(node, i)))
			continue;
		if (node->gone[i])
			return coll_fail(node, -FI_ECONNRESET);
		node->gone[i] = wait_is_gone(node, i);
	}
	return 0;
}

/* Yield if other members may wait for the processor. */
static void wait_yield(struct coll_node *node)
{
	if (node->oversubscribed)
		(void)sched_yield();
	else
		wf_give_way(&node->patience, node->moves, false);
}

unsigned int coll_call_yields(const struct coll_node *node)
{
	for (uint32_t i = 0; i < node->members; i++)
		if (i != node->rank && node->card[i].pid == (uint32_t)node->pid)
			return 0;
	return CALL_YIELDS;
}

bool coll_yield_until_full(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use)
{
	for (unsigned int i = 0; !coll_all_full(node, seen, end, use); i++) {
		if (i == node->call_yields)
			return false;
		(void)sched_yield();
	}
	return true;
}

int coll_node_wait(struct coll_node *node)
{
	uint64_t now;

	if (!node->oversubscribed && !wf_patience_ends(&node->patience))
		return 0;
	wait_yield(node);
	if (node->oversubscribed && ++node->yields % YIELDS)
		return 0;
	now = wf_coarse_ns();
	if (node->check_ns && now < node->check_ns)
		return 0;
	if (node->check_ns) {
		int ret = wait_check(node);

		if (ret)
			return ret;
	}
	node->check_ns = now + CHECK_NS + node->members * (uint64_t)CHECK_NS_MEMBER;
	return 0;
}

int coll_fail(struct coll_node *node, int err)
{
	node->err = err;
	node->busy = false;
	coll_leave(node);
	return err;
}

void coll_leave(struct coll_node *node)
{
	coll_set_done(node, COLL_DONE_ALL);
	/* Pairs with wait_is_gone of the others. */
	atomic_store_explicit(&node->own->left, 1, memory_order_release);
}

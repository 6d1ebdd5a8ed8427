/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "providers/coll/node/copy.h"
#include "providers/coll/node/direct.h"
#include "providers/coll/node/tree.h"
#include "sys/compiler.h"
#include "sys/copy.h"

/* The steps of an operation, and when each of them can continue. */

enum {
	SPINS = 128,
	SPIN_BYTES = 16, /* bytes for one more spin */
};

bool coll_is_free(struct coll_node *node, uint64_t use)
{
	uint64_t floor = use, done;

	if (wf_likely(coll_is_past(node->floor, use)))
		return true;
	for (uint32_t i = 0; i < node->members; i++) {
		/* Pairs with coll_set_done. */
		done = atomic_load_explicit(
			&node->segment[i]->done, memory_order_acquire);
		floor = WF_MIN(floor, done);
	}
	node->floor = floor;
	return coll_is_past(floor, use);
}

bool coll_all_full(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use)
{
	for (; *seen < end; ++*seen)
		if (*seen != node->rank && !coll_is_full(node->segment[*seen], use))
			return false;
	return true;
}

static bool progress_post(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;

	if (node->posted == plan->chunks)
		return false;
	if (!plan->role.posts) {
		node->posted = plan->chunks;
		return true;
	}
	if (node->posted >= node->take.chunk + plan->ahead ||
		!coll_is_free(node, coll_use(node, node->posted)))
		return false;
	coll_post(node, node->posted);
	node->posted++;
	return true;
}

static bool progress_share(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	struct coll_cursor *at = &node->share;
	uint64_t use = coll_use(node, at->chunk);

	if (at->chunk == node->posted)
		return false;
	if (!plan->shares) {
		at->chunk = node->posted;
		return true;
	}
	if (!coll_all_full(node, &at->seen, node->members, use) ||
		!coll_is_free(node, use + 1))
		return false;
	coll_share(node, at->chunk);
	*at = (struct coll_cursor){ .chunk = at->chunk + 1 };
	return true;
}

static bool progress_take(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	struct coll_cursor *at = &node->take;

	if (at->chunk == node->share.chunk)
		return false;
	if (!plan->role.takes) {
		at->chunk = node->share.chunk;
	} else {
		if (!coll_all_full(node, &at->seen, plan->end,
			    coll_use(node, at->chunk) + plan->stride - 1))
			return false;
		coll_take(node, at->chunk);
		*at = (struct coll_cursor){ at->chunk + 1, plan->first };
	}
	coll_set_done(node, coll_use(node, at->chunk));
	return true;
}

static int progress_finish(struct coll_node *node)
{
	node->busy = false;
	node->next = node->base + node->plan.uses;
	/* A member from which this one took has ended all earlier operations. */
	if (node->plan.is_joint && node->floor < node->base)
		node->floor = node->base;
	coll_prefetch_next(node);
	coll_copy_end(node);
	return 1;
}

static int progress_advance_chunks(struct coll_node *node)
{
	bool moved = false, any;

	do {
		any = progress_post(node);
		any |= progress_share(node);
		any |= progress_take(node);
		moved |= any;
	} while (any);
	if (node->take.chunk == node->plan.chunks)
		return progress_finish(node);
	if (moved)
		coll_wait_ends(node);
	else
		return coll_node_wait(node);
	return 0;
}

/* An operation without chunks. */
static int progress_advance_steps(struct coll_node *node)
{
	bool moved;
	int ret = node->plan.is_tree ? coll_tree_advance(node, &moved)
				     : coll_direct_advance(node, &moved);

	if (ret < 0)
		return coll_fail(node, ret);
	if (ret) {
		coll_set_done(node, node->base + node->plan.stride);
		return progress_finish(node);
	}
	if (!moved)
		return coll_node_wait(node);
	coll_wait_ends(node);
	return 0;
}

static int progress_advance(struct coll_node *node)
{
	if (node->plan.is_direct || node->plan.is_tree)
		return progress_advance_steps(node);
	return progress_advance_chunks(node);
}

bool coll_node_can(const struct coll_node *node, const struct coll_args *args)
{
	(void)node;
	switch (args->kind) {
	case FI_BARRIER:
	case FI_BROADCAST:
	case FI_SCATTER:
	case FI_GATHER:
	case FI_ALLGATHER:
	case FI_ALLTOALL:
		return true;
	case FI_ALLREDUCE:
	case FI_REDUCE:
	case FI_REDUCE_SCATTER:
		return coll_reduce(args->datatype, args->op) != NULL;
	default:
		return false;
	}
}

/*
 * Post tiny data first, so that the rest of the call overlaps with the transfer of the
 * line. Returns the number of chunks posted: 0 if the post is not that simple, or must
 * not be made.
 */
static uint64_t progress_post_early(
	struct coll_node *node, const struct coll_args *args)
{
	struct coll_role role = coll_roles[args->kind][args->rank != args->root];
	size_t len = args->kind == FI_BARRIER ? 0 : args->count * args->size;
	uint64_t use = node->next;

	if (coll_has_tiny_tree(node) || !role.posts || role.scatters ||
		len > COLL_LINE_BYTES || (role.gathers && args->buf == args->result) ||
		!coll_is_past(node->floor, use))
		return 0;
	if (len)
		wf_copy_small(node->own->line[use % COLL_SLOTS].data, args->buf, len);
	else if (args->kind != FI_BARRIER)
		return 0;
	coll_publish(node, use);
	return 1;
}

/* Poll for members that make the call at about the same time: as long as a line takes
 * between processors, and as another member takes to copy as many bytes. */
static bool progress_spin(struct coll_node *node, uint64_t use)
{
	size_t spins = SPINS + node->plan.part * node->plan.parts / SPIN_BYTES;

	if (node->oversubscribed)
		return coll_yield_until_full(
			node, &node->take.seen, node->plan.end, use);
	for (size_t i = 0; i < spins; i++)
		if (coll_all_full(node, &node->take.seen, node->plan.end, use))
			return true;
	return false;
}

/* Execute a whole operation of one chunk, if the other members make the call at about
 * the same time. */
static bool progress_run_at_once(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;

	if (plan->chunks != 1 || plan->shares)
		return false;
	if (node->posted < plan->role.posts) {
		if (!coll_is_free(node, node->base))
			return false;
		coll_post(node, 0);
		node->posted = 1;
	}
	if (plan->role.takes) {
		if (!progress_spin(node, node->base))
			return false;
		coll_take(node, 0);
	}
	coll_set_done(node, node->base + 1);
	return true;
}

/* The same for an operation that goes through the tree. */
static bool progress_climb_at_once(struct coll_node *node)
{
	unsigned int most = node->oversubscribed ? node->call_yields : SPINS, idle = 0;
	bool moved;

	while (!coll_tree_advance(node, &moved)) {
		idle = moved ? 0 : idle + 1;
		if (idle > most)
			return false;
		if (node->oversubscribed)
			(void)sched_yield();
	}
	coll_set_done(node, node->base + node->plan.stride);
	return true;
}

static bool progress_end_at_once(struct coll_node *node)
{
	if (!node->plan.is_tree)
		return progress_run_at_once(node);
	coll_tree_start(node);
	return progress_climb_at_once(node);
}

int coll_node_start(struct coll_node *node, const struct coll_args *args)
{
	if (wf_unlikely(node->err))
		return node->err;
	node->base = node->next;
	node->posted = node->is_posted ? 1 : progress_post_early(node, args);
	node->is_posted = false;
	coll_plan(node, args);
	node->take = (struct coll_cursor){ .seen = node->plan.first };
	if (progress_end_at_once(node))
		return progress_finish(node);
	node->share = (struct coll_cursor){ .chunk = node->posted };
	node->direct = (struct coll_direct){ 0 };
	node->busy = true;
	coll_copy_start(node);
	coll_wait_ends(node);
	return progress_advance(node);
}

int coll_node_progress(struct coll_node *node)
{
	if (node->err)
		return node->err;
	return node->busy ? progress_advance(node) : 1;
}

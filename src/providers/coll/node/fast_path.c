/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/state.h"
#include "sys/compiler.h"
#include "sys/copy.h"
#include "sys/lock.h"

/*
 * The fast path of barriers and of allreduces whose data fit into a line: the same as
 * coll_node_start, without a plan.
 */

/* Polls until the others have posted: several times as long as a line takes between
 * distant processors. */
enum { SPINS = 32 };

static bool fast_path_is_possible(struct coll_node *node)
{
	if (wf_unlikely(node->err || node->busy || node->members < 2 ||
			coll_has_tiny_tree(node)))
		return false;
	return wf_likely(coll_is_past(node->floor, node->next)) ||
	       coll_is_free(node, node->next);
}

static bool fast_path_all_posted(const struct coll_node *node, uint64_t use)
{
	unsigned int spins = SPINS;
	uint32_t seen = 0;

	if (node->oversubscribed)
		return coll_yield_until_full(node, &seen, node->members, use);
	for (uint32_t i = 0; i < node->members; i++) {
		if (i == node->rank)
			continue;
		/* A poll just before the post would take the line from its writer, so
		 * the first poll waits a moment, too. */
		do {
			wf_cpu_relax();
			if (coll_is_full(node->segment[i], use))
				break;
		} while (--spins);
		if (!spins)
			return false;
	}
	return true;
}

/* Reduce in the order of ranks. */
static void fast_path_take(
	const struct coll_node *node, uint64_t use, const struct coll_node_tiny *tiny)
{
	uint64_t slot = use % COLL_SLOTS;
	const uint8_t *own = tiny->in, *sum, *in;

	/* The data of the first members are reduced into the input. */
	if (tiny->in == tiny->out && node->rank > 1)
		own = node->own->line[slot].data;
	sum = node->rank ? node->segment[0]->line[slot].data : own;
	for (uint32_t i = 1; i < node->members; i++) {
		in = i == node->rank ? own : node->segment[i]->line[slot].data;
		tiny->reduce(tiny->out, sum, in, tiny->count);
		sum = tiny->out;
	}
}

bool coll_node_fast_path(struct coll_node *node, const struct coll_node_tiny *tiny)
{
	uint64_t use = node->next;

	if (!fast_path_is_possible(node))
		return false;
	if (tiny->len)
		wf_copy_small(
			node->own->line[use % COLL_SLOTS].data, tiny->in, tiny->len);
	coll_publish(node, use);
	if (wf_unlikely(!fast_path_all_posted(node, use))) {
		node->is_posted = true;
		return false;
	}
	if (tiny->len)
		fast_path_take(node, use, tiny);
	coll_set_done(node, use + 1);
	/* All members have ended all earlier operations. */
	node->floor = WF_MAX(node->floor, use);
	node->next = use + 1;
	coll_prefetch_next(node);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/posted.h"

/*
 * The list of all posted receives in the order in which they were posted. Groups keep
 * the order of each key only, so the list is sorted by age when it is asked for: a
 * merge sort that needs no memory.
 */

/* Chains during the sort are linked by order.next, and end with NULL. */
struct chains {
	/* The @i-th has 1 << @i receives, or none. */
	struct wf_list *of_size[64];
};

static uint64_t walk_age(const struct wf_list *item)
{
	return wf_list_entry(item, const struct wf_match_entry, order)->stamp;
}

static struct wf_list *walk_merge(struct wf_list *a, struct wf_list *b)
{
	struct wf_list *first, **end = &first, **older;

	while (a && b) {
		older = walk_age(a) < walk_age(b) ? &a : &b;
		*end = *older;
		end = &(*older)->next;
		*older = *end;
	}
	*end = a ? a : b;
	return first;
}

static void walk_chains_add(struct chains *chains, struct wf_match_entry *entry)
{
	struct wf_list *chain = &entry->order;
	unsigned int i = 0;

	chain->next = NULL;
	for (; chains->of_size[i]; i++) {
		chain = walk_merge(chains->of_size[i], chain);
		chains->of_size[i] = NULL;
	}
	chains->of_size[i] = chain;
}

/* Add the receives of the rings in one bucket. */
static void walk_add_bucket(struct chains *chains, struct wf_match_node *bucket)
{
	for (struct wf_match_node *first = bucket; first; first = first->next) {
		struct wf_match_node *node = first;

		do {
			walk_chains_add(chains, wf_match_entry_of(node));
			node = node->after;
		} while (node != first);
	}
}

static void walk_add_table(struct chains *chains, const struct wf_match_table *table)
{
	for (uint32_t i = 0; i <= table->mask; i++)
		walk_add_bucket(chains, table->buckets[i]);
	if (!table->old)
		return;
	for (uint32_t i = table->moved; i <= table->old_mask; i++)
		walk_add_bucket(chains, table->old[i]);
}

static void walk_add_ungrouped(struct chains *chains, const struct wf_match *m)
{
	wf_list_foreach(item, &m->ungrouped) walk_chains_add(
		chains, wf_list_entry(item, struct wf_match_entry, node.ungrouped));
}

void wf_match_list_posted(struct wf_match *m, struct wf_list *list)
{
	struct chains chains = { 0 };
	struct wf_list *all = NULL, *next;

	for (unsigned int i = 0; i < m->group_count; i++) {
		if (m->groups[i]->table.keys)
			walk_add_table(&chains, &m->groups[i]->table);
	}
	walk_add_ungrouped(&chains, m);
	for (size_t i = 0; i < WF_ARRAY_SIZE(chains.of_size); i++)
		all = walk_merge(chains.of_size[i], all);
	wf_list_init(list);
	for (; all; all = next) {
		next = all->next;
		wf_list_push(list, all);
	}
}

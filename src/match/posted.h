/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/* Posted receives as inline functions, for hot paths where a call is measurable. See
 * posted.c. */

#include "match/match.h"

/* wf_match_group.last_key of a group that has none: a node of a key that no receive and
 * no message has, so that looking at it needs no test. Never written. */
extern struct wf_match_node wf_match_no_key;

static inline struct wf_match_entry *wf_match_entry_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_entry, node);
}

static inline void wf_match_ungrouped_post(struct wf_match *m, struct wf_match_entry *e)
{
	e->group = NULL;
	wf_list_push(&m->ungrouped, &e->node.ungrouped);
	m->ungrouped_count++;
	m->live |= WF_MATCH_UNGROUPED;
}

static inline void wf_match_ungrouped_unpost(
	struct wf_match *m, struct wf_match_entry *e)
{
	wf_list_unlink(&e->node.ungrouped);
	if (!--m->ungrouped_count)
		m->live &= ~WF_MATCH_UNGROUPED;
}

static inline struct wf_match_entry *wf_match_ungrouped_search(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	wf_list_foreach(item, &m->ungrouped)
	{
		struct wf_match_entry *e =
			wf_list_entry(item, struct wf_match_entry, node.ungrouped);

		if (e->node.tag == (tag & ~e->ignore) &&
			(e->node.addr == WF_MATCH_ANY || e->node.addr == addr))
			return e;
	}
	return NULL;
}

/* Add @e to its group, or to m->ungrouped if it has none. All members of @e but group
 * and hash are set. Out of line: rarely called by the inline functions below. */
void wf_match_group_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr);

/* wf_match_group_post, if m->recent is the group and its last_key the key of @e. False:
 * nothing was done. */
static inline bool wf_match_group_follow(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = m->recent;
	struct wf_match_node *first = g->last_key;

	/* Groups differ by what is ignored, and by whether there is a source. */
	if (first->tag != (tag & ~ignore) || first->addr != addr ||
		g->table.ignore != ignore)
		return false;
	e->group = g;
	e->hash = wf_match_entry_of(first)->hash;
	wf_match_table_follow(&g->table, first, &e->node);
	return true;
}

/* Remove @e from its group. */
static inline void wf_match_group_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_group *g = e->group;
	struct wf_match_node *first =
		wf_match_table_remove(&g->table, &e->node, e->hash);

	if (wf_likely(first != NULL)) {
		g->last_key = first;
		/* The node that is removed after @first. The nodes of a long ring are
		 * not in the caches, and no prefetcher knows their order. */
		__builtin_prefetch(first->after, 1);
		return;
	}
	if (g->last_key == &e->node)
		g->last_key = &wf_match_no_key;
	if (!g->table.keys)
		m->live &= ~g->bit;
}

/* The oldest receive in @g with the key (@tag, @addr), as wf_match_table_key makes it;
 * NULL if there is none. Out of line, like wf_match_group_post. */
struct wf_match_entry *wf_match_group_lookup(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr);

/* The oldest match in one group. NULL as well if the source of the message is unknown
 * and the group is directed: no receive of such a group has the key WF_MATCH_ANY. */
static inline struct wf_match_entry *wf_match_group_find(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node = g->last_key;

	wf_match_table_key(&g->table, &tag, &addr);
	if (wf_unlikely(node->tag != tag || node->addr != addr))
		return wf_match_group_lookup(g, tag, addr);
	return wf_match_entry_of(node);
}

static inline void wf_match_post_inline(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	e->node.tag = tag & ~ignore;
	WF_STORE_ALONE(e->node.tag);
	e->node.addr = addr;
	e->ignore = ignore;
	e->stamp = m->stamp++;
	if (wf_likely(!(m->live & ~WF_MATCH_UNGROUPED) &&
		      m->ungrouped_count < WF_MATCH_FEW_POSTED))
		wf_match_ungrouped_post(m, e);
	else if (wf_unlikely(!wf_match_group_follow(m, e, tag, ignore, addr)))
		wf_match_group_post(m, e, tag, ignore, addr);
}

static inline void wf_match_unpost_inline(struct wf_match *m, struct wf_match_entry *e)
{
	if (!e->group)
		wf_match_ungrouped_unpost(m, e);
	else
		wf_match_group_unpost(m, e);
}

/* The oldest match among receives of several groups, or of a group and m->ungrouped.
 * Out of line: the fast path needs fewer registers. */
struct wf_match_entry *wf_match_search_groups(
	const struct wf_match *m, uint64_t tag, uint64_t addr);

static inline struct wf_match_entry *wf_match_search_posted_inline(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	uint32_t live = m->live;

	if (wf_likely(live == m->recent->bit))
		return wf_match_group_find(m->recent, tag, addr);
	if (live == WF_MATCH_UNGROUPED)
		return wf_match_ungrouped_search(m, tag, addr);
	return wf_match_search_groups(m, tag, addr);
}

#endif

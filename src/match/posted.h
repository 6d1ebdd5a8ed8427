/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/* Posted receives, inline: for the few places where a call would show. See posted.c. */

#include "match/match.h"

/* What is rare is out of line: the common way keeps its registers. */
struct wf_match_group *wf_match_group_other(
	struct wf_match *m, uint64_t ignore, bool directed);

static inline bool wf_match_group_serves(
	const struct wf_match_group *g, uint64_t ignore, bool directed)
{
	return g->table.ignore == ignore && !g->table.any == directed;
}

/* Beside the groups: a few receives while there are no others, for a table costs more
 * than a look at each, and those that found no group. */
static inline void wf_match_post_beside(struct wf_match *m, struct wf_match_entry *e)
{
	e->group = NULL;
	wf_list_push(&m->beside, &e->node.ring);
	m->beside_count++;
	m->live |= WF_MATCH_BESIDE;
}

static inline void wf_match_post_inline(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g;

	e->node.tag = tag & ~ignore;
	e->node.addr = addr;
	e->ignore = ignore;
	e->stamp = m->stamp++;
	wf_list_push(&m->posted, &e->order);
	if (wf_likely(!(m->live & ~WF_MATCH_BESIDE) &&
		      m->beside_count < WF_MATCH_FEW_POSTED)) {
		wf_match_post_beside(m, e);
		return;
	}
	g = m->recent;
	if (wf_unlikely(!wf_match_group_serves(g, ignore, addr != WF_MATCH_ANY)))
		g = wf_match_group_other(m, ignore, addr != WF_MATCH_ANY);
	if (wf_unlikely(!g)) {
		wf_match_post_beside(m, e);
		return;
	}
	e->group = g;
	e->hash = wf_match_table_hash(&g->table, tag, addr);
	wf_match_table_add(&g->table, &e->node, e->hash);
	m->live |= UINT32_C(1) << g->bit;
}

static inline void wf_match_unpost_inline(struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_group *g = e->group;

	e->order.prev->next = e->order.next;
	e->order.next->prev = e->order.prev;
	if (!g) {
		e->node.ring.prev->next = e->node.ring.next;
		e->node.ring.next->prev = e->node.ring.prev;
		if (!--m->beside_count)
			m->live &= ~WF_MATCH_BESIDE;
		return;
	}
	wf_match_table_remove(&g->table, &e->node, e->hash);
	if (!g->table.keys)
		m->live &= ~(UINT32_C(1) << g->bit);
}

static inline struct wf_match_entry *wf_match_search_beside(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	wf_list_foreach(item, &m->beside)
	{
		struct wf_match_entry *e =
			wf_list_entry(item, struct wf_match_entry, node.ring);

		if (e->node.tag == (tag & ~e->ignore) &&
			(e->node.addr == WF_MATCH_ANY || e->node.addr == addr))
			return e;
	}
	return NULL;
}

static inline struct wf_match_entry *wf_match_entry_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_entry, node);
}

/* In one group: NULL also where a message of unknown source meets directed receives. */
static inline struct wf_match_entry *wf_match_search_group(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node;

	if (!g->table.any && addr == WF_MATCH_ANY)
		return NULL;
	node = wf_match_table_find(&g->table, tag, addr);
	return node ? wf_match_entry_of(node) : NULL;
}

static inline struct wf_match_entry *wf_match_search_posted_inline(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	struct wf_match_entry *best = NULL, *e;

	if (m->live & WF_MATCH_BESIDE)
		best = wf_match_search_beside(m, tag, addr);
	for (uint32_t live = m->live & ~WF_MATCH_BESIDE; live; live &= live - 1) {
		e = wf_match_search_group(m->groups[__builtin_ctz(live)], tag, addr);
		if (e && (!best || e->stamp < best->stamp))
			best = e;
	}
	return best;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/* Posted receives, inline: for the few places where a call would show. See posted.c. */

#include "match/match.h"
#include "match/table_ops.h"

/* What is rare is out of line: the common way keeps its registers. */
struct wf_match_group *wf_match_group_other(
	struct wf_match *m, uint64_t ignore, bool directed);
struct wf_match_entry *wf_match_search_overflow(
	const struct wf_match *m, uint64_t tag, uint64_t addr);

static inline bool wf_match_group_serves(
	const struct wf_match_group *g, uint64_t ignore, bool directed)
{
	return g->table.ignore == ignore && !g->table.any == directed;
}

static inline void wf_match_post_inline(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = m->recent;

	if (wf_unlikely(!wf_match_group_serves(g, ignore, addr != WF_MATCH_ANY)))
		g = wf_match_group_other(m, ignore, addr != WF_MATCH_ANY);
	e->node.tag = tag & ~ignore;
	e->node.addr = addr;
	e->ignore = ignore;
	e->stamp = m->stamp++;
	e->group = g;
	wf_list_push(&m->posted, &e->order);
	if (wf_unlikely(!g)) {
		wf_list_push(&m->overflow, &e->node.ring);
		m->live |= WF_MATCH_OVERFLOW;
		return;
	}
	e->hash = wf_match_table_hash(&g->table, tag, addr);
	wf_match_table_add(&g->table, &e->node, e->hash);
	m->live |= UINT32_C(1) << g->bit;
}

static inline void wf_match_unpost_inline(struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_group *g = e->group;

	e->order.prev->next = e->order.next;
	e->order.next->prev = e->order.prev;
	if (wf_unlikely(!g)) {
		wf_list_remove(&e->node.ring);
		if (wf_list_empty(&m->overflow))
			m->live &= ~WF_MATCH_OVERFLOW;
		return;
	}
	wf_match_table_remove(&g->table, &e->node, e->hash);
	if (!g->table.keys)
		m->live &= ~(UINT32_C(1) << g->bit);
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

	for (uint32_t live = m->live & ~WF_MATCH_OVERFLOW; live; live &= live - 1) {
		e = wf_match_search_group(m->groups[__builtin_ctz(live)], tag, addr);
		if (e && (!best || e->stamp < best->stamp))
			best = e;
	}
	if (wf_unlikely(m->live & WF_MATCH_OVERFLOW)) {
		e = wf_match_search_overflow(m, tag, addr);
		if (e && (!best || e->stamp < best->stamp))
			best = e;
	}
	return best;
}

#endif

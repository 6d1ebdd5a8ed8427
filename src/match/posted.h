/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/* Posted receives as inline functions, for hot paths where a call is measurable. See
 * posted.c. */

#include "match/match.h"

/* The group of a pair that is not m->recent; NULL: no further group can be had. Out of
 * line: the fast path saves no registers for it. */
struct wf_match_group *wf_match_group_other(
	struct wf_match *m, uint64_t ignore, bool directed);

static inline struct wf_match_entry *wf_match_entry_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_entry, node);
}

static inline void wf_match_beside_post(struct wf_match *m, struct wf_match_entry *e)
{
	e->group = NULL;
	wf_list_push(&m->beside, &e->node.beside);
	m->beside_count++;
	m->live |= WF_MATCH_BESIDE;
}

static inline void wf_match_beside_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	wf_list_unlink(&e->node.beside);
	if (!--m->beside_count)
		m->live &= ~WF_MATCH_BESIDE;
}

static inline struct wf_match_entry *wf_match_beside_search(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	wf_list_foreach(item, &m->beside)
	{
		struct wf_match_entry *e =
			wf_list_entry(item, struct wf_match_entry, node.beside);

		if (e->node.tag == (tag & ~e->ignore) &&
			(e->node.addr == WF_MATCH_ANY || e->node.addr == addr))
			return e;
	}
	return NULL;
}

static inline bool wf_match_group_serves(
	const struct wf_match_group *g, uint64_t ignore, bool directed)
{
	return g->table.ignore == ignore && !g->table.any == directed;
}

/* Add @e, whose fields but group and hash are set (tag, ignore and addr as given), to
 * its group, or to m->beside without a group. */
static inline void wf_match_group_post(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = m->recent;

	if (wf_unlikely(!wf_match_group_serves(g, ignore, addr != WF_MATCH_ANY)))
		g = wf_match_group_other(m, ignore, addr != WF_MATCH_ANY);
	if (wf_unlikely(!g)) {
		wf_match_beside_post(m, e);
		return;
	}
	e->group = g;
	e->hash = wf_match_table_hash(&g->table, tag, addr);
	wf_match_table_add(&g->table, &e->node, e->hash);
	m->live |= UINT32_C(1) << g->bit;
}

/* Remove @e from its group. */
static inline void wf_match_group_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_group *g = e->group;

	wf_match_table_remove(&g->table, &e->node, e->hash);
	if (!g->table.keys)
		m->live &= ~(UINT32_C(1) << g->bit);
}

/* The oldest match in one group. NULL as well if the source of the message is unknown
 * and the group is directed. */
static inline struct wf_match_entry *wf_match_group_find(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node;

	if (!g->table.any && addr == WF_MATCH_ANY)
		return NULL;
	node = wf_match_table_find(&g->table, tag, addr);
	return node ? wf_match_entry_of(node) : NULL;
}

/* The oldest match in any group, or @best if that is older or there is none. */
static inline struct wf_match_entry *wf_match_group_search(const struct wf_match *m,
	uint64_t tag, uint64_t addr, struct wf_match_entry *best)
{
	struct wf_match_entry *e;

	for (uint32_t live = m->live & ~WF_MATCH_BESIDE; live; live &= live - 1) {
		e = wf_match_group_find(m->groups[__builtin_ctz(live)], tag, addr);
		if (e && (!best || e->stamp < best->stamp))
			best = e;
	}
	return best;
}

static inline void wf_match_post_inline(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	e->node.tag = tag & ~ignore;
	e->node.addr = addr;
	e->ignore = ignore;
	e->stamp = m->stamp++;
	wf_list_push(&m->posted, &e->order);
	if (wf_likely(!(m->live & ~WF_MATCH_BESIDE) &&
		      m->beside_count < WF_MATCH_FEW_POSTED))
		wf_match_beside_post(m, e);
	else
		wf_match_group_post(m, e, tag, ignore, addr);
}

static inline void wf_match_unpost_inline(struct wf_match *m, struct wf_match_entry *e)
{
	wf_list_unlink(&e->order);
	if (!e->group)
		wf_match_beside_unpost(m, e);
	else
		wf_match_group_unpost(m, e);
}

static inline struct wf_match_entry *wf_match_search_posted_inline(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	struct wf_match_entry *best = NULL;

	if (m->live & WF_MATCH_BESIDE)
		best = wf_match_beside_search(m, tag, addr);
	return wf_match_group_search(m, tag, addr, best);
}

#endif

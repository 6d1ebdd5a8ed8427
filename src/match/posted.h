/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/* Posted receives as inline functions, for hot paths where a call is measurable. See
 * posted.c. */

#include "match/match.h"

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

/* Is @node a receive of that key in @g? */
static inline bool wf_match_group_same(const struct wf_match_group *g,
	const struct wf_match_node *node, uint64_t tag, uint64_t addr)
{
	return node && wf_match_table_same(&g->table, node, tag, addr);
}

/* Add @e, whose fields but group and hash are set (tag, ignore and addr as given), to
 * its group, or to m->beside without a group. Out of line, see below. */
void wf_match_group_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr);

/* The same if the receive follows one of its key that was used lately; else false. */
static inline bool wf_match_group_follow(struct wf_match *m, struct wf_match_entry *e,
	uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = m->recent;
	struct wf_match_node *first = g->lately;

	if (!wf_match_group_serves(g, ignore, addr != WF_MATCH_ANY) ||
		!wf_match_group_same(g, first, tag, addr))
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
		g->lately = first;
		return;
	}
	if (g->lately == &e->node)
		g->lately = NULL;
	if (!g->table.keys)
		m->live &= ~g->bit;
}

/* The oldest match in one group. NULL as well if the source of the message is unknown
 * and the group is directed. */
static inline struct wf_match_entry *wf_match_group_find(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node = g->lately;

	if (!g->table.any && addr == WF_MATCH_ANY)
		return NULL;
	if (!wf_match_group_same(g, node, tag, addr))
		node = wf_match_table_find(&g->table, tag, addr);
	return node ? wf_match_entry_of(node) : NULL;
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
	else if (wf_unlikely(!wf_match_group_follow(m, e, tag, ignore, addr)))
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

/* The oldest match among receives of several groups, or in some group and beside. Out
 * of line: the fast path keeps its registers. */
struct wf_match_entry *wf_match_search_groups(
	const struct wf_match *m, uint64_t tag, uint64_t addr);

static inline struct wf_match_entry *wf_match_search_posted_inline(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	uint32_t live = m->live;

	if (live == WF_MATCH_BESIDE)
		return wf_match_beside_search(m, tag, addr);
	if (wf_likely(live == m->recent->bit))
		return wf_match_group_find(m->recent, tag, addr);
	return wf_match_search_groups(m, tag, addr);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_POSTED_H
#define WF_MATCH_POSTED_H

/*
 * Posted receives, inline: for the few places where a call would show. Inline is what a
 * few receives without a group need (posted.c); groups are a tail call, so that they
 * cost the inline part no registers.
 */

#include "match/match.h"

/* @e, whose fields but group and hash are set, goes to its group, or beside the groups
 * if there is no memory for one. */
void wf_match_group_post(
	struct wf_match *m, struct wf_match_entry *e, uint64_t tag, uint64_t addr);

/* @e leaves its group. */
void wf_match_group_unpost(struct wf_match *m, struct wf_match_entry *e);

/* The oldest match in any group, or @best if that is older or there is none. */
struct wf_match_entry *wf_match_group_search(const struct wf_match *m, uint64_t tag,
	uint64_t addr, struct wf_match_entry *best);

static inline struct wf_match_entry *wf_match_entry_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_entry, node);
}

static inline void wf_match_beside_join(
	struct wf_match_node *a, struct wf_match_node *b)
{
	a->after = b;
	b->before = a;
}

static inline void wf_match_beside_post(struct wf_match *m, struct wf_match_entry *e)
{
	e->group = NULL;
	wf_match_beside_join(m->beside.before, &e->node);
	wf_match_beside_join(&e->node, &m->beside);
	m->beside_count++;
	m->live |= WF_MATCH_BESIDE;
}

static inline void wf_match_beside_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	wf_match_beside_join(e->node.before, e->node.after);
	if (!--m->beside_count)
		m->live &= ~WF_MATCH_BESIDE;
}

static inline struct wf_match_entry *wf_match_beside_search(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	for (struct wf_match_node *node = m->beside.after; node != &m->beside;
		node = node->after) {
		struct wf_match_entry *e = wf_match_entry_of(node);

		if (node->tag == (tag & ~e->ignore) &&
			(node->addr == WF_MATCH_ANY || node->addr == addr))
			return e;
	}
	return NULL;
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
		wf_match_group_post(m, e, tag, addr);
}

static inline void wf_match_unpost_inline(struct wf_match *m, struct wf_match_entry *e)
{
	e->order.prev->next = e->order.next;
	e->order.next->prev = e->order.prev;
	if (wf_likely(!e->group))
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
	return m->live & ~WF_MATCH_BESIDE ? wf_match_group_search(m, tag, addr, best)
					  : best;
}

#endif

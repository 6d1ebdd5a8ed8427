/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TABLE_H
#define WF_MATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "match/seed.h"
#include "sys/compiler.h"
#include "sys/list.h"

/* One thing filed under (tag, addr); see table_text.h. */
struct wf_match_node {
	struct wf_list ring;
	/* Bucket chain of the first of each ring; &wf_match_behind in the others. */
	struct wf_match_node *next;
	uint64_t tag, addr;
};

extern struct wf_match_node wf_match_behind;

static inline struct wf_match_node *wf_match_ring_node(struct wf_list *ring)
{
	return wf_list_entry(ring, struct wf_match_node, ring);
}

static inline void wf_match_ring_join(struct wf_match_node *a, struct wf_match_node *b)
{
	a->ring.next = &b->ring;
	b->ring.prev = &a->ring;
}

struct wf_match_table;

static inline struct wf_match_node *wf_match_table_at(
	const struct wf_match_table *view, struct wf_match_node *link)
{
	(void)view;
	return link;
}

#include "match/table_is.h"
#include "match/table_text.h"

#endif

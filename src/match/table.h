/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TABLE_H
#define WF_MATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "match/seed.h"
#include "sys/compiler.h"
#include "sys/list.h"
#include "sys/pool.h"

/*
 * One hash table for two kinds of links: table.inl has its text, table.c the functions
 * that are not inline. Posted receives are linked by pointers, for a message that finds
 * one is the fast path. Of unexpected messages there may be millions: a link is a
 * handle.
 */

enum { WF_MATCH_FEW_BUCKETS = 8 };

/* Links are pointers to the node. */
struct wf_match_node {
	union {
		struct {
			struct wf_match_node *after, *before; /* in the ring */
		};
		struct wf_list ungrouped; /* in wf_match.ungrouped; in no table then */
	};
	uint64_t tag, addr; /* as the table compares them */
	/* The first node of a ring: the next ring in its bucket. Other nodes: the node
	 * itself. */
	struct wf_match_node *next;
};

#define T(name)       wf_match_table##name
#define T_NODE        struct wf_match_node
#define T_LINK        struct wf_match_node *
#define T_AT(t, link) (link)
#define T_KEYED       1
#include "match/table.inl"

/* A node in 24 bytes, a member of an object of a pool with handles. A link is the
 * handle of the node (wf_pool_handle of its address). */
struct wf_match_compact_node {
	uint64_t tag;           /* with bits that the table may not compare */
	int32_t addr;           /* 31 bits, or -1: WF_MATCH_ANY */
	uint32_t next;          /* as in struct wf_match_node */
	uint32_t before, after; /* in the ring */
};

static inline struct wf_match_compact_node *wf_match_compact_at(
	const struct wf_handles *handles, uint32_t link)
{
	return wf_pool_at(handles, link);
}

#define T(name)       wf_match_compact##name
#define T_NODE        struct wf_match_compact_node
#define T_LINK        uint32_t
#define T_AT(t, link) wf_match_compact_at((t)->handles, link)
#define T_KEYED       0
#include "match/table.inl"

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_COMPACT_H
#define WF_MATCH_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "match/seed.h"
#include "sys/pool.h"

/*
 * The same as struct wf_match_node where there may be millions: in objects of pools
 * with handles, which are the links. A source has 31 bits; see wf_match_addr_fits.
 */
struct wf_match_compact_node {
	uint64_t tag;
	int32_t addr; /* -1: WF_MATCH_ANY */
	/* Bucket chain of the first of each ring; WF_MATCH_COMPACT_BEHIND in the
	 * others.
	 */
	uint32_t next;
	uint32_t before, after; /* in the ring */
};

#define WF_MATCH_COMPACT_BEHIND UINT32_MAX

static inline struct wf_match_compact_node *wf_match_compact_at(
	struct wf_handles_view view, uint32_t link)
{
	return wf_pool_view_at(view, link);
}

static inline uint64_t wf_match_compact_addr(const struct wf_match_compact_node *node)
{
	return (uint64_t)(int64_t)node->addr;
}

static inline void wf_match_compact_join(
	struct wf_handles_view view, uint32_t a, uint32_t b)
{
	wf_match_compact_at(view, a)->after = b;
	wf_match_compact_at(view, b)->before = a;
}

#include "match/compact_is.h"
#include "match/table_text.h"

#endif

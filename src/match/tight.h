/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TIGHT_H
#define WF_MATCH_TIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "match/seed.h"
#include "sys/pool.h"

/*
 * The same as struct wf_match_node where there may be millions: in objects of pools
 * with names, which are the links. A source has 31 bits; see wf_match_addr_fits.
 */
struct wf_match_tight_node {
	uint64_t tag;
	int32_t addr; /* -1: WF_MATCH_ANY */
	/* Bucket chain of the first of each ring; WF_MATCH_TIGHT_BEHIND in the others.
	 */
	uint32_t next;
	uint32_t before, after; /* in the ring */
};

#define WF_MATCH_TIGHT_BEHIND UINT32_MAX

static inline struct wf_match_tight_node *wf_match_tight_at(
	struct wf_names_view view, uint32_t link)
{
	return wf_pool_look(view, link);
}

static inline uint64_t wf_match_tight_addr(const struct wf_match_tight_node *node)
{
	return (uint64_t)(int64_t)node->addr;
}

static inline void wf_match_tight_join(
	struct wf_names_view view, uint32_t a, uint32_t b)
{
	wf_match_tight_at(view, a)->after = b;
	wf_match_tight_at(view, b)->before = a;
}

#include "match/tight_is.h"
#include "match/table_text.h"

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_SLAB_H
#define WF_MATCH_SLAB_H

#include "match/match.h"

/* The place of an unexpected message in one index. */
struct wf_match_mark {
	struct wf_match_node node;
	struct wf_match_entry *entry;
	struct wf_match_index *index;
	struct wf_match_mark *sibling; /* of the same entry, in another index */
};

/*
 * Memory for marks, in pages that are given back when nothing of them is used; one is
 * kept. @slabs lists the pages, those with room in front.
 */
struct wf_match_mark *wf_match_mark_alloc(struct wf_list *slabs);
void wf_match_mark_free(struct wf_list *slabs, struct wf_match_mark *mark);
void wf_match_slabs_done(struct wf_list *slabs);

#endif

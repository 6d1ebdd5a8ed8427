/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MARK_H
#define WF_MATCH_MARK_H

#include "match/match.h"

/* The place of a message in an index that it has no room for: all but the first. */
struct wf_match_mark {
	struct wf_match_compact_node node;
	struct wf_match_compact_node of; /* among the marks of its message */
	struct wf_match_index *index;
	uint32_t message;
};

/* File @msg in @x; false when there is no memory. */
bool wf_match_mark_add(struct wf_match *m, struct wf_match_index *x, uint32_t msg);

/* Some mark of @msg, or NULL. */
struct wf_match_mark *wf_match_mark_any(const struct wf_match *m, uint32_t msg);

/* The one in @x, or NULL. */
struct wf_match_mark *wf_match_mark_find(
	const struct wf_match *m, const struct wf_match_index *x, uint32_t msg);

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark *mark);

/* Forget all marks; there are none in indexes. */
void wf_match_marks_done(struct wf_match *m);

#endif

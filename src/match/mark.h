/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MARK_H
#define WF_MATCH_MARK_H

#include "match/match.h"

/* The membership of a message in an index other than the first. (The first index uses
 * the node in the message itself.) */
struct wf_match_mark {
	struct wf_match_compact_node node; /* node in the table of the index */
	struct wf_match_compact_node of;   /* node in the table of marks by message */
	struct wf_match_index *index;      /* the index that has the message */
	uint32_t message;                  /* handle of the message */
};

/* Add @msg to @x; false: no memory. */
bool wf_match_mark_add(struct wf_match *m, struct wf_match_index *x, uint32_t msg);

/* Any mark of @msg, or NULL. */
struct wf_match_mark *wf_match_mark_any(const struct wf_match *m, uint32_t msg);

/* The mark of @msg in @x, or NULL. */
struct wf_match_mark *wf_match_mark_find(
	const struct wf_match *m, const struct wf_match_index *x, uint32_t msg);

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark *mark);

/* Free the table of marks; no index has marks. */
void wf_match_marks_done(struct wf_match *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MARK_H
#define WF_MATCH_MARK_H

#include "match/match.h"

/* The place of a message in an index that it has no room for: all but the first. */
struct wf_match_mark {
	struct wf_match_node node;
	struct wf_match_message *message;
	struct wf_match_index *index;
	struct wf_match_mark *sibling; /* of the same message, in another index */
};

/* File @msg in @x; false when there is no memory. */
bool wf_match_mark_add(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg);

/* Where @msg is in @x, if it is: for wf_match_mark_drop. */
struct wf_match_mark **wf_match_mark_find(
	struct wf_match_message *msg, const struct wf_match_index *x);

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark **link);

/* Forget all marks; there are none in messages. */
void wf_match_marks_done(struct wf_match *m);

#endif

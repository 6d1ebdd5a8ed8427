/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MARK_H
#define WF_MATCH_MARK_H

#include "match/match.h"

/*
 * The places of messages in indexes that they have no room for: all but the first
 * index. A mark is found by its key in the index, and by its message here.
 */
struct wf_match_mark {
	struct wf_match_node node;  /* in the table of @index */
	struct wf_match_node owner; /* under the address of the message */
	struct wf_match_index *index;
};

static inline struct wf_match_mark *wf_match_mark_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_mark, node);
}

struct wf_match_message *wf_match_mark_message(const struct wf_match_mark *mark);

/* File @msg in @x; false when there is no memory. */
bool wf_match_mark_add(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg);

/* A mark of @msg: that in @x, or where @x is NULL any one. NULL: there is none. */
struct wf_match_mark *wf_match_mark_find(const struct wf_match *m,
	const struct wf_match_message *msg, const struct wf_match_index *x);

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark *mark);

/* Forget all marks. */
void wf_match_marks_done(struct wf_match *m);

#endif

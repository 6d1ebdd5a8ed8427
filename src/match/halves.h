/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_HALVES_H
#define WF_MATCH_HALVES_H

#include "match/match.h"

/* Posted receives and unexpected messages of an engine; @m is zeroed before init. */
void wf_match_posted_init(struct wf_match *m);
void wf_match_posted_done(struct wf_match *m);
void wf_match_unexpected_init(struct wf_match *m);
void wf_match_unexpected_done(struct wf_match *m);

#endif

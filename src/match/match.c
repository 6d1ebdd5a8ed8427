/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/seed.h"
#include "match/halves.h"

void wf_match_init(struct wf_match *m, struct wf_handles *handles)
{
	wf_match_seed_once();
	*m = (struct wf_match){ .handles = handles };
	wf_match_posted_init(m);
	wf_match_unexpected_init(m);
}

void wf_match_done(struct wf_match *m)
{
	wf_match_posted_done(m);
	wf_match_unexpected_done(m);
}

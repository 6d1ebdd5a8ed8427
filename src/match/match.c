/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "match/seed.h"
#include "match/sides.h"

void wf_match_init(struct wf_match *m)
{
	wf_match_seed_once();
	memset(m, 0, sizeof(*m));
	wf_match_posted_init(m);
	wf_match_unexpected_init(m);
}

void wf_match_done(struct wf_match *m)
{
	wf_match_posted_done(m);
	wf_match_unexpected_done(m);
}

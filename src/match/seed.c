/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sys/random.h>

#include "match/seed.h"
#include "sys/clock.h"

uint64_t wf_match_seed[4];

static void draw(void)
{
	if (getrandom(wf_match_seed, sizeof(wf_match_seed), GRND_NONBLOCK) !=
		(ssize_t)sizeof(wf_match_seed)) {
		/* Early boot or a filter on system calls: what the address space
		 * layout and the clock give. */
		uint64_t mix = wf_now_ns() ^ (uint64_t)(uintptr_t)&mix;

		for (unsigned int i = 0; i < WF_ARRAY_SIZE(wf_match_seed); i++) {
			mix = wf_match_fold(mix ^ (uint64_t)(uintptr_t)&draw,
				0x9e3779b97f4a7c15u + i);
			wf_match_seed[i] = mix;
		}
	}
	/* An even or small multiplier would lose bits of the tag. */
	wf_match_seed[1] |= 0x8000000000000001u;
	wf_match_seed[3] |= 0x8000000000000001u;
}

void wf_match_seed_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, draw);
}

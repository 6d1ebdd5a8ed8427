/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sys/random.h>

#include "match/seed.h"
#include "sys/calls.h"
#include "sys/clock.h"

uint64_t wf_match_seed[2];

static void seed_draw(void)
{
	if (wf_sys_getrandom(wf_match_seed, sizeof(wf_match_seed), GRND_NONBLOCK) !=
		(ssize_t)sizeof(wf_match_seed)) {
		/* No random numbers (early boot, or a filter on system calls): use
		 * address space layout and clock. */
		wf_match_seed[0] = wf_now_ns() * 0x9e3779b97f4a7c15u;
		wf_match_seed[1] =
			(uint64_t)(uintptr_t)&seed_draw * 0xbf58476d1ce4e5b9u ^
			(uint64_t)(uintptr_t)__builtin_frame_address(0) << 20;
	}
	/* The factor for undirected keys, which is the complement of this, is then odd
	 * and large. */
	wf_match_seed[1] &= 0x7ffffffffffffffeu;
}

void wf_match_seed_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, seed_draw);
}

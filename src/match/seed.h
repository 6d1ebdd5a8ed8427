/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_SEED_H
#define WF_MATCH_SEED_H

#include <stdint.h>

/*
 * Tags come from peers, and no peer may know which of them fall into one bucket: the
 * factors are drawn once per process, before the first engine is ready, and only
 * read from then on.
 */
extern uint64_t wf_match_seed[2];

void wf_match_seed_once(void);

static inline uint64_t wf_match_fold(uint64_t a, uint64_t b)
{
#ifdef __x86_64__
	/* GCC moves the halves of a product of words through the stack. */
	__asm__("mulq %1" : "+a"(a), "+d"(b) : : "cc");
	return a ^ b;
#else
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
}

/* Hash of a tag and a source; without a source @addr is UINT64_MAX. Two products: with
 * one alone, an unlucky factor would put tags at regular distances into few buckets. */
static inline uint64_t wf_match_hash(uint64_t tag, uint64_t addr)
{
	return wf_match_fold(
		wf_match_fold(tag ^ wf_match_seed[0], addr ^ wf_match_seed[1]),
		UINT64_C(0x9e3779b97f4a7c15));
}

#endif

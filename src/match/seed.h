/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_SEED_H
#define WF_MATCH_SEED_H

#include <stdint.h>

#include "match/match.h"

/*
 * Tags come from peers, so nobody may know which of them fall into one bucket: the
 * factors are drawn once per process, before the first engine is ready, and only
 * read from then on.
 */
extern uint64_t wf_match_seed[2];

void wf_match_seed_once(void);

/* The two halves of the product; undirected things have addr WF_MATCH_ANY. */
static inline uint64_t wf_match_hash(uint64_t tag, uint64_t addr)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(tag ^ wf_match_seed[0]) * (addr ^ wf_match_seed[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif

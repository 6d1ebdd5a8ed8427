/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PACE_H
#define TOOLS_BENCH_PACE_H

#include "options.h"

#include <stdbool.h>

/*
 * The pace at which processors execute instructions, in the rounds of a comparison.
 * Other work that uses a processor, or the other half of its core, slows it down: on a
 * virtual machine that may be work of another one, which no load average shows.
 */
struct fb_paces {
	uint32_t cores, rounds;
	uint32_t *core;
	/* Nanoseconds for 1000 instructions that do nothing: the least of each
	 * processor, and the most of each processor in each round. 0: not measured. */
	double *best, *worst;
};

/* @cores: the processors of both sides; none: every round is quiet. */
void fb_paces_init(
	struct fb_paces *paces, uint32_t rounds, const struct fb_cores cores[2]);
void fb_paces_done(struct fb_paces *paces);

/* Measure each processor for about a millisecond, while nothing of ours runs. */
void fb_paces_sample(struct fb_paces *paces, uint32_t round);

/* Did all processors keep 10 % of their best pace, as far as the samples of the round
 * tell? */
bool fb_paces_quiet(const struct fb_paces *paces, uint32_t round);

/* Print a comment about the column of quiet rounds. */
void fb_paces_describe(const struct fb_paces *paces);

#endif

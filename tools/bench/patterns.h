/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PATTERNS_H
#define TOOLS_BENCH_PATTERNS_H

#include "worker.h"

/*
 * The patterns of the tests. Side 0 starts and measures, side 1 answers. Both sides run
 * the function of the test with the same count; side 0 returns when side 1 has received
 * everything. Side 0 stamps each iteration if w->stamps is set.
 */
struct fb_pattern {
	void (*iterate)(struct fb_worker *w, uint64_t count);
	uint32_t legs; /* messages of an iteration, one after the other; 0: a stream */
	/* Called on both sides before a size begins; may be NULL. */
	void (*prepare)(struct fb_worker *w);
	/* With verification, called on side 1 after w->iteration iterations; may be
	 * NULL. */
	void (*check)(struct fb_worker *w);
};

/* Datagrams that may get lost (lossy.c). */
extern const struct fb_pattern fb_lossy_latency, fb_lossy_stream;
/* New endpoints (connect.c) and operations of groups (group.c). */
extern const struct fb_pattern fb_connect, fb_collective;

const struct fb_pattern *fb_pattern_of(
	const struct fb_config *config, enum fb_test test);

#endif

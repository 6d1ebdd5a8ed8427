/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SILENT_H
#define TOOLS_BENCH_SILENT_H

#include "worker.h"

/*
 * One-sided operations whose target makes no call of the library while they are timed:
 * it waits for a word of the control connection.
 */

/* The first contact, on both sides: one operation, which the target's calls help. */
void fb_silent_meet(struct fb_worker *w);

/* Patterns: one operation after the other, and a window of them. */
void fb_silent_operations(struct fb_worker *w, uint64_t count);
void fb_silent_stream(struct fb_worker *w, uint64_t count);

/* Called on side 0 while w->is_silent and nothing has completed for @quiet_ns. After
 * the limit, the target is asked to make calls, so that the run can go on, and the size
 * has failed. */
void fb_silent_check(struct fb_worker *w, uint64_t quiet_ns);

/* Seconds that an operation may take. */
double fb_silent_limit_s(const struct fb_config *config);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_RAMP_H
#define TOOLS_BENCH_RAMP_H

#include "run.h"

/* The rows of FB_RAMP for one size, on both members at once; member 0 calls @tell for
 * each. */
void fb_ramp(struct fb_node *node, uint64_t bytes,
	void (*tell)(void *arg, const struct fb_row *row), void *arg);

#endif

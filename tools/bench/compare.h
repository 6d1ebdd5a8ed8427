/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_COMPARE_H
#define TOOLS_BENCH_COMPARE_H

#include "options.h"
#include "record.h"

/* Runs the measurement in interleaved rounds by itself and over another library, or by
 * UCX, and tells how they compare. Returns the exit status. */
int fb_compare(const struct fb_options *options);

/* The ucx_perftest of the records of @ours that it has a test for, into @ret_ucx
 * (ucx.c). */
void fb_ucx_run(const struct fb_options *options, const struct fb_series *ours,
	struct fb_series *ret_ucx);

/* Leaves out the tests that UCX does not have; says so. */
void fb_ucx_tests(struct fb_config *config);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_COMPARE_H
#define TOOLS_BENCH_COMPARE_H

#include "options.h"
#include "record.h"

/* Runs the measurement in interleaved rounds over this library and over another one, or
 * by UCX, and prints the comparison. Returns the exit status. */
int fb_compare(const struct fb_options *options);

/* Runs ucx_perftest for each record of @ours that it has a test for; results in
 * @ret_ucx (ucx.c). */
void fb_ucx_run(const struct fb_options *options, const struct fb_series *ours,
	struct fb_series *ret_ucx);

/* Removes the tests that UCX does not have, with a message. */
void fb_ucx_tests(struct fb_config *config);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_RUN_H
#define TOOLS_BENCH_RUN_H

#include "histogram.h"
#include "node.h"

/* One size of one test, as member 0 measured it. Times are those of one message. */
struct fb_row {
	enum fb_test test;
	uint64_t bytes, messages, lost;
	/* Which messages of new endpoints, counted from 1; 0: not a part of a ramp. */
	uint64_t first, last;
	uint32_t window;
	/* An operation was not complete while its target made no calls: no times. */
	bool failed;
	double best_ns, median_ns; /* of batches */
	/* In ps: times of single iterations, or of batches if the test is a stream.
	 * Empty if percentiles are not wanted. */
	struct fb_histogram hist;
};

/* Runs all tests on all members at once. Member 0 calls @tell for each row as soon as
 * it is measured. */
void fb_run(struct fb_node *node, void (*tell)(void *arg, const struct fb_row *row),
	void *arg);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_HISTOGRAM_H
#define TOOLS_BENCH_HISTOGRAM_H

#include <stdint.h>

/* A histogram of times. A bucket is a hundredth as wide as its values: there are 128
 * buckets for each power of two. */
enum {
	FB_HIST_BITS = 7,
	FB_HIST_BUCKETS = (64 - FB_HIST_BITS + 1) << FB_HIST_BITS,
};

struct fb_histogram {
	uint64_t total;
	uint64_t max;
	uint64_t bucket[FB_HIST_BUCKETS];
};

void fb_histogram_add(struct fb_histogram *histogram, uint64_t value);

/* Adds all of @more. */
void fb_histogram_merge(
	struct fb_histogram *histogram, const struct fb_histogram *more);

/* The value below or at which a @fraction (0 to 1) of all values are; 0 if there is
 * none. */
uint64_t fb_histogram_at(const struct fb_histogram *histogram, double fraction);

/* The lowest value of a bucket. */
uint64_t fb_histogram_low(uint32_t bucket);

#endif

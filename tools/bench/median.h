/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_MEDIAN_H
#define TOOLS_BENCH_MEDIAN_H

#include <stddef.h>
#include <stdlib.h>

static inline int fb_compare_values_(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void fb_sort_values(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), fb_compare_values_);
}

/* Sorts @values. @count is not 0. */
static inline double fb_median(double *values, size_t count)
{
	fb_sort_values(values, count);
	return values[count / 2];
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_TABLE_H
#define TOOLS_BENCH_TABLE_H

#include "record.h"

/* The heading of a test, and its rows, on the standard output. */
void fb_table_begin(const struct fb_series *series, const struct fb_node *node);
void fb_table_test(const struct fb_config *config, enum fb_test test);
/* The last row of @series. */
void fb_table_row(const struct fb_series *series);

/* The histogram of a row as bars; nothing if percentiles were not wanted. */
void fb_table_histogram(const struct fb_row *row);

/* Bytes with a unit where they have one: 64, 4k, 1m. */
const char *fb_bytes_text(uint64_t bytes, char text[24]);

#endif

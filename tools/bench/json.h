/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_JSON_H
#define TOOLS_BENCH_JSON_H

#include "record.h"

/* One object: the configuration, and an array of rows with their histograms. A
 * histogram is an array of pairs: the lowest time of a bucket in ns, and its count. */
void fb_json_begin(FILE *file, const struct fb_series *series);
void fb_json_row(FILE *file, const struct fb_record *record, const struct fb_row *row,
	bool first);
void fb_json_end(FILE *file);

#endif

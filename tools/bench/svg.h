/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SVG_H
#define TOOLS_BENCH_SVG_H

#include "record.h"

/* Draws all tests of all series over the sizes: one panel for each unit, a color for
 * each series, a dash pattern for each test of it, bands from p50 to p99. */
void fb_svg_write(FILE *file, const struct fb_series *series, size_t count);

#endif

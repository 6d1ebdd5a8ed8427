/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PLOT_H
#define TOOLS_BENCH_PLOT_H

#include "options.h"
#include "record.h"

/* Draws the @count series @measured (0: none), and the series in the files of --with,
 * into the file of --plot. */
void fb_plot(const struct fb_options *options, const struct fb_series *measured,
	size_t count);

#endif

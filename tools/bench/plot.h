/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PLOT_H
#define TOOLS_BENCH_PLOT_H

#include "options.h"
#include "record.h"

/* Draws @measured, @count series that may be none, and what the files of --with have,
 * into the file of --plot. */
void fb_plot(const struct fb_options *options, const struct fb_series *measured,
	size_t count);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SESSION_H
#define TOOLS_BENCH_SESSION_H

#include "options.h"
#include "record.h"

/* Runs the measurement of @options and writes the table, CSV and JSON. Returns the exit
 * status; the results are in @ret_series, which the caller frees. */
int fb_session_run(const struct fb_options *options, struct fb_series *ret_series);

#endif

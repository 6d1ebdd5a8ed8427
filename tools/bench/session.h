/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SESSION_H
#define TOOLS_BENCH_SESSION_H

#include "options.h"
#include "record.h"

/* Runs what the options ask for and tells it as table, CSV and JSON. Returns the exit
 * status; what was measured is in @ret_series, which the caller ends. */
int fb_session_run(const struct fb_options *options, struct fb_series *ret_series);

#endif

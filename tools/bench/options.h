/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_OPTIONS_H
#define TOOLS_BENCH_OPTIONS_H

#include "config.h"

enum { FB_CORES_MAX = 1024, FB_WITH_MAX = 16, FB_ROUNDS_MAX = 1000 };

/* Processors for the threads of one side, in turn. */
struct fb_cores {
	uint32_t count;
	uint32_t core[FB_CORES_MAX];
};

/* The command line. Strings point into argv. */
struct fb_options {
	struct fb_config config;
	const char *server; /* connect to it; NULL: fork the peer */
	bool serve;
	const char *port, *source;
	struct fb_cores cores[2]; /* of this side, and of a peer that is forked */

	const char *label, *csv, *json, *plot;
	const char *with[FB_WITH_MAX]; /* CSV files of earlier runs, for the plot */
	uint32_t with_count;
	bool histogram, quiet;
	bool plot_only; /* nothing is measured */

	const char *vs; /* folder of another libfabric */
	bool vs_ucx;
	uint32_t rounds;
};

/* Returns -1 if there is something to do, else the exit status. */
int fb_options_parse(int argc, char **argv, struct fb_options *ret_options);

#endif

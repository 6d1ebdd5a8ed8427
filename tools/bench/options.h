/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_OPTIONS_H
#define TOOLS_BENCH_OPTIONS_H

#include "config.h"

enum { FB_CORES_MAX = 1024, FB_WITH_MAX = 16, FB_ROUNDS_MAX = 1000, FB_KEPT_MAX = 64 };

/* Processors of one side; thread number n runs on the n-th, modulo their number. */
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
	struct fb_cores cores[2]; /* of this process, and of a forked peer */

	const char *label, *csv, *json, *plot;
	const char *with[FB_WITH_MAX]; /* CSV files of earlier runs, for the plot */
	uint32_t with_count;
	bool histogram, quiet;
	bool plot_only; /* nothing is measured */

	const char *vs; /* folder of another libfabric */
	bool vs_ucx;
	uint32_t rounds;
	/* The options of the measurement without its tests, each as one word, for the
	 * processes of --vs. Allocated. */
	char *kept[FB_KEPT_MAX];
	uint32_t kept_count;
};

/* Returns -1 if the program has to go on, else the exit status. */
int fb_options_parse(int argc, char **argv, struct fb_options *ret_options);
void fb_options_done(struct fb_options *options);

#endif

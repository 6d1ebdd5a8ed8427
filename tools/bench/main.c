/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_bench: how fast messages, RMA, atomic operations, connections and collectives are,
 * over any provider of any libfabric.
 */
#include "compare.h"
#include "plot.h"
#include "session.h"

#include <stdlib.h>

static int bench_main_run(const struct fb_options *options)
{
	struct fb_series series;
	int status;

	if (options->plot_only) {
		fb_plot(options, NULL, 0);
		return EXIT_SUCCESS;
	}
	if (options->vs || options->vs_ucx)
		return fb_compare(options);
	status = fb_session_run(options, &series);
	if (!status)
		fb_plot(options, &series, 1);
	fb_series_done(&series);
	return status;
}

int main(int argc, char **argv)
{
	struct fb_options options;
	int status = fb_options_parse(argc, argv, &options);

	if (status < 0)
		status = bench_main_run(&options);
	fb_options_done(&options);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_bench: how fast messages, RMA, atomic operations, connections and collectives are,
 * over any provider of any libfabric.
 */
#include "session.h"

int main(int argc, char **argv)
{
	struct fb_options options;
	struct fb_series series;
	int status;

	status = fb_options_parse(argc, argv, &options);
	if (status >= 0)
		return status;
	status = fb_session_run(&options, &series);
	fb_series_done(&series);
	return status;
}

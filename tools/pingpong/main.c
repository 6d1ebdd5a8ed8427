/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_pingpong: measure and verify messages between two processes, over any provider and
 * endpoint type.
 */
#include "connect.h"
#include "message.h"
#include "rounds.h"

#include <stdlib.h>

static int pp_main_run(const struct pp_options *options)
{
	struct pp_link link = {
		.options = options,
		.control = -1,
		.peer = FI_ADDR_UNSPEC,
	};
	int ret;

	ret = pp_link_open(&link);
	if (!ret)
		ret = pp_rounds_run(&link);
	pp_link_close(&link);
	return ret;
}

int main(int argc, char **argv)
{
	struct pp_options options;
	int status;

	if (!pp_options_parse(argc, argv, &options))
		return EXIT_FAILURE;
	pp_debug_wanted = options.debug;
	status = -pp_main_run(&options);
	/* The shell sees eight bits of it, and 256 would look like success. */
	return status && !(status & 0xff) ? EXIT_FAILURE : status;
}

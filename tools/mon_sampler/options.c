/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void mon_sampler_options_usage(const char *program)
{
	printf("Usage: %s [-h] [-w MSEC] [-f FORMAT] [-o DIRECTORY] TARGET\n\n"
	       "Sample the calls of programs that run with FI_HOOK=monitor.\n\n"
	       "  TARGET        file of such a program, or a directory of them, as\n"
	       "                /dev/shm/ofi/<user id>/<host name>\n"
	       "  -w MSEC       take samples again and again, MSEC milliseconds apart\n"
	       "  -f FORMAT     csv: calls and bytes (default);\n"
	       "                peers: number of peers by transport\n"
	       "  -o DIRECTORY  append to <file>.csv or <file>.peers.csv there\n"
	       "  -h            show this text and exit\n",
		program);
}

static bool options_read_interval(const char *text, struct sampler_options *o)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (end == text || *end || *text == '-' || errno || value > INT_MAX) {
		fprintf(stderr, "Invalid interval: %s\n", text);
		return false;
	}
	o->repeat = true;
	o->interval_ms = (unsigned int)value;
	return true;
}

static bool options_read_format(const char *text, struct sampler_options *o)
{
	if (!strcmp(text, "csv")) {
		o->format = FORMAT_CSV;
	} else if (!strcmp(text, "peers")) {
		o->format = FORMAT_PEERS;
	} else {
		fprintf(stderr, "Invalid format: %s\n", text);
		return false;
	}
	return true;
}

/* False: the program ends, with the status in *@ret_status. */
static bool options_read_option(
	int option, const char *program, struct sampler_options *o, int *ret_status)
{
	*ret_status = EXIT_FAILURE;
	switch (option) {
	case 'w':
		return options_read_interval(optarg, o);
	case 'f':
		return options_read_format(optarg, o);
	case 'o':
		o->outdir = optarg;
		return true;
	case 'h':
		*ret_status = EXIT_SUCCESS;
		break;
	default:
		break;
	}
	mon_sampler_options_usage(program);
	return false;
}

bool sampler_options(
	int argc, char **argv, struct sampler_options *ret, int *ret_status)
{
	int option;

	memset(ret, 0, sizeof(*ret));
	while ((option = getopt(argc, argv, "hw:f:o:")) != -1)
		if (!options_read_option(option, argv[0], ret, ret_status))
			return false;
	*ret_status = EXIT_SUCCESS;
	if (optind == argc) {
		fprintf(stderr, "No target: a file or a directory is needed\n");
		mon_sampler_options_usage(argv[0]);
		return false;
	}
	if (optind + 1 == argc) {
		ret->target = argv[optind];
		return true;
	}
	*ret_status = EXIT_FAILURE;
	fprintf(stderr, "More than one target\n");
	mon_sampler_options_usage(argv[0]);
	return false;
}

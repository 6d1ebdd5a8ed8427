/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MON_SAMPLER_OPTIONS_H
#define TOOLS_MON_SAMPLER_OPTIONS_H

#include <stdbool.h>

enum sampler_format { FORMAT_CSV, FORMAT_PEERS };

struct sampler_options {
	bool repeat;
	unsigned int interval_ms; /* between samples, with @repeat */
	enum sampler_format format;
	const char *outdir; /* NULL: standard output */
	const char *target; /* a file or a directory */
};

/* Read the command line. False: end with the exit status *@ret_status; what was wrong
 * has been printed. */
bool sampler_options(
	int argc, char **argv, struct sampler_options *ret, int *ret_status);

#endif

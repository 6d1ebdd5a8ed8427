/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INFO_OPTIONS_H
#define TOOLS_INFO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fabric.h>

/* The options of the command line. Strings point into argv, except within hints. */
struct info_options {
	struct fi_info *hints;
	bool use_hints; /* false: ask with NULL, which means "everything" */
	const char *node;
	const char *service;
	uint64_t flags;

	bool env;
	const char *env_text;  /* print only variables whose name contains this text */
	const char *info_text; /* print only infos whose text contains this */
	bool verbose;
	bool list;
	bool why;
};

enum parse_result {
	PARSE_RUN,  /* @options are complete */
	PARSE_DONE, /* nothing is left to do; *ret_status is the exit status */
};

enum parse_result info_options_parse(
	int argc, char **argv, struct info_options *options, int *ret_status);
void info_options_done(struct info_options *options);

static inline const struct fi_info *info_hints(const struct info_options *options)
{
	return options->use_hints ? options->hints : NULL;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MON_SAMPLER_SOURCE_H
#define TOOLS_MON_SAMPLER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/hook_monitor/format.h"

/*
 * The file of one monitored process. It may have been written by any program, and
 * change at any time: it is read into memory, and each field is checked there.
 */
struct source {
	int fd;
	uint64_t asked;           /* number of the sample that was asked for */
	struct mon_layout layout; /* as it was read last */
};

/* Open the file @name of the directory @dir, which may be AT_FDCWD. NULL, or a text for
 * what is wrong; then nothing is open. */
const char *source_open(struct source *ret, int dir, const char *name);
void source_close(struct source *source);

enum source_state {
	SOURCE_WAITS,  /* The process has not reached a tick. */
	SOURCE_SAMPLE, /* one sample; the process lives on, or has a last sample */
	SOURCE_LAST,   /* the last sample; the process ends */
	SOURCE_ENDED,  /* The process has ended, and its last sample was taken. */
	SOURCE_DIED,   /* The process has died without a last sample. */
	SOURCE_BAD,    /* The file is damaged; *ret_why tells how. */
};

/* Ask for a sample. SOURCE_WAITS; SOURCE_LAST: *@ret_sample was there already;
 * SOURCE_ENDED, SOURCE_DIED or SOURCE_BAD. */
enum source_state source_ask(struct source *source,
	const struct mon_sample **ret_sample, const char **ret_why);
/* Is the sample there that was asked for? *@ret_sample is valid until the next call. */
enum source_state source_poll(struct source *source,
	const struct mon_sample **ret_sample, const char **ret_why);

#endif

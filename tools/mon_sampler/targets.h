/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MON_SAMPLER_TARGETS_H
#define TOOLS_MON_SAMPLER_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

/* The files that samples are taken of, with their outputs. */
struct targets;

/* Open the target of the options, which are used until targets_close. NULL: there is
 * nothing to sample, which was printed. */
struct targets *targets_open(const struct sampler_options *options);

/* Ask each target for a sample, unless an earlier one is awaited; in a directory, look
 * for new files before. False: all have ended. */
bool targets_ask(struct targets *targets);

/* Print the samples that have come. False: no target is waited for. */
bool targets_poll(struct targets *targets);

/* Print which targets are waited for. */
void targets_note_waiting(const struct targets *targets);

/* Close all. False: something went wrong, which was printed when it did. */
bool targets_close(struct targets *targets);

#endif

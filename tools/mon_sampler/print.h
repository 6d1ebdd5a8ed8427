/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MON_SAMPLER_PRINT_H
#define TOOLS_MON_SAMPLER_PRINT_H

#include <stdio.h>

#include "options.h"
#include "providers/hook_monitor/format.h"

/* One line each. */
void print_header(FILE *out, enum sampler_format format);
void print_sample(
	FILE *out, enum sampler_format format, const struct mon_sample *sample);

#endif

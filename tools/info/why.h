/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INFO_WHY_H
#define TOOLS_INFO_WHY_H

#include "options.h"

/*
 * fi_info --why: run the query and print for each provider the number of its results,
 * or the reasons of its refusal. Returns the exit status, 0 also if there were no
 * results.
 */
int why_run(const struct info_options *options);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INFO_WHY_H
#define TOOLS_INFO_WHY_H

#include "options.h"

/*
 * fi_info --why: run the query and say for each provider how much it offers or what it
 * said when it refused. Returns the exit status, 0 also when nothing matched.
 */
int why_run(const struct info_options *options);

#endif

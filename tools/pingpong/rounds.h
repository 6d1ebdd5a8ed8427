/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_ROUNDS_H
#define TOOLS_PINGPONG_ROUNDS_H

#include "link.h"

/* Runs and reports all sizes over an open link, then says goodbye. */
int pp_rounds_run(struct pp_link *link);

#endif

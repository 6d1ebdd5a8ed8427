/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_PROGRESS_H
#define TOOLS_PINGPONG_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line on the terminal that says how far a long size is. It is erased before a row is
 * printed, and nothing of it appears when stderr is not a terminal. */
struct pp_progress {
	bool wanted;
	bool shown;
	uint64_t next_ns;
};

/* A size begins. */
void pp_progress_start(struct pp_progress *progress);
void pp_progress_step(struct pp_progress *progress, size_t size, int done, int total);
void pp_progress_erase(struct pp_progress *progress);

#endif

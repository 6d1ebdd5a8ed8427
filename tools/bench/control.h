/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_CONTROL_H
#define TOOLS_BENCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

/*
 * What the processes tell each other beside the measured traffic: a star of stream
 * sockets with member 0 in the middle. All members make the same calls in the same
 * order. A member that left or that says nothing for the time limit ends the process.
 */
struct fb_control {
	int rank, members;
	int *fd; /* of member 0: one for each member, its own unused; else fd[0] */
};

/* Asked for the exit status where a member left; NULL: FB_EXIT_FAILED. */
extern int (*fb_control_why_left)(void);

void fb_control_init(struct fb_control *control, int rank, int members);

/* Adopts @fd as the way to @member. */
void fb_control_add(struct fb_control *control, int member, int fd, uint32_t timeout_s);

void fb_control_close(struct fb_control *control);

/* All members get what member 0 has in @data. */
void fb_control_share(struct fb_control *control, void *data, size_t len);

/* All members get the @mine of all, by rank, in @all. */
void fb_control_gather(
	struct fb_control *control, const void *mine, void *all, size_t len);

void fb_control_barrier(struct fb_control *control);

/* Ends the process if a member left. Does not block. */
void fb_control_check(struct fb_control *control);

/* Whether member 0 said something that was not read yet; for other members. */
bool fb_control_talks(struct fb_control *control);

#endif

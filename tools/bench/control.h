/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_CONTROL_H
#define TOOLS_BENCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

/*
 * The control connection, for messages between the processes besides the measured
 * traffic: a star of stream sockets with member 0 in the middle. All members make the
 * same calls in the same order. If a member has ended, or sends nothing for the time
 * limit, the process ends.
 */
struct fb_control {
	int rank, members;
	int *fd; /* member 0: by member, fd[0] is unused; other members: fd[0] */
};

/* Returns the exit status after a member has ended; NULL: FB_EXIT_FAILED. */
extern int (*fb_control_why_left)(void);

void fb_control_init(struct fb_control *control, int rank, int members);

/* Uses the socket @fd, which it then owns, for @member. */
void fb_control_add(struct fb_control *control, int member, int fd, uint32_t timeout_s);

void fb_control_close(struct fb_control *control);

/* Broadcast: all members get the @len bytes at @data of member 0. */
void fb_control_share(struct fb_control *control, void *data, size_t len);

/* Allgather: all members get the @len bytes at @mine of each, by rank, in @all. */
void fb_control_gather(
	struct fb_control *control, const void *mine, void *all, size_t len);

void fb_control_barrier(struct fb_control *control);

/* Ends the process if a member has ended. Does not block. */
void fb_control_check(struct fb_control *control);

/* Has member 0 sent data that was not read yet? For other members. */
bool fb_control_talks(struct fb_control *control);

#endif

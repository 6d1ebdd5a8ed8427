/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_MEET_H
#define TOOLS_BENCH_MEET_H

#include <sys/types.h>

#include "control.h"

/* Starting the processes of a run, or connecting them. */

enum { FB_ADDRESS_MAX = 64 };

/* Forks all members but this process, which is member 0 and gets their process ids.
 * Returns in each of them, with its @control. The others die with this process. */
void fb_meet_fork(const struct fb_config *config, struct fb_control *control,
	pid_t *ret_children);

/* Waits for all children of fb_meet_fork. Returns 0, or the exit status of one that
 * failed. */
int fb_meet_wait(const pid_t *children, int count);

/* In both functions below, @source gets the local address of the control connection. */

/* Waits for a client at @port, and receives its configuration. */
void fb_meet_serve(const char *port, struct fb_config *ret_config,
	struct fb_control *control, char source[FB_ADDRESS_MAX]);

/* Connects to the server and sends it @config. */
void fb_meet_client(const char *server, const char *port,
	const struct fb_config *config, struct fb_control *control,
	char source[FB_ADDRESS_MAX]);

#endif

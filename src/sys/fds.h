/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FDS_H
#define WF_SYS_FDS_H

#include <stdbool.h>

/*
 * Descriptors of a process with many peers. Any thread may call.
 */

/*
 * There are none left, or soon: raise the soft limit of the process (RLIMIT_NOFILE)
 * towards its hard one. This is done once for the process, and not before it is needed,
 * because a program that uses select(2) cannot use descriptors above 1023. True: it was
 * done now, and what failed with EMFILE is worth another try.
 */
bool wf_fds_more(void);

/* As socket(2), with more descriptors when there are few left. */
int wf_socket(int domain, int type, int protocol);
/* The same for descriptor @fd, which was just opened. */
void wf_fds_note(int fd);

/*
 * A listener is readable as long as connections wait for it. Where no descriptor is
 * left to accept one, it is closed with the help of a spare one (-1: none is open now),
 * so that the listener does not keep its thread busy. True: one was closed. Another
 * thread may be faster in taking the spare one: then it is missing until one is free
 * again.
 */
int wf_fds_spare(void);
bool wf_fds_refuse(int listener, int *spare);

/*
 * A forked child closes @fd at once: while it has a copy of a socket open, the other
 * end does not hear that this process died. -errno: out of memory. From then on the
 * descriptor has to be closed by wf_fds_close. (A child made without the handlers of
 * fork(2), by clone(2) for example, keeps its copy until it executes a program or
 * ends.)
 */
int wf_fds_own(int fd);
void wf_fds_close(int fd);

#endif

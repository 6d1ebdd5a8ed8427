/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FDS_H
#define WF_SYS_FDS_H

#include <stdbool.h>

/*
 * Descriptors of a process with many peers. Any thread may call.
 */

/*
 * To be called when descriptors are short: raises the soft limit of the process
 * (RLIMIT_NOFILE) towards its hard limit. This is done once in a process, and not
 * before it is needed, because a program that uses select(2) cannot use descriptors
 * above 1023. True: the limit was raised now, and a call that failed with EMFILE may be
 * tried again.
 */
bool wf_fds_more(void);

/* socket(2), which also raises the limit when few descriptors are left. */
int wf_socket(int domain, int type, int protocol);
/* epoll_create1(2) with EPOLL_CLOEXEC, which also raises the limit. A forked child has
 * an empty set of its own under the number, because that of its parent would change
 * with it. Closed by wf_fds_close. */
int wf_epoll(void);
/* For calls that open a descriptor: did @fd fail for want of descriptors, and was the
 * limit raised? Then the call may be tried again. */
bool wf_fds_is_short(int fd);
/* Raise the limit if @fd, which was just opened, shows that few descriptors are
 * left. */
void wf_fds_note(int fd);

/*
 * A listener is readable as long as connections wait for it. When no descriptor is left
 * to accept one, wf_fds_refuse closes a connection with the help of the spare
 * descriptor (-1: none is open now), so that the listener does not keep its thread
 * busy. True: a connection was closed. Another thread may use the freed descriptor
 * first: then *spare is -1 until one is free again.
 */
int wf_fds_spare(void);
bool wf_fds_refuse(int listener, int *spare);

/*
 * Have a forked child close @fd at once: while the child has a copy of a socket open,
 * the peer does not notice that this process died. 0 or a negative errno: out of
 * memory. From then on the descriptor has to be closed by wf_fds_close. (A child that
 * is made without the handlers of fork(2), by clone(2) for example, keeps its copy
 * until it executes a program or ends.)
 */
int wf_fds_own(int fd);
/* Called once, by sys/forks.c: forks are noticed from then on. A positive errno or
 * 0. */
int wf_fds_watch_forks(void);
void wf_fds_close(int fd);

#endif

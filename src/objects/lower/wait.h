/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_WAIT_H
#define WF_OBJECTS_LOWER_WAIT_H

#include <rdma/fabric.h>

#include "objects/wait/fds.h"

/*
 * A CQ or EQ below whose descriptors are in the set that threads of a layer sleep on. A
 * queue of this library adds its descriptors themselves, so that a layer nests no epoll
 * sets; a queue of another library adds the descriptor of FI_GETWAIT. In either case
 * the layer calls fi_trywait(3) for the queue before a sleep.
 *
 * Control calls; the caller serialises those for one struct, which is zeroed before its
 * first use.
 */
struct wf_lower_wait {
	struct wf_fds_link link; /* for a queue of this library */
	struct wf_fds *fds;      /* set with @fd of another library's; NULL: none */
	int fd;                  /* descriptor of FI_GETWAIT */
};

/* Add @queue, which was opened with a wait object, to @fds. 0, also if it was added
 * before; or a negative FI_E code: the queue has no descriptor. */
int wf_lower_wait_add(
	struct wf_lower_wait *wait, struct fid *queue, struct wf_fds *fds);

/* Undo wf_lower_wait_add, before the queue is closed. No-op if no queue was added. */
void wf_lower_wait_del(struct wf_lower_wait *wait);

#endif

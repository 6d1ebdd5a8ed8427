/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_WAIT_H
#define WF_OBJECTS_LOWER_WAIT_H

#include <rdma/fabric.h>

#include "objects/wait/fds.h"

/*
 * A CQ or EQ below in the set of descriptors that sleepers of a layer have. Of a queue
 * of this library the set gets the descriptors themselves, so that a layer makes no
 * epoll set deeper; of another library's it gets the one of FI_GETWAIT. Before a sleep
 * the layer asks fi_trywait(3) of the queue in either case.
 *
 * Control calls; the caller serialises those for one struct, which is zeroed before its
 * first use.
 */
struct wf_lower_wait {
	struct wf_fds_link link; /* of a queue of this library */
	struct wf_fds *fds;      /* what has @fd, of another one's; NULL: none */
	int fd;
};

/* Add @queue, which was opened with a wait object, to @fds. 0, also where it was added
 * before; or a negative FI_E code: the queue has no descriptor. */
int wf_lower_wait_add(
	struct wf_lower_wait *wait, struct fid *queue, struct wf_fds *fds);

/* Undo that, before the queue is closed. Nothing to do where none was added. */
void wf_lower_wait_del(struct wf_lower_wait *wait);

#endif

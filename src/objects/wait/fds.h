/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_FDS_H
#define WF_OBJECTS_WAIT_FDS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_eq.h>

#include "sys/list.h"

/*
 * A set of descriptors that a thread sleeps on, and its epoll descriptor.
 *
 * A layer's set follows the sets of the provider below: it has the same descriptors at
 * any time. So sets are flat for any number of layers. Nested sets are not possible:
 * Linux refuses (ELOOP) a chain of more than five epoll descriptors, of which the
 * application and the transport may have one each.
 *
 * @lock guards the members below it. A change passes from a set to the sets that follow
 * it with the lock held, so locks are taken from the lowest layer upwards; no other
 * lock is taken under them. A descriptor leaves all sets before wf_fds_del returns,
 * after which it may be closed.
 */
struct wf_fds {
	int epfd; /* -1: not opened */
	pthread_mutex_t lock;
	struct wf_fd *fds; /* array of @count descriptors, memory for @capacity */
	size_t count, capacity;
	uint64_t change_index; /* grows when a descriptor is added or removed */
	struct wf_list
		followed; /* struct wf_fds_link of the sets that follow, by link */
};

/* The set @to follows the set @from: it has all descriptors of @from, too. */
struct wf_fds_link {
	struct wf_list link;      /* in from->followed */
	struct wf_fds *from, *to; /* NULL: not linked */
};

void wf_fds_init(struct wf_fds *fds);
/* Free the contents of @fds, which no set follows any more. */
void wf_fds_done(struct wf_fds *fds);

/* Open the epoll descriptor, unless it is open. The descriptor or a negative FI_E
 * code. */
int wf_fds_open(struct wf_fds *fds);

/* Add @fd to the set, or count one more use of it: each add needs one del. 0, or a
 * negative FI_E code; then nothing was added. */
int wf_fds_add(struct wf_fds *fds, int fd);
void wf_fds_del(struct wf_fds *fds, int fd);

/* From now on @to follows @from. @link is zeroed before its first use. 0, also if @to
 * follows @from already; or a negative FI_E code: @to does not follow @from. */
int wf_fds_follow(struct wf_fds_link *link, struct wf_fds *from, struct wf_fds *to);
/* Undo wf_fds_follow. No-op for a link that is not in use. */
void wf_fds_unfollow(struct wf_fds_link *link);

/* FI_GETWAIT of FI_WAIT_POLLFD (fi_poll(3)): list the descriptors, in the order in
 * which they were added; a descriptor that is added after a removal may be anywhere. */
int wf_fds_list(struct wf_fds *fds, struct fi_wait_pollfd *ret);

#endif

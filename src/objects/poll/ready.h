/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_POLL_READY_H
#define WF_OBJECTS_POLL_READY_H

#include <stdbool.h>
#include <rdma/fabric.h>

#include "objects/progress/progress.h"
#include "objects/wait/set.h"

/* The members of an EQ, CQ or counter that poll sets, wait sets and fi_trywait use. */
struct wf_ready {
	struct wf_wait *wait; /* wait object, signalled when it becomes readable */
	struct wf_progress_list *progress; /* the items that feed the object */
	bool (*readable)(struct fid *fid); /* true: do not sleep */
};

/* Fill *@ret_ready for an EQ, CQ or counter. False: @fid is of another class, or was
 * imported and holds no events itself; *@ret_ready is still filled for an imported
 * one. */
bool wf_ready_of(struct fid *fid, struct wf_ready *ret_ready);

/* Make progress and prepare to sleep on the object's own wait or on the set that it
 * belongs to. False: an entry can be read, do not sleep. */
bool wf_ready_try(struct fid *fid, const struct wf_ready *ready);

/* The same for every member of the set. *@ret_ticket is the ticket for wf_wait_sleep on
 * the set's wait. Takes the set's lock. */
bool wf_wait_set_try(struct wf_wait_set *set, uint64_t *ret_ticket);

#endif

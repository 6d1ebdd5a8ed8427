/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_POLL_READY_H
#define WF_OBJECTS_POLL_READY_H

#include <stdbool.h>
#include <rdma/fabric.h>

#include "objects/progress/progress.h"
#include "objects/wait/set.h"

/* What poll sets, wait sets and fi_trywait need of an EQ, CQ or counter. */
struct wf_ready {
	struct wf_wait *wait;
	struct wf_progress_list *progress;
	bool (*readable)(struct fid *fid);
};

/* False: @fid is none of them, or was imported and holds nothing itself. */
bool wf_ready_of(struct fid *fid, struct wf_ready *ret_ready);

/* Make progress and prepare to sleep on the object's own wait or on the set that it
 * belongs to. False: there is something to read, do not sleep. */
bool wf_ready_try(struct fid *fid, const struct wf_ready *ready);

/* The same for every member of the set. *@ret_ticket is that of the set's wait. */
bool wf_wait_set_try(struct wf_wait_set *set, uint64_t *ret_ticket);

#endif

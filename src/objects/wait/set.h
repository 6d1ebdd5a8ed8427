/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_SET_H
#define WF_OBJECTS_WAIT_SET_H

#include "objects/wait/wait.h"

struct wf_fabric;

/*
 * Several CQs, EQs and counters that are waited for together.
 *
 * @lock guards @members. It is held while the members are asked whether they have
 * something to read, so that a member does not close meanwhile; it comes before the
 * locks of the members and is never taken by a signal.
 */
struct wf_wait_set {
	struct fid_wait fid;
	struct wf_fabric *fabric;
	struct wf_wait wait;
	pthread_mutex_t lock;
	struct wf_list members; /* struct wf_wait, those that are attached */
	atomic_int refs;        /* waits that use the set, attached or not */
};

static inline struct wf_wait_set *wf_wait_set_of(struct fid_wait *fid)
{
	return wf_container_of(fid, struct wf_wait_set, fid);
}

#endif

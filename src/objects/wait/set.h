/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_SET_H
#define WF_OBJECTS_WAIT_SET_H

#include "objects/wait/wait.h"

struct wf_fabric;

/*
 * A wait set (fi_wait_open(3)): several CQs, EQs and counters that a thread waits for
 * together.
 *
 * @lock guards @members. fi_wait holds it while it asks the members whether they have
 * something to read, so that no member closes meanwhile. It comes before the locks of
 * the members; wf_wait_signal never takes it.
 */
struct wf_wait_set {
	struct fid_wait fid;
	struct wf_fabric *fabric;
	struct wf_wait wait; /* wait object that threads in fi_wait sleep on */
	pthread_mutex_t lock;
	struct wf_list members; /* attached struct wf_wait, by their link */
	atomic_int refs;        /* struct wf_wait that use the set, attached or not */
};

static inline struct wf_wait_set *wf_wait_set_of(struct fid_wait *fid)
{
	return wf_container_of(fid, struct wf_wait_set, fid);
}

#endif

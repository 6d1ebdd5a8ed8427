/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_PROGRESS_H
#define WF_OBJECTS_LOWER_PROGRESS_H

#include "objects/lower/endpoint.h"

/*
 * Progress of an endpoint below whose queue is imported, and sleeping until it has
 * work. The caller holds the lock of the receive context that the endpoint imported.
 */

/* Make progress: run an endpoint of this library; for another one, read its imported
 * queue, which has no entries, because its completions are in the owner's queue. */
static inline void wf_lower_ep_poll(const struct wf_lower_ep *below)
{
	if (wf_likely(below->builtin != NULL))
		wf_ep_progress(below->builtin);
	else
		(void)below->cq->ops->read(below->cq, NULL, 0);
}

/* If has_fd is set, add the descriptors of the endpoint's imported queue to @fds, until
 * the endpoint is closed. 0, also if they were added before, or a negative FI_E
 * code. */
int wf_lower_ep_watch(struct wf_lower_ep *below, struct wf_fds *fds);

/* Prepare an endpoint of this library for a sleep on its descriptor: struct
 * wf_progress.arm. The lock of the layer's endpoint may be held; the lock of the
 * receive context need not be. */
static inline bool wf_lower_ep_arm(const struct wf_lower_ep *below)
{
	struct wf_progress *item = &below->builtin->progress;

	return !item->arm || item->arm(item);
}

/* Ask by fi_trywait(3) whether a thread may sleep on the descriptor. True for an
 * endpoint without one. */
bool wf_lower_ep_may_sleep(const struct wf_lower_ep *below);

#endif

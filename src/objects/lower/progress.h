/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_PROGRESS_H
#define WF_OBJECTS_LOWER_PROGRESS_H

#include "objects/lower/endpoint.h"

/*
 * Progress of an endpoint below whose queue is imported, and sleeping until it has
 * work. The caller holds the lock of the receive context that the endpoint imported.
 */

/* Let the endpoint move data: an endpoint of this library is run, another one by a read
 * of its queue, which is empty because everything ends in the owner's. */
static inline void wf_lower_ep_poll(const struct wf_lower_ep *below)
{
	if (wf_likely(below->builtin != NULL))
		wf_ep_progress(below->builtin);
	else
		(void)below->cq->ops->read(below->cq, NULL, 0);
}

/* Add what the endpoint's sleepers wait for, if has_fd says that there is something, to
 * @fds, until the endpoint is closed. 0, also where it was added before, or a negative
 * FI_E code. */
int wf_lower_ep_watch(struct wf_lower_ep *below, struct wf_fds *fds);

/* Prepare an endpoint of this library for a sleep on its descriptor, as struct
 * wf_progress.arm. The lock of the receive context need not be held, that of a layer's
 * endpoint may be. */
static inline bool wf_lower_ep_arm(const struct wf_lower_ep *below)
{
	struct wf_progress *item = &below->builtin->progress;

	return !item->arm || item->arm(item);
}

/* Ask by fi_trywait(3) whether a thread may sleep on the descriptor. True for an
 * endpoint without one. */
bool wf_lower_ep_may_sleep(const struct wf_lower_ep *below);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_TRIGGER_QUEUE_H
#define WF_OBJECTS_TRIGGER_QUEUE_H

#include <rdma/fi_errno.h>

#include "objects/cntr/cntr.h"
#include "objects/trigger/trigger.h"

struct wf_ep;

/*
 * One queued operation. Deferred work stores this in the context member of the
 * application's struct fi_deferred_work; an operation with FI_TRIGGER stores it in the
 * library's copy of the operation.
 */
struct wf_work {
	struct wf_list link; /* in cntr->work while @waiting, then in triggers->ready */
	uint64_t threshold; /* the operation is due when the counter is at least this */
	struct wf_cntr *cntr; /* referenced while @waiting; afterwards only compared */
	struct wf_ep *ep;     /* NULL for operations on counters */
	/* Start the operation; no endpoint lock is held. False: it cannot start now,
	 * call again later. True: @work may be freed or reused. */
	bool (*start)(struct wf_work *work);
	bool waiting;  /* in the list of @cntr: not due yet */
	bool deferred; /* true: errors count towards @threshold as well as successes */
};
_Static_assert(sizeof(struct wf_work) <= sizeof(struct fi_context2), "too large");

static inline struct wf_work *wf_work_of(struct wf_list *link)
{
	return wf_container_of(link, struct wf_work, link);
}

/* Queue @work, whose threshold, cntr, ep, start and deferred are set, and start all
 * operations that are due. See fi_trigger(3). 0, or a negative fabric errno: @work is
 * not queued. The caller holds no endpoint lock. */
int wf_trigger_wait(struct wf_domain *domain, struct wf_work *work);

/* The counter of @fid if operations of @domain may wait for it; otherwise NULL, and the
 * reason is logged. */
struct wf_cntr *wf_trigger_cntr(struct wf_domain *domain, struct fid_cntr *fid);

/* Move all queued operations for which @wanted returns true to @ret_taken, in the order
 * of starting for each counter. @wanted runs under the lock of the lists. The caller
 * holds no endpoint lock. */
void wf_trigger_take(struct wf_triggers *triggers,
	bool (*wanted)(const struct wf_work *work, const void *arg), const void *arg,
	struct wf_list *ret_taken);

#endif

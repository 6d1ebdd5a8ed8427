/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_TRIGGER_INTERNAL_H
#define WF_OBJECTS_TRIGGER_INTERNAL_H

#include "objects/cntr/cntr.h"
#include "objects/endpoint/internal.h"
#include "objects/trigger/trigger.h"

/*
 * One piece of work in a list. Deferred work has it in the context member of the
 * application's structure, an operation with FI_TRIGGER in the copy that is kept.
 */
struct wf_work {
	struct wf_list link; /* of the counter's list, or of the ready one */
	uint64_t threshold;
	struct wf_cntr *cntr; /* referenced while @waiting; else only compared */
	struct wf_ep *ep;     /* NULL for work on counters */
	bool waiting;
	bool deferred;
};
_Static_assert(sizeof(struct wf_work) <= sizeof(struct fi_context2), "no room");

/* Put @work, whose threshold, cntr, ep and kind are set, where it waits, and start
 * what is due. On failure it was not put anywhere. */
int wf_trigger_wait(struct wf_domain *domain, struct wf_work *work);

/* The counter behind @fid if work may wait for it, else NULL and a log line. */
struct wf_cntr *wf_trigger_cntr(struct wf_domain *domain, struct fid_cntr *fid);

/* Take out of the lists everything that @wanted agrees to; in the order of starting
 * for each counter. */
void wf_trigger_take(struct wf_triggers *triggers,
	bool (*wanted)(const struct wf_work *work, const void *arg), const void *arg,
	struct wf_list *ret_taken);

/* op.c and work.c. -FI_EAGAIN: not now; else @work is over with. */
ssize_t wf_trigger_start_op(struct wf_work *work);
ssize_t wf_trigger_start_work(struct wf_work *work);
void wf_trigger_free_op(struct wf_work *work);

/* The operation never started because of @err (positive): as any failure. */
void wf_trigger_failed(struct wf_ep *ep, const struct wf_op *op, int err);

#endif

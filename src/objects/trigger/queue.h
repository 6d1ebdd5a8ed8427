/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_TRIGGER_QUEUE_H
#define WF_OBJECTS_TRIGGER_QUEUE_H

#include <rdma/fi_errno.h>

#include "objects/cntr/cntr.h"
#include "objects/trigger/trigger.h"

struct wf_ep;

/*
 * One piece of work in a list. Deferred work has it in the context member of the
 * application's structure, an operation with FI_TRIGGER in the copy that is kept.
 */
struct wf_work {
	struct wf_list link; /* of the counter's list, or of the ready one */
	uint64_t threshold;
	struct wf_cntr *cntr; /* referenced while @waiting; else only compared */
	struct wf_ep *ep;     /* NULL for work on counters */
	/* Start it, without any lock. -FI_EAGAIN: not now; else @work is over with. */
	ssize_t (*start)(struct wf_work *work);
	bool waiting;
	bool deferred;
};
_Static_assert(sizeof(struct wf_work) <= sizeof(struct fi_context2), "no room");

static inline struct wf_work *wf_work_of(struct wf_list *link)
{
	return wf_container_of(link, struct wf_work, link);
}

/* Put @work, whose threshold, cntr, ep, start and kind are set, where it waits, and
 * start what is due. On failure it was not put anywhere. */
int wf_trigger_wait(struct wf_domain *domain, struct wf_work *work);

/* The counter behind @fid if work may wait for it, else NULL and a log line. */
struct wf_cntr *wf_trigger_cntr(struct wf_domain *domain, struct fid_cntr *fid);

/* Take out of the lists everything that @wanted agrees to; in the order of starting
 * for each counter. */
void wf_trigger_take(struct wf_triggers *triggers,
	bool (*wanted)(const struct wf_work *work, const void *arg), const void *arg,
	struct wf_list *ret_taken);

#endif

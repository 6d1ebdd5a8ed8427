/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_TRIGGER_TRIGGER_H
#define WF_OBJECTS_TRIGGER_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_trigger.h>

#include "objects/progress/later.h"
#include "sys/list.h"

struct wf_cntr;
struct wf_domain;

/*
 * Operations that wait for a counter: operations with FI_TRIGGER, and deferred work
 * (fi_trigger(3)).
 *
 * Each counter has a list of the operations that wait for it. A change of the counter
 * moves the operations that are due to the domain's list of ready operations and does
 * no more, because the counting thread may hold any lock of an endpoint. A progress
 * item starts them. It is in the progress lists of every endpoint and counter that ever
 * took part in triggered work, so a thread that makes progress there, or sleeps there,
 * or the progress thread, starts them. API calls that hold no lock start them at once.
 *
 * @ready holds the operations that are due, in the order of starting; its lock guards
 * all lists, the counters' lists too (see later.h). @control comes before all other
 * locks.
 *
 * A counter's has_work and its value form a pair, both sequentially consistent: the
 * queueing thread sets has_work, then reads the value; the counting thread changes the
 * value, then reads has_work. At least one of the two sees the other's store.
 */
struct wf_triggers {
	pthread_mutex_t control; /* held while wf_cntr.watched becomes true */
	struct wf_list cntrs; /* struct wf_cntr with operations waiting, by work_link */
	/* operations that are due, and the item that starts them */
	struct wf_later ready;
};

void wf_triggers_init(struct wf_triggers *triggers);
void wf_triggers_done(struct wf_triggers *triggers);

/* Make the operations ready that are due: @cntr, whose has_work is set, has changed.
 * The caller may hold any lock but that of a CQ or wait. */
void wf_trigger_fire(struct wf_cntr *cntr);

/* Start the ready operations. The caller holds no endpoint lock. */
static inline void wf_triggers_run(struct wf_triggers *triggers)
{
	wf_later_run(&triggers->ready);
}

/* @cntr is being closed, and no operation waits for it: remove the progress item from
 * its lists. */
void wf_trigger_forget(struct wf_cntr *cntr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_TRIGGER_H
#define WF_OBJECTS_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_trigger.h>

#include "objects/progress/later.h"
#include "sys/list.h"

struct wf_cntr;
struct wf_domain;

/*
 * Operations that wait for a counter: those with FI_TRIGGER, and deferred work.
 *
 * Each counter has a list of the work that waits for it. A change of the counter moves
 * what is due to the domain's list of ready work and does no more, because whoever
 * counts may hold any lock of an endpoint. Ready work is started by a progress item,
 * which is on the lists of every endpoint and counter that ever had to do with work:
 * whoever makes progress there, or sleeps there, or the progress thread, starts it.
 * Calls that come from the application without any lock start it themselves.
 *
 * @ready holds what is due, in the order of starting; its lock guards all lists, those
 * of the counters too (see later.h). @control comes before all other locks.
 *
 * Two flags pair up, both sequentially consistent: has_work of a counter with its
 * value. The queueing thread sets the flag, then looks at the value; the counting one
 * does the reverse. One of both always sees the other.
 */
struct wf_triggers {
	pthread_mutex_t control; /* guards the making of wf_cntr.watched */
	struct wf_list cntrs;    /* those that work waits for */
	struct wf_later ready;
};

int wf_triggers_init(struct wf_triggers *triggers);
void wf_triggers_done(struct wf_triggers *triggers);

/* @cntr, which has work, changed. Any lock but that of a CQ or wait may be held. */
void wf_trigger_fire(struct wf_cntr *cntr);

/* Start what is ready. No lock of an endpoint is held. */
static inline void wf_triggers_run(struct wf_triggers *triggers)
{
	wf_later_run(&triggers->ready);
}

/* @cntr is being closed; nothing waits for it. */
void wf_trigger_forget(struct wf_cntr *cntr);

#endif

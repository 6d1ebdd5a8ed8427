/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CNTR_COUNTED_H
#define WF_OBJECTS_CNTR_COUNTED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sys/list.h"

struct wf_cntr;
struct wf_domain;
struct wf_progress;

/*
 * Counters bound to memory regions (fi_mr_bind(3)). Peers reach a region through any
 * endpoint of its domain, so a thread that reads such a counter, or waits for it, runs
 * all endpoints of the domain.
 *
 * @lock guards both lists and their links in endpoints and counters. Lock order:
 * wf_ep.control, @lock, the lock of a progress list.
 */
struct wf_counted {
	pthread_mutex_t lock;
	struct wf_list eps;   /* enabled endpoints, by wf_counted_ep.link */
	struct wf_list cntrs; /* counters of regions, by wf_counted_cntr.link */
};

/* The entry of an endpoint; a member of struct wf_ep. */
struct wf_counted_ep {
	struct wf_list link;      /* in wf_counted.eps */
	struct wf_progress *item; /* runs the endpoint; NULL: it is in no list */
};

/* The entry of a counter; a member of struct wf_cntr. */
struct wf_counted_cntr {
	struct wf_list link; /* in wf_counted.cntrs */
	/* Number of regions that the counter is bound to; 0: it is in no list. May be
	 * read without @lock. */
	atomic_uint regions;
};

void wf_counted_init(struct wf_counted *counted);
void wf_counted_done(struct wf_counted *counted);

/* @cntr was bound to a region: add the endpoints of @domain to its progress list; and
 * remove them after the region was closed. 0, or -FI_ENOMEM. The caller holds no lock
 * of a progress list. */
int wf_counted_bind(struct wf_domain *domain, struct wf_cntr *cntr);
void wf_counted_unbind(struct wf_domain *domain, struct wf_cntr *cntr);

/* An endpoint, which @item runs, was enabled: add it to the progress lists of all
 * counters of regions; and remove it before it is closed. 0, or a negative fabric
 * errno. wf_ep.control is held. */
int wf_counted_attach(
	struct wf_domain *domain, struct wf_counted_ep *ep, struct wf_progress *item);
void wf_counted_detach(struct wf_domain *domain, struct wf_counted_ep *ep);

/* Does a counter of a region have a wait object, so that a thread may sleep until the
 * counter changes? */
bool wf_counted_may_sleep(struct wf_domain *domain);

#endif

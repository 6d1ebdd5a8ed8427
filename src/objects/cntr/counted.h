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
 * Counters that are bound to regions belong to no endpoint, and peers reach a region
 * through any endpoint of its domain: so a thread that reads such a counter, or waits
 * for it, runs all of them.
 *
 * @lock guards both lists, and the members of endpoints and counters that are for
 * them. Order: wf_ep.control, @lock, the lock of a progress list.
 */
struct wf_counted {
	pthread_mutex_t lock;
	struct wf_list eps;   /* of wf_counted_ep.link */
	struct wf_list cntrs; /* of wf_counted_cntr.link */
};

/* Of an endpoint that is enabled. */
struct wf_counted_ep {
	struct wf_list link;
	struct wf_progress *item; /* NULL: in no list */
};

/* Of a counter. */
struct wf_counted_cntr {
	struct wf_list link;
	atomic_uint
		regions; /* that it is bound to; 0: in no list. Read without @lock */
};

void wf_counted_init(struct wf_counted *counted);
void wf_counted_done(struct wf_counted *counted);

/* @cntr is bound to one more region, or to one less. */
int wf_counted_bind(struct wf_domain *domain, struct wf_cntr *cntr);
void wf_counted_unbind(struct wf_domain *domain, struct wf_cntr *cntr);

/* The endpoint is run by @item from now on; or not any more. */
int wf_counted_attach(
	struct wf_domain *domain, struct wf_counted_ep *ep, struct wf_progress *item);
void wf_counted_detach(struct wf_domain *domain, struct wf_counted_ep *ep);

/* May a thread sleep until a counter of a region changes? */
bool wf_counted_may_sleep(struct wf_domain *domain);

#endif

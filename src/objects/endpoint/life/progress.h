/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_PROGRESS_H
#define WF_OBJECTS_ENDPOINT_LIFE_PROGRESS_H

#include "objects/endpoint/endpoint.h"

/*
 * The progress lists that run an endpoint: those of its bound queues and counters,
 * whose readers run it, and the domain's. Functions return 0 or a negative FI_E code.
 * ep->control is held unless a comment says otherwise.
 */

/* Initialise ep->progress from ep->xfer, when the endpoint is opened. No lock is
 * held. */
void wf_ep_progress_init(struct wf_ep *ep);

/* Add @ep to all its lists, and remove it. */
int wf_ep_progress_attach(struct wf_ep *ep);
void wf_ep_progress_detach(struct wf_ep *ep);
/* Add @ep again after a detach, also to the lists of objects that were bound
 * meanwhile. */
int wf_ep_progress_reattach(struct wf_ep *ep);

/* From now on threads that run @ep start triggered work, too; see
 * objects/endpoint/calls/trigger.h. Takes ep->control. */
int wf_ep_progress_triggers(struct wf_ep *ep);

#endif

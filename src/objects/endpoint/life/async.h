/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_ASYNC_H
#define WF_OBJECTS_ENDPOINT_LIFE_ASYNC_H

#include "objects/endpoint/endpoint.h"

/*
 * What was accepted leaves without a further call of the application, although its
 * progress is manual (fi_endpoint(3)): a thread of the process
 * (objects/progress/async.h) makes progress for an endpoint with unfinished operations
 * while the application makes no calls. A transport takes part with xfer->unfinished,
 * and calls wf_ep_want when it keeps an operation.
 *
 * An endpoint below another one of this library is run by the progress of that one. An
 * endpoint that completes into objects of another library's owner (FI_PEER) is run by
 * its owner only.
 */

/* @ep was opened; it has no thread yet. No lock is held, as for all functions here but
 * the last. */
void wf_ep_async_init(struct wf_ep *ep);
/* The bindings of @ep are complete: from now on the thread runs it. ep->control is
 * held. */
void wf_ep_async_enable(struct wf_ep *ep);
/* The thread does not run @ep any more, until it is wanted again. */
void wf_ep_async_stop(struct wf_ep *ep);
/* @ep is being closed: the thread does not run it any more. */
void wf_ep_async_close(struct wf_ep *ep);

/* @below is an endpoint below @above, whose progress runs it. */
void wf_ep_async_below(struct wf_ep *above, struct wf_ep *below);

/* Has @ep operations that progress has to continue? Takes ep->lock. */
bool wf_ep_unfinished(struct wf_ep *ep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_FLUSH_H
#define WF_OBJECTS_ENDPOINT_FLUSH_H

#include "objects/endpoint/endpoint.h"

/*
 * What was injected, or is complete for the application, leaves without further calls:
 * closing an endpoint or a transmit context, and the end of the process, wait for it,
 * for at most FI_FLUSH_TIMEOUT (fabric(7)). A transport takes part by xfer->flushed.
 */

/* @ep was enabled: from now on the end of the process waits for it, until
 * wf_ep_flush_forget. Both with no lock held. */
void wf_ep_flush_know(struct wf_ep *ep);
void wf_ep_flush_forget(struct wf_ep *ep);

/* Wait until nothing of the library's is left in @ep, which may be a context of a
 * scalable endpoint, or the time is over. No lock held. */
void wf_ep_flush(struct wf_ep *ep);

/* For a provider whose endpoint has endpoints of its own, which it closes with it: has
 * @ep, one of these, nothing left? The lock of @ep's receive context is held, that of
 * @ep is not; false as well when it cannot be had. */
bool wf_ep_flushed(struct wf_ep *ep);

#endif

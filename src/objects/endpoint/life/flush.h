/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_FLUSH_H
#define WF_OBJECTS_ENDPOINT_LIFE_FLUSH_H

#include "objects/endpoint/endpoint.h"

/*
 * Injected messages, and messages that are complete for the application, are sent
 * without further calls of the application: closing an endpoint or a transmit context,
 * and the end of the process, wait for them, for at most FI_FLUSH_TIMEOUT (fabric(7)).
 * A transport takes part with xfer->flushed.
 */

/* @ep was enabled: until wf_ep_flush_remove the end of the process waits for it.
 * Neither ep->lock nor the lock of the receive context is held in either call. */
void wf_ep_flush_add(struct wf_ep *ep);
void wf_ep_flush_remove(struct wf_ep *ep);

/* Make progress until everything that the library has to send for @ep, which may be a
 * context of a scalable endpoint, is sent, or the time is over. No lock held. */
void wf_ep_flush(struct wf_ep *ep);

/* Has @ep sent everything? For a provider whose endpoint contains @ep and closes it.
 * The caller holds the lock of @ep's receive context, but not ep->lock. False as well
 * if another thread holds ep->lock. */
bool wf_ep_flushed(struct wf_ep *ep);

#endif

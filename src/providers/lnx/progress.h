/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_PROGRESS_H
#define WF_LNX_PROGRESS_H

#include "providers/lnx/endpoint.h"

/* Progress of an endpoint, and sleeping on it. */
extern const struct wf_progress lnx_progress_item;

/* Hook of struct wf_xfer_ops. The locks of the receive context and of @ep are held. */
void lnx_progress(struct wf_ep *ep);

/* Control calls, in this order. _init: the endpoint is opened. _watch: all rails are
 * enabled, and from now on threads may sleep on them; 0 or a negative fi_errno; may be
 * called again. _enabled: fi_enable cannot fail any more. _done: the rails are
 * closed. */
void lnx_progress_init(struct lnx_ep *ep);
int lnx_progress_watch(struct lnx_ep *ep);
void lnx_progress_enabled(struct lnx_ep *ep);
void lnx_progress_done(struct lnx_ep *ep);

/* An operation was started on @rail: poll it soon. Any thread, no lock. */
static inline void lnx_rail_wake(struct lnx_ep *ep, struct lnx_rail *rail)
{
	if (!rail->network)
		return;
	atomic_store_explicit(&rail->idle_polls, 0, memory_order_relaxed);
	atomic_store_explicit(&ep->calls_left, 0, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_H

#include "objects/endpoint/endpoint.h"

/*
 * Scalable endpoints: one address with several transmit and receive contexts.
 *
 * The core is the transport's endpoint, with the address, the connections and all
 * progress. It transfers nothing in its own name. The contexts are endpoints of one
 * direction as far as the skeleton goes: bindings, flags, options, calls, completions
 * are theirs. What they start the transport does on the core, and whoever reads a queue
 * or counter bound to one runs the core.
 *
 * A receive context has its place, with a matching of its own, from the opening of the
 * scalable endpoint on: messages for it wait there until it is enabled. After it was
 * closed they are dropped, until it is opened and enabled again.
 *
 * core->control guards @tx, @open and the life of contexts; an order: a context's
 * control, the core's. @ep and @gone of a place change with both @rx_lock and
 * core->lock held, so that holding either is enough to read. @rx_lock is core->srx_lock
 * and the lock of all matching.
 */
struct wf_sep_rx {
	struct wf_srx srx;
	struct wf_srx_port port; /* what the transport asks for messages to it */
	struct wf_ep *ep;        /* the context, or the core as long as there is none */
	bool open;
	bool gone; /* it was closed: what comes for it is dropped */
};

struct wf_sep {
	struct wf_ep *core;
	const struct wf_xfer_ops *ctx_xfer;
	size_t tx_count, rx_count;
	bool enabled; /* by the application, beyond what enabling a context did */
	struct wf_lock rx_lock;
	struct wf_ep **tx; /* open ones; NULL where there is none */
	struct wf_sep_rx rx[];
};

/*
 * Make @core, which wf_ep_init filled in, a scalable endpoint with as many contexts as
 * its info says. @ctx_xfer is the transport of contexts: start, cancel, tx_left,
 * progress, enable, and destroy, which ends with wf_sep_free_context. Its srx_ops and
 * srx_addr receive for all. @core's own table is asked to enable, destroy, for names
 * and progress. wf_ep_done undoes it.
 */
int wf_sep_init(struct wf_ep *core, const struct wf_xfer_ops *ctx_xfer);

/* The end of a context; nothing of the transport refers to it any more. */
void wf_sep_free_context(struct wf_ep *ctx);

static inline bool wf_ep_is_sep(const struct wf_ep *ep)
{
	return ep->sep && ep->sep->core == ep;
}

static inline bool wf_ep_is_context(const struct wf_ep *ep)
{
	return ep->sep && ep->sep->core != ep;
}

#endif

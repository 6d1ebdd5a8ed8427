/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_SCALABLE_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_SCALABLE_H

#include "objects/endpoint/endpoint.h"

/*
 * Scalable endpoints (fi_endpoint(3)): one address with several transmit and receive
 * contexts.
 *
 * The core is the transport's endpoint, with the address, the connections and all
 * progress. It starts no operations of its own. To the common endpoint code a context
 * is an endpoint of one direction: bindings, flags, options, calls and completions
 * belong to it. The transport executes a context's operations on the core, and a thread
 * that reads a queue or counter bound to a context runs the core's progress.
 *
 * Each receive context has a struct wf_sep_rx with its own matching, which exists from
 * the opening of the scalable endpoint on: messages for the context wait there until it
 * is enabled. After the context was closed its messages are dropped, until it is opened
 * and enabled again.
 *
 * core->control guards @tx, @open and the opening and closing of contexts; order: a
 * context's control, then the core's. @ep and @gone of a struct wf_sep_rx change with
 * both @rx_lock and core->lock held, so a reader needs only one of them. @rx_lock is
 * core->srx_lock and guards the matching of all contexts.
 */
struct wf_sep_rx {
	struct wf_srx srx; /* Matching of this context. */
	/* Handle that the transport matches messages for this context with. */
	struct wf_srx_port port;
	struct wf_ep *ep; /* The enabled context; the core while there is none. */
	bool open;        /* The application has the context open. */
	bool gone;        /* The context was closed: messages for it are dropped. */
};

struct wf_sep {
	struct wf_ep *core;
	const struct wf_xfer_ops *ctx_xfer; /* The transport of contexts. */
	size_t tx_count, rx_count;          /* Contexts that may be opened. */
	/* The application enabled the scalable endpoint; enabling a context enables
	 * only the core. */
	bool enabled;
	struct wf_lock rx_lock; /* Lock of all receive contexts. */
	struct wf_ep **tx;      /* Open transmit contexts by index; NULL: not open. */
	struct wf_sep_rx rx[];
};

/*
 * Make @core, which wf_ep_init filled in, a scalable endpoint with as many contexts as
 * its info says. @ctx_xfer is the transport of contexts: start, cancel, tx_left,
 * progress, enable, and destroy, which ends with wf_sep_free_context. Its srx_ops and
 * srx_addr receive for all contexts. @core's own table serves enable, destroy,
 * addresses and progress. wf_ep_done undoes this. 0 or a negative FI_E code.
 */
int wf_sep_init(struct wf_ep *core, const struct wf_xfer_ops *ctx_xfer);

/* Free a context, which the transport does not refer to any more. No lock held. */
void wf_sep_free_context(struct wf_ep *ctx);

/* The core of the scalable endpoint to which the context @ctx belongs. */
static inline struct wf_ep *wf_ep_core(const struct wf_ep *ctx)
{
	return ctx->sep->core;
}

/* How many contexts of the scalable endpoint @ep may be opened; constant. */
static inline size_t wf_sep_tx_count(const struct wf_ep *ep)
{
	return ep->sep->tx_count;
}

static inline size_t wf_sep_rx_count(const struct wf_ep *ep)
{
	return ep->sep->rx_count;
}

/* The handle with which the transport matches messages for receive context @index of
 * @ep: its struct wf_sep_rx.port, or ep->srx if @ep is not scalable. NULL: the context
 * was closed. The lock of the receive context or ep->lock is held. */
static inline struct fid_peer_srx *wf_ep_srx_at(const struct wf_ep *ep, size_t index)
{
	if (wf_likely(!ep->sep))
		return ep->srx;
	return ep->sep->rx[index].gone ? NULL : &ep->sep->rx[index].port.fid;
}

/* The endpoint that counts peers' access to local memory by way of receive context
 * @index of @ep: that context, or while it is not enabled the core, which counts
 * nothing. Arguments and locks as above. */
static inline struct wf_ep *wf_ep_rx_at(struct wf_ep *ep, size_t index)
{
	return wf_likely(!ep->sep) ? ep : ep->sep->rx[index].ep;
}

static inline bool wf_ep_is_sep(const struct wf_ep *ep)
{
	return ep->sep && ep->sep->core == ep;
}

static inline bool wf_ep_is_context(const struct wf_ep *ep)
{
	return ep->sep && ep->sep->core != ep;
}

#endif

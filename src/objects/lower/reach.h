/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_REACH_H
#define WF_OBJECTS_LOWER_REACH_H

#include "objects/lower/endpoint.h"

/*
 * Connections of an endpoint below of this library, for a layer that reaches the same
 * peers by another transport, too. The caller holds the lock of the receive context
 * that the endpoint imported.
 */

/* Can the layer decide when the endpoint connects? */
static inline bool wf_lower_ep_reaches(const struct wf_lower_ep *below)
{
	return below->builtin && below->builtin->xfer->reach &&
	       below->builtin->xfer->is_reached && below->builtin->xfer->disconnect;
}

/* struct wf_xfer_ops.reach */
static inline int wf_lower_ep_reach(const struct wf_lower_ep *below, fi_addr_t addr)
{
	struct wf_ep *ep = below->builtin;
	int ret;

	wf_lock(&ep->lock);
	ret = ep->xfer->reach(ep, addr);
	wf_unlock(&ep->lock);
	return ret;
}

/* struct wf_xfer_ops.is_reached */
static inline bool wf_lower_ep_is_reached(
	const struct wf_lower_ep *below, fi_addr_t addr)
{
	struct wf_ep *ep = below->builtin;
	bool ret;

	wf_lock(&ep->lock);
	ret = ep->xfer->is_reached(ep, addr);
	wf_unlock(&ep->lock);
	return ret;
}

/* struct wf_xfer_ops.disconnect */
static inline bool wf_lower_ep_disconnect(const struct wf_lower_ep *below,
	fi_addr_t addr, int err, struct wf_unread *unread)
{
	struct wf_ep *ep = below->builtin;
	bool ret;

	wf_lock(&ep->lock);
	ret = ep->xfer->disconnect(ep, addr, err, unread);
	wf_unlock(&ep->lock);
	return ret;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_STX_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_STX_H

#include "objects/endpoint/endpoint.h"

/*
 * A transmit context that endpoints share (fi_stx_context(3)). Software transports have
 * no scarce hardware queue, so each endpoint keeps its own queue, and only the
 * attributes are shared: the context's attributes limit those of the endpoints bound to
 * it, and its default flags and options apply to endpoints that set none.
 *
 * @ep holds options and flags and has no transport. An endpoint copies them when it is
 * bound. The application may close the context before the endpoints; it is freed with
 * the last of them.
 */
struct wf_stx {
	struct wf_ep ep; /* Options and flags; has no transport. */
	/* Bound endpoints, plus one until the application closes it. */
	atomic_size_t refs;
};

/* fi_stx_context(3). The slot of fi_ops_domain. */
int wf_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr,
	struct fid_stx **ret_stx, void *context);

/* Bind @ep to a context (fi_ep_bind in fi_endpoint(3)) with ep->control held, and
 * unbind it when it is closed. 0 or a negative FI_E code; *@why is the reason for the
 * log. */
int wf_stx_bind(struct wf_ep *ep, struct fid *fid, const char **why);
void wf_stx_unbind(struct wf_ep *ep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_STX_H
#define WF_OBJECTS_ENDPOINT_STX_H

#include "objects/endpoint/endpoint.h"

/*
 * A transmit context that endpoints share (fi_stx_context). Transports in software have
 * no queue that would be scarce, so each endpoint keeps its own and what is shared are
 * the attributes: those of the context are the most that an endpoint bound to it may
 * have, and its default flags and options are theirs unless they have some of their
 * own.
 *
 * Options and flags are kept by @ep, which has no transport. Endpoints take them over
 * when they are bound. The application may close it before them; it is freed with the
 * last of them.
 */
struct wf_stx {
	struct wf_ep ep;
	atomic_size_t refs; /* endpoints bound, and the application until it closes */
};

/* fi_ops_domain.stx_ctx. */
int wf_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr,
	struct fid_stx **ret_stx, void *context);

/* @ep begins and ceases to use a context; ep->control held. *@why is what is wrong. */
int wf_stx_bind(struct wf_ep *ep, struct fid *fid, const char **why);
void wf_stx_unbind(struct wf_ep *ep);

#endif

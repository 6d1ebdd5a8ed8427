/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_ALIAS_ALIAS_H
#define WF_OBJECTS_ENDPOINT_ALIAS_ALIAS_H

#include "objects/endpoint/endpoint.h"

/*
 * An alias (fi_ep_alias, fi_endpoint(3)) is another handle to an endpoint, with its own
 * default flags for one direction. Its calls without flags become the endpoint's calls
 * with flags. It forwards all other calls unchanged, so the endpoint's own calls never
 * test for an alias.
 */
struct wf_ep_alias {
	struct fid_ep fid;
	struct wf_ep *ep;
	/* Default flags of the alias's calls, in place of the endpoint's. */
	_Atomic uint64_t tx_flags, rx_flags;
};

static inline struct wf_ep_alias *wf_alias_of(struct fid_ep *fid)
{
	return wf_container_of(fid, struct wf_ep_alias, fid);
}

static inline struct fid_ep *wf_alias_target(struct fid_ep *fid)
{
	return &wf_alias_of(fid)->ep->fid;
}

static inline uint64_t wf_alias_tx(struct fid_ep *fid)
{
	return atomic_load_explicit(&wf_alias_of(fid)->tx_flags, memory_order_relaxed);
}

static inline uint64_t wf_alias_rx(struct fid_ep *fid)
{
	return atomic_load_explicit(&wf_alias_of(fid)->rx_flags, memory_order_relaxed);
}

/* FI_ALIAS of fi_control(3): fi_ep_alias in fi_endpoint(3). 0, -FI_EINVAL or
 * -FI_ENOMEM. Takes ep->control. */
int wf_ep_alias_open(struct wf_ep *ep, const struct fi_alias *arg);
/* Is @fid an alias? If it is, the endpoint behind it. */
bool wf_ep_is_alias(const struct fid *fid);
struct wf_ep *wf_ep_alias_target(struct fid *fid);

/* Tables of operations, for an alias of an endpoint with the capability. */
extern struct fi_ops_tagged wf_alias_tagged_ops;
extern struct fi_ops_rma wf_alias_rma_ops;
extern struct fi_ops_atomic wf_alias_atomic_ops;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_SHARED_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_SHARED_H

#include "objects/endpoint/endpoint.h"

/* wf_ep_init of a context of class @fclass that endpoints share (fi_stx_context(3),
 * fi_srx_context(3)), which has no transport. Frees @info, also on failure. 0 or a
 * negative FI_E code. No lock is held. */
int wf_ep_init_shared(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	size_t fclass, struct fi_ops *fid_ops, void *context);

#endif

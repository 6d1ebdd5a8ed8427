/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_BIND_H
#define WF_OBJECTS_ENDPOINT_LIFE_BIND_H

#include "objects/endpoint/endpoint.h"

/* Bindings of an endpoint; fi_ep_bind in fi_endpoint(3). Functions return 0 or a
 * negative FI_E code. The caller holds ep->control unless a comment says otherwise. */

/* The flag of fi_ep_bind(3) for each event that a counter counts. */
extern const uint64_t wf_ep_cntr_flags[WF_CNTR_COUNT];

/* The slot bind of struct fi_ops. Takes ep->control. */
int wf_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags);

/* May @ep be enabled with its bindings? A refusal is logged. */
int wf_ep_check_bindings(const struct wf_ep *ep);

/* Bind @cntr, which was checked, for the events that @flags names; undo that. */
void wf_ep_set_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);
void wf_ep_unset_cntr(struct wf_ep *ep, uint64_t flags);

/* late.c: wf_ep_set_cntr for an endpoint that is enabled. After a failure the counter
 * is not bound. */
int wf_ep_bind_cntr_late(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags);

/* Undo all bindings of @ep, which is being closed. No lock is held. */
void wf_ep_unbind_all(struct wf_ep *ep);

#endif

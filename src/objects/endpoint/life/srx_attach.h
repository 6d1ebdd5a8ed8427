/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_SRX_ATTACH_H
#define WF_OBJECTS_ENDPOINT_LIFE_SRX_ATTACH_H

#include "objects/endpoint/endpoint.h"

/* The receive context that an endpoint receives from: a bound one, an imported one or
 * the endpoint's own; see objects/srx/srx.h. */

/* Bind a shared receive context (fi_srx_context(3)). 0, or a negative FI_E code, and
 * *@why is the reason for the log. ep->control is held. */
int wf_ep_srx_bind(struct wf_ep *ep, struct fid *fid, const char **why);

/* Choose the receive context, before the transport is enabled. 0 or a negative FI_E
 * code. ep->control is held. */
int wf_ep_srx_attach(struct wf_ep *ep);
/* Discard the messages and receives of @ep that wait in its context, before the
 * transport is destroyed. No lock is held. */
void wf_ep_srx_drain(struct wf_ep *ep);
/* Release the context, after the transport was destroyed. No lock is held. */
void wf_ep_srx_detach(struct wf_ep *ep);

/* sink.c: the calls of ep->srx_sink, by which the context reports results. */
extern const struct wf_srx_sink_ops wf_ep_sink_ops;

#endif

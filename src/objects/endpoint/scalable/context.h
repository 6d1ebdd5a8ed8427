/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_CONTEXT_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_CONTEXT_H

#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/scalable/scalable.h"

/* Functions that scalable endpoints, their contexts and the common endpoint code share;
 * see scalable.h. */

/* fi_ops_ep.tx_ctx and .rx_ctx (fi_tx_context, fi_rx_context in fi_endpoint(3)). */
int wf_sep_tx_context(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
	struct fid_ep **ret_ctx, void *context);
int wf_sep_rx_context(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
	struct fid_ep **ret_ctx, void *context);

/* Enable the core unless it is enabled. 0 or a negative FI_E code. core->control is
 * held. */
int wf_sep_enable_core(struct wf_ep *core);

/* @ctx is about to be enabled: enable the core if necessary, and give @ctx its AV. 0 or
 * a negative FI_E code. ctx->control is held. */
int wf_sep_join(struct wf_ep *ctx);

/* The reason why @bfid cannot be bound to @ep, a scalable endpoint or a context, for
 * the log; NULL: it can. */
const char *wf_sep_refuses(
	const struct wf_ep *ep, const struct fid *bfid, uint64_t flags);

/* A receive context is enabled: it receives through its struct wf_sep_rx from now
 * on. */
void wf_sep_rx_attach(struct wf_ep *ctx);
/* The context is being closed: drop messages for it from now on. */
void wf_sep_stop(struct wf_ep *ctx);
/* The context is closed: the next context with its index may use the struct. */
void wf_sep_rx_detach(struct wf_ep *ctx);

/* Initialise @rx for a context that is not open, at the opening of the scalable
 * endpoint or after a context was closed. */
void wf_sep_rx_init(struct wf_sep *sep, struct wf_sep_rx *rx);

/* The core is being closed and no context is left: discard the messages for its
 * contexts, then free them. */
void wf_sep_drain(struct wf_sep *sep);
void wf_sep_done(struct wf_ep *core);

#endif

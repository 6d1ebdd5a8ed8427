/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CONTEXT_H
#define WF_OBJECTS_ENDPOINT_CONTEXT_H

#include "objects/endpoint/internal.h"
#include "objects/endpoint/scalable.h"

/* What scalable endpoints, their contexts and the skeleton share; see scalable.h. */

/* fi_ops_ep.tx_ctx and .rx_ctx. */
int wf_sep_tx_context(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
	struct fid_ep **ret_ctx, void *context);
int wf_sep_rx_context(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
	struct fid_ep **ret_ctx, void *context);

/* Have the core enabled unless it is; core->control held. */
int wf_sep_enable_core(struct wf_ep *core);

/* A context is about to be enabled: it gets the address vector, and the core has to
 * be. ctx->control held. */
int wf_sep_join(struct wf_ep *ctx);

/* Why @bfid cannot be bound to @ep, a scalable endpoint or a context; NULL: it may. */
const char *wf_sep_refuses(
	const struct wf_ep *ep, const struct fid *bfid, uint64_t flags);

/* A receive context takes its place; messages stop coming to it; it leaves. */
void wf_sep_take_place(struct wf_ep *ctx);
void wf_sep_stop(struct wf_ep *ctx);
void wf_sep_leave_place(struct wf_ep *ctx);

/* A place without a context, for the first or one more time. */
void wf_sep_place_init(struct wf_sep *sep, struct wf_sep_rx *place);

/* The core ends: no context is left. */
void wf_sep_drain(struct wf_sep *sep);
void wf_sep_done(struct wf_ep *core);

#endif

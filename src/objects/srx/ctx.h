/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_CTX_H
#define WF_OBJECTS_SRX_CTX_H

#include "objects/endpoint/endpoint.h"
#include "objects/srx/srx.h"

/*
 * What fi_srx_context gives out. Receives are posted to @ep, which is an endpoint as
 * far as these calls, options and flags go, and has no transport. With FI_PEER the
 * context is @imported instead, and @ep only a handle.
 *
 * ep.control guards @av and @av_users.
 */
struct wf_srx_ctx {
	struct wf_ep ep;
	struct wf_srx srx;
	struct fid_peer_srx *imported;
	struct wf_av *av; /* that of all endpoints */
	unsigned int av_users;
	atomic_int refs; /* endpoints bound */
};

/* -FI_EINVAL when @fid is no context of ours. */
int wf_srx_ctx_of(struct fid *fid, struct wf_srx_ctx **ret_ctx);

/* An endpoint with this AV begins and ends to use the context; -FI_EINVAL when others
 * use another. */
int wf_srx_ctx_join(struct wf_srx_ctx *ctx, struct wf_av *av);
void wf_srx_ctx_leave(struct wf_srx_ctx *ctx, struct wf_av *av);

#endif

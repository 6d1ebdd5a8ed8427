/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SRX_CTX_H
#define WF_OBJECTS_ENDPOINT_SRX_CTX_H

#include "objects/endpoint/endpoint.h"
#include "objects/srx/srx.h"

/*
 * What fi_srx_context gives out. Receives are posted to @ep, which is an endpoint as
 * far as these calls, options and flags go, and has no transport. With FI_PEER the
 * context is @imported instead, and @ep only a handle.
 *
 * ep.control guards @av, @av_users and @leaving.
 */
struct wf_srx_ctx {
	struct wf_ep ep;
	struct wf_srx srx;
	struct fid_peer_srx *imported;
	struct wf_list leaving; /* watches of endpoints that are gone, with @imported */
	struct wf_av *av;       /* that of all endpoints */
	unsigned int av_users;
	atomic_int refs; /* endpoints bound */
};

/*
 * What an endpoint's receive context has to learn of its AV. One that tells an imported
 * context may wait for the owner's lock while the owner, who has it, closes the
 * endpoint: so it may outlive the endpoint, but not the context (wf_srx_watch_leave).
 */
struct wf_srx_watch {
	struct wf_av_watch watch;
	struct wf_list link; /* of @leaving */
	struct fid_peer_srx *srx;
	bool own; /* the context is ours */
	fi_addr_t (*addr)(struct fi_peer_rx_entry *entry);
};

/* It is watching no more; frees it, now or when the context is closed. */
void wf_srx_watch_leave(struct wf_srx_ctx *ctx, struct wf_srx_watch *watch);

/* -FI_EINVAL when @fid is no context of ours. */
int wf_srx_ctx_of(struct fid *fid, struct wf_srx_ctx **ret_ctx);

/* An endpoint with this AV begins and ends to use the context; -FI_EINVAL when others
 * use another. */
int wf_srx_ctx_join(struct wf_srx_ctx *ctx, struct wf_av *av);
void wf_srx_ctx_leave(struct wf_srx_ctx *ctx, struct wf_av *av);

/* fi_srx_context(3). */
int wf_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *context);

#endif

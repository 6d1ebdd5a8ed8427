/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_SCALABLE_SRX_CTX_H
#define WF_OBJECTS_ENDPOINT_SCALABLE_SRX_CTX_H

#include "objects/endpoint/endpoint.h"
#include "objects/srx/srx.h"

/*
 * The object of fi_srx_context(3). Receives are posted to @ep, which has the calls,
 * options and flags of an endpoint, but no transport. With FI_PEER the context is
 * @imported, and @ep only a handle.
 *
 * ep.control guards @av, @av_users and @leaving.
 */
struct wf_srx_ctx {
	struct wf_ep ep;               /* Options and flags; has no transport. */
	struct wf_srx srx;             /* The context, unless it is imported. */
	struct fid_peer_srx *imported; /* Context of the owner; NULL: @srx is used. */
	/* Queue of the provider (wf_prov.shared_rx), which is used instead of @srx. */
	void *queue;
	/* With @imported: struct wf_srx_watch of closed endpoints. */
	struct wf_list leaving;
	struct wf_av *av; /* AV of all endpoints that use the context; NULL: none. */
	unsigned int av_users; /* Enabled endpoints that use @av. */
	atomic_int refs;       /* Endpoints that are bound. */
};

/*
 * Tells the receive context of an endpoint about changes of its AV. A thread that tells
 * an imported context may wait for the owner's lock while the owner, which holds it,
 * closes the endpoint. So the watch may outlive the endpoint, but not the context
 * (wf_srx_watch_leave).
 */
struct wf_srx_watch {
	struct wf_av_watch watch;
	struct wf_list link;      /* In @leaving. */
	struct fid_peer_srx *srx; /* The context that is told. */
	bool own;                 /* This library owns the context. */
	/* xfer->srx_addr of the endpoint. */
	fi_addr_t (*addr)(struct fi_peer_rx_entry *entry);
};

/* Free @watch, which the AV does not call any more, now or when the context is
 * closed. */
void wf_srx_watch_leave(struct wf_srx_ctx *ctx, struct wf_srx_watch *watch);

/* The context of @fid. -FI_EINVAL: @fid is no receive context of this library. */
int wf_srx_ctx_of(struct fid *fid, struct wf_srx_ctx **ret_ctx);

/* An endpoint with the AV @av (may be NULL) begins, or ceases, to use the context.
 * -FI_EINVAL: other endpoints of the context use another AV. Takes ep.control. */
int wf_srx_ctx_join(struct wf_srx_ctx *ctx, struct wf_av *av);
void wf_srx_ctx_leave(struct wf_srx_ctx *ctx, struct wf_av *av);

/* fi_srx_context(3). The slot of fi_ops_domain. */
int wf_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *context);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_COMPAT_OLD_PEER_H
#define WF_CORE_COMPAT_OLD_PEER_H

#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "sys/list.h"

/*
 * Provider libraries built for a version of fi_peer(3) with other layouts, recognised
 * by the version that they state:
 *
 *   1.17, 1.18  get_msg(srx, addr, size, &entry), get_tag(srx, addr, tag, &entry);
 *               entries begin with two links and have no cq_data; no
 *               foreach_unspec_addr; errors of a CQ end before src_addr
 *   1.19        entries have cq_data; foreach_unspec_addr
 *   1.20-1.22   errors are as in the current version
 *   2.0-2.2     get_msg and get_tag are as in the current version; entries have the
 *               links still
 *
 * The owner of a receive context or a CQ passes it in the current layout; the provider
 * gets a copy in its own layout. The operations of the provider's fabric and domain are
 * replaced when they are opened, and make that copy.
 */
struct wf_old_peer {
	uint32_t before;     /* the first later version, which has another layout */
	bool has_cq_data;    /* entries of receive contexts have cq_data */
	bool short_errors;   /* error entries of CQs end before src_addr */
	void *srx_owner_ops; /* owner operations of receive contexts, or NULL */
};

/* The row for a provider's version; NULL: nothing to adapt. */
const struct wf_old_peer *wf_old_peer_of(uint32_t fi_version);

/* Replace the operations of @fabric, which no other thread knows yet. -FI_ENOMEM. */
int wf_old_peer_adapt(const struct wf_old_peer *old, struct fid_fabric *fabric);

/*
 * Frees memory of the core when a provider's object is closed. @ops replace the fid
 * operations of the object, which are kept in @own; after the object was closed, @gone
 * is called. A guard is found by its object, because a hook may replace @ops again.
 */
struct wf_old_guard {
	struct fi_ops ops;
	struct fi_ops *own;
	struct fid *fid;
	struct wf_list link; /* in the list of guards */
	void (*gone)(struct wf_old_guard *guard);
};

void wf_old_guard_set(struct wf_old_guard *guard, struct fid *fid,
	void (*gone)(struct wf_old_guard *guard));

/* fi_srx_context(3) with FI_PEER on a domain of an old provider; @open is the srx_ctx
 * call of the provider. -FI_EINVAL: @context is not a complete owner, or the provider
 * set no peer operations. -FI_ENOMEM. */
int wf_old_srx_open(const struct wf_old_peer *old,
	int (*open)(struct fid_domain *, struct fi_rx_attr *, struct fid_ep **, void *),
	struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ret_srx,
	void *context);

extern const struct wf_old_peer wf_old_peers[]; /* the last row is all zero */

#endif

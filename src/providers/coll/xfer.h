/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_XFER_H
#define WF_PROVIDERS_COLL_XFER_H

#include "providers/coll/coll.h"

/*
 * A peer transfer: one tagged message over the owner's endpoint. The endpoint's lock is
 * held for all calls here, and in @done.
 */
struct coll_xfer {
	struct fi_context2 context; /* the operation context; for the owner to use */
	struct wf_list all;         /* in coll_ep.posted or coll_ep.pending */
	struct wf_list link;        /* for the transfer's user */
	struct coll_ep *ep;
	/* The transfer ended: 0 or a negative fabric errno. A receive got @len bytes
	 * from @src, or from FI_ADDR_NOTAVAIL. Frees @xfer or posts it again. */
	void (*done)(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src);
	void *user;     /* of @done */
	fi_addr_t addr; /* the other member; a receive is not limited to it */
	uint64_t tag;
	void *buf;
	size_t len;     /* bytes at @buf */
	uint64_t flags; /* besides FI_PEER_TRANSFER */
	bool is_recv;
	bool is_pending; /* the owner has not taken it yet */
};

/* A transfer without content but @ep, @done and @user; NULL: no memory. */
struct coll_xfer *coll_xfer_new(struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user);
void coll_xfer_free(struct coll_xfer *xfer);

/* The same for memory of the caller, which has to stay while the transfer is posted. */
void coll_xfer_init(struct coll_xfer *xfer, struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user);

/* Post @xfer, now or, if the owner is out of resources, later. 0: @done will be called,
 * not inside this call. Negative fabric errno: it will not. */
int coll_xfer_post(struct coll_xfer *xfer);

/* Withdraw @xfer if that is possible. It ends like any other transfer, perhaps inside
 * this call if the owner had not taken it. */
void coll_xfer_cancel(struct coll_xfer *xfer);

/* Post what is pending. */
void coll_xfer_retry(struct coll_ep *ep);

/* The owner's callbacks. No lock is held. */
extern struct fi_ops_transfer_peer coll_xfer_callbacks;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_XFER_H
#define WF_COLL_XFER_H

#include "providers/coll/coll.h"

/*
 * A peer transfer: one tagged message over the owner's endpoint. The endpoint's lock is
 * held in all functions below, and in @done.
 */
struct coll_xfer {
	struct fi_context2 context; /* the operation context; the owner may write it */
	struct wf_list all;         /* link in coll_ep.posted or coll_ep.pending */
	struct wf_list link;        /* link for the user of the transfer */
	struct coll_ep *ep;
	/* The transfer ended with 0 or a negative fi_errno. A receive got @len bytes
	 * from @src; FI_ADDR_NOTAVAIL: the source is not known. Has to free @xfer or
	 * post it again. */
	void (*done)(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src);
	void *user; /* argument for @done */
	/* The other member. A receive of FI_ADDR_UNSPEC matches messages of any
	 * source, and so does each one if the owner does not report sources. */
	fi_addr_t addr;
	uint64_t tag;
	void *buf;
	size_t len;     /* length of @buf in bytes */
	uint64_t flags; /* flags besides FI_PEER_TRANSFER */
	bool is_recv;
	bool is_pending; /* The owner has not taken it yet. */
};

/* Make a transfer with only @ep, @done and @user set; NULL: no memory. */
struct coll_xfer *coll_xfer_new(struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user);
void coll_xfer_free(struct coll_xfer *xfer);

/* The same in memory of the caller, which must not be freed while the transfer is
 * posted. */
void coll_xfer_init(struct coll_xfer *xfer, struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user);

/* Post @xfer, now or, if the owner is out of resources, later. Returns 0: @done will be
 * called, after this function has returned; or a negative fi_errno: it will not. */
int coll_xfer_post(struct coll_xfer *xfer);

/* Cancel @xfer if that is possible. It ends like any other transfer, perhaps before
 * this returns if the owner had not taken it. */
void coll_xfer_cancel(struct coll_xfer *xfer);

/* Post the pending transfers. */
void coll_xfer_retry(struct coll_ep *ep);

/* The owner's callbacks. No lock is held. */
extern struct fi_ops_transfer_peer coll_xfer_callbacks;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/xfer.h"

#include <rdma/fi_tagged.h>

void coll_xfer_init(struct coll_xfer *xfer, struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user)
{
	*xfer = (struct coll_xfer){ .ep = ep, .done = done, .user = user };
	wf_list_init(&xfer->all);
	wf_list_init(&xfer->link);
}

struct coll_xfer *coll_xfer_new(struct coll_ep *ep,
	void (*done)(struct coll_xfer *, int, size_t, fi_addr_t), void *user)
{
	struct coll_xfer *xfer = wf_pool_get_inline(&ep->xfers);

	if (xfer)
		coll_xfer_init(xfer, ep, done, user);
	return xfer;
}

void coll_xfer_free(struct coll_xfer *xfer)
{
	wf_list_remove(&xfer->all);
	wf_list_remove(&xfer->link);
	wf_pool_put_inline(&xfer->ep->xfers, xfer);
}

static ssize_t xfer_post(struct coll_xfer *xfer)
{
	bool is_undirected = xfer->is_recv && !xfer->ep->has_sources;
	struct iovec iov = { xfer->buf, xfer->len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = xfer->len != 0,
		.addr = is_undirected ? FI_ADDR_UNSPEC : xfer->addr,
		.tag = xfer->tag,
		.context = &xfer->context,
	};
	uint64_t flags = xfer->flags | FI_PEER_TRANSFER;

	return xfer->is_recv ? fi_trecvmsg(xfer->ep->owner, &msg, flags)
			     : fi_tsendmsg(xfer->ep->owner, &msg, flags);
}

/* A transfer waits behind pending ones, which keeps the order of messages between two
 * members. */
static bool xfer_has_to_wait(const struct coll_xfer *xfer)
{
	return !wf_list_empty(&xfer->ep->pending) || xfer->ep->is_retrying;
}

int coll_xfer_post(struct coll_xfer *xfer)
{
	ssize_t ret = xfer_has_to_wait(xfer) ? -FI_EAGAIN : xfer_post(xfer);

	wf_list_remove(&xfer->all);
	xfer->is_pending = ret == -FI_EAGAIN;
	if (xfer->is_pending) {
		wf_list_push(&xfer->ep->pending, &xfer->all);
		return 0;
	}
	if (!ret)
		wf_list_push(&xfer->ep->posted, &xfer->all);
	return (int)ret;
}

/* The members to which the owner took no message in one pass of coll_xfer_retry. */
struct full {
	fi_addr_t addr[16];
	unsigned int count;
	bool for_recvs; /* The owner takes no receives either. */
};

static bool xfer_is_full(const struct full *full, const struct coll_xfer *xfer)
{
	if (xfer->is_recv)
		return full->for_recvs;
	if (full->count == WF_ARRAY_SIZE(full->addr))
		return true;
	for (unsigned int i = 0; i < full->count; i++)
		if (full->addr[i] == xfer->addr)
			return true;
	return false;
}

static void xfer_note_full(struct full *full, const struct coll_xfer *xfer)
{
	if (xfer->is_recv)
		full->for_recvs = true;
	else if (!xfer_is_full(full, xfer))
		full->addr[full->count++] = xfer->addr;
}

void coll_xfer_retry(struct coll_ep *ep)
{
	struct full full = { .count = 0 };
	struct wf_list again;

	/* @done may post or cancel transfers: go through the list as it is now. */
	wf_list_init(&again);
	ep->is_retrying = true;
	while (!wf_list_empty(&ep->pending))
		wf_list_push(&again, wf_list_pop(&ep->pending));
	while (!wf_list_empty(&again)) {
		struct coll_xfer *xfer =
			wf_list_entry(wf_list_pop(&again), struct coll_xfer, all);
		ssize_t ret = xfer_is_full(&full, xfer) ? -FI_EAGAIN : xfer_post(xfer);

		if (ret == -FI_EAGAIN) {
			xfer_note_full(&full, xfer);
			wf_list_push(&ep->pending, &xfer->all);
			continue;
		}
		xfer->is_pending = false;
		if (ret)
			xfer->done(xfer, (int)ret, 0, FI_ADDR_NOTAVAIL);
		else
			wf_list_push(&ep->posted, &xfer->all);
	}
	ep->is_retrying = false;
}

void coll_xfer_cancel(struct coll_xfer *xfer)
{
	if (!xfer->is_pending) {
		(void)fi_cancel(&xfer->ep->owner->fid, &xfer->context);
		return;
	}
	wf_list_remove(&xfer->all);
	xfer->is_pending = false;
	xfer->done(xfer, -FI_ECANCELED, 0, FI_ADDR_NOTAVAIL);
}

static void xfer_end(
	struct fid_ep *fid, void *context, int err, size_t len, fi_addr_t src)
{
	struct coll_xfer *xfer = wf_container_of(
		(struct fi_context2 *)context, struct coll_xfer, context);
	struct coll_ep *ep = coll_ep_of(wf_ep_of(fid));

	wf_lock(&ep->ep.lock);
	wf_list_remove(&xfer->all);
	ep->moves++;
	xfer->done(xfer, err, len, ep->has_sources ? src : FI_ADDR_NOTAVAIL);
	coll_ep_unlock(ep);
	coll_report_joined(ep);
}

static ssize_t xfer_complete(
	struct fid_ep *fid, struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	xfer_end(fid, entry->op_context, 0, entry->len, src);
	return 0;
}

static ssize_t xfer_comperr(struct fid_ep *fid, struct fi_cq_err_entry *entry)
{
	xfer_end(fid, entry->op_context, entry->err ? -entry->err : -FI_EIO, entry->len,
		FI_ADDR_NOTAVAIL);
	return 0;
}

struct fi_ops_transfer_peer coll_xfer_callbacks = {
	.size = sizeof(struct fi_ops_transfer_peer),
	.complete = xfer_complete,
	.comperr = xfer_comperr,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/unexp.h"

#include <stdlib.h>
#include <string.h>

static struct wf_origin *unexp_origin_new(struct wf_unexp *unexp,
	struct wf_unexp_conn *conn, struct wf_remote *remote, struct fid_peer_srx *srx)
{
	struct wf_origin *origin = malloc(sizeof(*origin));

	if (!origin)
		return NULL;
	*origin = (struct wf_origin){
		.srx.fid = srx,
		.next = conn->origins,
		.unexp = unexp,
		.conn = conn,
		.remote = remote,
	};
	if (remote)
		wf_remote_ref(remote);
	return conn->origins = origin;
}

/* The origin of @conn for @srx. A connection with messages for several receive contexts
 * has several origins. */
static struct wf_origin *unexp_origin_of(struct wf_unexp *unexp,
	struct wf_unexp_conn *conn, struct wf_remote *remote, struct fid_peer_srx *srx)
{
	struct wf_origin *origin = conn->origins;

	while (origin && origin->srx.fid != srx)
		origin = origin->next;
	return wf_likely(origin != NULL) ? origin
					 : unexp_origin_new(unexp, conn, remote, srx);
}

static struct wf_origin *unexp_origin_at(const struct fi_peer_rx_entry *entry)
{
	return wf_container_of(wf_srx_origin(entry), struct wf_origin, srx);
}

/* Free @origin, unless its connection or a message keeps it. */
static void unexp_origin_settle(struct wf_origin *origin)
{
	if (wf_likely(origin->conn || origin->srx.count))
		return;
	if (origin->remote)
		wf_remote_unref(origin->unexp->remotes, origin->remote);
	free(origin);
}

struct wf_srx_unexpected *wf_unexp_save(struct wf_unexp *unexp,
	struct wf_unexp_conn *conn, struct wf_remote *remote, uint64_t type,
	struct fi_peer_rx_entry *entry, size_t size)
{
	struct wf_origin *origin = unexp_origin_of(unexp, conn, remote, entry->srx);
	struct wf_srx_unexpected *saved;

	if (wf_unlikely(!origin))
		return NULL;
	saved = wf_srx_save(type, entry, &origin->srx, size);
	if (wf_likely(saved != NULL))
		wf_unexp_take(unexp, conn, wf_unexp_cost(size));
	return saved;
}

bool wf_unexp_admits_known(const struct wf_unexp *unexp,
	const struct wf_unexp_conn *conn, struct wf_remote *remote, size_t size)
{
	return wf_budget_shares(&unexp->budget, conn->bytes, size) &&
	       (!remote || unexp->ops->index(unexp->ep, remote) != FI_ADDR_NOTAVAIL);
}

bool wf_unexp_enlarge(struct wf_unexp *unexp, struct wf_unexp_conn *conn,
	struct wf_srx_unexpected *saved, size_t old, size_t size)
{
	struct wf_origin *origin = conn->origins;

	/* Messages of imported contexts have no number. */
	while (saved->origin && origin->srx.number != saved->origin)
		origin = origin->next;
	if (size > old && !wf_srx_enlarge(origin->srx.fid, saved, size))
		return false;
	wf_unexp_take(unexp, conn, size);
	wf_unexp_give(unexp, conn, old);
	return true;
}

bool wf_unexp_grow(struct wf_unexp *unexp, struct wf_unexp_conn *conn,
	struct fid_peer_srx *srx, struct wf_srx_unexpected *saved, size_t from,
	size_t to)
{
	if (!wf_srx_grow(srx, saved, to))
		return false;
	wf_unexp_take(unexp, conn, to - from);
	return true;
}

static bool unexp_is_whole(const struct wf_srx_unexpected *saved)
{
	return wf_unexp_state(saved) == WF_UNEXP_WHOLE;
}

static size_t conn_unexp_size_of(
	const struct wf_origin *origin, const struct wf_srx_unexpected *saved)
{
	if (!unexp_is_whole(saved))
		return origin->unexp->ops->size(saved);
	return wf_srx_len(saved) +
	       (saved->note & WF_UNEXP_MATCH ? sizeof(uint64_t) : 0);
}

static void unexp_release(struct wf_origin *origin, struct wf_srx_unexpected *saved)
{
	size_t cost = wf_unexp_cost(conn_unexp_size_of(origin, saved));

	wf_budget_give(&origin->unexp->budget,
		origin->conn ? &origin->conn->bytes : NULL, cost);
	wf_srx_release(&origin->srx, saved);
	unexp_origin_settle(origin);
}

/* Tell the sender of a message that is whole that it was matched, or dropped. */
static void unexp_tell_match(struct wf_origin *origin, struct wf_srx_unexpected *saved)
{
	uint64_t id;

	if (!origin->conn || !(saved->note & WF_UNEXP_MATCH))
		return;
	memcpy(&id, (uint8_t *)wf_srx_payload(saved) + saved->len, sizeof(id));
	origin->unexp->ops->matched(origin->conn, id);
}

static void unexp_complete(
	struct wf_origin *origin, struct fi_peer_rx_entry *entry, size_t len)
{
	const struct wf_unexp *unexp = origin->unexp;
	struct wf_ep *ep = wf_recv_ep(unexp->ep, entry);
	uint64_t flags = entry->flags & FI_REMOTE_CQ_DATA;
	fi_addr_t index = FI_ADDR_NOTAVAIL;
	const void *name;
	size_t name_len;

	if (unexp->wants.source && origin->remote)
		index = unexp->ops->index(unexp->ep, origin->remote);
	if (wf_likely(!unexp->wants.source_err || !origin->remote ||
		      !wf_recv_is_unknown(unexp->ep, index))) {
		wf_recv_done(ep, entry, flags, len, entry->cq_data,
			wf_recv_source(unexp->ep, index));
		return;
	}
	name = unexp->ops->name(origin->remote, &name_len);
	wf_recv_done_unknown(ep, entry, flags, len, entry->cq_data, name, name_len);
}

static void unexp_deliver(struct wf_origin *origin, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	size_t len = wf_srx_len(saved);

	(void)wf_iov_scatter(entry->iov, entry->count, wf_srx_payload(saved), len);
	unexp_tell_match(origin, saved);
	unexp_complete(origin, entry, len);
}

/* start_msg, start_tag: a receive matched the message. The srx lock is held. */
static int conn_unexp_start(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *saved = entry->peer_context;
	struct wf_origin *origin = unexp_origin_at(entry);
	struct wf_unexp_conn *conn = origin->conn;
	struct wf_unexp *unexp = origin->unexp;
	int ret = 0;

	wf_lock(&unexp->ep->lock);
	if (wf_likely(unexp_is_whole(saved)))
		unexp_deliver(origin, saved, entry);
	else
		ret = conn ? unexp->ops->start(conn, saved, entry) : -origin->err;
	unexp_release(origin, saved);
	if (conn)
		unexp->ops->flush(conn);
	wf_unlock(&unexp->ep->lock);
	return ret;
}

/* discard_msg, discard_tag: no receive will match the message. The srx lock is held. */
static int conn_unexp_discard(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *saved = entry->peer_context;
	struct wf_origin *origin = unexp_origin_at(entry);
	struct wf_unexp_conn *conn = origin->conn;
	struct wf_unexp *unexp = origin->unexp;

	wf_lock(&unexp->ep->lock);
	if (unexp_is_whole(saved))
		unexp_tell_match(origin, saved);
	else if (conn)
		unexp->ops->discard(conn, saved);
	unexp_release(origin, saved);
	if (conn)
		unexp->ops->flush(conn);
	wf_srx_free_entry(entry);
	wf_unlock(&unexp->ep->lock);
	return 0;
}

struct fi_ops_srx_peer wf_unexp_srx_ops =
	WF_SRX_PEER_OPS(conn_unexp_start, conn_unexp_discard);

fi_addr_t wf_unexp_srx_addr(struct fi_peer_rx_entry *entry)
{
	const struct wf_origin *origin = unexp_origin_at(entry);
	const struct wf_unexp *unexp = origin->unexp;
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	wf_lock(&unexp->ep->lock);
	if (origin->remote && unexp->wants.index)
		index = unexp->ops->index(unexp->ep, origin->remote);
	wf_unlock(&unexp->ep->lock);
	return wf_ep_srx_source(unexp->ep, index);
}

void wf_unexp_break(struct wf_unexp_conn *conn, int err)
{
	struct wf_origin *origin = conn->origins, *next;

	for (; origin; origin = next) {
		next = origin->next;
		origin->conn = NULL;
		origin->err = err;
		unexp_origin_settle(origin);
	}
	conn->origins = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/peer.h"
#include "providers/tcp/unexp.h"

/* Messages that wait for a receive, and what the owner of the receives says of them. */

static struct tcp_origin *origin_get(struct tcp_conn *conn)
{
	struct tcp_origin *origin = conn->origin;

	if (wf_unlikely(!origin)) {
		origin = malloc(sizeof(*origin));
		if (!origin)
			return NULL;
		*origin = (struct tcp_origin){
			.ep = conn->ep,
			.conn = conn,
			.peer = conn->peer,
			.refs = 1,
		};
		if (origin->peer)
			tcp_peer_ref(origin->peer);
		conn->origin = origin;
	}
	origin->refs++;
	return origin;
}

static void origin_put(struct tcp_origin *origin)
{
	if (--origin->refs)
		return;
	if (origin->peer)
		tcp_peer_unref(origin->ep, origin->peer);
	free(origin);
}

struct tcp_unexp *tcp_unexp_new(struct tcp_conn *conn, size_t room)
{
	struct tcp_unexp *unexp = wf_sizes_get(&conn->ep->unexps, room);
	struct tcp_origin *origin = unexp ? origin_get(conn) : NULL;

	if (wf_unlikely(!origin)) {
		if (unexp)
			wf_sizes_put(&conn->ep->unexps, unexp, room);
		return NULL;
	}
	*unexp = (struct tcp_unexp){
		.origin = origin,
		.len = (uint32_t)room,
		.flags = conn->rx.rec.flags,
	};
	return unexp;
}

struct tcp_unexp *tcp_unexp_keep(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	size_t len = rec->payload_len;
	size_t id_len = rec->flags & TCP_FLAG_MATCH ? sizeof(rec->id) : 0;
	struct tcp_unexp *unexp = tcp_unexp_new(conn, len + id_len);

	if (!unexp)
		return NULL;
	memcpy(unexp->buf + len, &rec->id, id_len);
	unexp->state = TCP_UNEXP_ARRIVING;
	conn->unexp_bytes += tcp_unexp_cost(unexp->len);
	return unexp;
}

static bool is_kept(const struct tcp_unexp *unexp)
{
	return unexp->state <= TCP_UNEXP_WHOLE;
}

/* Bytes of the payload in buf. */
static size_t payload_len(const struct tcp_unexp *unexp)
{
	return unexp->len - (unexp->flags & TCP_FLAG_MATCH ? sizeof(uint64_t) : 0);
}

void tcp_unexp_free(struct tcp_unexp *unexp)
{
	struct tcp_origin *origin = unexp->origin;

	if (origin->conn && is_kept(unexp))
		origin->conn->unexp_bytes -= tcp_unexp_cost(unexp->len);
	wf_sizes_put(&origin->ep->unexps, unexp, unexp->len);
	origin_put(origin);
}

void tcp_unexp_clear(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry)
{
	struct tcp_conn *conn = unexp->origin->conn;
	struct tcp_tx *tx = tcp_tx_answer(conn, TCP_REC_CTS, 0);

	unexp->state = TCP_UNEXP_CLEARED;
	tcp_rdv_of(unexp)->entry = entry;
	if (!tx)
		return;
	tx->rec.index = tcp_rdv_of(unexp)->index;
	tcp_tx_dirty(conn);
}

/* The sender of a kept message hears that it was matched, or dropped. */
static void matched(struct tcp_unexp *unexp)
{
	uint64_t id;

	if (!(unexp->flags & TCP_FLAG_MATCH))
		return;
	memcpy(&id, unexp->buf + payload_len(unexp), sizeof(id));
	tcp_recv_matched(unexp->origin->conn, unexp->flags, id);
}

/* From our buffer to the application's. */
static void deliver(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry)
{
	struct tcp_origin *origin = unexp->origin;
	size_t len = payload_len(unexp);

	(void)wf_iov_scatter(entry->iov, entry->count, unexp->buf, len);
	matched(unexp);
	tcp_recv_done(
		origin->ep, origin->peer, entry, unexp->flags, len, entry->cq_data);
	tcp_unexp_free(unexp);
}

static void drop(struct tcp_unexp *unexp)
{
	matched(unexp);
	tcp_unexp_free(unexp);
}

void tcp_unexp_whole(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry)
{
	if (unexp->state == TCP_UNEXP_DROPPED)
		drop(unexp);
	else if (entry)
		deliver(unexp, entry);
	else
		unexp->state = TCP_UNEXP_WHOLE;
}

/* The connection was holding for this message: let it go on. */
static void release(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry)
{
	struct tcp_conn *conn = unexp->origin->conn;
	struct tcp_rx *rx = &conn->rx;

	rx->unexp = NULL;
	rx->entry = entry;
	if (entry)
		tcp_rx_sink(conn, entry->iov, entry->count);
	else
		tcp_rx_drop(conn);
	tcp_conn_heat(conn);
	tcp_unexp_free(unexp);
}

/* A queued message has buffers now. The owner's lock is held. */
static int start(struct fi_peer_rx_entry *entry)
{
	struct tcp_unexp *unexp = entry->peer_context;
	struct tcp_origin *origin = unexp->origin;
	struct tcp_ep *ep = origin->ep;
	struct tcp_conn *conn = origin->conn;
	int ret = 0;

	wf_lock(&ep->ep.lock);
	switch ((enum tcp_unexp_state)unexp->state) {
	case TCP_UNEXP_WHOLE:
		deliver(unexp, entry);
		break;
	case TCP_UNEXP_ARRIVING:
		conn->rx.entry = entry;
		break;
	case TCP_UNEXP_HELD:
		release(unexp, entry);
		break;
	case TCP_UNEXP_RTS:
		tcp_unexp_clear(unexp, entry);
		break;
	case TCP_UNEXP_DROPPED:
	case TCP_UNEXP_CLEARED:
	case TCP_UNEXP_BROKEN:
		ret = -(origin->err ? origin->err : FI_ECANCELED);
		tcp_unexp_free(unexp);
		break;
	}
	if (conn)
		tcp_tx_flush(conn);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* Nobody will want it. The owner's lock is held. */
static int discard(struct fi_peer_rx_entry *entry)
{
	struct tcp_unexp *unexp = entry->peer_context;
	struct tcp_ep *ep = unexp->origin->ep;
	struct tcp_conn *conn = unexp->origin->conn;

	wf_lock(&ep->ep.lock);
	switch ((enum tcp_unexp_state)unexp->state) {
	case TCP_UNEXP_ARRIVING:
		unexp->state = TCP_UNEXP_DROPPED; /* goes when it is whole */
		break;
	case TCP_UNEXP_RTS:
		/* There is no other way to let the sender end its operation. */
		tcp_unexp_clear(unexp, NULL);
		break;
	case TCP_UNEXP_HELD:
		tcp_recv_matched(conn, unexp->flags, conn->rx.rec.id);
		release(unexp, NULL);
		break;
	case TCP_UNEXP_WHOLE:
		drop(unexp);
		break;
	case TCP_UNEXP_DROPPED:
	case TCP_UNEXP_CLEARED:
	case TCP_UNEXP_BROKEN:
		tcp_unexp_free(unexp);
		break;
	}
	if (conn)
		tcp_tx_flush(conn);
	wf_srx_free_entry(entry);
	wf_unlock(&ep->ep.lock);
	return 0;
}

struct fi_ops_srx_peer tcp_srx_ops = {
	.size = sizeof(tcp_srx_ops),
	.start_msg = start,
	.start_tag = start,
	.discard_msg = discard,
	.discard_tag = discard,
};

fi_addr_t tcp_srx_addr(struct fi_peer_rx_entry *entry)
{
	struct tcp_unexp *unexp = entry->peer_context;
	struct tcp_ep *ep = unexp->origin->ep;
	struct tcp_peer *peer = unexp->origin->peer;
	fi_addr_t addr = FI_ADDR_UNSPEC;

	wf_lock(&ep->ep.lock);
	if (peer && ep->want_index)
		addr = tcp_peer_index(ep, peer);
	wf_unlock(&ep->ep.lock);
	return wf_ep_srx_source(&ep->ep, addr);
}

/* What a matched message ends with when its connection is lost. */
static void end_matched(
	struct tcp_ep *ep, struct fi_peer_rx_entry *entry, int err, bool quiet)
{
	if (quiet)
		wf_srx_free_entry(entry);
	else
		wf_srx_fail(tcp_receiver(ep, entry), entry, 0, 0, 0, 0,
			FI_ADDR_NOTAVAIL, err);
}

/* @entry: its receive, if it has one. One that still waits for a receive stays, to tell
 * it. */
static void break_one(struct tcp_ep *ep, struct tcp_unexp *unexp,
	struct fi_peer_rx_entry *entry, int err, bool quiet)
{
	bool over = entry || unexp->state == TCP_UNEXP_DROPPED ||
		    unexp->state == TCP_UNEXP_CLEARED;

	if (entry)
		end_matched(ep, entry, err, quiet);
	unexp->state = TCP_UNEXP_BROKEN;
	if (over)
		tcp_unexp_free(unexp);
}

void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet)
{
	struct tcp_origin *origin = conn->origin;
	struct tcp_ep *ep = conn->ep;
	struct tcp_rx *rx = &conn->rx;
	bool rdv = rx->unexp && rx->unexp->state == TCP_UNEXP_CLEARED;

	if (origin) {
		origin->conn = NULL;
		origin->err = err;
	}
	/* One whose data arrives at last is in conn->rdv as well. */
	if (rx->unexp && !rdv)
		break_one(ep, rx->unexp, rx->entry, err, quiet);
	else if (rx->entry)
		end_matched(ep, rx->entry, err, quiet);
	rx->entry = NULL;
	rx->unexp = NULL;
	for (unsigned int i = 0; i < conn->rdv.room; i++) {
		struct tcp_unexp *unexp = conn->rdv.at[i];

		if (unexp)
			break_one(ep, unexp, tcp_rdv_of(unexp)->entry, err, quiet);
	}
	conn->origin = NULL;
	if (origin)
		origin_put(origin);
}

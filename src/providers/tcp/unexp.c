/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/peer.h"
#include "providers/tcp/unexp.h"

/* Messages that wait for a receive, and what the owner of the receives says of them. */

static struct tcp_origin *origin_new(struct tcp_conn *conn, struct fid_peer_srx *srx)
{
	struct tcp_origin *origin = malloc(sizeof(*origin));

	if (!origin)
		return NULL;
	*origin = (struct tcp_origin){
		.srx.fid = srx,
		.next = conn->origins,
		.ep = conn->ep,
		.conn = conn,
		.peer = conn->peer,
	};
	if (origin->peer)
		wf_remote_ref(&origin->peer->remote);
	return conn->origins = origin;
}

/* More than one has whoever sends to several receive contexts. */
static struct tcp_origin *origin_of(struct tcp_conn *conn, struct fid_peer_srx *srx)
{
	struct tcp_origin *origin = conn->origins;

	while (origin && origin->srx.fid != srx)
		origin = origin->next;
	return wf_likely(origin != NULL) ? origin : origin_new(conn, srx);
}

static void origin_settle(struct tcp_origin *origin)
{
	if (wf_likely(origin->conn || origin->srx.count))
		return;
	if (origin->peer)
		tcp_peer_unref(origin->ep, origin->peer);
	free(origin);
}

static struct tcp_origin *origin_at(const struct fi_peer_rx_entry *entry)
{
	return wf_container_of(wf_srx_origin(entry), struct tcp_origin, srx);
}

struct wf_srx_unexpected *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t size)
{
	const struct tcp_record *rec = &conn->rx.rec;
	bool tagged = rec->kind == TCP_REC_TAGGED || rec->kind == TCP_REC_RTS;
	struct tcp_origin *origin = origin_of(conn, entry->srx);

	if (!origin)
		return NULL;
	if (rec->flags & TCP_FLAG_DATA) {
		entry->cq_data = rec->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	return wf_srx_save(tagged ? FI_TAGGED : FI_MSG, entry, &origin->srx, size);
}

static enum tcp_unexp state_of(const struct wf_srx_unexpected *unexp)
{
	return unexp->note & TCP_UNEXP_STATES;
}

static void set_state(struct wf_srx_unexpected *unexp, enum tcp_unexp state)
{
	unexp->note = (unexp->note & TCP_UNEXP_MATCH) | state;
}

static void give_back(struct tcp_origin *origin, struct wf_srx_unexpected *unexp)
{
	enum tcp_unexp state = state_of(unexp);
	size_t cost = tcp_unexp_cost(unexp->len);

	if (state <= TCP_UNEXP_WHOLE || state == TCP_UNEXP_TORN) {
		origin->ep->unexp_bytes -= cost;
		if (origin->conn)
			origin->conn->unexp_bytes -= cost;
	}
	wf_srx_release(&origin->srx, unexp);
	origin_settle(origin);
}

void tcp_rdv_clear(
	struct tcp_conn *conn, struct tcp_rdv *rdv, struct fi_peer_rx_entry *entry)
{
	struct tcp_tx *tx = tcp_tx_answer(conn, TCP_REC_CTS, 0);

	rdv->unexp = NULL;
	rdv->entry = entry;
	if (!tx)
		return;
	tx->rec.index = rdv->index;
	tcp_tx_dirty(conn);
}

static struct tcp_rdv *rdv_of(struct wf_srx_unexpected *unexp)
{
	return *(struct tcp_rdv **)wf_srx_payload(unexp);
}

/* The sender of a message that is whole hears that it was matched, or dropped. */
static void matched(struct tcp_origin *origin, struct wf_srx_unexpected *unexp)
{
	uint64_t id;

	if (!(unexp->note & TCP_UNEXP_MATCH))
		return;
	memcpy(&id, (uint8_t *)wf_srx_payload(unexp) + unexp->len, sizeof(id));
	tcp_recv_matched(origin->conn, TCP_FLAG_MATCH, id);
}

/* From our buffer to the application's. */
static void deliver(struct tcp_origin *origin, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry)
{
	uint16_t flags = entry->flags & FI_REMOTE_CQ_DATA ? TCP_FLAG_DATA : 0;

	(void)wf_iov_scatter(
		entry->iov, entry->count, wf_srx_payload(unexp), unexp->len);
	matched(origin, unexp);
	tcp_recv_done(
		origin->ep, origin->peer, entry, flags, unexp->len, entry->cq_data);
}

/* The part that came is moved to where the rest will go: to @entry's buffers, or to
 * nowhere. */
static void move_on(struct tcp_conn *conn, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry)
{
	struct tcp_rx *rx = &conn->rx;

	rx->unexp = NULL;
	rx->entry = entry;
	if (entry) {
		tcp_rx_move(conn, entry->iov, entry->count, wf_srx_payload(unexp));
		return;
	}
	tcp_recv_matched(conn, rx->rec.flags, rx->rec.id);
	tcp_rx_drop(conn);
}

/* The connection was holding for this message: let it go on. */
static void release(struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
{
	struct tcp_rx *rx = &conn->rx;

	rx->unexp = NULL;
	rx->entry = entry;
	if (entry) {
		tcp_rx_sink(conn, entry->iov, entry->count);
	} else {
		tcp_recv_matched(conn, rx->rec.flags, rx->rec.id);
		tcp_rx_drop(conn);
	}
	tcp_conn_heat(conn);
	/* Who sleeps has not been told of this socket while it was held; nor does it
	 * tell of what was read from it already. */
	if (conn->ep->watches.sleepers)
		tcp_watch_set(conn->ep, &conn->watch, tcp_conn_events(conn));
	tcp_wake_sleepers(conn->ep);
}

/* A message that waited has buffers now. The owner's lock is held. */
static int start(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp = entry->peer_context;
	struct tcp_origin *origin = origin_at(entry);
	struct tcp_conn *conn = origin->conn;
	struct tcp_ep *ep = origin->ep;
	int ret = 0;

	wf_lock(&ep->ep.lock);
	switch (state_of(unexp)) {
	case TCP_UNEXP_WHOLE:
		deliver(origin, unexp, entry);
		break;
	case TCP_UNEXP_ARRIVING:
		move_on(conn, unexp, entry);
		break;
	case TCP_UNEXP_HELD:
		release(conn, entry);
		break;
	case TCP_UNEXP_RTS:
		tcp_rdv_clear(conn, rdv_of(unexp), entry);
		break;
	default:
		ret = -(origin->err ? origin->err : FI_ECANCELED);
		break;
	}
	give_back(origin, unexp);
	if (conn)
		tcp_tx_flush(conn);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* Nobody will want it. The owner's lock is held. */
static int discard(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp = entry->peer_context;
	struct tcp_origin *origin = origin_at(entry);
	struct tcp_conn *conn = origin->conn;
	struct tcp_ep *ep = origin->ep;

	wf_lock(&ep->ep.lock);
	switch (state_of(unexp)) {
	case TCP_UNEXP_WHOLE:
		matched(origin, unexp);
		break;
	case TCP_UNEXP_ARRIVING:
		move_on(conn, unexp, NULL);
		break;
	case TCP_UNEXP_HELD:
		release(conn, NULL);
		break;
	case TCP_UNEXP_RTS:
		/* There is no other way to let the sender end its operation. */
		tcp_rdv_clear(conn, rdv_of(unexp), NULL);
		break;
	default:
		break;
	}
	give_back(origin, unexp);
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
	const struct tcp_origin *origin = origin_at(entry);
	struct tcp_ep *ep = origin->ep;
	struct tcp_peer *peer = origin->peer;
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

/* One that still waits for a receive stays, to tell it. */
static void break_rdv(struct tcp_ep *ep, struct tcp_rdv *rdv, int err, bool quiet)
{
	if (rdv->unexp)
		set_state(rdv->unexp, TCP_UNEXP_BROKEN);
	else if (rdv->entry)
		end_matched(ep, rdv->entry, err, quiet);
	free(rdv);
}

static void break_origins(struct tcp_conn *conn, int err)
{
	struct tcp_origin *origin = conn->origins, *next;

	for (; origin; origin = next) {
		next = origin->next;
		origin->conn = NULL;
		origin->err = err;
		origin_settle(origin);
	}
	conn->origins = NULL;
}

void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet)
{
	struct tcp_ep *ep = conn->ep;
	struct tcp_rx *rx = &conn->rx;

	if (rx->unexp)
		set_state(rx->unexp, state_of(rx->unexp) == TCP_UNEXP_ARRIVING
					     ? TCP_UNEXP_TORN
					     : TCP_UNEXP_BROKEN);
	if (rx->entry)
		end_matched(ep, rx->entry, err, quiet);
	rx->entry = NULL;
	rx->unexp = NULL;
	rx->rdv = NULL;
	for (unsigned int i = 0; i < conn->rdv.room; i++)
		if (conn->rdv.at[i])
			break_rdv(ep, conn->rdv.at[i], err, quiet);
	break_origins(conn, err);
}

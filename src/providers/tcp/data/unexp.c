/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"

/* Unexpected messages whose payload is incomplete; see objects/conn/unexp.h. */

static struct tcp_conn *tcp_unexp_conn_of(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct tcp_conn, unexp);
}

struct wf_srx_unexpected *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t size)
{
	const struct tcp_record *rec = &conn->rx.rec;
	bool tagged = rec->kind == TCP_REC_TAGGED || rec->kind == TCP_REC_RTS;

	if (rec->flags & TCP_FLAG_DATA) {
		entry->cq_data = rec->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	return wf_unexp_save(&conn->ep->unexp, &conn->unexp,
		conn->peer ? &conn->peer->ip.remote : NULL, tagged ? FI_TAGGED : FI_MSG,
		entry, size);
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

static struct tcp_rdv *unexp_rdv_of(struct wf_srx_unexpected *unexp)
{
	return *(struct tcp_rdv **)wf_srx_payload(unexp);
}

/* Copy the bytes that have arrived to @entry's buffers, where the rest will be stored;
 * NULL: drop all of them. */
static void unexp_move_on(struct tcp_conn *conn, struct wf_srx_unexpected *unexp,
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

void tcp_rx_resumed(struct tcp_conn *conn)
{
	wf_list_remove(&conn->held_link);
	tcp_conn_make_hot(conn);
	/* The socket was not in the epoll set meanwhile, and the set does not report
	 * bytes that were read already: wake sleeping threads. */
	if (conn->ep->watches.sleepers)
		tcp_conn_watch(conn, tcp_conn_events(conn));
	tcp_wake_sleepers(conn->ep);
}

/* The connection was not read until a receive matched this message: continue. */
static void unexp_let_go_on(struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
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
	tcp_rx_resumed(conn);
}

static int tcp_unexp_start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct tcp_conn *conn = tcp_unexp_conn_of(unexp);

	switch (wf_unexp_state(saved)) {
	case TCP_UNEXP_ARRIVING:
		unexp_move_on(conn, saved, entry);
		break;
	case TCP_UNEXP_HELD:
		unexp_let_go_on(conn, entry);
		break;
	default:
		tcp_rdv_clear(conn, unexp_rdv_of(saved), entry);
		break;
	}
	return 0;
}

/* Discard a rendezvous message: only a clear to send lets the sender end its
 * operation. */
static void tcp_unexp_discard(
	struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	(void)tcp_unexp_start(unexp, saved, NULL);
}

static size_t tcp_unexp_size_of(const struct wf_srx_unexpected *saved)
{
	switch (wf_unexp_state(saved)) {
	case TCP_UNEXP_ARRIVING:
		return saved->len +
		       (saved->note & WF_UNEXP_MATCH ? sizeof(uint64_t) : 0);
	case TCP_UNEXP_HELD:
		return WF_SRX_ENLARGE_MIN;
	default:
		return sizeof(struct tcp_rdv *);
	}
}

static void tcp_unexp_matched(struct wf_unexp_conn *unexp, uint64_t id)
{
	tcp_recv_matched(tcp_unexp_conn_of(unexp), TCP_FLAG_MATCH, id);
}

static void tcp_unexp_flush(struct wf_unexp_conn *unexp)
{
	tcp_tx_flush(tcp_unexp_conn_of(unexp));
}

const struct wf_unexp_ops tcp_unexp_ops = {
	.index = wf_ip_remote_unexp_index,
	.name = wf_ip_remote_unexp_name,
	.size = tcp_unexp_size_of,
	.matched = tcp_unexp_matched,
	.start = tcp_unexp_start,
	.discard = tcp_unexp_discard,
	.flush = tcp_unexp_flush,
};

/* End a matched message whose connection was lost. */
static void unexp_end_matched(
	struct tcp_ep *ep, struct fi_peer_rx_entry *entry, int err, bool quiet)
{
	if (quiet)
		wf_srx_free_entry(entry);
	else
		wf_srx_fail(wf_recv_ep(&ep->ep, entry), entry, 0, 0, 0, 0,
			FI_ADDR_NOTAVAIL, err);
}

/* An unexpected message stays in the queue, and fails the receive that matches it. */
static void unexp_break_rdv(struct tcp_ep *ep, struct tcp_rdv *rdv, int err, bool quiet)
{
	if (!rdv->unexp && rdv->entry)
		unexp_end_matched(ep, rdv->entry, err, quiet);
	free(rdv);
}

void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet)
{
	struct tcp_ep *ep = conn->ep;
	struct tcp_rx *rx = &conn->rx;

	if (rx->entry)
		unexp_end_matched(ep, rx->entry, err, quiet);
	rx->entry = NULL;
	rx->unexp = NULL;
	rx->rdv = NULL;
	for (unsigned int i = 0; i < conn->rdv.capacity; i++)
		if (conn->rdv.at[i])
			unexp_break_rdv(ep, conn->rdv.at[i], err, quiet);
	wf_unexp_break(&conn->unexp, err);
}

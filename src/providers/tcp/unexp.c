/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/unexp.h"

/* Messages that wait for a receive, and what the owner of the receives says of them. */

struct tcp_unexp *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t room)
{
	const struct tcp_record *rec = &conn->rx.rec;
	struct tcp_unexp *unexp = malloc(sizeof(*unexp) + room);

	if (!unexp)
		return NULL;
	*unexp = (struct tcp_unexp){
		.ep = conn->ep,
		.conn = conn,
		.entry = entry,
		.len = rec->payload_len,
		.data = rec->data,
		.id = rec->id,
		.source = conn->peer ? tcp_conn_index(conn) : FI_ADDR_NOTAVAIL,
		.flags = rec->flags,
		.state = TCP_UNEXP_ARRIVING,
	};
	wf_list_push(&conn->unexps, &unexp->link);
	return unexp;
}

void tcp_unexp_free(struct tcp_unexp *unexp)
{
	struct tcp_conn *conn = unexp->conn;

	if (conn &&
		(unexp->state == TCP_UNEXP_ARRIVING || unexp->state == TCP_UNEXP_WHOLE))
		conn->unexp_bytes -= tcp_unexp_cost(unexp->len);
	wf_list_remove(&unexp->link);
	free(unexp);
}

void tcp_unexp_clear(struct tcp_unexp *unexp)
{
	struct tcp_tx *tx = tcp_tx_answer(unexp->conn, TCP_REC_CTS, 0);

	unexp->state = TCP_UNEXP_CLEARED;
	if (!tx)
		return;
	tx->rec.index = unexp->index;
	tcp_tx_dirty(unexp->conn);
}

static fi_addr_t source(struct tcp_unexp *unexp)
{
	struct tcp_ep *ep = unexp->ep;

	if (!ep->want_source)
		return FI_ADDR_NOTAVAIL;
	if (unexp->conn)
		return tcp_conn_source(unexp->conn);
	return unexp->source == FI_ADDR_NOTAVAIL
		       ? FI_ADDR_NOTAVAIL
		       : wf_av_report(ep->ep.av, unexp->source);
}

/* From our buffer to the application's. */
static void deliver(struct tcp_unexp *unexp)
{
	struct fi_peer_rx_entry *entry = unexp->entry;
	size_t done = 0;

	for (size_t i = 0; i < entry->count && done < unexp->len; i++) {
		size_t step = WF_MIN(entry->iov[i].iov_len, unexp->len - done);

		memcpy(entry->iov[i].iov_base, unexp->buf + done, step);
		done += step;
	}
	tcp_recv_matched(unexp->conn, unexp->flags, unexp->id);
	tcp_recv_done(unexp->ep, unexp->conn, entry, unexp->flags, unexp->len,
		unexp->data, source(unexp));
	tcp_unexp_free(unexp);
}

void tcp_unexp_whole(struct tcp_unexp *unexp)
{
	unexp->state = TCP_UNEXP_WHOLE;
	if (unexp->started) {
		deliver(unexp);
	} else if (unexp->dropped) {
		tcp_recv_matched(unexp->conn, unexp->flags, unexp->id);
		tcp_unexp_free(unexp);
	}
}

/* The connection was holding for this message: let it go on. */
static void release(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry)
{
	struct tcp_conn *conn = unexp->conn;
	struct tcp_rx *rx = &conn->rx;

	rx->unexp = NULL;
	rx->entry = entry;
	if (entry)
		tcp_rx_sink(conn, entry->iov, entry->count);
	else
		tcp_rx_drop(conn);
	tcp_conn_heat(conn);
}

/* A queued message has buffers now. The owner's lock is held. */
static int start(struct fi_peer_rx_entry *entry)
{
	struct tcp_unexp *unexp = entry->peer_context;
	struct tcp_ep *ep = unexp->ep;
	struct tcp_conn *conn = unexp->conn;
	int ret = 0;

	wf_lock(&ep->ep.lock);
	switch ((enum tcp_unexp_state)unexp->state) {
	case TCP_UNEXP_WHOLE:
		deliver(unexp);
		break;
	case TCP_UNEXP_ARRIVING:
		unexp->started = true;
		break;
	case TCP_UNEXP_HELD:
		release(unexp, entry);
		tcp_unexp_free(unexp);
		break;
	case TCP_UNEXP_RTS:
		tcp_unexp_clear(unexp);
		break;
	case TCP_UNEXP_CLEARED:
	case TCP_UNEXP_BROKEN:
		ret = -(unexp->err ? unexp->err : FI_ECANCELED);
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
	struct tcp_ep *ep = unexp->ep;
	struct tcp_conn *conn = unexp->conn;

	wf_lock(&ep->ep.lock);
	unexp->dropped = true;
	switch ((enum tcp_unexp_state)unexp->state) {
	case TCP_UNEXP_ARRIVING:
		break; /* goes when it is whole */
	case TCP_UNEXP_RTS:
		/* There is no other way to let the sender end its operation. */
		tcp_unexp_clear(unexp);
		break;
	case TCP_UNEXP_HELD:
		tcp_recv_matched(conn, unexp->flags, unexp->id);
		release(unexp, NULL);
		tcp_unexp_free(unexp);
		break;
	case TCP_UNEXP_WHOLE:
		tcp_recv_matched(conn, unexp->flags, unexp->id);
		tcp_unexp_free(unexp);
		break;
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
	struct tcp_ep *ep = unexp->ep;

	wf_lock(&ep->ep.lock);
	if (unexp->conn && unexp->conn->peer)
		unexp->source = tcp_conn_index(unexp->conn);
	wf_unlock(&ep->ep.lock);
	return wf_ep_srx_source(&ep->ep, unexp->source);
}

/* What a matched message ends with when its connection is lost. */
static void end_matched(
	struct tcp_ep *ep, struct fi_peer_rx_entry *entry, int err, bool quiet)
{
	if (quiet)
		wf_srx_free_entry(entry);
	else
		wf_srx_fail(&ep->ep, entry, 0, 0, 0, 0, FI_ADDR_NOTAVAIL, err);
}

void tcp_unexp_break(struct tcp_conn *conn, int err, bool quiet)
{
	struct tcp_rx *rx = &conn->rx;

	if (rx->entry)
		end_matched(conn->ep, rx->entry, err, quiet);
	rx->entry = NULL;
	rx->unexp = NULL;
	wf_list_foreach_safe(link, &conn->unexps)
	{
		struct tcp_unexp *unexp = wf_list_entry(link, struct tcp_unexp, link);
		bool taken = unexp->started || unexp->state == TCP_UNEXP_CLEARED;

		wf_list_remove(&unexp->link);
		unexp->conn = NULL;
		if (unexp->state == TCP_UNEXP_WHOLE)
			continue;
		unexp->state = TCP_UNEXP_BROKEN;
		unexp->err = err;
		if (taken && !unexp->dropped)
			end_matched(conn->ep, unexp->entry, err, quiet);
		if (taken || unexp->dropped)
			tcp_unexp_free(unexp);
	}
}

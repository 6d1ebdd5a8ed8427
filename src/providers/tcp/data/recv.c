/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"

/*
 * Messages that arrive. The owner of the receive context decides where the payload is
 * stored. A message without a receive is saved, and reading goes on.
 */

void tcp_recv_done(struct tcp_ep *ep, struct tcp_peer *peer,
	struct fi_peer_rx_entry *entry, uint16_t flags, uint64_t len, uint64_t data)
{
	uint64_t comp_flags = flags & TCP_FLAG_DATA ? FI_REMOTE_CQ_DATA : 0;
	const struct wf_recv_wants *wants = &ep->unexp.wants;
	struct wf_ep *receiver = wf_recv_ep(&ep->ep, entry);
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	if (wants->source && peer)
		index = tcp_peer_index(ep, peer);
	if (wf_unlikely(index == FI_ADDR_NOTAVAIL && wants->source_err && peer))
		wf_recv_done_unknown(receiver, entry, comp_flags, len, data,
			&peer->ip.addr, wf_sockaddr_len(&peer->ip.addr));
	else
		wf_recv_done(receiver, entry, comp_flags, len, data,
			wf_recv_source(&ep->ep, index));
}

void tcp_recv_matched(struct tcp_conn *conn, uint16_t flags, uint64_t id)
{
	struct tcp_tx *tx;

	if (!conn || !(flags & TCP_FLAG_MATCH))
		return;
	tx = tcp_tx_answer(conn, TCP_REC_MATCHED, 0);
	if (!tx)
		return;
	tx->rec.id = id;
	tcp_tx_dirty(conn);
}

/* Is the record for a receive context that was closed? */
static bool tcp_recv_is_for_nobody(const struct tcp_conn *conn)
{
	return wf_unlikely(!wf_ep_srx_at(&conn->ep->ep, conn->rx.rec.context));
}

/* Match a message. Returns 0: @entry is a posted receive; -FI_ENOENT: @entry is for an
 * unexpected message; or another negative fi_errno. */
static int tcp_recv_match(
	struct tcp_conn *conn, uint64_t len, struct fi_peer_rx_entry **entry)
{
	const struct tcp_record *rec = &conn->rx.rec;
	bool tagged = rec->kind == TCP_REC_TAGGED || rec->kind == TCP_REC_RTS;
	struct fid_peer_srx *srx = wf_ep_srx_at(&conn->ep->ep, rec->context);
	struct fi_peer_match_attr attr = {
		.addr = wf_ep_srx_source(&conn->ep->ep, tcp_conn_index(conn)),
		.msg_size = len,
		.tag = tagged ? rec->tag : 0,
	};

	return tagged ? wf_srx_get_tag(srx, &attr, entry)
		      : wf_srx_get_msg(srx, &attr, entry);
}

static int tcp_recv_no_memory(struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
{
	if (entry)
		wf_srx_free_entry(entry);
	tcp_rx_drop(conn);
	tcp_conn_fail(conn, FI_ENOMEM);
	return 0;
}

/* Longest unexpected message whose payload is saved, in bytes. */
enum { KEEP_MSG = 64 << 20 };

/* Bytes behind the payload of an unexpected message: the id for the answer. */
static size_t recv_id_len(const struct tcp_rx *rx)
{
	return rx->rec.flags & TCP_FLAG_MATCH ? sizeof(rx->rec.id) : 0;
}

/* The payload arrives in the payload memory of @unexp. */
static void recv_store_in(struct tcp_conn *conn, struct wf_srx_unexpected *unexp)
{
	struct tcp_rx *rx = &conn->rx;
	struct iovec iov = { wf_srx_payload(unexp), rx->rec.payload_len };

	memcpy((uint8_t *)iov.iov_base + iov.iov_len, &rx->rec.id, recv_id_len(rx));
	unexp->note = TCP_UNEXP_ARRIVING | (recv_id_len(rx) ? WF_UNEXP_MATCH : 0);
	tcp_rx_sink(conn, &iov, 1);
}

/* Save the payload of an unexpected message in payload memory. */
static struct wf_srx_unexpected *tcp_recv_keep(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
{
	size_t len = conn->rx.rec.payload_len + recv_id_len(&conn->rx);
	struct wf_srx_unexpected *unexp = tcp_unexp_new(conn, entry, len);

	if (unexp)
		recv_store_in(conn, unexp);
	return unexp;
}

static void recv_memory_given(struct wf_budget *budget)
{
	struct tcp_ep *ep = wf_container_of(budget, struct tcp_ep, unexp.budget);

	ep->memory_given = true;
	wf_progress_wake(&ep->ep.progress);
	tcp_wake_sleepers(ep);
}

/* The message has memory for its payload when tcp_held_resume finds some. */
static struct wf_srx_unexpected *recv_hold(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp =
		tcp_unexp_new(conn, entry, WF_SRX_ENLARGE_MIN);

	if (!unexp)
		return NULL;
	unexp->note = TCP_UNEXP_HELD;
	conn->rx.sink = TCP_SINK_HOLD;
	wf_list_push(&conn->ep->held, &conn->held_link);
	conn->ep->unexp.budget.given = recv_memory_given;
	return unexp;
}

/* May @len bytes be saved? */
static bool recv_may_keep(const struct tcp_conn *conn, uint64_t len)
{
	return len <= KEEP_MSG &&
	       wf_unexp_admits(&conn->ep->unexp, &conn->unexp,
		       conn->peer ? &conn->peer->ip.remote : NULL, wf_unexp_cost(len));
}

void tcp_held_resume(struct tcp_ep *ep)
{
	ep->memory_given = false;
	wf_list_foreach_safe(link, &ep->held)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, held_link);
		struct tcp_rx *rx = &conn->rx;

		if (conn->err || !recv_may_keep(conn, rx->rec.payload_len) ||
			!wf_unexp_enlarge(&ep->unexp, &conn->unexp, rx->unexp,
				WF_SRX_ENLARGE_MIN,
				rx->rec.payload_len + recv_id_len(rx)))
			continue;
		recv_store_in(conn, rx->unexp);
		tcp_rx_resumed(conn);
	}
	if (wf_list_empty(&ep->held))
		ep->unexp.budget.given = NULL;
}

/* No receive was posted for the message. If it would take too much memory, it stays in
 * the socket, with everything behind it, until a receive matches it or there is
 * memory. */
static int tcp_recv_unexpected(struct tcp_conn *conn, struct fi_peer_rx_entry *entry)
{
	struct tcp_rx *rx = &conn->rx;

	if (recv_may_keep(conn, rx->rec.payload_len))
		rx->unexp = tcp_recv_keep(conn, entry);
	if (!rx->unexp)
		rx->unexp = recv_hold(conn, entry);
	return rx->unexp ? 0 : tcp_recv_no_memory(conn, entry);
}

int tcp_msg_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	struct fi_peer_rx_entry *entry = NULL;
	int ret;

	rx->entry = NULL;
	rx->unexp = NULL;
	if (tcp_recv_is_for_nobody(conn)) {
		tcp_recv_matched(conn, rx->rec.flags, rx->rec.id);
		return 0;
	}
	ret = tcp_recv_match(conn, rx->rec.payload_len, &entry);
	if (wf_likely(!ret)) {
		rx->entry = entry;
		tcp_rx_sink(conn, entry->iov, entry->count);
		return 0;
	}
	if (ret == -FI_ENOENT)
		return tcp_recv_unexpected(conn, entry);
	return tcp_recv_no_memory(conn, NULL);
}

void tcp_msg_done(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	const struct tcp_record *rec = &rx->rec;
	struct fi_peer_rx_entry *entry = rx->entry;
	struct wf_srx_unexpected *unexp = rx->unexp;

	rx->entry = NULL;
	rx->unexp = NULL;
	if (wf_unlikely(unexp != NULL)) {
		unexp->note = WF_UNEXP_WHOLE | (unexp->note & WF_UNEXP_MATCH);
	} else if (entry) {
		tcp_recv_matched(conn, rec->flags, rec->id);
		tcp_recv_done(conn->ep, conn->peer, entry, rec->flags, rec->payload_len,
			rec->data);
	}
	if (rec->flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT))
		tcp_answer_ack(conn);
}

static struct tcp_rdv *recv_rdv_new(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	struct tcp_rdv *rdv = malloc(sizeof(*rdv));

	if (!rdv)
		return NULL;
	*rdv = (struct tcp_rdv){
		.len = rec->msg_len,
		.index = rec->index,
		.flags = rec->flags,
	};
	if (tcp_slot_set(&conn->rdv, rec->index, rdv))
		return rdv;
	free(rdv);
	return NULL;
}

static void recv_rdv_free(struct tcp_conn *conn, struct tcp_rdv *rdv)
{
	(void)tcp_slot_set(&conn->rdv, rdv->index, NULL);
	free(rdv);
}

/* A request to send: the sender keeps the payload until the clear to send. */
int tcp_rts_head(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	struct fi_peer_rx_entry *entry = NULL;
	struct tcp_rdv *rdv;
	int ret;

	if (tcp_slot(&conn->rdv, rec->index))
		return -FI_EPROTO;
	ret = tcp_recv_is_for_nobody(conn) ? 0
					   : tcp_recv_match(conn, rec->msg_len, &entry);
	if (ret && ret != -FI_ENOENT)
		return tcp_recv_no_memory(conn, NULL);
	rdv = recv_rdv_new(conn);
	if (!rdv)
		return tcp_recv_no_memory(conn, entry);
	if (!ret) {
		if (entry)
			entry->cq_data = rec->data;
		tcp_rdv_clear(conn, rdv, entry);
		return 0;
	}
	rdv->unexp = tcp_unexp_new(conn, entry, sizeof(struct tcp_rdv *));
	if (!rdv->unexp) {
		recv_rdv_free(conn, rdv);
		return tcp_recv_no_memory(conn, entry);
	}
	memcpy(wf_srx_payload(rdv->unexp), &rdv, sizeof(struct tcp_rdv *));
	rdv->unexp->note = TCP_UNEXP_RTS;
	return 0;
}

int tcp_rdv_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	struct tcp_rdv *rdv = tcp_slot(&conn->rdv, rx->rec.index);

	if (!rdv || rdv->unexp || rdv->len != rx->rec.payload_len)
		return -FI_EPROTO;
	rx->rdv = rdv;
	rx->entry = NULL;
	rx->unexp = NULL;
	if (rdv->entry)
		tcp_rx_sink(conn, rdv->entry->iov, rdv->entry->count);
	return 0;
}

void tcp_rdv_done(struct tcp_conn *conn)
{
	struct tcp_rdv *rdv = conn->rx.rdv;
	bool ack = rdv->flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT);

	conn->rx.rdv = NULL;
	if (rdv->entry)
		tcp_recv_done(conn->ep, conn->peer, rdv->entry, rdv->flags, rdv->len,
			rdv->entry->cq_data);
	recv_rdv_free(conn, rdv);
	if (ack)
		tcp_answer_ack(conn);
}

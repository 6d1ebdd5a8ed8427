/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/recv.h"

#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

/* Packets that arrive. Their contents come from a peer and may be invalid. */

void rxm_conn_broken(struct rxm_conn *conn, const char *what)
{
	rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"connection closed: bad packet from the peer: %s\n", what);
	rxm_conn_fail(conn, FI_EPROTO);
}

/* The peer's index in the AV, if matching or completions need it. */
static fi_addr_t rxm_recv_index_of(struct rxm_conn *conn)
{
	if (!conn->ep->unexp.wants.index)
		return FI_ADDR_UNSPEC;
	return rxm_peer_index(conn->ep, conn->peer);
}

fi_addr_t rxm_conn_source(struct rxm_conn *conn)
{
	if (!conn->ep->unexp.wants.source)
		return FI_ADDR_NOTAVAIL;
	return wf_recv_source(&conn->ep->ep, rxm_peer_index(conn->ep, conn->peer));
}

void rxm_recv_done(struct rxm_conn *conn, struct fi_peer_rx_entry *entry,
	const struct rxm_arrived *arrived)
{
	struct rxm_ep *ep = conn->ep;
	const struct wf_recv_wants *wants = &ep->unexp.wants;
	uint64_t flags = arrived->has_data ? FI_REMOTE_CQ_DATA : 0;
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	if (wants->source)
		index = rxm_peer_index(ep, conn->peer);
	if (wf_unlikely(index == FI_ADDR_NOTAVAIL && wants->source_err))
		wf_recv_done_unknown(&ep->ep, entry, flags, arrived->len, arrived->data,
			&conn->peer->ip.addr, wf_sockaddr_len(&conn->peer->ip.addr));
	else
		wf_recv_done(&ep->ep, entry, flags, arrived->len, arrived->data,
			wf_recv_source(&ep->ep, index));
}

void rxm_recv_fail(struct rxm_conn *conn, struct fi_peer_rx_entry *entry, int err)
{
	if (conn->ep->data.quiet || conn->data.quiet)
		wf_srx_free_entry(entry);
	else
		wf_srx_fail(&conn->ep->ep, entry, 0, 0, 0, 0, FI_ADDR_NOTAVAIL, err);
}

int rxm_match(struct rxm_conn *conn, const struct rxm_packet *packet,
	struct fi_peer_rx_entry **ret_entry)
{
	struct wf_ep *ep = &conn->ep->ep;
	struct fi_peer_match_attr attr = {
		.addr = wf_ep_srx_source(ep, rxm_recv_index_of(conn)),
		.msg_size = packet->size,
		.tag = packet->tag,
	};

	return packet->op == RXM_OP_TAGGED ? wf_srx_get_tag(ep->srx, &attr, ret_entry)
					   : wf_srx_get_msg(ep->srx, &attr, ret_entry);
}

struct wf_srx_unexpected *rxm_unexp_new(struct rxm_conn *conn,
	const struct rxm_packet *packet, struct fi_peer_rx_entry *entry, size_t size)
{
	struct wf_srx_unexpected *unexp;

	if (packet->has_data) {
		entry->cq_data = packet->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	unexp = wf_unexp_save(&conn->ep->unexp, &conn->unexp, &conn->peer->ip.remote,
		packet->op == RXM_OP_TAGGED ? FI_TAGGED : FI_MSG, entry, size);
	if (wf_likely(unexp != NULL))
		return unexp;
	wf_srx_free_entry(entry);
	rxm_conn_fail(conn, FI_ENOMEM);
	return NULL;
}

static void rxm_recv_keep(struct rxm_conn *conn, const struct rxm_packet *packet,
	struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp =
		rxm_unexp_new(conn, packet, entry, packet->payload_len);

	if (!unexp)
		return;
	memcpy(wf_srx_payload(unexp), packet->payload, packet->payload_len);
	unexp->note = WF_UNEXP_WHOLE;
	rxm_hold_if_full(conn);
}

/* The fast path: a receive with one buffer. The source is in the AV, or completions do
 * not need it. */
static bool rxm_recv_deliver(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct wf_ep *ep = &conn->ep->ep;
	struct wf_srx_arrival arrival = {
		.buf = packet->payload,
		.len = packet->payload_len,
		.tag = packet->tag,
		.flags = packet->has_data ? FI_REMOTE_CQ_DATA : 0,
		.data = packet->data,
		.addr = rxm_recv_index_of(conn),
		.src = FI_ADDR_NOTAVAIL,
	};
	fi_addr_t index;

	if (conn->ep->unexp.wants.source) {
		index = rxm_peer_index(conn->ep, conn->peer);
		if (wf_unlikely(index == FI_ADDR_NOTAVAIL))
			return false;
		arrival.src = wf_ep_source(ep, index);
	}
	return wf_ep_deliver(
		ep, packet->op == RXM_OP_TAGGED ? FI_TAGGED : FI_MSG, &arrival);
}

static void recv_eager(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_arrived arrived = { packet->size, packet->data, packet->has_data };
	struct fi_peer_rx_entry *entry = NULL;
	int ret;

	if (wf_likely(rxm_recv_deliver(conn, packet)))
		return;
	ret = rxm_match(conn, packet, &entry);
	if (!ret) {
		(void)wf_iov_scatter(
			entry->iov, entry->count, packet->payload, packet->payload_len);
		rxm_recv_done(conn, entry, &arrived);
	} else if (ret == -FI_ENOENT) {
		rxm_recv_keep(conn, packet, entry);
	} else {
		rxm_conn_fail(conn, FI_ENOMEM);
	}
}

static void recv_credit(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	rxm_conn_credit(conn, packet->credits);
}

static void recv_local(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	(void)packet;
	rxm_local_answered(conn);
}

/* A packet may arrive before the event that reports that its connection is up. */
static void recv_poll_state(struct rxm_conn *conn)
{
	if (wf_unlikely(conn->state == RXM_CONN_CONNECTING ||
			conn->state == RXM_CONN_ACCEPTING))
		(void)rxm_poll_eq(conn->ep);
}

/* Is the packet of a message, for an endpoint that does not receive any? */
static bool rxm_recv_is_for_nobody(const struct rxm_ep *ep, enum rxm_kind kind)
{
	return wf_unlikely(!ep->ep.srx) &&
	       (kind == RXM_EAGER || kind == RXM_SEGMENT || kind == RXM_RDV);
}

static const char not_received[] = "message for an endpoint without receives";

void rxm_data_handle(struct rxm_conn *conn, const void *buf, size_t len)
{
	static void (*const handlers[RXM_KINDS])(
		struct rxm_conn * conn, const struct rxm_packet *packet) = {
		[RXM_EAGER] = recv_eager,
		[RXM_SEGMENT] = rxm_segment,
		[RXM_RDV] = rxm_rdv,
		[RXM_RDV_READ] = rxm_rdv_read,
		[RXM_ATOMIC] = rxm_atomic_request,
		[RXM_ATOMIC_RESULT] = rxm_atomic_result,
		[RXM_CREDIT] = recv_credit,
		[RXM_RDV_TO] = rxm_rdv_to,
		[RXM_RDV_WRITTEN] = rxm_rdv_written,
		[RXM_LOCAL] = recv_local,
	};
	struct rxm_packet packet;
	int ret = rxm_packet_decode(buf, len, &packet);

	recv_poll_state(conn);
	if (wf_unlikely(ret))
		rxm_conn_broken(conn, rxm_fault_text(-ret));
	else if (rxm_recv_is_for_nobody(conn->ep, packet.kind))
		rxm_conn_broken(conn, not_received);
	else
		handlers[packet.kind](conn, &packet);
}

void rxm_data_received(struct rxm_conn *conn, const void *buf, size_t len)
{
	if (wf_likely(!rxm_conn_is_held(conn)) ||
		!rxm_hold_packet(conn, buf, len, NULL))
		rxm_data_handle(conn, buf, len);
}

/* A message without a known connection has no source. */
static void recv_raw_unknown(struct rxm_ep *ep, const struct rxm_packet *packet)
{
	struct fi_peer_match_attr attr = { FI_ADDR_UNSPEC, packet->size, packet->tag };
	uint64_t flags = packet->has_data ? FI_REMOTE_CQ_DATA : 0;
	struct fi_peer_rx_entry *entry = NULL;
	struct wf_srx_unexpected *unexp;
	int ret = wf_srx_get_tag(ep->ep.srx, &attr, &entry);

	if (!ret) {
		(void)wf_iov_scatter(
			entry->iov, entry->count, packet->payload, packet->payload_len);
		wf_recv_done(&ep->ep, entry, flags, packet->size, packet->data,
			FI_ADDR_NOTAVAIL);
		return;
	}
	if (ret != -FI_ENOENT)
		return;
	entry->cq_data = packet->data;
	entry->flags |= flags;
	unexp = wf_unexp_save(
		&ep->unexp, &ep->data.raw, NULL, FI_TAGGED, entry, packet->payload_len);
	if (!unexp) {
		wf_srx_free_entry(entry);
		return;
	}
	memcpy(wf_srx_payload(unexp), packet->payload, packet->payload_len);
	unexp->note = WF_UNEXP_WHOLE;
}

static struct rxm_packet recv_raw_packet(
	const void *buf, size_t len, const struct fi_cq_tagged_entry *entry)
{
	return (struct rxm_packet){
		.kind = RXM_EAGER,
		.op = RXM_OP_TAGGED,
		.has_data = entry->flags & FI_REMOTE_CQ_DATA,
		.size = len,
		.data = entry->flags & FI_REMOTE_CQ_DATA ? entry->data : 0,
		.tag = entry->tag,
		.payload = buf,
		.payload_len = len,
	};
}

void rxm_data_handle_raw(struct rxm_conn *conn, const void *buf, size_t len,
	const struct fi_cq_tagged_entry *entry)
{
	struct rxm_packet packet = recv_raw_packet(buf, len, entry);

	recv_eager(conn, &packet);
}

void rxm_data_received_raw(struct rxm_ep *ep, struct rxm_conn *conn, const void *buf,
	size_t len, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_packet packet = recv_raw_packet(buf, len, entry);

	if (conn && rxm_recv_is_for_nobody(ep, packet.kind))
		rxm_conn_broken(conn, not_received);
	else if (!conn && rxm_recv_is_for_nobody(ep, packet.kind))
		return;
	else if (!conn)
		recv_raw_unknown(ep, &packet);
	else if (wf_likely(!rxm_conn_is_held(conn)) ||
		 !rxm_hold_packet(conn, buf, len, entry))
		recv_eager(conn, &packet);
}

void rxm_data_event(struct rxm_ep *ep, const struct fi_cq_tagged_entry *entry)
{
	const uint64_t write = FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	ssize_t ret;

	if ((entry->flags & write) != write || !ep->ep.rx_cq)
		return;
	/* The access was counted below. */
	ret = wf_cq_write(ep->ep.rx_cq, NULL,
		FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, entry->len, NULL,
		entry->data, 0, FI_ADDR_NOTAVAIL);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(&ep->ep, ret);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/rxd/data/data.h"
#include "sys/compiler.h"

/*
 * Packets of a peer, in order. At most one message or write of several packets is
 * arriving from the peer: each RXD_DATA packet continues it, wherever the sender has
 * cut, until all bytes have arrived.
 */

static void rx_log_bad(const struct rxd_peer *peer, const char *what)
{
	char text[WF_AV_TEXT_LEN];

	if (!rxd_may_warn(peer->ep))
		return;
	peer->ep->ep.av->table.format->print(peer->name, text, sizeof(text));
	rxd_log(FI_LOG_WARN, FI_LOG_EP_DATA, "packet of %s dropped: %s\n", text, what);
}

void rxd_rx_abort(struct rxd_peer *peer, int err)
{
	struct rxd_rx *rx = &peer->rx;
	struct wf_ep *ep = &peer->ep->ep;

	if (!rx->active)
		return;
	rx->active = false;
	if (rx->entry && peer->ep->closing)
		wf_srx_free_entry(rx->entry);
	else if (rx->entry)
		wf_srx_fail(wf_recv_ep(ep, rx->entry), rx->entry, 0, 0, 0, 0,
			FI_ADDR_NOTAVAIL, err);
	/* A receive that matches the incomplete message fails. */
	if (rx->unexp)
		wf_unexp_break(&peer->unexp, err);
	rx->entry = NULL;
	rx->unexp = NULL;
}

static void rx_finish(struct rxd_peer *peer)
{
	peer->rx.active = false;
	if (peer->rx.is_write)
		rxd_write_finish(peer);
	else
		rxd_msg_finish(peer);
}

void rxd_rx_append(struct rxd_peer *peer, const uint8_t *data, size_t len)
{
	struct rxd_rx *rx = &peer->rx;

	if (rx->is_write)
		rxd_write_append(peer, data, len);
	else
		rxd_msg_append(peer, data, len);
	rx->done += len;
	if (rx->done == rx->head.size)
		rx_finish(peer);
}

static int64_t rx_receive_more(struct rxd_peer *peer, const uint8_t *packet, size_t len)
{
	struct rxd_rx *rx = &peer->rx;

	if (len < RXD_DATA_HEAD || !rx->active) {
		rx_log_bad(peer, "data without an operation");
		return 1;
	}
	len -= RXD_DATA_HEAD;
	if (len > rx->head.size - rx->done) {
		rx_log_bad(peer, "more data than the operation has");
		rxd_rx_abort(peer, FI_EPROTO);
		return 1;
	}
	if (wf_unlikely(!rxd_msg_reserve(peer, len)))
		return 0;
	rxd_rx_append(peer, packet + RXD_DATA_HEAD, len);
	return 1;
}

static int64_t rx_receive_op(struct rxd_peer *peer, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	struct rxd_op_head head;
	size_t size;

	if (!rxd_op_head_read(base->type, base->flags, packet + sizeof(*base),
		    len - sizeof(*base), &head, &size)) {
		rx_log_bad(peer, "malformed headers");
		return -FI_EPROTO;
	}
	if (wf_unlikely(peer->rx.active)) {
		rx_log_bad(peer, "the operation before is incomplete");
		rxd_rx_abort(peer, FI_EPROTO);
	}
	packet += sizeof(*base) + size;
	len -= sizeof(*base) + size;
	switch (head.type) {
	case RXD_MSG:
	case RXD_TAGGED:
		return rxd_receive_msg(peer, &head, packet, len);
	case RXD_WRITE:
		return rxd_receive_write(peer, &head, packet, len);
	case RXD_READ:
		return rxd_receive_read(peer, &head);
	default:
		return rxd_receive_atomic(peer, &head, packet, len);
	}
}

int64_t rxd_deliver(struct rxd_flow *flow, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);

	if (rxd_type_is_op(base->type))
		return rx_receive_op(peer, base, packet, len);
	if (base->type == RXD_DATA)
		return rx_receive_more(peer, packet, len);
	return rxd_request_answered(peer, packet, len);
}

int rxd_data_init(struct rxd_ep *ep)
{
	wf_pool_init(&ep->txs, sizeof(struct rxd_tx));
	wf_list_init(&ep->ops);
	ep->unexp.ops = &rxd_unexp_ops;
	ep->unexp.ep = &ep->ep;
	return rxd_packets_init(ep);
}

void rxd_data_done(struct rxd_ep *ep)
{
	wf_pool_done(&ep->txs);
	wf_id_map_done(&ep->requests);
	rxd_packets_done(ep);
}

void rxd_data_peer_done(struct rxd_peer *peer)
{
	rxd_rx_abort(peer, FI_ECANCELED);
	rxd_requests_fail(peer, FI_ECANCELED);
	wf_unexp_break(&peer->unexp, FI_ECANCELED);
}

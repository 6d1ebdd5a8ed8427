/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/life/target.h"
#include "providers/rxd/data/data.h"
#include "providers/rxd/peer.h"
#include "sys/compiler.h"

/* Transfers: how many packets operations and answers consist of, and how they end. */

struct rxd_tx *rxd_tx_new(struct rxd_peer *peer, enum wf_op_kind kind)
{
	struct rxd_ep *ep = peer->ep;
	struct rxd_tx *tx = wf_pool_get_inline(&ep->txs);

	if (!tx)
		return NULL;
	tx->peer = peer;
	tx->kind = kind;
	tx->in_flow = tx->reported = false;
	tx->flags = 0;
	tx->context = NULL;
	tx->len = tx->payload = 0;
	tx->iov_count = 0;
	tx->copy = NULL;
	tx->got = 0;
	tx->head = (struct rxd_op_head){ .tx_id = 0 };
	wf_list_push(&ep->ops, &tx->link);
	wf_list_init(&tx->request_link);
	if (kind == WF_OP_COUNT) {
		peer->answers++;
		ep->answers++;
	} else {
		ep->tx_count++;
	}
	return tx;
}

bool rxd_tx_reserve(struct rxd_tx *tx, size_t len)
{
	tx->copy = len <= sizeof(tx->small) ? tx->small : malloc(len);
	return tx->copy;
}

void rxd_tx_free(struct rxd_tx *tx)
{
	struct rxd_ep *ep = tx->peer->ep;

	if (tx->copy != tx->small)
		free(tx->copy);
	wf_list_remove(&tx->link);
	if (tx->kind == WF_OP_COUNT) {
		tx->peer->answers--;
		ep->answers--;
	} else {
		ep->tx_count--;
	}
	wf_pool_put_inline(&ep->txs, tx);
}

void rxd_tx_send(struct rxd_tx *tx)
{
	struct rxd_peer *peer = tx->peer;

	tx->in_flow = true;
	/* The flow may have ended the transfer when the call returns. */
	rxd_flow_send(&peer->flow, &tx->xfer, peer->ep->now_ns);
	rxd_schedule(peer);
}

void rxd_tx_end(struct rxd_tx *tx, int err)
{
	struct wf_op op = {
		.kind = tx->kind,
		.flags = tx->flags,
		.context = tx->context,
		.len = tx->len,
	};
	struct rxd_ep *ep = tx->peer->ep;
	/* A second completion would be wrong; an injected operation has none. */
	bool silent =
		ep->closing || (tx->reported && (!err || wf_op_is_reported(tx->flags)));

	rxd_tx_free(tx);
	if (!silent)
		wf_ep_op_end(&ep->ep, &op, err);
}

/* Number of packets of a message or write: the first packet has the headers of the
 * operation. */
static uint64_t tx_split(struct rxd_tx *tx, size_t max)
{
	size_t space;

	tx->head.whole = tx->head.rma_count < 2;
	space = max - sizeof(struct rxd_base) - rxd_op_head_size(&tx->head);
	if (tx->head.whole && tx->payload <= space) {
		tx->first = tx->payload;
		return tx->head.packets = 1;
	}
	tx->head.whole = false;
	space = max - sizeof(struct rxd_base) - rxd_op_head_size(&tx->head);
	tx->first = WF_MIN(space, tx->payload);
	tx->head.packets =
		1 + (tx->payload - tx->first + tx->packet_bytes - 1) / tx->packet_bytes;
	return tx->head.packets;
}

static uint64_t tx_begin(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	size_t max = rxd_flow_packet_size(flow);
	struct rxd_tx *tx = rxd_tx_of(xfer);

	tx->packet_bytes = max - RXD_DATA_HEAD;
	switch (tx->kind) {
	case WF_OP_COUNT:
		tx->first = WF_MIN(tx->payload, tx->packet_bytes);
		return (tx->payload + tx->packet_bytes - 1) / tx->packet_bytes;
	case WF_OP_READ:
		tx->first = 0;
		tx->head.packets = (tx->len + tx->packet_bytes - 1) / tx->packet_bytes;
		return 1;
	case WF_OP_ATOMIC:
		tx->head.whole = tx->head.rma_count == 1;
		tx->head.packets = 1;
		tx->first = tx->payload;
		return 1;
	case WF_OP_FETCH:
	case WF_OP_COMPARE:
		tx->head.packets = 1;
		tx->first = tx->payload;
		return 1;
	default:
		return tx_split(tx, max);
	}
}

/* The whole answer has been received by the peer: the read is complete at this end. */
static void tx_answer_acked(struct rxd_tx *tx)
{
	struct rxd_ep *ep = tx->peer->ep;

	if (!tx->copy && !ep->closing)
		wf_target_done(&ep->ep, tx->head.rma, tx->head.rma_count,
			FI_RMA | FI_REMOTE_READ, tx->len, 0, FI_ADDR_NOTAVAIL);
	rxd_tx_free(tx);
}

static void tx_acked(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	struct rxd_tx *tx = rxd_tx_of(xfer);

	(void)flow;
	tx->in_flow = false;
	if (tx->kind == WF_OP_COUNT)
		tx_answer_acked(tx);
	else if (!rxd_tx_is_request(tx))
		rxd_tx_end(tx, 0);
	else if (wf_list_empty(&tx->request_link))
		rxd_tx_end(tx, 0);
}

static void tx_failed(struct rxd_flow *flow, struct rxd_xfer *xfer, int err)
{
	struct rxd_tx *tx = rxd_tx_of(xfer);

	(void)flow;
	tx->in_flow = false;
	rxd_request_remove(tx);
	if (tx->kind == WF_OP_COUNT)
		rxd_tx_free(tx);
	else
		rxd_tx_end(tx, err);
}

/* A message whose success was reported is not lost with the instance of the peer that
 * it was for. */
static bool tx_survives(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	const struct rxd_tx *tx = rxd_tx_of(xfer);

	(void)flow;
	return tx->reported && (tx->kind == WF_OP_SEND || tx->kind == WF_OP_TSEND);
}

static void tx_restarted(struct rxd_flow *flow)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);

	rxd_rx_abort(peer, FI_ECONNRESET);
	rxd_requests_fail(peer, FI_ECONNRESET);
}

bool rxd_tx_any_owed(struct rxd_ep *ep)
{
	wf_list_foreach(link, &ep->ops)
	{
		const struct rxd_tx *tx = wf_list_entry(link, struct rxd_tx, link);

		if (tx->kind == WF_OP_COUNT || tx->flags & FI_INJECT || tx->reported)
			return true;
	}
	return false;
}

bool rxd_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct rxd_ep *ep = rxd_ep_of(wf);

	wf_list_foreach(link, &ep->ops)
	{
		struct rxd_tx *tx = wf_list_entry(link, struct rxd_tx, link);

		if (tx->kind == WF_OP_COUNT || !tx->in_flow || tx->reported ||
			!wf_op_is_reported(tx->flags) ||
			!wf_cancel_is(which, tx->context) ||
			!rxd_flow_cancel(&tx->peer->flow, &tx->xfer))
			continue;
		tx->in_flow = false;
		rxd_request_remove(tx);
		rxd_tx_end(tx, FI_ECANCELED);
		return true;
	}
	return false;
}

const struct rxd_flow_ops rxd_flow_ops = {
	.begin = tx_begin,
	.send = rxd_packet_send,
	.flush = rxd_packets_flush,
	.send_control = rxd_packet_send_control,
	.acked = tx_acked,
	.failed = tx_failed,
	.deliver = rxd_deliver,
	.restarted = tx_restarted,
	.survives = tx_survives,
	.new_index = rxd_peer_new_index,
	.path_packet = rxd_peer_path_packet,
};

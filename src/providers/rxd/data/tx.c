/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/endpoint/life/target.h"
#include "providers/rxd/below.h"
#include "providers/rxd/data/data.h"
#include "providers/rxd/flow/ack.h"
#include "sys/clock.h"
#include "sys/compiler.h"
#include "sys/iov.h"

/* Transfers: packets built from operations and answers, again for each resend. */

static struct rxd_tx *tx_of(struct rxd_xfer *xfer)
{
	return wf_container_of(xfer, struct rxd_tx, xfer);
}

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
	if (kind == WF_OP_COUNT)
		peer->answers++;
	else
		ep->tx_count++;
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
	if (tx->kind == WF_OP_COUNT)
		tx->peer->answers--;
	else
		ep->tx_count--;
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
	/* A second completion would be wrong; an inject call has none. */
	bool silent =
		ep->closing || (tx->reported && (!err || wf_op_is_reported(tx->flags)));

	rxd_tx_free(tx);
	if (!silent)
		wf_ep_op_end(&ep->ep, &op, err);
}

/* Packets of a message or write: the first has the headers of the operation. */
static uint64_t split(struct rxd_tx *tx, size_t max)
{
	size_t room;

	tx->head.whole = tx->head.rma_count < 2;
	room = max - sizeof(struct rxd_base) - rxd_op_head_size(&tx->head);
	if (tx->head.whole && tx->payload <= room) {
		tx->first = tx->payload;
		return tx->head.packets = 1;
	}
	tx->head.whole = false;
	room = max - sizeof(struct rxd_base) - rxd_op_head_size(&tx->head);
	tx->first = WF_MIN(room, tx->payload);
	tx->head.packets =
		1 + (tx->payload - tx->first + tx->packet_bytes - 1) / tx->packet_bytes;
	return tx->head.packets;
}

static uint64_t begin(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	size_t max = rxd_flow_packet_size(flow);
	struct rxd_tx *tx = tx_of(xfer);

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
		return split(tx, max);
	}
}

/* The pieces of the payload from @offset on, @len bytes; returns their number. */
static size_t slice(
	const struct rxd_tx *tx, size_t offset, size_t len, struct iovec *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < tx->iov_count && len; i++) {
		size_t step;

		if (offset >= tx->iov[i].iov_len) {
			offset -= tx->iov[i].iov_len;
			continue;
		}
		step = WF_MIN(tx->iov[i].iov_len - offset, len);
		ret[count++] =
			(struct iovec){ (uint8_t *)tx->iov[i].iov_base + offset, step };
		len -= step;
		offset = 0;
	}
	return count;
}

static size_t payload_at(
	const struct rxd_tx *tx, size_t offset, size_t len, struct iovec *ret)
{
	struct rxd_ep *ep = tx->peer->ep;

	if (!len)
		return 0;
	if (tx->copy) {
		*ret = (struct iovec){ tx->copy + offset, len };
		return 1;
	}
	if (tx->kind != WF_OP_COUNT)
		return slice(tx, offset, len, ret);
	rxd_read_bytes(ep, &tx->head, offset, ep->scratch, len);
	*ret = (struct iovec){ ep->scratch, len };
	return 1;
}

/* The headers of packet @k at @to; returns their size. */
static size_t write_head(
	const struct rxd_tx *tx, uint64_t k, struct rxd_base base, uint8_t *to)
{
	struct rxd_data_head data = { .segment = k };
	bool is_answer = tx->kind == WF_OP_COUNT;

	if (!k && !is_answer) {
		base.type = tx->head.type;
		base.flags |= rxd_op_flags(&tx->head);
		if (tx->flags & FI_INJECT)
			base.flags |= RXD_FLAG_INJECT;
		memcpy(to, &base, sizeof(base));
		return sizeof(base) + rxd_op_head_write(&tx->head, to + sizeof(base));
	}
	base.type = is_answer ? RXD_ANSWER : RXD_DATA;
	data.tx_id = tx->head.tx_id;
	if (!is_answer)
		data.segment--;
	memcpy(to, &base, sizeof(base));
	memcpy(to + sizeof(base), &data, sizeof(data));
	return sizeof(base) + sizeof(data);
}

static ssize_t send_packet(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	uint8_t head[sizeof(base) + RXD_OP_HEAD_MAX];
	struct rxd_peer *peer = rxd_peer_of_flow(flow);
	struct iovec iov[1 + RXD_IOV_LIMIT];
	struct rxd_tx *tx = tx_of(xfer);
	size_t offset = k ? tx->first + (k - 1) * tx->packet_bytes : 0;
	size_t len = k ? WF_MIN(tx->payload - offset, tx->packet_bytes) : tx->first;
	size_t count;

	/* The application waits for the acknowledgement of the last packet. */
	if (base.flags & RXD_FLAG_EXT && !tx->reported && k + 1 == xfer->count)
		base.flags |= RXD_FLAG_ACK_NOW;
	iov[0] = (struct iovec){ head, write_head(tx, k, base, head) };
	count = 1 + payload_at(tx, offset, len, &iov[1]);
	return rxd_below_send(peer->ep, peer->below, iov, count, iov[0].iov_len + len);
}

static ssize_t send_control(struct rxd_flow *flow, const void *packet, size_t len)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);
	const struct iovec iov = { (void *)(uintptr_t)packet, len };

	return rxd_below_send(peer->ep, peer->below, &iov, 1, len);
}

/* All of an answer has arrived: the read is complete. */
static void answer_acked(struct rxd_tx *tx)
{
	struct rxd_ep *ep = tx->peer->ep;

	if (!tx->copy && !ep->closing)
		wf_target_done(&ep->ep, tx->head.rma, tx->head.rma_count,
			FI_RMA | FI_REMOTE_READ, tx->len, 0, FI_ADDR_NOTAVAIL);
	rxd_tx_free(tx);
}

static void acked(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	struct rxd_tx *tx = tx_of(xfer);

	(void)flow;
	tx->in_flow = false;
	if (tx->kind == WF_OP_COUNT)
		answer_acked(tx);
	else if (!rxd_tx_is_request(tx))
		rxd_tx_end(tx, 0);
	else if (wf_list_empty(&tx->request_link))
		rxd_tx_end(tx, 0);
}

static void failed(struct rxd_flow *flow, struct rxd_xfer *xfer, int err)
{
	struct rxd_tx *tx = tx_of(xfer);

	(void)flow;
	tx->in_flow = false;
	rxd_request_remove(tx);
	if (tx->kind == WF_OP_COUNT)
		rxd_tx_free(tx);
	else
		rxd_tx_end(tx, err);
}

static void restarted(struct rxd_flow *flow)
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
	.begin = begin,
	.send = send_packet,
	.send_control = send_control,
	.acked = acked,
	.failed = failed,
	.deliver = rxd_deliver,
	.restarted = restarted,
};

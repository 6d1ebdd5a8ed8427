/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/rxd/below.h"
#include "providers/rxd/data/data.h"
#include "sys/iov.h"

/*
 * Packets, built from operations and answers, again for each resend. Packets that a
 * flow sends in one go are collected, so that the endpoint below can take them in one
 * call.
 */
enum {
	/* Payload of up to this many bytes is copied behind the headers. */
	COPIED_MAX = 256,
	/* Packets of this many bytes together are sent without waiting for more. */
	BATCH_BYTES = 60000,
	PIECES_MAX = 1 + RXD_IOV_LIMIT + 1,
};

/* A collected packet: headers, payload, seal. */
struct piece {
	struct iovec iov[PIECES_MAX]; /* the packet */
	uint32_t seal; /* the seal of a packet whose payload is not in @bytes */
	/* The headers, and a payload of up to COPIED_MAX bytes. */
	uint8_t bytes[sizeof(struct rxd_base) + RXD_OP_HEAD_MAX + COPIED_MAX +
		      RXD_SEAL_SIZE];
};

/* The packets that were collected for one call of the endpoint below. */
struct rxd_batch {
	size_t count, bytes; /* number of packets, and bytes of all of them */
	struct wf_datagram packets[RXD_BATCH];
	struct piece pieces[RXD_BATCH]; /* pieces[i]: the memory of packets[i] */
	/* Payload of answers, copied from regions, because these may be closed: bytes
	 * in use, and bytes of @copies. */
	size_t copied, copied_max;
	uint8_t copies[];
};

int rxd_packets_init(struct rxd_ep *ep)
{
	size_t capacity = WF_MAX(ep->domain->max_packet, (size_t)BATCH_BYTES);

	ep->batch = malloc(sizeof(*ep->batch) + capacity);
	if (!ep->batch)
		return -FI_ENOMEM;
	ep->batch->count = ep->batch->bytes = ep->batch->copied = 0;
	ep->batch->copied_max = capacity;
	return 0;
}

void rxd_packets_done(struct rxd_ep *ep)
{
	free(ep->batch);
}

/* The @len bytes from @offset on of the payload, as buffers in @ret; returns their
 * number. */
static size_t packet_slice(
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

static size_t packet_payload_at(
	const struct rxd_tx *tx, size_t offset, size_t len, struct iovec *ret)
{
	struct rxd_batch *batch = tx->peer->ep->batch;

	if (!len)
		return 0;
	if (tx->copy) {
		*ret = (struct iovec){ tx->copy + offset, len };
		return 1;
	}
	if (tx->kind != WF_OP_COUNT)
		return packet_slice(tx, offset, len, ret);
	*ret = (struct iovec){ batch->copies + batch->copied, len };
	rxd_read_bytes(tx->peer->ep, &tx->head, offset, ret->iov_base, len);
	batch->copied += len;
	return 1;
}

/* Write the headers of packet @k to @to; returns their length in bytes. */
static size_t packet_write_head(
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

/* Copy a short payload behind the headers, into one buffer; returns the number of
 * buffers. */
static size_t rxd_packet_join(struct piece *piece, size_t count, size_t payload)
{
	struct iovec *head = &piece->iov[0];

	if (payload > COPIED_MAX)
		return count;
	head->iov_len +=
		wf_iov_gather(piece->bytes + head->iov_len, &piece->iov[1], count - 1);
	return 1;
}

/* Append the seal to the packet of @count buffers; returns their new number. */
static size_t packet_seal(struct piece *piece, size_t count)
{
	piece->seal = rxd_seal(piece->iov, count);
	if (count > 1) {
		piece->iov[count] = (struct iovec){ &piece->seal, RXD_SEAL_SIZE };
		return count + 1;
	}
	memcpy(piece->bytes + piece->iov[0].iov_len, &piece->seal, RXD_SEAL_SIZE);
	piece->iov[0].iov_len += RXD_SEAL_SIZE;
	return 1;
}

static bool packet_has_space(const struct rxd_batch *batch, size_t payload)
{
	return batch->count == 0 ||
	       (batch->count < RXD_BATCH && batch->bytes < BATCH_BYTES &&
		       payload <= batch->copied_max - batch->copied);
}

ssize_t rxd_packet_send(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	struct rxd_batch *batch = rxd_peer_of_flow(flow)->ep->batch;
	struct piece *piece = &batch->pieces[batch->count];
	struct rxd_tx *tx = rxd_tx_of(xfer);
	size_t offset = k ? tx->first + (k - 1) * tx->packet_bytes : 0;
	size_t payload = k ? WF_MIN(tx->payload - offset, tx->packet_bytes) : tx->first;
	size_t count, len;

	if (!packet_has_space(batch, payload))
		return -FI_ENOSPC;
	/* The application waits for the acknowledgement of the last packet. */
	if (base.flags & RXD_FLAG_EXT && !tx->reported && k + 1 == xfer->count)
		base.flags |= RXD_FLAG_ACK_NOW;
	piece->iov[0] = (struct iovec){ piece->bytes,
		packet_write_head(tx, k, base, piece->bytes) };
	len = piece->iov[0].iov_len + payload;
	count = rxd_packet_join(piece,
		1 + packet_payload_at(tx, offset, payload, &piece->iov[1]), payload);
	if (flow->sealed) {
		count = packet_seal(piece, count);
		len += RXD_SEAL_SIZE;
	}
	batch->packets[batch->count++] = (struct wf_datagram){ piece->iov, count, len };
	batch->bytes += len;
	return (ssize_t)len;
}

size_t rxd_packets_flush(struct rxd_flow *flow)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);
	struct rxd_batch *batch = peer->ep->batch;
	size_t count = batch->count;

	batch->count = batch->bytes = batch->copied = 0;
	return count -
	       rxd_below_send_many(peer->ep, peer->below, batch->packets, count);
}

ssize_t rxd_packet_send_control(struct rxd_flow *flow, const void *packet, size_t len)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);
	struct iovec iov[2] = { { (void *)(uintptr_t)packet, len } };
	uint8_t copy[COPIED_MAX];
	struct rxd_base base;
	size_t count = 1;
	uint32_t sum;

	memcpy(&base, packet, sizeof(base));
	if (rxd_flow_seals(flow, base.type)) {
		sum = rxd_seal(iov, 1);
		iov[1] = (struct iovec){ &sum, sizeof(sum) };
		len += sizeof(sum);
		count = 2;
	}
	/* The provider below sends one buffer faster than several. */
	if (count > 1 && len <= sizeof(copy)) {
		(void)wf_iov_gather(copy, iov, count);
		iov[0] = (struct iovec){ copy, len };
		count = 1;
	}
	return rxd_below_send(peer->ep, peer->below, iov, count, len);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/rxm/below.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/param.h"

/*
 * Messages. A short message is one packet, a longer one is cut into segments, and a
 * long one stays in the sender's memory until the receiver fetches it (rdv_tx.c). So
 * does a message whose completion level is match or delivery complete, if the provider
 * below cannot report that.
 */

/* Flags that are passed on to the provider below. */
static uint64_t send_flags_below(const struct rxm_op *op)
{
	return op->op.flags & (FI_MORE | FI_INJECT | FI_INJECT_COMPLETE |
				      FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE);
}

/* The longest message that is cut into segments; buffer_size or less: none. */
static size_t send_segmented_max(const struct rxm_ep *ep)
{
	/* Segments are copied by the receiver, whose copy takes longer over a stream
	 * than the request of a rendezvous from there on. */
	enum { DEFAULT_SEGMENTS = 8, STREAM_SEGMENTS = 4 };
	size_t count = rxm_below_is_stream(ep) ? STREAM_SEGMENTS : DEFAULT_SEGMENTS;

	/* The length of a segment has 16 bits. */
	if (ep->buffer_size > RXM_WIRE_SEGMENT_MAX)
		return 0;
	return rxm_params.sar_limit == SIZE_MAX ? count * ep->buffer_size
						: rxm_params.sar_limit;
}

static bool send_is_rdv(const struct rxm_ep *ep, const struct wf_op *op)
{
	if (op->flags & FI_MATCH_COMPLETE)
		return true;
	if (op->len <= ep->buffer_size)
		return op->flags & FI_DELIVERY_COMPLETE && !ep->domain->delivery;
	return op->flags & FI_DELIVERY_COMPLETE || op->len > send_segmented_max(ep);
}

const struct rxm_work_ops *rxm_send_ops(struct rxm_ep *ep, const struct wf_op *op)
{
	if (send_is_rdv(ep, op))
		return &rxm_rdv_ops;
	return op->len <= ep->buffer_size ? &rxm_eager_ops : &rxm_segments_ops;
}

struct rxm_message rxm_message_of(const struct wf_op *op)
{
	return (struct rxm_message){
		.tagged = op->kind == WF_OP_TSEND,
		.has_data = op->flags & FI_REMOTE_CQ_DATA,
		.size = op->len,
		.data = op->flags & FI_REMOTE_CQ_DATA ? op->data : 0,
		.tag = op->kind == WF_OP_TSEND ? op->tag : 0,
	};
}

ssize_t rxm_send_now(struct rxm_conn *conn, const struct rxm_message *msg,
	const struct iovec *iov, size_t count)
{
	struct {
		struct rxm_hdr hdr;
		uint8_t payload[RXM_SMALL_MAX];
	} packet;
	size_t len;

	if (wf_unlikely(msg->size > sizeof(packet.payload)))
		return -FI_EAGAIN;
	rxm_put_eager(&packet.hdr, conn->peer_id, msg);
	len = sizeof(packet.hdr) + wf_iov_gather(packet.payload, iov, count);
	return rxm_conn_inject(conn, &packet, len);
}

static ssize_t send_eager(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	struct rxm_message msg = rxm_message_of(&op->op);
	ssize_t ret;

	op->sending.call.done = rxm_op_sent;
	rxm_put_eager((struct rxm_hdr *)op->sending.head, conn->peer_id, &msg);
	ret = rxm_sending_start(conn, &op->sending, RXM_HEADER, op->op.iov,
		op->op.iov_count, send_flags_below(op));
	if (!ret)
		rxm_op_begun(op, conn); /* the call below owns the reference */
	return ret;
}

const struct rxm_work_ops rxm_eager_ops = RXM_OP_OPS(send_eager);

/* A packet with one segment of a message. */
struct rxm_segment {
	struct rxm_sending sending;
	struct rxm_op *op;
};

void rxm_segments_free(struct rxm_op *op)
{
	free(op->segments.at);
}

static void send_segment_done(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_segment *segment =
		wf_container_of(call, struct rxm_segment, sending.call);

	(void)entry;
	rxm_sending_done(segment->op->ep, &segment->sending);
	rxm_op_call_done(segment->op, err);
}

static ssize_t send_segment(struct rxm_conn *conn, struct rxm_op *op, uint32_t number)
{
	struct rxm_segment *segment = &op->segments.at[number];
	size_t offset = (size_t)number * conn->ep->buffer_size;
	size_t len = WF_MIN(op->op.len - offset, conn->ep->buffer_size);
	struct rxm_message msg = rxm_message_of(&op->op);
	struct iovec iov[RXM_IOV_LIMIT];
	size_t count = rxm_iov_slice(op->iov, op->op.iov_count, offset, len, iov, NULL);

	segment->op = op;
	segment->sending.call.done = send_segment_done;
	rxm_put_segment((struct rxm_hdr *)segment->sending.head, conn->peer_id,
		op->msg_id, &msg, number, op->segments.count, (uint16_t)len);
	return rxm_sending_start(conn, &segment->sending, RXM_HEADER, iov, count,
		send_flags_below(op) & ~FI_MORE);
}

/* Allocate the segments, and a message id that they have in common. */
static bool send_segments_prepare(struct rxm_conn *conn, struct rxm_op *op)
{
	size_t size = conn->ep->buffer_size;

	if (op->msg_id)
		return true;
	op->segments.count = (uint32_t)((op->op.len + size - 1) / size);
	op->segments.sent = 0;
	op->segments.at = malloc(op->segments.count * sizeof(*op->segments.at));
	return op->segments.at && rxm_op_number(op);
}

static ssize_t send_segments(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	ssize_t ret;

	if (!send_segments_prepare(conn, op))
		return -FI_ENOMEM;
	while (op->segments.sent < op->segments.count) {
		ret = send_segment(conn, op, op->segments.sent);
		if (ret) {
			/* The peer cannot process half of a message. */
			if (ret != -FI_EAGAIN && op->conn)
				rxm_conn_fail(conn, (int)-ret);
			return ret;
		}
		rxm_op_begun(op, conn);
		op->segments.sent++;
		op->refs++;
	}
	rxm_op_unref(op);
	return 0;
}

const struct rxm_work_ops rxm_segments_ops = RXM_OP_OPS(send_segments);

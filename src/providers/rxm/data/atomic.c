/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/data/recv.h"
#include "providers/rxm/param.h"

/*
 * Atomic operations: a packet with the operands, which the target executes in software,
 * and a packet with the result, which every operation gets.
 */

static size_t atomic_payload_len(const struct wf_op *op)
{
	return op->len + (op->kind == WF_OP_COMPARE ? op->atomic->size : 0);
}

size_t rxm_atomic_max(void)
{
	return RXM_HEADER + rxm_params.buffer_size - RXM_WIRE_ATOMIC;
}

static int rxm_data_atomic_valid(struct wf_domain *domain, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	size_t space = rxm_atomic_max();

	(void)domain;
	/* An operation that no other implementation executes may end the process of a
	 * peer that uses another implementation. Which implementation a peer uses is
	 * unknown, so the operation is not offered. */
	if (wf_atomic_size(datatype) > sizeof(uint64_t) || op > FI_MSWAP)
		return -FI_EOPNOTSUPP;
	return wf_atomic_valid(kind, datatype, op,
		kind == WF_OP_COMPARE ? space / 2 : space, ret_count);
}

int rxm_query_atomic(struct wf_domain *domain, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags)
{
	return wf_query_atomic_by(
		domain, datatype, op, attr, flags, rxm_data_atomic_valid);
}

int rxm_atomic_valid(struct wf_ep *ep, enum wf_op_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *ret_count)
{
	return rxm_data_atomic_valid(ep->domain, kind, datatype, op, ret_count);
}

struct rxm_op *rxm_atomic_new(struct rxm_ep *ep, const struct wf_op *from)
{
	const struct wf_op_atomic *atomic = from->atomic;
	size_t len = atomic_payload_len(from);
	struct rxm_op *op =
		rxm_op_new(ep, from, &rxm_atomic_ops, RXM_WIRE_ATOMIC + len);
	uint8_t *at;

	if (!op)
		return NULL;
	rxm_put_atomic(op->copy, 0, 0, from, len);
	at = op->copy + RXM_WIRE_ATOMIC;
	at += wf_iov_gather(at, from->iov, from->iov_count);
	if (from->kind == WF_OP_COMPARE)
		(void)wf_iov_gather(at, atomic->compare, atomic->compare_count);
	op->op.atomic = NULL;
	op->op.len = atomic->size;
	op->atomic.datatype = atomic->datatype;
	op->atomic.op = atomic->op;
	op->atomic.packet_len = RXM_WIRE_ATOMIC + len;
	op->atomic.result_count = atomic->result_count;
	for (size_t i = 0; i < atomic->result_count; i++)
		op->atomic.result[i] = atomic->result[i];
	op->atomic.compare_count = atomic->compare_count;
	for (size_t i = 0; i < atomic->compare_count; i++)
		op->atomic.compare[i] = atomic->compare[i];
	return op;
}

static ssize_t atomic_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	struct iovec payload = { op->copy + RXM_WIRE_ATOMIC,
		op->atomic.packet_len - RXM_WIRE_ATOMIC };
	struct rxm_hdr hdr;
	ssize_t ret;

	if (!rxm_op_number(op))
		return -FI_ENOMEM;
	memcpy(&hdr, op->copy, sizeof(hdr));
	hdr.conn_id = conn->peer_id;
	hdr.msg_id = op->msg_id;
	memcpy(op->sending.head, &hdr, sizeof(hdr));
	memcpy(op->sending.head + sizeof(hdr), op->copy + sizeof(hdr),
		RXM_WIRE_ATOMIC - sizeof(hdr));
	ret = rxm_op_send_request(
		conn, op, RXM_WIRE_ATOMIC, &payload, payload.iov_len != 0, 0);
	if (!ret)
		conn->data.asked_bytes += rxm_op_asked_cost(&op->op);
	return ret;
}

const struct rxm_work_ops rxm_atomic_ops = RXM_OP_OPS(atomic_send);

void rxm_atomic_result(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_op *op = rxm_op_answered(conn, packet->msg_id, &rxm_atomic_ops);
	size_t expected;

	if (!op) {
		rxm_conn_broken(
			conn, "result of an atomic operation that is not there");
		return;
	}
	expected = wf_iov_len(op->atomic.result, op->atomic.result_count);
	if (packet->err)
		op->err = packet->err;
	else if (packet->payload_len != expected)
		op->err = FI_EIO;
	else
		(void)wf_iov_scatter(op->atomic.result, op->atomic.result_count,
			packet->payload, packet->payload_len);
	rxm_op_unref(op);
}

static size_t atomic_span_of(const struct rxm_packet *packet)
{
	size_t span = 0;

	for (unsigned int i = 0; i < packet->seg_count; i++)
		span += packet->seg[i].len;
	return span;
}

/* Execute the operation. Returns 0 or a negative fi_errno; the previous values are in
 * @result. */
static int atomic_execute(
	struct rxm_conn *conn, const struct rxm_packet *packet, uint8_t *result)
{
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);
	struct wf_target_atomic atomic = {
		.kind = rxm_atomic_kind(packet),
		.datatype = packet->datatype,
		.op = packet->atomic_op,
		.seg = packet->seg,
		.count = packet->seg_count,
		.len = atomic_span_of(packet),
		.src = packet->payload_len ? packet->payload : NULL,
		.result = result,
	};
	uint64_t access = wf_target_atomic_access(atomic.kind, atomic.op);
	int ret;

	if (!(conn->ep->ep.caps & FI_ATOMIC))
		return -FI_EOPNOTSUPP;
	if (atomic.kind == WF_OP_COMPARE)
		atomic.compare = packet->payload + atomic.len;
	ret = wf_target_check(map, packet->seg, packet->seg_count, access);
	if (!ret)
		ret = wf_target_atomic(map, &atomic);
	if (!ret)
		wf_target_done(&conn->ep->ep, packet->seg, packet->seg_count,
			FI_ATOMIC | access, atomic.len, 0, rxm_conn_source(conn));
	return ret;
}

void rxm_atomic_request(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	size_t len = packet->op == RXM_OP_ATOMIC ? 0 : atomic_span_of(packet);
	uint8_t *answer = malloc(RXM_WIRE_RESULT + len);
	int ret;

	if (!answer) {
		rxm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	/* The answer has to fit into a buffer of the peer. */
	ret = RXM_WIRE_RESULT + len > RXM_HEADER + conn->ep->buffer_size
		      ? -FI_EINVAL
		      : atomic_execute(
				conn, packet, len ? answer + RXM_WIRE_RESULT : NULL);
	if (ret)
		len = 0;
	rxm_put_result(answer, 0, packet, -ret, len);
	rxm_answer(conn, answer, RXM_WIRE_RESULT + len);
	free(answer);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_domain.h>

#include "providers/rxm/data/op.h"
#include "providers/rxm/data/recv.h"
#include "providers/rxm/param.h"

/*
 * A rendezvous at the sender. The request describes the message's buffers, which are
 * registered below. The receiver reads them and answers RXM_RDV_READ; or it answers
 * with addresses, to which the sender writes the message, and the sender sends
 * RXM_RDV_WRITTEN. The receiver decides between the two; some implementations can do
 * only one of them.
 *
 * With FI_OFI_RXM_USE_RNDV_WRITE the buffers cannot be read, and the request says so.
 */

static bool rdv_tx_is_write_only(const struct rxm_ep *ep)
{
	return rxm_params.rndv_write && !ep->domain->prov_key;
}

void rxm_rdv_close(struct rxm_op *op)
{
	for (size_t i = 0; i < RXM_IOV_LIMIT; i++) {
		if (op->rdv.mr[i])
			(void)fi_close(&op->rdv.mr[i]->fid);
		op->rdv.mr[i] = NULL;
	}
}

static uint64_t rdv_tx_access_of(const struct rxm_ep *ep)
{
	uint64_t access = rdv_tx_is_write_only(ep) ? 0 : FI_REMOTE_READ;

	/* The peer may want the message to be written. */
	return ep->domain->local_mr ? access | FI_WRITE : access;
}

static int rdv_tx_expose(struct rxm_op *op)
{
	uint64_t access = rdv_tx_access_of(op->ep);
	int ret = 0;

	for (size_t i = 0; i < op->op.iov_count && !ret; i++)
		if (access && op->iov[i].iov_len && !op->rdv.mr[i])
			ret = rxm_domain_expose(
				op->ep->domain, &op->iov[i], access, &op->rdv.mr[i]);
	return ret;
}

/* The description of the message's buffers for the receiver. A message without payload
 * has one buffer of no bytes. */
static size_t rdv_tx_describe(const struct rxm_op *op, struct fi_rma_iov *seg)
{
	const struct rxm_domain *domain = op->ep->domain;
	size_t count = 0;

	for (size_t i = 0; i < op->op.iov_count; i++) {
		const struct iovec *iov = &op->iov[i];

		if (!iov->iov_len)
			continue;
		seg[count++] = (struct fi_rma_iov){
			.addr = domain->virt_addr ? (uintptr_t)iov->iov_base : 0,
			.len = iov->iov_len,
			.key = rdv_tx_is_write_only(op->ep) ? RXM_WIRE_NO_KEY
							    : fi_mr_key(op->rdv.mr[i]),
		};
	}
	if (!count)
		seg[count++] = (struct fi_rma_iov){ 0 };
	return count;
}

static ssize_t rdv_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	struct rxm_message msg = rxm_message_of(&op->op);
	struct fi_rma_iov seg[RXM_MAX_SEGS];
	ssize_t ret = rdv_tx_expose(op);

	if (ret)
		return ret;
	if (!rxm_op_number(op))
		return -FI_ENOMEM;
	rxm_put_rdv(op->sending.head, conn->peer_id, op->msg_id, &msg, seg,
		rdv_tx_describe(op, seg));
	return rxm_op_send_request(
		conn, op, RXM_WIRE_RDV, NULL, 0, op->op.flags & FI_MORE);
}

const struct rxm_work_ops rxm_rdv_ops = RXM_OP_OPS(rdv_send);

static const char not_there[] = "answer to a message that is not there";

void rxm_rdv_read(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_op *op = rxm_op_answered(conn, packet->msg_id, &rxm_rdv_ops);

	if (!op) {
		rxm_conn_broken(conn, not_there);
		return;
	}
	rxm_rdv_close(op);
	rxm_op_unref(op);
}

/* The message has been written to the receiver's memory: tell the receiver. */
static void rdv_tx_written(struct rxm_op *op, uint64_t msg_id)
{
	if (!op->err)
		rxm_answer_end(op->conn, RXM_RDV_WRITTEN, msg_id);
	rxm_rdv_close(op);
	rxm_op_unref(op);
}

static uint64_t rdv_tx_id_of(const struct rxm_op *op)
{
	uint64_t id;

	memcpy(&id, op->sending.head + offsetof(struct rxm_hdr, msg_id), sizeof(id));
	return id;
}

static void rdv_tx_write_done(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry);

static ssize_t rdv_tx_write_piece(
	struct rxm_conn *conn, struct rxm_op *op, size_t offset)
{
	unsigned int i = op->rdv.written;
	struct iovec iov[RXM_IOV_LIMIT];
	void *desc[RXM_IOV_LIMIT];
	size_t piece[RXM_IOV_LIMIT];
	struct wf_op write = {
		.kind = WF_OP_WRITE,
		.iov = iov,
		.len = op->rma[i].len,
		.rma = &op->rma[i],
		.rma_count = 1,
	};

	write.iov_count =
		rxm_iov_slice(op->iov, op->op.iov_count, offset, write.len, iov, piece);
	if (conn->ep->domain->local_mr) {
		for (size_t k = 0; k < write.iov_count; k++)
			desc[k] = fi_mr_desc(op->rdv.mr[piece[k]]);
		write.desc = desc;
	}
	op->rdv.write[i].op = op;
	op->rdv.write[i].call.done = rdv_tx_write_done;
	return rxm_conn_rma(conn, &write, &op->rdv.write[i].call);
}

static ssize_t rdv_tx_writes_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	size_t offset = 0;
	ssize_t ret;

	for (unsigned int i = 0; i < op->rdv.written; i++)
		offset += op->rma[i].len;
	for (; op->rdv.written < op->rdv.write_count; op->rdv.written++) {
		ret = op->rma[op->rdv.written].len
			      ? rdv_tx_write_piece(conn, op, offset)
			      : 0;
		if (ret)
			return ret;
		if (op->rma[op->rdv.written].len) {
			op->rdv.writing++;
			op->refs++;
		}
		offset += op->rma[op->rdv.written].len;
	}
	if (!op->rdv.writing)
		rdv_tx_written(op, rdv_tx_id_of(op));
	return 0;
}

/* The receiver would wait for the rest of the message without end. */
static void rdv_tx_writes_fail(struct rxm_work *work, int err)
{
	rxm_conn_fail(rxm_op_of(work)->conn, err);
	rxm_op_fail(work, err);
}

const struct rxm_work_ops rxm_rdv_write_ops = {
	.send = rdv_tx_writes_send,
	.fail = rdv_tx_writes_fail,
	.free = rxm_op_free,
	.is_promised = rxm_op_is_promised,
};

static void rdv_tx_write_done(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_op *op = wf_container_of(call, struct rxm_write, call)->op;

	(void)entry;
	if (wf_unlikely(err && !op->err)) {
		op->err = err;
		rxm_conn_fail(op->conn, err);
	}
	if (!--op->rdv.writing && op->rdv.written == op->rdv.write_count)
		rdv_tx_written(op, rdv_tx_id_of(op));
	rxm_op_call_done(op, err);
}

static bool rdv_tx_fits(const struct rxm_op *op, const struct rxm_packet *packet)
{
	uint64_t len = 0;

	for (unsigned int i = 0; i < packet->seg_count; i++)
		len += packet->seg[i].len;
	return len <= op->op.len;
}

void rxm_rdv_to(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_op *op = rxm_op_answered(conn, packet->msg_id, &rxm_rdv_ops);

	if (!op) {
		rxm_conn_broken(conn, not_there);
		return;
	}
	if (!rdv_tx_fits(op, packet)) {
		rxm_conn_broken(conn, "request of more than the message");
		rxm_op_fail(&op->work, FI_EPROTO);
		return;
	}
	memcpy(op->rma, packet->seg, packet->seg_count * sizeof(op->rma[0]));
	op->rdv.write_count = packet->seg_count;
	op->rdv.written = op->rdv.writing = 0;
	op->work.ops = &rxm_rdv_write_ops;
	rxm_work_send(conn, &op->work);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_domain.h>

#include "providers/rxm/data/op.h"

/*
 * RMA operations go to the provider below as they are. If the provider below needs
 * registered buffers and the application gives no descriptors, the payload of a write
 * that fits into a packet is copied, and other buffers are registered for the duration
 * of the operation.
 */

static bool rma_copy_payload(struct rxm_op *op)
{
	struct rxm_buffer *buffer = rxm_buffer_get(op->ep);

	if (!buffer)
		return false;
	op->sending.buffer = buffer;
	op->iov[0] = (struct iovec){ buffer->at,
		wf_iov_gather(buffer->at, op->iov, op->op.iov_count) };
	op->op.iov_count = 1;
	op->desc[0] = buffer->desc;
	return true;
}

static int rma_expose(struct rxm_op *op)
{
	uint64_t access = op->op.kind == WF_OP_READ ? FI_READ : FI_WRITE;
	int ret = 0;

	for (size_t i = 0; i < op->op.iov_count && !ret; i++) {
		if (!op->rdv.mr[i] && op->iov[i].iov_len)
			ret = rxm_domain_expose(
				op->ep->domain, &op->iov[i], access, &op->rdv.mr[i]);
		op->desc[i] = op->rdv.mr[i] ? fi_mr_desc(op->rdv.mr[i]) : NULL;
	}
	return ret;
}

/* Find descriptors for the local buffers. May be called repeatedly. */
static int rma_describe(struct rxm_op *op)
{
	const struct rxm_domain *domain = op->ep->domain;
	bool given = domain->has_descs && op->op.desc;
	bool copied = op->op.kind == WF_OP_WRITE && op->op.len <= op->ep->buffer_size;
	int ret = 0;

	if (!domain->local_mr || given || op->sending.buffer)
		return 0;
	if (copied)
		ret = rma_copy_payload(op) ? 0 : -FI_ENOMEM;
	else
		ret = rma_expose(op);
	op->op.desc = op->desc;
	return ret;
}

static ssize_t rma_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	struct wf_op call;
	ssize_t ret = rma_describe(op);

	if (ret)
		return ret;
	call = op->op;
	op->sending.call.done = rxm_op_sent;
	/* The operation has already waited for its fence. */
	call.flags &= ~(WF_OP_WORK | FI_FENCE);
	ret = rxm_conn_rma(conn, &call, &op->sending.call);
	if (ret)
		return ret;
	rxm_op_begun(op, conn);
	op->refs++;
	rxm_op_unref(op);
	return 0;
}

void rxm_rma_free(struct rxm_op *op)
{
	rxm_rdv_close(op);
	rxm_sending_done(op->ep, &op->sending);
}

const struct rxm_work_ops rxm_rma_ops = RXM_OP_OPS(rma_send);

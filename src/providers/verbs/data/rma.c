/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>

#include "providers/verbs/data/data.h"

/* Remote reads and writes. Immediate data consumes a receive of the target. */

static void rma_set_remote(const struct wf_op *op, struct ibv_send_wr *wr)
{
	if (!op->rma_count)
		return;
	wr->wr.rdma.remote_addr = op->rma[0].addr;
	wr->wr.rdma.rkey = (uint32_t)op->rma[0].key;
}

static int rma_fill_read(const struct wf_op *op, struct verbs_send *send)
{
	int count = verbs_sges(op, true, send->sge);

	if (wf_unlikely(count < 0))
		return count;
	send->wr = (struct ibv_send_wr){
		.sg_list = send->sge,
		.num_sge = count,
		.opcode = IBV_WR_RDMA_READ,
	};
	return 0;
}

static int rma_fill_write(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	int err = verbs_fill_send(ep, op, send);

	send->wr.opcode = op->flags & FI_REMOTE_CQ_DATA ? IBV_WR_RDMA_WRITE_WITH_IMM
							: IBV_WR_RDMA_WRITE;
	return err;
}

int verbs_fill_rma(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	int err = op->kind == WF_OP_READ ? rma_fill_read(op, send)
					 : rma_fill_write(ep, op, send);

	if (!err)
		rma_set_remote(op, &send->wr);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

/* Operations to peers that are reached by memory: they are passed to the endpoint
 * below, which completes them. ep.lock is held. */

static ssize_t memory_start(struct rxm_conn *conn, struct wf_op *op)
{
	ssize_t ret;

	if (wf_unlikely(!wf_list_empty(&conn->failed_link)))
		return -FI_ENOTCONN;
	op->flags |= WF_OP_REACHED;
	ret = wf_local_start(conn->ep->below, conn->local->below, op);
	op->flags &= ~WF_OP_REACHED;
	if (wf_unlikely(ret == -FI_ENOTCONN))
		rxm_local_failed(conn);
	return ret;
}

/* Pass an atomic operation that was kept. An injected one has its operands in op->copy,
 * with the comparands behind them. */
static ssize_t memory_start_atomic(struct rxm_conn *conn, struct rxm_op *op)
{
	bool inject = op->op.flags & FI_INJECT;
	size_t size = op->op.len;
	size_t operands = op->op.iov_count ? size : 0;
	struct iovec operand = { op->copy + RXM_WIRE_ATOMIC, operands };
	struct iovec compare = { op->copy + RXM_WIRE_ATOMIC + operands, size };
	struct wf_op_atomic atomic = {
		.datatype = op->atomic.datatype,
		.op = op->atomic.op,
		.count = size / wf_atomic_size(op->atomic.datatype),
		.size = size,
		.result = op->atomic.result,
		.result_count = op->atomic.result_count,
		.compare = inject ? &compare : op->atomic.compare,
		.compare_count = op->atomic.compare_count,
	};
	struct wf_op below = op->op;

	below.atomic = &atomic;
	below.len = operands;
	if (inject && atomic.compare_count)
		atomic.compare_count = 1;
	if (inject && operands) {
		below.iov = &operand;
		below.iov_count = 1;
	}
	return memory_start(conn, &below);
}

ssize_t rxm_memory_send(struct rxm_conn *conn, struct rxm_work *work)
{
	struct rxm_op *op = rxm_op_of(work);
	ssize_t ret;

	if (work->ops == &rxm_atomic_ops)
		ret = memory_start_atomic(conn, op);
	else
		ret = memory_start(conn, &op->op);
	if (!ret)
		rxm_op_free(work);
	return ret;
}

ssize_t rxm_memory_post(struct rxm_conn *conn, struct wf_op *op)
{
	struct rxm_ep *ep = conn->ep;
	struct wf_list *wait = &conn->waiting;
	ssize_t ret = -FI_ENOTCONN;

	if (wf_likely(wf_list_empty(wait)))
		ret = memory_start(conn, op);
	else if (conn->state == RXM_CONN_UP && wf_list_empty(&conn->failed_link))
		return rxm_op_queue(ep, wait, op);
	if (wf_likely(ret != -FI_ENOTCONN))
		return ret;
	return rxm_op_wait_for_next(conn, op);
}

/* @data: the remote CQ data of the message; NULL: it has none. */
static inline ssize_t memory_send_by(struct wf_ep *wf, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag, const uint64_t *data)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	struct rxm_conn *conn;
	ssize_t ret = -FI_EAGAIN;

	/* relaxed: an estimate; the lock orders what follows. */
	if (!atomic_load_explicit(&ep->memory_conns, memory_order_relaxed) ||
		wf_unlikely(!wf_trylock(&wf->lock)))
		return ret;
	conn = rxm_memory_conn(ep, addr);
	if (wf_likely(conn != NULL))
		ret = wf_local_send(
			ep->below, conn->local->below, kind, buf, len, tag, data);
	wf_unlock(&wf->lock);
	return ret;
}

ssize_t rxm_send_small(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	return memory_send_by(wf, kind, buf, len, addr, tag, NULL);
}

ssize_t rxm_send_small_data(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	return memory_send_by(wf, kind, buf, len, addr, tag, &data);
}

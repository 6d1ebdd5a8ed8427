/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

#include <stdlib.h>

enum { MAX_NUMBERS = 1 << 30 };

struct rxm_op *rxm_op_new(struct rxm_ep *ep, const struct wf_op *from,
	const struct rxm_work_ops *ops, size_t copy_len)
{
	struct rxm_op *op = copy_len ? malloc(sizeof(*op) + copy_len)
				     : wf_pool_get_inline(&ep->data.ops);

	if (!op)
		return NULL;
	op->pooled = !copy_len;
	op->work.ops = ops;
	wf_list_init(&op->work.link);
	op->ep = ep;
	op->conn = NULL;
	op->op = *from;
	op->op.iov = op->iov;
	op->op.desc = from->desc ? op->desc : NULL;
	op->op.rma = op->rma;
	op->err = 0;
	op->left = false;
	op->refs = 1;
	op->msg_id = 0;
	op->sending.buffer = NULL;
	op->sending.copy = NULL;
	/* Initialise the first fields of each kind. */
	memset(&op->rdv.mr, 0, sizeof(op->rdv.mr));
	for (size_t i = 0; i < from->iov_count; i++) {
		op->iov[i] = from->iov[i];
		if (from->desc)
			op->desc[i] = from->desc[i];
	}
	for (size_t i = 0; i < from->rma_count; i++)
		op->rma[i] = from->rma[i];
	ep->data.pending++;
	wf_ep_want(&ep->ep);
	return op;
}

/* Make the operation, with a copy of the payload if it is injected. */
static struct rxm_op *op_new_with_payload(
	struct rxm_ep *ep, const struct wf_op *from, const struct rxm_work_ops *ops)
{
	bool inject = from->flags & FI_INJECT;
	struct rxm_op *op = rxm_op_new(ep, from, ops, inject ? from->len : 0);

	if (!op || !inject)
		return op;
	op->iov[0] = (struct iovec){ op->copy,
		wf_iov_gather(op->copy, from->iov, from->iov_count) };
	op->op.iov_count = from->len != 0;
	op->op.desc = NULL;
	return op;
}

static void op_ended_on(struct rxm_conn *conn, const struct rxm_op *op)
{
	conn->data.begun--;
	if (op->work.ops == &rxm_atomic_ops)
		conn->data.asked_bytes -= rxm_op_asked_cost(&op->op);
	rxm_fence_check(conn);
}

static void op_release(struct rxm_op *op)
{
	struct rxm_ep *ep = op->ep;

	if (op->work.ops == &rxm_segments_ops)
		rxm_segments_free(op);
	else if (op->work.ops == &rxm_rdv_ops || op->work.ops == &rxm_rdv_write_ops)
		rxm_rdv_close(op);
	else if (op->work.ops == &rxm_rma_ops)
		rxm_rma_free(op);
	if (op->msg_id)
		wf_id_map_remove(&ep->data.ids, (uint32_t)op->msg_id);
	if (op->conn)
		op_ended_on(op->conn, op);
	ep->data.pending--;
	if (op->pooled)
		wf_pool_put_inline(&ep->data.ops, op);
	else
		free(op);
}

/* The error entry names the peer. */
static void op_report_failed(struct rxm_op *op)
{
	struct wf_ep *ep = &op->ep->ep;
	const struct wf_op *failed = &op->op;
	const void *addr = wf_av_addr(ep->av, failed->addr);
	union wf_sockaddr peer = { 0 };

	if (addr)
		memcpy(&peer, addr, WF_MIN(wf_av_addrlen(ep->av), sizeof(peer)));
	wf_ip_op_fail(ep, failed->kind, failed->context, failed->flags, failed->addr,
		op->err, addr ? &peer : NULL);
}

void rxm_op_unref(struct rxm_op *op)
{
	bool quiet;

	if (--op->refs)
		return;
	quiet = op->ep->data.quiet || op->left || (op->conn && op->conn->data.quiet);
	if (wf_unlikely(op->err && !quiet))
		op_report_failed(op);
	else if (wf_likely(!quiet))
		wf_ep_op_end(&op->ep->ep, &op->op, 0);
	op_release(op);
}

void rxm_op_call_done(struct rxm_op *op, int err)
{
	if (wf_unlikely(err && !op->err))
		op->err = err;
	rxm_op_unref(op);
}

void rxm_op_sent(struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_op *op = wf_container_of(call, struct rxm_op, sending.call);

	(void)entry;
	rxm_sending_done(op->ep, &op->sending);
	if (wf_unlikely(err && op->msg_id && !wf_list_empty(&op->work.link))) {
		/* There will be no answer. Without this packet the others would be out
		 * of order, unless the application cancelled it. */
		wf_list_remove(&op->work.link);
		if (err != FI_ECANCELED)
			rxm_conn_fail(op->conn, err);
		rxm_op_call_done(op, err);
	}
	rxm_op_call_done(op, err);
}

ssize_t rxm_op_send_request(struct rxm_conn *conn, struct rxm_op *op, size_t head_len,
	const struct iovec *iov, size_t count, uint64_t flags)
{
	ssize_t ret;

	op->sending.call.done = rxm_op_sent;
	ret = rxm_sending_start(conn, &op->sending, head_len, iov, count, flags);
	if (ret)
		return ret;
	rxm_op_begun(op, conn);
	op->refs++;
	wf_list_push(&conn->data.open, &op->work.link);
	return 0;
}

bool rxm_op_number(struct rxm_op *op)
{
	struct rxm_data *data = &op->ep->data;
	uint32_t number;

	if (op->msg_id)
		return true;
	number = wf_id_map_add(&data->ids, op, MAX_NUMBERS);
	if (!number)
		return false;
	op->msg_id = (uint64_t)++data->generation << 32 | number;
	return true;
}

struct rxm_op *rxm_op_answered(
	struct rxm_conn *conn, uint64_t msg_id, const struct rxm_work_ops *ops)
{
	struct wf_id_map *ids = &conn->ep->data.ids;
	uint32_t number = (uint32_t)msg_id;
	struct rxm_op *op;

	/* The number comes from the peer: it may be invalid. */
	if (!number || number >= ids->capacity || (uintptr_t)ids->at[number] & 1)
		return NULL;
	op = ids->at[number];
	if (op->msg_id != msg_id || op->conn != conn || op->work.ops != ops)
		return NULL;
	wf_id_map_remove(ids, number);
	op->msg_id = 0;
	wf_list_remove(&op->work.link);
	return op;
}

void rxm_op_fail(struct rxm_work *work, int err)
{
	rxm_op_call_done(rxm_op_of(work), err);
}

void rxm_op_free(struct rxm_work *work)
{
	op_release(rxm_op_of(work));
}

bool rxm_op_is_promised(const struct rxm_work *work)
{
	return rxm_op_of(work)->op.flags & FI_INJECT;
}

bool rxm_op_is(const struct rxm_work *work, const struct wf_cancel *which)
{
	const struct rxm_op *op = rxm_op_of(work);

	return !op->conn && wf_op_is_reported(op->op.flags) &&
	       wf_cancel_is(which, op->op.context);
}

const struct wf_op *rxm_op_fresh(const struct rxm_work *work)
{
	const struct rxm_op *op = rxm_op_of(work);

	return op->conn ? NULL : &op->op;
}

static bool op_is_message(const struct wf_op *op)
{
	return op->kind == WF_OP_SEND || op->kind == WF_OP_TSEND;
}

static struct rxm_op *op_new(struct rxm_ep *ep, const struct wf_op *op)
{
	if (op_is_message(op))
		return op_new_with_payload(ep, op, rxm_send_ops(ep, op));
	if (op->atomic)
		return rxm_atomic_new(ep, op);
	return op_new_with_payload(ep, op, &rxm_rma_ops);
}

struct rxm_op *rxm_op_new_left(struct rxm_ep *ep, const struct wf_op *from)
{
	struct wf_op left = *from;
	struct rxm_op *op;

	left.flags = FI_INJECT | (from->flags & FI_REMOTE_CQ_DATA);
	op = op_new(ep, &left);
	if (op)
		op->left = true;
	return op;
}

bool rxm_op_is_left(const struct rxm_work *work)
{
	return work->ops->fresh && work->ops->fresh(work) && rxm_op_of(work)->left;
}

/* May the message complete as soon as it is injected below? A stream would complete it
 * when the system has it, which is at once for the first message after a progress call.
 * The next ones wait for their completion from below: the provider below then knows
 * that the application polls for it, and may gather messages until then. */
static bool op_is_early(const struct rxm_ep *ep)
{
	return ep->data.is_stream && ep->data.early_polls != ep->polls;
}

/* Can the message be injected below, and is it complete then? */
static bool op_is_immediate(const struct rxm_ep *ep, const struct wf_op *op)
{
	const uint64_t later = WF_OP_NOT_SMALL | FI_TRANSMIT_COMPLETE | FI_MORE;

	return op_is_message(op) && !(op->flags & later) &&
	       RXM_HEADER + op->len <= ep->inject_size &&
	       (!wf_op_is_reported(op->flags) || op_is_early(ep));
}

/* Send a message that op_is_immediate(). */
static ssize_t op_send_immediate(struct rxm_conn *conn, const struct wf_op *op)
{
	struct rxm_message msg = rxm_message_of(op);
	struct rxm_ep *ep = conn->ep;
	ssize_t ret = rxm_send_now(conn, &msg, op->iov, op->iov_count);

	if (wf_unlikely(ret))
		return ret;
	if (wf_op_is_reported(op->flags))
		ep->data.early_polls = ep->polls;
	wf_ep_op_end(&ep->ep, op, 0);
	return 0;
}

static int op_check_atomic(struct rxm_ep *ep, const struct wf_op *op)
{
	const struct wf_op_atomic *atomic = op->atomic;
	size_t count;

	if (rxm_atomic_valid(&ep->ep, op->kind, atomic->datatype, atomic->op, &count)) {
		rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"atomic operation refused: operation %d on datatype %d; "
			"possible are up to FI_MSWAP, on up to 8 bytes\n",
			atomic->op, atomic->datatype);
		return -FI_EOPNOTSUPP;
	}
	if (atomic->count <= count)
		return 0;
	rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"atomic operation refused: %zu elements; a packet has room for %zu\n",
		atomic->count, count);
	return -FI_EMSGSIZE;
}

ssize_t rxm_op_queue(struct rxm_ep *ep, struct wf_list *list, const struct wf_op *from)
{
	struct rxm_op *op;

	if (ep->data.pending >= ep->data.size)
		return -FI_EAGAIN;
	op = op_new(ep, from);
	if (!op)
		return -FI_ENOMEM;
	wf_list_push(list, &op->work.link);
	return 0;
}

/* Operations wait for the next connection to @peer. */
static void op_want_next(struct rxm_ep *ep, struct rxm_peer *peer)
{
	wf_remote_wanted(&ep->peers->remotes, &peer->ip.remote);
	wf_remote_schedule(&ep->peers->remotes, &peer->ip.remote);
}

ssize_t rxm_op_wait_for_next(struct rxm_conn *conn, const struct wf_op *op)
{
	ssize_t ret = rxm_op_queue(conn->ep, &conn->peer->ip.remote.pending, op);

	if (!ret)
		op_want_next(conn->ep, conn->peer);
	return ret;
}

void rxm_op_move_to_next(struct rxm_conn *conn, struct rxm_work *work)
{
	wf_list_push(&conn->peer->ip.remote.pending, &work->link);
	op_want_next(conn->ep, conn->peer);
}

/* If the connection has just turned out to be lost, operations that have not begun use
 * the next one. */
static void op_wait_for(struct rxm_conn *conn, struct rxm_op *op)
{
	if (wf_likely(conn->state == RXM_CONN_UP) || op->conn) {
		wf_list_push(&conn->waiting, &op->work.link);
		rxm_conn_resume(conn);
		return;
	}
	rxm_op_move_to_next(conn, &op->work);
}

static ssize_t op_start(struct rxm_conn *conn, const struct wf_op *from)
{
	struct rxm_ep *ep = conn->ep;
	struct rxm_op *op;
	ssize_t ret;

	if (ep->data.pending >= ep->data.size)
		return -FI_EAGAIN;
	op = op_new(ep, from);
	if (!op)
		return -FI_ENOMEM;
	ret = op->work.ops->send(conn, &op->work);
	if (wf_likely(!ret))
		return 0;
	if (ret == -FI_EAGAIN) {
		op_wait_for(conn, op);
		return 0;
	}
	/* The packets that were sent report the operation when their calls end. */
	if (op->refs > 1) {
		rxm_op_fail(&op->work, (int)-ret);
		return 0;
	}
	op_release(op);
	return ret;
}

static ssize_t op_start_on(struct rxm_conn *conn, const struct wf_op *op)
{
	struct rxm_ep *ep = conn->ep;
	ssize_t ret;

	if (!wf_list_empty(&conn->waiting))
		return rxm_op_queue(ep, &conn->waiting, op);
	if (wf_unlikely(rxm_op_must_wait(conn, op))) {
		ret = rxm_op_queue(ep, &conn->waiting, op);
		if (!ret)
			conn->data.fence = conn->waiting.next;
		return ret;
	}
	if (op_is_immediate(ep, op) && !op_send_immediate(conn, op))
		return 0;
	return op_start(conn, op);
}

static ssize_t op_post(struct rxm_ep *ep, struct wf_op *op)
{
	struct rxm_conn *conn;
	struct wf_list *wait;
	ssize_t ret = rxm_route(ep, op->addr, &conn, &wait);

	if (!ret && conn && rxm_local_uses_memory(conn))
		return rxm_memory_post(conn, op);
	if (wf_unlikely(!ret && conn && !rxm_conn_check(conn)))
		ret = rxm_route(ep, op->addr, &conn, &wait);
	if (wf_unlikely(ret))
		return ret;
	return wf_likely(conn != NULL) ? op_start_on(conn, op)
				       : rxm_op_queue(ep, wait, op);
}

ssize_t rxm_start(struct wf_ep *wf, struct wf_op *op)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	ssize_t ret = 0;

	if (wf_unlikely(op->atomic != NULL))
		ret = op_check_atomic(ep, op);
	if (wf_unlikely(ret))
		return ret;
	wf_lock(&ep->ep.lock);
	ret = op_post(ep, op);
	wf_unlock(&ep->ep.lock);
	return ret;
}

size_t rxm_tx_left(struct wf_ep *wf)
{
	const struct rxm_data *data = &rxm_ep_of(wf)->data;

	return data->pending < data->size ? data->size - data->pending : 0;
}

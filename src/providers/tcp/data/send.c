/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/conn/conn.h"
#include "providers/tcp/context.h"
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/peer.h"
#include "objects/local/local.h"
#include "providers/tcp/local/switch.h"

/* Starting of operations that were posted. */

static void send_set_segs(struct tcp_tx *tx, const struct wf_op *op)
{
	tx->rec.seg_count = (uint8_t)op->rma_count;
	for (size_t i = 0; i < op->rma_count; i++)
		tx->rec.seg[i] = op->rma[i];
}

/* Comparands follow the operands: in the copy if the operands are in it. */
static void send_set_compare(struct tcp_tx *tx, const struct wf_op *op)
{
	const struct wf_op_atomic *atomic = op->atomic;
	uint8_t *to = tx->copy + op->len;

	for (size_t i = 0; i < atomic->compare_count; i++) {
		const struct iovec *from = &atomic->compare[i];

		if (!(op->flags & FI_INJECT)) {
			tx->iov[tx->iov_count++] = *from;
			continue;
		}
		memcpy(to, from->iov_base, from->iov_len);
		to += from->iov_len;
	}
	if (atomic->compare_count && op->flags & FI_INJECT)
		tx->iov[0].iov_len += atomic->size;
	if (atomic->compare_count)
		tx->rec.payload_len += atomic->size;
}

/* Set the operands and the buffers for the results. */
static void send_set_atomic(struct tcp_tx *tx, const struct wf_op *op)
{
	const struct wf_op_atomic *atomic = op->atomic;

	tx->rec.atomic_op = (uint8_t)atomic->op;
	tx->rec.datatype = (uint8_t)atomic->datatype;
	tx->rec.payload_len = op->len;
	send_set_compare(tx, op);
	tx->result_count = (uint8_t)atomic->result_count;
	for (size_t i = 0; i < atomic->result_count; i++)
		tx->result[i] = atomic->result[i];
	tx->len = atomic->size;
}

/* Create the record of an operation that cannot be sent at once. */
static struct tcp_tx *send_new_tx(
	struct tcp_ep *ep, struct tcp_source *from, const struct wf_op *op)
{
	struct tcp_tx *tx = tcp_tx_new(from, op);

	if (!tx)
		return NULL;
	tx->rec.context = tcp_context_of(ep, op->addr);
	if (op->rma_count || op->kind == WF_OP_READ || op->kind == WF_OP_WRITE)
		send_set_segs(tx, op);
	if (op->atomic)
		send_set_atomic(tx, op);
	return tx;
}

static bool send_is_send(const struct wf_op *op)
{
	return op->kind == WF_OP_SEND || op->kind == WF_OP_TSEND;
}

/* Called before -FI_EAGAIN is returned: send what is queued, so that it does not wait
 * for a progress call while the application only repeats its call. */
static ssize_t send_try_again(struct tcp_ep *ep)
{
	wf_list_foreach_safe(link, &ep->dirty)
	{
		tcp_tx_flush(wf_list_entry(link, struct tcp_conn, dirty_link));
	}
	return -FI_EAGAIN;
}

static ssize_t tcp_send_queue(struct tcp_ep *ep, struct tcp_source *from,
	struct wf_list *list, const struct wf_op *op)
{
	struct tcp_tx *tx;

	if (from->pending >= from->size)
		return send_try_again(ep);
	tx = send_new_tx(ep, from, op);
	if (!tx)
		return -FI_ENOMEM;
	wf_list_push(list, &tx->link);
	return 0;
}

/* Queue an operation that waits for a connection. */
static ssize_t tcp_send_queue_unconnected(struct tcp_ep *ep, struct tcp_source *from,
	struct wf_list *list, const struct wf_op *op)
{
	wf_ep_want(&ep->ep);
	return tcp_send_queue(ep, from, list, op);
}

/* The peer has ended: queue the operation for the next process at its address. */
static ssize_t send_wait_for_next(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op)
{
	tcp_peer_schedule(conn->ep, conn->peer);
	return tcp_send_queue_unconnected(
		conn->ep, from, &conn->peer->ip.remote.pending, op);
}

static ssize_t send_start_on(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op)
{
	uint64_t before = conn->staged;
	bool more = op->flags & FI_MORE, small = false;
	ssize_t ret = 0;

	if (conn->sent_epoch != conn->ep->epoch && conn->peer && tcp_conn_gone(conn))
		return send_wait_for_next(conn, from, op);
	if (send_is_send(op) &&
		(op->kind != WF_OP_TSEND || conn->wire.have & TCP_HAVE_TAGGED))
		small = tcp_tx_small(conn, from, op);
	if (!small)
		ret = tcp_send_queue(conn->ep, from, &conn->txq, op);
	if (!ret)
		tcp_tx_kick(conn, more);
	/* A restarted peer is noticed by the first message to it, and that message is
	 * sent to the new process. Earlier messages are complete, or have a record that
	 * fails with the connection. */
	if (wf_unlikely(conn->err && conn->peer) && small &&
		tcp_tx_take_back(conn, before))
		ret = send_wait_for_next(conn, from, op);
	return ret;
}

/* Start an operation to a peer that is reached through memory. That the peer has ended
 * is noticed by its socket. */
static ssize_t send_start_below(
	struct tcp_conn *conn, struct tcp_source *from, struct wf_op *op)
{
	ssize_t ret = -FI_ENOTCONN;

	if (wf_likely(!conn->err && !tcp_conn_gone(conn)))
		ret = tcp_switch_start(conn, op);
	return wf_unlikely(ret == -FI_ENOTCONN) ? send_wait_for_next(conn, from, op)
						: ret;
}

ssize_t tcp_post(struct tcp_ep *ep, struct tcp_source *from, struct wf_op *op)
{
	struct tcp_conn *conn;
	struct wf_list *wait;
	ssize_t ret;

	wf_lock(&ep->ep.lock);
	ret = ep->peers ? tcp_peer_route(ep, op->addr, &conn, &wait)
			: tcp_msg_route(ep, &conn, &wait);
	if (wf_likely(!ret))
		ret = wf_likely(conn != NULL)
			      ? send_start_on(conn, from, op)
			      : tcp_send_queue_unconnected(ep, from, wait, op);
	else if (ret == TCP_ROUTE_BELOW)
		ret = send_start_below(conn, from, op);
	wf_unlock(&ep->ep.lock);
	return ret;
}

ssize_t tcp_start(struct wf_ep *wf, struct wf_op *op)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	return tcp_post(ep, &ep->own, op);
}

/* @data: the remote CQ data of the message; NULL: it has none. */
static inline ssize_t send_by_memory(struct wf_ep *wf, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag, const uint64_t *data)
{
	struct tcp_ep *ep = tcp_ep_of(wf);
	struct tcp_conn *conn = NULL;
	ssize_t ret = -FI_EAGAIN;

	/* relaxed: an estimate; the lock orders what follows. */
	if (!atomic_load_explicit(&ep->memory_conns, memory_order_relaxed) ||
		wf_unlikely(!wf_trylock(&wf->lock)))
		return ret;
	if (wf_likely(!(addr & ep->context_bits)))
		conn = tcp_peer_memory_conn(ep, addr);
	if (conn)
		ret = wf_local_send(
			ep->below, conn->local->below, kind, buf, len, tag, data);
	wf_unlock(&wf->lock);
	return ret;
}

ssize_t tcp_send_small(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	return send_by_memory(wf, kind, buf, len, addr, tag, NULL);
}

ssize_t tcp_send_small_data(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	return send_by_memory(wf, kind, buf, len, addr, tag, &data);
}

size_t tcp_source_left(const struct tcp_source *from)
{
	return from->pending < from->size ? from->size - from->pending : 0;
}

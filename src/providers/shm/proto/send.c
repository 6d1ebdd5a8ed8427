/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/pieces.h"
#include "providers/shm/proto/remote_op.h"
#include "providers/shm/proto/small.h"
#include "providers/shm/proto/tx.h"
#include "sys/copy.h"

/* Starting of operations that were posted: written at once, or queued. */

static inline uint8_t send_message_kind(const struct wf_op *op)
{
	return op->kind == WF_OP_TSEND ? SHM_REC_TAGGED : SHM_REC_MSG;
}

/* Fill the slot of a message, except its payload and its head, which publishes it. */
static inline struct shm_slot *send_open_slot(
	struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_slot *slot = shm_writer_slot(&conn->out);

	slot->word = op->tag;
	slot->data = op->data;
	return slot;
}

/* Publish the slot of a message, and complete the message. */
static inline void send_close_slot(struct shm_conn *conn, struct shm_slot *slot,
	const struct wf_op *op, uint8_t flags, size_t len)
{
	struct shm_ep *ep = conn->ep;

	if (op->flags & FI_REMOTE_CQ_DATA)
		flags |= SHM_FLAG_DATA;
	shm_writer_commit(&conn->out, slot, send_message_kind(op), flags, len);
	shm_out_wake(conn);
	wf_ep_op_end(&ep->ep, op, 0);
}

/* Write a message whose payload goes through the byte ring. False: the ring has no
 * space. */
static bool send_write_bytes(struct shm_conn *conn, const struct wf_op *op)
{
	uint32_t len = (uint32_t)op->len;
	bool ahead = shm_reuse_begin(conn, len);
	struct shm_slot *slot;
	uint8_t *to, flags;

	to = shm_writer_bytes(&conn->out, len, &flags);
	if (wf_unlikely(!to) && shm_out_has_space_slow(conn))
		to = shm_writer_bytes(&conn->out, len, &flags);
	if (!to)
		return false;
	/* The slot is written last, because the reader polls its cache line all the
	 * time. */
	(void)wf_iov_gather(to, op->iov, op->iov_count);
	slot = send_open_slot(conn, op);
	shm_out_describe(conn, slot, len, 0);
	shm_writer_bytes_done(&conn->out, flags, len);
	send_close_slot(conn, slot, op, flags, 0);
	if (ahead)
		shm_reuse_prefetch(conn, len);
	if (len >= SHM_REUSE_MIN)
		shm_reuse_count(conn, len);
	return true;
}

/* Write a message that is longer than a slot: in pieces if the peer waits for it, else
 * as a whole. False: no space. */
static bool send_write_long(struct shm_conn *conn, const struct wf_op *op)
{
	if (!shm_pieces_write(conn, op))
		return send_write_bytes(conn, op);
	wf_ep_op_end(&conn->ep->ep, op, 0);
	return true;
}

/* Write a message that is complete once it is in the lane. False: it has to be
 * queued. */
static inline bool send_write_message(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_slot *slot;

	if (!conn->queue.idle || !shm_out_has_space(conn))
		return false;
	if (op->len > SHM_INLINE_MAX)
		return shm_out_is_eager(op->len, op->flags) &&
		       send_write_long(conn, op);
	slot = send_open_slot(conn, op);
	(void)wf_iov_gather(slot->blob, op->iov, op->iov_count);
	send_close_slot(conn, slot, op, 0, op->len);
	return true;
}

/* Queue @op on @list, where it waits for space in the lane, or for a connection. 0;
 * -FI_EAGAIN: the transmit queue is full; -FI_ENOMEM. */
static ssize_t shm_send_queue(
	struct shm_ep *ep, struct wf_list *list, const struct wf_op *op)
{
	struct shm_tx *tx;

	if (ep->tx.pending >= ep->tx.size)
		return -FI_EAGAIN;
	tx = shm_tx_new(ep, op);
	if (!tx)
		return -FI_ENOMEM;
	wf_list_push(list, &tx->link);
	return 0;
}

/* Queue an operation that waits for a connection. */
static ssize_t shm_send_queue_unconnected(
	struct shm_ep *ep, struct wf_list *list, const struct wf_op *op)
{
	wf_ep_want(&ep->ep);
	return shm_send_queue(ep, list, op);
}

static ssize_t send_queue_on(struct shm_conn *conn, const struct wf_op *op)
{
	ssize_t ret = shm_send_queue(conn->ep, &conn->queue.txq, op);

	if (!ret)
		shm_out_dirty(conn);
	/* -FI_EAGAIN: the operation is not queued, but a flush may make space for the
	 * next call. Progress calls go on with a copy: an application that reads
	 * completions of operations which this call ended might make none. */
	if ((!ret || ret == -FI_EAGAIN) && conn->queue.held != SHM_HELD_COPYING)
		shm_out_flush(conn);
	return ret;
}

/* Queue a message. If nothing is before it, its record mostly is in the lane when this
 * returns. */
static ssize_t send_queue_message(struct shm_conn *conn, const struct wf_op *op)
{
	ssize_t ret;

	if (!conn->queue.idle)
		return send_queue_on(conn, op);
	ret = shm_send_queue(conn->ep, &conn->queue.txq, op);
	if (!ret)
		(void)shm_out_send_ops(conn);
	if (!wf_list_empty(&conn->queue.txq))
		shm_out_dirty(conn);
	return ret;
}

/* Write a message of at most SHM_INLINE_MAX bytes; the lane has a free slot. */
static inline void send_write_small(struct shm_conn *conn, enum wf_op_kind kind,
	uint8_t flags, const void *buf, size_t len, uint64_t tag, uint64_t data)
{
	struct shm_slot *slot = shm_writer_slot(&conn->out);

	slot->word = tag;
	if (flags)
		slot->data = data;
	wf_copy_small(slot->blob, buf, len);
	shm_writer_commit(&conn->out, slot,
		kind == WF_OP_TSEND ? SHM_REC_TAGGED : SHM_REC_MSG, flags, len);
}

/* Send a small message, with remote CQ data if @flags is SHM_FLAG_DATA: waits for the
 * lock, loads the reader's position, wakes the reader. */
static inline ssize_t send_small(struct wf_ep *wf, enum wf_op_kind kind, uint8_t flags,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	struct shm_conn *conn;
	ssize_t ret = -FI_EAGAIN;

	wf_lock(&wf->lock);
	conn = shm_peer_conn(shm_ep_of(wf), addr);
	if (wf_likely(conn && conn->queue.idle && shm_out_has_space(conn))) {
		send_write_small(conn, kind, flags, buf, len, tag, data);
		shm_out_wake(conn);
		ret = 0;
	}
	wf_unlock(&wf->lock);
	return ret;
}

/* The slow path of shm_send_small. */
static __attribute__((noinline)) ssize_t send_small_slow(struct wf_ep *wf,
	enum wf_op_kind kind, const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	return send_small(wf, kind, 0, buf, len, addr, tag, 0);
}

ssize_t shm_send_small_data(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	return send_small(wf, kind, SHM_FLAG_DATA, buf, len, addr, tag, data);
}

/* Fast path. The slow path is a tail call, so that the fast path saves no registers for
 * it. */
ssize_t shm_send_small(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	struct shm_conn *conn;

	if (wf_unlikely(!wf_trylock(&wf->lock)))
		return send_small_slow(wf, kind, buf, len, addr, tag);
	conn = shm_peer_conn(shm_ep_of(wf), addr);
	if (wf_unlikely(!conn || !conn->queue.idle || conn->wake ||
			!shm_writer_slots(&conn->out))) {
		wf_unlock(&wf->lock);
		return send_small_slow(wf, kind, buf, len, addr, tag);
	}
	send_write_small(conn, kind, 0, buf, len, tag, 0);
	wf_unlock(&wf->lock);
	return 0;
}

/* Start an RMA or atomic operation: at once, on the peer's memory or through the lane;
 * or queue it. */
static ssize_t send_start_access(struct shm_conn *conn, const struct wf_op *op)
{
	enum shm_started how = shm_remote_start(conn, op);
	ssize_t ret = 0;

	if (how == SHM_STARTED)
		return 0;
	if (how == SHM_START_LANE && shm_small_start(conn, op, &ret))
		return ret;
	return send_queue_on(conn, op);
}

ssize_t shm_start(struct wf_ep *wf, struct wf_op *op)
{
	struct shm_ep *ep = shm_ep_of(wf);
	struct shm_conn *conn;
	struct wf_list *wait;
	ssize_t ret;

	wf_lock(&wf->lock);
	ret = shm_peer_route(ep, op->addr, &conn, &wait);
	if (wf_unlikely(ret))
		goto out;
	if (wf_unlikely(!conn))
		ret = op->flags & WF_OP_REACHED
			      ? -FI_ENOTCONN
			      : shm_send_queue_unconnected(ep, wait, op);
	else if (op->kind != WF_OP_TSEND && op->kind != WF_OP_SEND)
		ret = send_start_access(conn, op);
	else if (op->flags & WF_OP_NOT_SMALL || !send_write_message(conn, op))
		ret = send_queue_message(conn, op);
out:
	wf_unlock(&wf->lock);
	return ret;
}

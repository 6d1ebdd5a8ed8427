/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/parts.h"
#include "providers/shm/proto/remote_op.h"
#include "providers/shm/proto/request.h"
#include "providers/shm/proto/verdict.h"
#include "providers/shm/proto/withdraw.h"

/* Writes the application's operations into the lane. */

static int out_op_settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	shm_tx_settle_later(conn, tx);
	return SHM_SENT;
}

/* Allocate a token for the message; SHM_TOKENS: none is free, and only the sender
 * may move the payload. */
static uint32_t out_op_alloc_token(struct shm_conn *conn, struct shm_tx *tx)
{
	uint32_t at;

	if (conn->waits.tokens == UINT64_MAX)
		return SHM_TOKENS;
	at = (uint32_t)__builtin_ctzll(~conn->waits.tokens);
	conn->waits.tokens |= 1ull << at;
	tx->token = (uint8_t)(at + 1);
	atomic_store_explicit(&conn->segment->tokens[conn->out_lane][at].id, tx->id,
		memory_order_relaxed);
	return at;
}

/* Describe the payload of @tx, which has an id, and allocate a token for it;
 * SHM_TOKENS: none is free. From now on the peer may answer. */
static void out_op_fill_rts(
	struct shm_conn *conn, struct shm_tx *tx, struct shm_rts *ret)
{
	*ret = (struct shm_rts){ .id = tx->id,
		.len = tx->local.len,
		.token = out_op_alloc_token(conn, tx),
		.count = tx->local.count };
	tx->asked = true;
	for (unsigned int i = 0; i < tx->local.count; i++) {
		ret->iov[i].base = (uintptr_t)tx->local.iov[i].iov_base;
		ret->iov[i].len = tx->local.iov[i].iov_len;
	}
}

static int out_op_send_rts(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_rts rts;
	struct shm_blob blob;

	/* No id without space: until then the message can be cancelled. */
	if (!shm_blob_begin(conn, &blob, sizeof(rts)) || !shm_tx_need_id(conn, tx))
		return SHM_FULL;
	out_op_fill_rts(conn, tx, &rts);
	memcpy(blob.at, &rts, sizeof(rts));
	shm_blob_end(conn, &blob,
		tx->op == WF_OP_TSEND ? SHM_REC_TAGGED_RTS : SHM_REC_RTS,
		shm_request_data_flag(tx) | (shm_tx_wants_ack(tx) ? SHM_FLAG_ACK : 0),
		tx->tag, tx->data);
	return out_op_settle_later(conn, tx);
}

static int out_op_send_message(struct shm_conn *conn, struct shm_tx *tx)
{
	uint8_t flags = shm_request_data_flag(tx);
	size_t head = 0;
	struct shm_blob blob;

	if (!shm_out_is_eager(tx->local.len, tx->op_flags))
		return out_op_send_rts(conn, tx);
	if (tx->op_flags & FI_MATCH_COMPLETE)
		flags |= SHM_FLAG_MATCH;
	else if (tx->op_flags & FI_DELIVERY_COMPLETE)
		flags |= SHM_FLAG_ACK;
	if (flags & (SHM_FLAG_MATCH | SHM_FLAG_ACK)) {
		if (!shm_tx_need_id(conn, tx))
			return SHM_FULL;
		head = sizeof(uint64_t);
	}
	if (!shm_blob_begin(conn, &blob, head + tx->local.len))
		return SHM_FULL;
	memcpy(blob.at, &tx->id, head);
	(void)shm_span_get(conn->ep, &tx->local, 0, blob.at + head, tx->local.len);
	shm_blob_end(conn, &blob, tx->op == WF_OP_TSEND ? SHM_REC_TAGGED : SHM_REC_MSG,
		flags, tx->tag, tx->data);
	if (head)
		return out_op_settle_later(conn, tx);
	wf_list_remove(&tx->link);
	shm_tx_complete(conn->ep, tx);
	return SHM_SENT;
}

/* Has @tx a fence, and is an earlier operation unanswered? */
static bool out_op_is_fenced(const struct shm_conn *conn, const struct shm_tx *tx)
{
	uint32_t own = tx->id != 0;

	return tx->op_flags & FI_FENCE && !tx->begun &&
	       (conn->waits.unsettled > own || shm_verdict_is_due(conn));
}

/* Tell the target of the operation, which this endpoint has performed, if it wants to
 * be told; then it is complete, or waits for an acknowledgement. */
static int out_op_end_performed(
	struct shm_conn *conn, struct shm_tx *tx, const struct wf_op *op)
{
	struct shm_step step = { .tell = tx->request.tell };
	bool tells = shm_remote_tells(op, &step);
	bool waits = tells && shm_remote_wants_ack(op);

	if (waits && !shm_tx_need_id(conn, tx))
		return SHM_FULL;
	if (tells && !shm_remote_tell(conn, op, waits ? tx->id : SHM_ID_NONE))
		return SHM_FULL;
	if (waits)
		return out_op_settle_later(conn, tx);
	shm_tx_settle(conn, tx, 0);
	return SHM_SENT;
}

static int out_op_hold(struct shm_conn *conn, enum shm_held why)
{
	conn->queue.held = (uint8_t)why;
	return SHM_WAITS;
}

/* Perform the next step of @op, which is @tx, on the peer's memory, or write the
 * request. */
static int out_op_perform(
	struct shm_conn *conn, struct shm_tx *tx, const struct wf_op *op)
{
	struct shm_step step = { .done = tx->done, .tell = tx->request.tell };
	uint64_t end = step.done ? step.done + SHM_REMOTE_STEP : SHM_REMOTE_FIRST;
	enum shm_reach reach = SHM_REACH_MEMORY;

	if (!step.done) {
		reach = shm_remote_judge(conn, op, &step);
		tx->parts.are_sent = reach == SHM_REACH_MEMORY &&
				     shm_parts_is_possible(conn, op, &step);
	}
	if (tx->parts.are_sent && !shm_withdraw_is_silent(conn))
		return shm_parts_send(conn, tx);
	/* Requests keep their order in the lane. */
	if (reach != SHM_REACH_LANE && !step.done && !shm_remote_is_in_order(conn))
		return out_op_hold(conn, SHM_HELD_ORDER);
	if (reach == SHM_REACH_MEMORY)
		reach = shm_remote_perform(conn, op, end, &step);
	if (reach == SHM_REACH_REFUSED) {
		shm_tx_settle(conn, tx, step.err);
		return SHM_SENT;
	}
	tx->request.by_lane = reach == SHM_REACH_LANE;
	tx->done = tx->request.by_lane ? 0 : step.done;
	if (tx->request.by_lane) {
		/* All of it again, if it was sent in parts before. */
		tx->begun = tx->parts.are_sent = false;
		return shm_request_whole(conn, tx);
	}
	tx->request.tell = step.tell;
	tx->request.is_performed = op->atomic || tx->done == tx->local.len;
	wf_progress_found_some(&conn->ep->ep.progress);
	return tx->request.is_performed ? out_op_end_performed(conn, tx, op)
					: out_op_hold(conn, SHM_HELD_COPYING);
}

static int out_op_send_rma(struct shm_conn *conn, struct shm_tx *tx)
{
	struct wf_op_atomic atomic;
	struct wf_op op;

	if (tx->request.by_lane)
		return shm_request_whole(conn, tx);
	shm_tx_describe(tx, &op, &atomic);
	if (tx->request.is_performed)
		return out_op_end_performed(conn, tx, &op);
	return out_op_perform(conn, tx, &op);
}

static int out_op_send_op(struct shm_conn *conn, struct shm_tx *tx)
{
	if (wf_unlikely(out_op_is_fenced(conn, tx)))
		return SHM_WAITS;
	if (tx->op == WF_OP_SEND || tx->op == WF_OP_TSEND)
		return out_op_send_message(conn, tx);
	return out_op_send_rma(conn, tx);
}

bool shm_out_send_ops(struct shm_conn *conn)
{
	int ret = SHM_SENT;

	conn->queue.held = SHM_HELD_NOT;
	if (shm_withdraw_is_asking(conn))
		return true;
	while (!wf_list_empty(&conn->queue.txq) && ret == SHM_SENT && !conn->err)
		ret = out_op_send_op(
			conn, wf_list_entry(conn->queue.txq.next, struct shm_tx, link));
	return ret != SHM_FULL;
}

bool shm_out_may_send_ops(struct shm_conn *conn)
{
	return !conn->err && !conn->queue.held && !conn->patience.is_asking &&
	       !wf_list_empty(&conn->queue.txq) &&
	       !out_op_is_fenced(
		       conn, wf_list_entry(conn->queue.txq.next, struct shm_tx, link));
}

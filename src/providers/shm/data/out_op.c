/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/data/out.h"
#include "providers/shm/data/parts.h"
#include "providers/shm/data/remote.h"
#include "providers/shm/data/verdict.h"
#include "providers/shm/data/withdraw.h"

/* Writes the application's operations into the lane. */

static uint8_t data_flag(const struct shm_tx *tx)
{
	return tx->op_flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0;
}

bool shm_out_need_id(struct shm_conn *conn, struct shm_tx *tx)
{
	if (tx->id)
		return true;
	tx->id = shm_id_new(conn, SHM_ID_TX, tx);
	if (tx->id)
		conn->unsettled++;
	else
		shm_conn_fail(conn, FI_ENOMEM);
	return tx->id != 0;
}

int shm_out_settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	wf_list_remove(&tx->link);
	wf_list_push(&conn->settling, &tx->link);
	return SHM_SENT;
}

/* Allocate a token for the message; SHM_TOKENS: none is free, and only the sender
 * may move the payload. */
static uint32_t alloc_token(struct shm_conn *conn, struct shm_tx *tx)
{
	uint32_t at;

	if (conn->tokens == UINT64_MAX)
		return SHM_TOKENS;
	at = (uint32_t)__builtin_ctzll(~conn->tokens);
	conn->tokens |= 1ull << at;
	tx->token = (uint8_t)(at + 1);
	atomic_store_explicit(&conn->region->tokens[conn->out_lane][at].id, tx->id,
		memory_order_relaxed);
	return at;
}

void shm_out_fill_rts(struct shm_conn *conn, struct shm_tx *tx, struct shm_rts *ret)
{
	*ret = (struct shm_rts){ .id = tx->id,
		.len = tx->local.len,
		.token = alloc_token(conn, tx),
		.count = tx->local.count };
	tx->asked = true;
	for (unsigned int i = 0; i < tx->local.count; i++) {
		ret->iov[i].base = (uintptr_t)tx->local.iov[i].iov_base;
		ret->iov[i].len = tx->local.iov[i].iov_len;
	}
}

static int send_rts(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_rts rts;
	struct shm_blob blob;

	/* No id without space: until then the message can be cancelled. */
	if (!shm_blob_begin(conn, &blob, sizeof(rts)) || !shm_out_need_id(conn, tx))
		return SHM_FULL;
	shm_out_fill_rts(conn, tx, &rts);
	memcpy(blob.at, &rts, sizeof(rts));
	shm_blob_end(conn, &blob,
		tx->op == WF_OP_TSEND ? SHM_REC_TAGGED_RTS : SHM_REC_RTS,
		data_flag(tx) | (shm_tx_wants_ack(tx) ? SHM_FLAG_ACK : 0), tx->tag,
		tx->data);
	return shm_out_settle_later(conn, tx);
}

static int send_message(struct shm_conn *conn, struct shm_tx *tx)
{
	uint8_t flags = data_flag(tx);
	size_t head = 0;
	struct shm_blob blob;

	if (!shm_out_is_eager(tx->local.len, tx->op_flags))
		return send_rts(conn, tx);
	if (tx->op_flags & FI_MATCH_COMPLETE)
		flags |= SHM_FLAG_MATCH;
	else if (tx->op_flags & FI_DELIVERY_COMPLETE)
		flags |= SHM_FLAG_ACK;
	if (flags & (SHM_FLAG_MATCH | SHM_FLAG_ACK)) {
		if (!shm_out_need_id(conn, tx))
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
		return shm_out_settle_later(conn, tx);
	wf_list_remove(&tx->link);
	shm_tx_complete(conn->ep, tx);
	return SHM_SENT;
}

/* Write the id, the segments, @payload bytes of operands and the comparands. */
int shm_out_send_access(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload)
{
	size_t segs = tx->seg_count * sizeof(tx->seg[0]);
	size_t compare = wf_iov_len(tx->compare, tx->compare_count);
	struct shm_blob blob;
	uint8_t *to;

	if (!shm_out_need_id(conn, tx) ||
		!shm_blob_begin(conn, &blob, sizeof(tx->id) + segs + payload + compare))
		return SHM_FULL;
	memcpy(blob.at, &tx->id, sizeof(tx->id));
	to = blob.at + sizeof(tx->id);
	memcpy(to, tx->seg, segs);
	to += segs;
	if (payload)
		to += wf_iov_gather(to, tx->local.iov, tx->local.count);
	(void)wf_iov_gather(to, tx->compare, tx->compare_count);
	if (tx->op <= WF_OP_WRITE && tx->seg_count == 1 && !flags)
		shm_withdraw_begin(conn, tx);
	shm_blob_end(conn, &blob, kind, flags | data_flag(tx),
		shm_access_word(tx->seg_count, tx->datatype, tx->atomic_op), tx->data);
	return SHM_SENT;
}

int shm_out_send_piece(
	struct shm_conn *conn, struct shm_tx *tx, uint64_t word, int *ret_err)
{
	size_t len = WF_MIN(tx->local.len - tx->done, (uint64_t)SHM_CHUNK);
	struct shm_blob blob;

	if (!shm_blob_begin(conn, &blob, len))
		return SHM_FULL;
	*ret_err = shm_span_get(conn->ep, &tx->local, tx->done, blob.at, len);
	if (*ret_err)
		return SHM_FULL;
	shm_blob_end(conn, &blob, SHM_REC_DATA, 0, word, 0);
	tx->done += len;
	wf_progress_found_some(&conn->ep->ep.progress);
	return SHM_SENT;
}

/* Write a queued write operation of any length. It is sent before the operations behind
 * it, so that they keep their order. The peer acknowledges it. */
static int send_write(struct shm_conn *conn, struct shm_tx *tx)
{
	bool stream = tx->local.len > SHM_CHUNK;
	int ret, err = 0;

	if (!tx->begun) {
		ret = shm_out_send_access(conn, tx, SHM_REC_WRITE,
			stream ? SHM_FLAG_MORE : 0, stream ? 0 : tx->local.len);
		if (ret != SHM_SENT || !stream)
			return ret == SHM_SENT ? shm_out_settle_later(conn, tx) : ret;
		tx->begun = true;
	}
	while (tx->done < tx->local.len) {
		ret = shm_out_send_piece(conn, tx, 0, &err);
		if (ret != SHM_SENT)
			return ret;
	}
	return shm_out_settle_later(conn, tx);
}

static int send_other(struct shm_conn *conn, struct shm_tx *tx)
{
	size_t payload = tx->op == WF_OP_READ ? 0 : tx->local.len;
	int ret = shm_out_send_access(conn, tx, shm_access_kinds[tx->op], 0, payload);

	return ret == SHM_SENT ? shm_out_settle_later(conn, tx) : ret;
}

/* Has @tx a fence, and is an earlier operation unanswered? */
static bool is_fenced(const struct shm_conn *conn, const struct shm_tx *tx)
{
	uint32_t own = tx->id != 0;

	return tx->op_flags & FI_FENCE && !tx->begun &&
	       (conn->unsettled > own || shm_verdict_is_due(conn));
}

/* Tell the target of the operation, which this endpoint has performed, if it wants to
 * be told; then it is complete, or waits for an acknowledgement. */
static int end_performed(
	struct shm_conn *conn, struct shm_tx *tx, const struct wf_op *op)
{
	struct shm_step step = { .tell = tx->tell };
	bool tells = shm_remote_tells(op, &step);
	bool waits = tells && shm_remote_wants_ack(op);

	if (waits && !shm_out_need_id(conn, tx))
		return SHM_FULL;
	if (tells && !shm_remote_tell(conn, op, waits ? tx->id : SHM_ID_NONE))
		return SHM_FULL;
	if (waits)
		return shm_out_settle_later(conn, tx);
	shm_tx_settle(conn, tx, 0);
	return SHM_SENT;
}

static int hold(struct shm_conn *conn, enum shm_held why)
{
	conn->held = (uint8_t)why;
	return SHM_WAITS;
}

static int send_request(struct shm_conn *conn, struct shm_tx *tx)
{
	return tx->op == WF_OP_WRITE ? send_write(conn, tx) : send_other(conn, tx);
}

/* Perform the next step of @op, which is @tx, on the peer's memory, or write the
 * request. */
static int perform(struct shm_conn *conn, struct shm_tx *tx, const struct wf_op *op)
{
	struct shm_step step = { .done = tx->done, .tell = tx->tell };
	uint64_t end = step.done ? step.done + SHM_REMOTE_STEP : SHM_REMOTE_FIRST;
	enum shm_reach reach = SHM_REACH_MEMORY;

	if (!step.done) {
		reach = shm_remote_judge(conn, op, &step);
		tx->in_parts = reach == SHM_REACH_MEMORY &&
			       shm_parts_is_possible(conn, op, &step);
	}
	if (tx->in_parts && !shm_withdraw_is_silent(conn))
		return shm_parts_send(conn, tx);
	/* Requests keep their order in the lane. */
	if (reach != SHM_REACH_LANE && !step.done && !shm_remote_is_in_order(conn))
		return hold(conn, SHM_HELD_ORDER);
	if (reach == SHM_REACH_MEMORY)
		reach = shm_remote_perform(conn, op, end, &step);
	if (reach == SHM_REACH_REFUSED) {
		shm_tx_settle(conn, tx, step.err);
		return SHM_SENT;
	}
	tx->by_lane = reach == SHM_REACH_LANE;
	tx->done = tx->by_lane ? 0 : step.done;
	if (tx->by_lane) {
		/* All of it again, if it was sent in parts before. */
		tx->begun = tx->in_parts = false;
		return send_request(conn, tx);
	}
	tx->tell = step.tell;
	tx->is_performed = op->atomic || tx->done == tx->local.len;
	wf_progress_found_some(&conn->ep->ep.progress);
	return tx->is_performed ? end_performed(conn, tx, op)
				: hold(conn, SHM_HELD_COPYING);
}

static int send_rma(struct shm_conn *conn, struct shm_tx *tx)
{
	struct wf_op_atomic atomic;
	struct wf_op op;

	if (tx->by_lane)
		return send_request(conn, tx);
	shm_tx_describe(tx, &op, &atomic);
	if (tx->is_performed)
		return end_performed(conn, tx, &op);
	return perform(conn, tx, &op);
}

static int send_op(struct shm_conn *conn, struct shm_tx *tx)
{
	if (wf_unlikely(is_fenced(conn, tx)))
		return SHM_WAITS;
	if (tx->op == WF_OP_SEND || tx->op == WF_OP_TSEND)
		return send_message(conn, tx);
	return send_rma(conn, tx);
}

bool shm_out_send_ops(struct shm_conn *conn)
{
	int ret = SHM_SENT;

	conn->held = SHM_HELD_NOT;
	if (shm_withdraw_is_asking(conn))
		return true;
	while (!wf_list_empty(&conn->txq) && ret == SHM_SENT && !conn->err)
		ret = send_op(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
	return ret != SHM_FULL;
}

bool shm_out_may_send_ops(struct shm_conn *conn)
{
	return !conn->err && !conn->held && !conn->patience.is_asking &&
	       !wf_list_empty(&conn->txq) &&
	       !is_fenced(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
}

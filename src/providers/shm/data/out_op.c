/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/data/out.h"

/* Writes the application's operations into the lane. */

static uint8_t data_flag(const struct shm_tx *tx)
{
	return tx->op_flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0;
}

static bool need_id(struct shm_conn *conn, struct shm_tx *tx)
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

/* The operation now waits for the peer's answer, which contains its id. */
static int settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	wf_list_remove(&tx->link);
	wf_list_push(&conn->settling, &tx->link);
	return SHM_SENT;
}

static bool is_small(const struct shm_tx *tx)
{
	return tx->local.len <= shm_params.eager_size || tx->op_flags & FI_INJECT;
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

static int send_rts(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_rts rts = { .len = tx->local.len, .count = tx->local.count };
	struct shm_blob blob;

	if (!need_id(conn, tx) || !shm_blob_begin(conn, &blob, sizeof(rts)))
		return SHM_FULL;
	tx->asked = true;
	rts.id = tx->id;
	rts.token = alloc_token(conn, tx);
	for (unsigned int i = 0; i < tx->local.count; i++) {
		rts.iov[i].base = (uintptr_t)tx->local.iov[i].iov_base;
		rts.iov[i].len = tx->local.iov[i].iov_len;
	}
	memcpy(blob.at, &rts, sizeof(rts));
	shm_blob_end(conn, &blob,
		tx->op == WF_OP_TSEND ? SHM_REC_TAGGED_RTS : SHM_REC_RTS,
		data_flag(tx) | (shm_tx_wants_ack(tx) ? SHM_FLAG_ACK : 0), tx->tag,
		tx->data);
	return settle_later(conn, tx);
}

static int send_message(struct shm_conn *conn, struct shm_tx *tx)
{
	uint8_t flags = data_flag(tx);
	size_t head = 0;
	struct shm_blob blob;

	if (!is_small(tx))
		return send_rts(conn, tx);
	if (tx->op_flags & FI_MATCH_COMPLETE)
		flags |= SHM_FLAG_MATCH;
	else if (tx->op_flags & FI_DELIVERY_COMPLETE)
		flags |= SHM_FLAG_ACK;
	if (flags & (SHM_FLAG_MATCH | SHM_FLAG_ACK)) {
		if (!need_id(conn, tx))
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
		return settle_later(conn, tx);
	wf_list_remove(&tx->link);
	shm_tx_complete(conn->ep, tx);
	return SHM_SENT;
}

/* Write the id, the segments, @payload bytes of operands and the comparands. */
static int send_access(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload)
{
	size_t segs = tx->seg_count * sizeof(tx->seg[0]);
	size_t compare = wf_iov_len(tx->compare, tx->compare_count);
	struct shm_blob blob;
	uint8_t *to;

	if (!need_id(conn, tx) ||
		!shm_blob_begin(conn, &blob, sizeof(tx->id) + segs + payload + compare))
		return SHM_FULL;
	memcpy(blob.at, &tx->id, sizeof(tx->id));
	to = blob.at + sizeof(tx->id);
	memcpy(to, tx->seg, segs);
	to += segs;
	if (payload)
		to += wf_iov_gather(to, tx->local.iov, tx->local.count);
	(void)wf_iov_gather(to, tx->compare, tx->compare_count);
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
		ret = send_access(conn, tx, SHM_REC_WRITE, stream ? SHM_FLAG_MORE : 0,
			stream ? 0 : tx->local.len);
		if (ret != SHM_SENT || !stream)
			return ret == SHM_SENT ? settle_later(conn, tx) : ret;
		tx->begun = true;
	}
	while (tx->done < tx->local.len) {
		ret = shm_out_send_piece(conn, tx, 0, &err);
		if (ret != SHM_SENT)
			return ret;
	}
	return settle_later(conn, tx);
}

static int send_other(struct shm_conn *conn, struct shm_tx *tx)
{
	size_t payload = tx->op == WF_OP_READ ? 0 : tx->local.len;
	int ret = send_access(conn, tx, shm_access_kinds[tx->op], 0, payload);

	return ret == SHM_SENT ? settle_later(conn, tx) : ret;
}

/* Has @tx a fence, and is an earlier operation unanswered? */
static bool is_fenced(const struct shm_conn *conn, const struct shm_tx *tx)
{
	return tx->op_flags & FI_FENCE && !tx->begun && conn->unsettled &&
	       !(tx->id && conn->unsettled == 1);
}

static int send_op(struct shm_conn *conn, struct shm_tx *tx)
{
	if (wf_unlikely(is_fenced(conn, tx)))
		return SHM_WAITS;
	switch ((enum wf_op_kind)tx->op) {
	case WF_OP_SEND:
	case WF_OP_TSEND:
		return send_message(conn, tx);
	case WF_OP_WRITE:
		return send_write(conn, tx);
	default:
		return send_other(conn, tx);
	}
}

bool shm_out_send_ops(struct shm_conn *conn)
{
	int ret = SHM_SENT;

	while (!wf_list_empty(&conn->txq) && ret == SHM_SENT && !conn->err)
		ret = send_op(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
	return ret != SHM_FULL;
}

bool shm_out_may_send_ops(const struct shm_conn *conn)
{
	return !conn->err && !wf_list_empty(&conn->txq) &&
	       !is_fenced(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
}

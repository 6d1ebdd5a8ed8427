/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "objects/endpoint/life/target.h"
#include "providers/shm/conn/conn.h"

/*
 * Writes queued records into a lane, as far as there is space. The bytes of a record
 * are put together in the lane itself.
 */

enum {
	/* Bytes of one piece of a stream: the peer reads a piece while the next is
	 * written. */
	CHUNK = 16 << 10,
	ACKS_MAX = SHM_INLINE_MAX / sizeof(uint64_t),
};

/* Results of sending: written; no space in the lane; or a fence that waits for earlier
 * operations. */
enum { SENT, FULL, WAITS };

bool shm_out_has_space_slow(struct shm_conn *conn)
{
	if (!shm_writer_refresh(&conn->out)) {
		shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"connection to %s closed: it says that it read what was never "
			"sent\n",
			shm_conn_name(conn));
		shm_conn_fail(conn, FI_EPROTO);
		return false;
	}
	return shm_writer_slots(&conn->out) > 0;
}

void shm_out_ring(struct shm_conn *conn, _Atomic uint32_t *asleep)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(asleep, memory_order_relaxed))
		return;
	atomic_store_explicit(asleep, 0, memory_order_relaxed);
	/* A socket without space has woken the peer often enough. */
	(void)!send(conn->watch.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void shm_out_wake_slow(struct shm_conn *conn)
{
	shm_out_ring(conn, &conn->out.lane->reader.armed);
}

void shm_out_dirty(struct shm_conn *conn)
{
	conn->idle = false;
	conn->ep->chores = true;
	if (!wf_list_empty(&conn->dirty_link))
		return;
	wf_list_push(&conn->ep->dirty, &conn->dirty_link);
	shm_poll_soon(conn->ep);
}

/* ---- one record ---- */

struct blob {
	uint8_t *at;
	struct shm_slot *slot;
	size_t len;
	uint8_t flags;
};

/* Space for a record with a blob of @len bytes. */
static bool begin(struct shm_conn *conn, struct blob *blob, size_t len)
{
	if (!shm_out_has_space(conn))
		return false;
	blob->slot = shm_writer_slot(&conn->out);
	blob->len = len;
	blob->flags = 0;
	blob->at = blob->slot->blob;
	if (len <= SHM_INLINE_MAX)
		return true;
	blob->at = shm_writer_bytes(&conn->out, len, &blob->flags);
	if (!blob->at && shm_out_has_space_slow(conn))
		blob->at = shm_writer_bytes(&conn->out, len, &blob->flags);
	return blob->at != NULL;
}

static void end(struct shm_conn *conn, const struct blob *blob, uint8_t kind,
	uint8_t flags, uint64_t word, uint64_t data)
{
	uint32_t len = (uint32_t)blob->len;

	blob->slot->word = word;
	blob->slot->data = data;
	if (blob->flags) {
		memcpy(blob->slot->blob, &len, sizeof(len));
		shm_writer_bytes_done(&conn->out, blob->flags, len);
	}
	shm_writer_commit(&conn->out, blob->slot, kind, flags | blob->flags,
		blob->flags ? 0 : len);
	shm_out_wake(conn);
}

/* ---- answers ---- */

static bool send_acks(struct shm_conn *conn)
{
	uint32_t done = 0;
	struct blob blob;

	while (done < conn->ack_count) {
		size_t n = WF_MIN(conn->ack_count - done, (uint32_t)ACKS_MAX);

		if (!begin(conn, &blob, n * sizeof(uint64_t)))
			break;
		wf_copy_small(blob.at, conn->acks + done, blob.len);
		end(conn, &blob, SHM_REC_ACK, 0, 0, 0);
		done += (uint32_t)n;
	}
	conn->ack_count -= done;
	if (conn->ack_count)
		memmove(conn->acks, conn->acks + done,
			conn->ack_count * sizeof(*conn->acks));
	return !conn->ack_count;
}

void shm_out_acks(struct shm_conn *conn)
{
	if (!conn->idle || !send_acks(conn))
		shm_out_dirty(conn);
}

void shm_out_answer(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *from, size_t len)
{
	struct blob blob;

	/* Earlier acknowledgements are sent before the answer. */
	if (!conn->idle || (conn->ack_count && !send_acks(conn)) ||
		!begin(conn, &blob, len)) {
		shm_tx_answer(conn, kind, word, from, len);
		return;
	}
	shm_copy(blob.at, from, len);
	end(conn, &blob, kind, 0, word, 0);
}

static bool send_answers(struct shm_conn *conn)
{
	struct blob blob;

	while (!wf_list_empty(&conn->answers)) {
		struct shm_tx *tx =
			wf_list_entry(conn->answers.next, struct shm_tx, link);

		if (!begin(conn, &blob, tx->copy_len))
			return false;
		if (tx->copy_len)
			memcpy(blob.at, tx->copy, tx->copy_len);
		end(conn, &blob, tx->kind, 0, tx->tag, 0);
		wf_list_remove(&tx->link);
		conn->answer_count--;
		shm_tx_free(conn->ep, tx);
	}
	return true;
}

/* ---- operations ---- */

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

/* From now on the operation waits for the peer's answer, by its id. */
static int settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	wf_list_remove(&tx->link);
	wf_list_push(&conn->settling, &tx->link);
	return SENT;
}

static bool is_small(const struct shm_tx *tx)
{
	return tx->local.len <= shm_params.eager_size || tx->op_flags & FI_INJECT;
}

static bool wants_ack(const struct shm_tx *tx)
{
	return tx->op_flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE);
}

/* Take a free claim word for the message; SHM_CLAIMS: none is free, and only the sender
 * may move the payload. */
static uint32_t claim(struct shm_conn *conn, struct shm_tx *tx)
{
	uint32_t at;

	if (conn->claims == UINT64_MAX)
		return SHM_CLAIMS;
	at = (uint32_t)__builtin_ctzll(~conn->claims);
	conn->claims |= 1ull << at;
	tx->claim = (uint8_t)(at + 1);
	atomic_store_explicit(
		&conn->region->claims[conn->side][at], tx->id, memory_order_relaxed);
	return at;
}

static int send_rts(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_rts rts = { .len = tx->local.len, .count = tx->local.count };
	struct blob blob;

	if (!need_id(conn, tx) || !begin(conn, &blob, sizeof(rts)))
		return FULL;
	tx->asked = true;
	rts.id = tx->id;
	rts.claim = claim(conn, tx);
	for (unsigned int i = 0; i < tx->local.count; i++) {
		rts.iov[i].base = (uintptr_t)tx->local.iov[i].iov_base;
		rts.iov[i].len = tx->local.iov[i].iov_len;
	}
	memcpy(blob.at, &rts, sizeof(rts));
	end(conn, &blob, tx->op == WF_OP_TSEND ? SHM_REC_TAGGED_RTS : SHM_REC_RTS,
		data_flag(tx) | (wants_ack(tx) ? SHM_FLAG_ACK : 0), tx->tag, tx->data);
	return settle_later(conn, tx);
}

static int send_message(struct shm_conn *conn, struct shm_tx *tx)
{
	uint8_t flags = data_flag(tx);
	size_t head = 0;
	struct blob blob;

	if (!is_small(tx))
		return send_rts(conn, tx);
	if (tx->op_flags & FI_MATCH_COMPLETE)
		flags |= SHM_FLAG_MATCH;
	else if (tx->op_flags & FI_DELIVERY_COMPLETE)
		flags |= SHM_FLAG_ACK;
	if (flags & (SHM_FLAG_MATCH | SHM_FLAG_ACK)) {
		if (!need_id(conn, tx))
			return FULL;
		head = sizeof(uint64_t);
	}
	if (!begin(conn, &blob, head + tx->local.len))
		return FULL;
	memcpy(blob.at, &tx->id, head);
	(void)shm_span_get(conn->ep, &tx->local, 0, blob.at + head, tx->local.len);
	end(conn, &blob, tx->op == WF_OP_TSEND ? SHM_REC_TAGGED : SHM_REC_MSG, flags,
		tx->tag, tx->data);
	if (head)
		return settle_later(conn, tx);
	wf_list_remove(&tx->link);
	shm_tx_complete(conn->ep, tx);
	return SENT;
}

/* Write id, segments, @payload bytes of operands and the comparands. */
static int send_access(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload)
{
	size_t segs = tx->seg_count * sizeof(tx->seg[0]);
	size_t compare = wf_iov_len(tx->compare, tx->compare_count);
	struct blob blob;
	uint8_t *to;

	if (!need_id(conn, tx) ||
		!begin(conn, &blob, sizeof(tx->id) + segs + payload + compare))
		return FULL;
	memcpy(blob.at, &tx->id, sizeof(tx->id));
	to = blob.at + sizeof(tx->id);
	memcpy(to, tx->seg, segs);
	to += segs;
	if (payload)
		to += wf_iov_gather(to, tx->local.iov, tx->local.count);
	(void)wf_iov_gather(to, tx->compare, tx->compare_count);
	end(conn, &blob, kind, flags | data_flag(tx),
		shm_access_word(tx->seg_count, tx->datatype, tx->atomic_op), tx->data);
	return SENT;
}

/* Write a piece of a stream. FULL: no space, or the memory is no longer registered
 * (*ret_err). */
static int send_piece(
	struct shm_conn *conn, struct shm_tx *tx, uint64_t word, int *ret_err)
{
	size_t len = WF_MIN(tx->local.len - tx->done, (uint64_t)CHUNK);
	struct blob blob;

	if (!begin(conn, &blob, len))
		return FULL;
	*ret_err = shm_span_get(conn->ep, &tx->local, tx->done, blob.at, len);
	if (*ret_err)
		return FULL;
	end(conn, &blob, SHM_REC_DATA, 0, word, 0);
	tx->done += len;
	wf_progress_found_some(&conn->ep->ep.progress);
	return SENT;
}

/* A queued write of any length, which goes before the operations behind it, so that
 * they keep their order. The peer answers it. */
static int send_write(struct shm_conn *conn, struct shm_tx *tx)
{
	bool stream = tx->local.len > CHUNK;
	int ret, err = 0;

	if (!tx->begun) {
		ret = send_access(conn, tx, SHM_REC_WRITE, stream ? SHM_FLAG_MORE : 0,
			stream ? 0 : tx->local.len);
		if (ret != SENT || !stream)
			return ret == SENT ? settle_later(conn, tx) : ret;
		tx->begun = true;
	}
	while (tx->done < tx->local.len) {
		ret = send_piece(conn, tx, 0, &err);
		if (ret != SENT)
			return ret;
	}
	return settle_later(conn, tx);
}

static int send_other(struct shm_conn *conn, struct shm_tx *tx)
{
	size_t payload = tx->op == WF_OP_READ ? 0 : tx->local.len;
	int ret = send_access(conn, tx, shm_access_kinds[tx->op], 0, payload);

	return ret == SENT ? settle_later(conn, tx) : ret;
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
		return WAITS;
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

/* Send operations in their order; false: no space. */
static bool send_ops(struct shm_conn *conn)
{
	int ret = SENT;

	while (!wf_list_empty(&conn->txq) && ret == SENT && !conn->err)
		ret = send_op(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
	return ret != FULL;
}

/* ---- messages that were cleared, and reads that we answer ---- */

static void end_stream(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	wf_list_remove(&tx->link);
	if (tx->op == WF_OP_COUNT) {
		uint64_t id = tx->sink;

		conn->answer_count--;
		if (!err && tx->local.remote)
			wf_target_done(&conn->ep->ep, tx->local.seg, tx->local.count,
				FI_RMA | FI_REMOTE_READ, tx->local.len, 0,
				shm_conn_source(conn));
		if (err)
			shm_tx_error(conn, id, -err);
		shm_tx_free(conn->ep, tx);
	} else if (wants_ack(tx)) {
		wf_list_push(&conn->settling, &tx->link);
	} else {
		shm_tx_settle(conn, tx, 0);
	}
}

static bool send_streams(struct shm_conn *conn)
{
	while (!wf_list_empty(&conn->streams) && !conn->err) {
		struct shm_tx *tx =
			wf_list_entry(conn->streams.next, struct shm_tx, link);
		int err = 0;

		while (tx->done < tx->local.len && !err)
			if (send_piece(conn, tx, tx->sink, &err) != SENT && !err)
				return false;
		end_stream(conn, tx, err);
	}
	return true;
}

/* The end of a stream may complete the operation that a fence waited for. */
static bool may_send_ops(const struct shm_conn *conn)
{
	return !conn->err && !wf_list_empty(&conn->txq) &&
	       !is_fenced(conn, wf_list_entry(conn->txq.next, struct shm_tx, link));
}

void shm_out_flush(struct shm_conn *conn)
{
	if (conn->err)
		return;
	do {
		conn->full = !send_acks(conn) || !send_answers(conn) ||
			     !send_ops(conn) || !send_streams(conn);
		if (conn->full)
			return;
	} while (may_send_ops(conn));
	if (conn->ack_count || !wf_list_empty(&conn->answers))
		return; /* the streams added them */
	conn->idle = wf_list_empty(&conn->txq) && !conn->err;
	wf_list_remove(&conn->dirty_link);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/answers.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shm/proto/out.h"

enum { ACKS_MAX = SHM_INLINE_MAX / sizeof(uint64_t) };

/* @tx, an answer to the peer, waits for space, or until the peer has read it; and does
 * not any more. */
static void answer_begin(struct shm_conn *conn, const struct shm_tx *tx)
{
	wf_budget_take(&conn->ep->answers, &conn->queue.answer_bytes,
		sizeof(*tx) + tx->copy_len);
}

static void answer_end(struct shm_conn *conn, const struct shm_tx *tx)
{
	wf_budget_give(&conn->ep->answers, &conn->queue.answer_bytes,
		sizeof(*tx) + tx->copy_len);
}

/* ---- acknowledgements ---- */

void shm_answer_ack(struct shm_conn *conn, uint64_t id)
{
	struct shm_queue *queue = &conn->queue;
	uint32_t capacity = queue->ack_capacity ? queue->ack_capacity * 2 : 64;
	uint64_t *acks;

	if (queue->ack_count == queue->ack_capacity) {
		acks = realloc(queue->acks, capacity * sizeof(*acks));
		if (!acks) {
			shm_conn_fail(conn, FI_ENOMEM);
			return;
		}
		queue->acks = acks;
		queue->ack_capacity = capacity;
	}
	queue->acks[queue->ack_count++] = id;
	if (!conn->polling)
		shm_out_dirty(conn);
}

bool shm_answer_flush_acks(struct shm_conn *conn)
{
	struct shm_queue *queue = &conn->queue;
	uint32_t done = 0;
	struct shm_blob blob;

	while (done < queue->ack_count) {
		size_t n = WF_MIN(queue->ack_count - done, (uint32_t)ACKS_MAX);

		if (!shm_blob_begin(conn, &blob, n * sizeof(uint64_t)))
			break;
		wf_copy_small(blob.at, queue->acks + done, blob.len);
		shm_blob_end(conn, &blob, SHM_REC_ACK, 0, 0, 0);
		done += (uint32_t)n;
	}
	queue->ack_count -= done;
	if (queue->ack_count)
		memmove(queue->acks, queue->acks + done,
			queue->ack_count * sizeof(*queue->acks));
	return !queue->ack_count;
}

void shm_answer_acks(struct shm_conn *conn)
{
	if (!conn->queue.idle || !shm_answer_flush_acks(conn))
		shm_out_dirty(conn);
}

/* ---- answers ---- */

static void answer_queue(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *blob, size_t len)
{
	struct shm_tx *tx = shm_tx_blank(conn->ep);

	if (tx && len)
		tx->copy = malloc(len);
	if (!tx || (len && !tx->copy)) {
		if (tx)
			shm_tx_free(conn->ep, tx);
		shm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	tx->kind = kind;
	tx->tag = word;
	tx->copy_len = len;
	if (len)
		memcpy(tx->copy, blob, len);
	wf_list_push(&conn->queue.answers, &tx->link);
	answer_begin(conn, tx);
	shm_out_dirty(conn);
}

/* Is nothing queued that is sent before an answer? */
static inline bool answer_is_first(const struct shm_conn *conn)
{
	return conn->queue.idle || (!conn->err && wf_list_empty(&conn->queue.answers));
}

void shm_answer_send(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *from, size_t len)
{
	struct shm_blob blob;

	/* Earlier acknowledgements are sent before the answer. */
	if (!answer_is_first(conn) ||
		(conn->queue.ack_count && !shm_answer_flush_acks(conn)) ||
		!shm_blob_begin(conn, &blob, len)) {
		answer_queue(conn, kind, word, from, len);
		return;
	}
	shm_copy(blob.at, from, len);
	shm_blob_end(conn, &blob, kind, 0, word, 0);
}

void shm_answer_error(struct shm_conn *conn, uint64_t id, int err)
{
	uint32_t code = (uint32_t)err;

	shm_answer_send(conn, SHM_REC_ERROR, id, &code, sizeof(code));
}

bool shm_answer_flush(struct shm_conn *conn)
{
	struct wf_list *answers = &conn->queue.answers;
	struct shm_blob blob;

	while (!wf_list_empty(answers)) {
		struct shm_tx *tx = shm_tx_of(answers->next);

		if (!shm_blob_begin(conn, &blob, tx->copy_len))
			return false;
		if (tx->copy_len)
			memcpy(blob.at, tx->copy, tx->copy_len);
		shm_blob_end(conn, &blob, tx->kind, 0, tx->tag, 0);
		wf_list_remove(&tx->link);
		answer_end(conn, tx);
		shm_tx_free(conn->ep, tx);
	}
	return true;
}

/* ---- streams ---- */

struct shm_tx *shm_answer_stream(struct shm_conn *conn, uint64_t sink)
{
	struct shm_tx *tx = shm_tx_blank(conn->ep);

	if (!tx) {
		shm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	tx->sink = sink;
	answer_begin(conn, tx);
	wf_list_push(&conn->queue.streams, &tx->link);
	shm_out_dirty(conn);
	return tx;
}

void shm_answer_stream_end(struct shm_conn *conn, const struct shm_tx *tx)
{
	answer_end(conn, tx);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/data/out.h"

/* Acknowledgements and answers to the peer. */

enum { ACKS_MAX = SHM_INLINE_MAX / sizeof(uint64_t) };

bool shm_out_send_acks(struct shm_conn *conn)
{
	uint32_t done = 0;
	struct shm_blob blob;

	while (done < conn->ack_count) {
		size_t n = WF_MIN(conn->ack_count - done, (uint32_t)ACKS_MAX);

		if (!shm_blob_begin(conn, &blob, n * sizeof(uint64_t)))
			break;
		wf_copy_small(blob.at, conn->acks + done, blob.len);
		shm_blob_end(conn, &blob, SHM_REC_ACK, 0, 0, 0);
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
	if (!conn->idle || !shm_out_send_acks(conn))
		shm_out_dirty(conn);
}

/* Is nothing queued that is sent before an answer? */
static inline bool is_first(const struct shm_conn *conn)
{
	return conn->idle || (!conn->err && wf_list_empty(&conn->answers));
}

void shm_out_answer(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *from, size_t len)
{
	struct shm_blob blob;

	/* Earlier acknowledgements are sent before the answer. */
	if (!is_first(conn) || (conn->ack_count && !shm_out_send_acks(conn)) ||
		!shm_blob_begin(conn, &blob, len)) {
		shm_tx_answer(conn, kind, word, from, len);
		return;
	}
	shm_copy(blob.at, from, len);
	shm_blob_end(conn, &blob, kind, 0, word, 0);
}

bool shm_out_send_answers(struct shm_conn *conn)
{
	struct shm_blob blob;

	while (!wf_list_empty(&conn->answers)) {
		struct shm_tx *tx =
			wf_list_entry(conn->answers.next, struct shm_tx, link);

		if (!shm_blob_begin(conn, &blob, tx->copy_len))
			return false;
		if (tx->copy_len)
			memcpy(blob.at, tx->copy, tx->copy_len);
		shm_blob_end(conn, &blob, tx->kind, 0, tx->tag, 0);
		wf_list_remove(&tx->link);
		shm_answer_end(conn, tx);
		shm_tx_free(conn->ep, tx);
	}
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_OUT_H
#define SHM_OUT_H

#include <string.h>

#include "providers/shm/data/reuse.h"

/*
 * Functions that the files which write records into a lane share. The bytes of a record
 * are assembled in the lane itself. ep.lock held.
 */

/* Bytes of one piece of a stream: the peer reads a piece while the next one is written.
 */
enum { SHM_CHUNK = 16 << 10 };

/* Results of sending: the record was written; no space in the lane; a fence waits for
 * earlier operations. */
enum { SHM_SENT, SHM_FULL, SHM_WAITS };

/* Describe the blob of @len bytes in the byte ring, in the record's slot. @total:
 * length of the message in bytes, with SHM_FLAG_MORE. */
static inline void shm_out_describe(const struct shm_conn *conn, struct shm_slot *slot,
	uint32_t len, uint32_t total)
{
	slot->bytes.len = len;
	slot->bytes.total = total;
	if (len < SHM_POSITION_MIN)
		return;
	slot->bytes.read_bytes = conn->in.done_pos;
	slot->bytes.read_slots = conn->in.next - 1;
}

/* Is a message of @len bytes sent at once? @flags: of the operation. */
static inline bool shm_out_is_eager(size_t len, uint64_t flags)
{
	return len <= shm_params.eager_size || flags & FI_INJECT;
}

/* A record that is being written. */
struct shm_blob {
	uint8_t *at;
	struct shm_slot *slot;
	size_t len;
	uint8_t flags;
};

/* Get the space for a record with a blob of @len bytes. False: no space. */
static inline bool shm_blob_begin(
	struct shm_conn *conn, struct shm_blob *blob, size_t len)
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

/* The blob is written: publish the record, and wake the peer. */
static inline void shm_blob_end(struct shm_conn *conn, const struct shm_blob *blob,
	uint8_t kind, uint8_t flags, uint64_t word, uint64_t data)
{
	uint32_t len = (uint32_t)blob->len;

	blob->slot->word = word;
	blob->slot->data = data;
	if (blob->flags) {
		shm_out_describe(conn, blob->slot, len, 0);
		shm_writer_bytes_done(&conn->out, blob->flags, len);
	}
	shm_writer_commit(&conn->out, blob->slot, kind, flags | blob->flags,
		blob->flags ? 0 : len);
	shm_out_wake(conn);
	if (len >= SHM_REUSE_MIN)
		shm_reuse_count(conn, len);
}

/* out_op.c: give the operation an id. False: no memory, and the connection failed. */
bool shm_out_need_id(struct shm_conn *conn, struct shm_tx *tx);
/* Describe the payload of @tx, which has an id, and allocate a token for it;
 * SHM_TOKENS: none is free. From now on the peer may answer. */
void shm_out_fill_rts(struct shm_conn *conn, struct shm_tx *tx, struct shm_rts *ret);
/* Write a request of kind @kind: the id, the segments, @payload bytes of operands and
 * the comparands. SHM_SENT or SHM_FULL. */
int shm_out_send_access(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload);
/* The operation now waits for the peer's answer, which contains its id. Returns
 * SHM_SENT. */
int shm_out_settle_later(struct shm_conn *conn, struct shm_tx *tx);

/* Does the operation need an acknowledgement that the message was received, or matched?
 */
static inline bool shm_tx_wants_ack(const struct shm_tx *tx)
{
	return tx->op_flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE);
}

/* out_answer.c: write the queued acknowledgements, and the queued answers. False: no
 * space. */
bool shm_out_send_acks(struct shm_conn *conn);
bool shm_out_send_answers(struct shm_conn *conn);

/* out_op.c: write the queued operations in order. False: no space. */
bool shm_out_send_ops(struct shm_conn *conn);
/* Can the next operation be written? The end of a stream may complete the operation
 * that its fence waited for. */
bool shm_out_may_send_ops(struct shm_conn *conn);
/* Write a piece of a stream. SHM_FULL: no space, or the memory is no longer registered
 * (*ret_err is a negative fi_errno). */
int shm_out_send_piece(
	struct shm_conn *conn, struct shm_tx *tx, uint64_t word, int *ret_err);

/* out_stream.c: write the payloads of messages that have a clear to send, and of reads
 * that this endpoint answers. False: no space. */
bool shm_out_send_streams(struct shm_conn *conn);

#endif

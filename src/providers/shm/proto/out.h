/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_OUT_H
#define WF_SHM_PROTO_OUT_H

#include <string.h>

#include "providers/shm/conn/reuse.h"

/*
 * Writing records into the lane, at once or when it has space again. The bytes of a
 * record are assembled in the lane itself. ep.lock held.
 */

/* Results of sending: the record was written; no space in the lane; a fence waits for
 * earlier operations. */
enum { SHM_SENT, SHM_FULL, SHM_WAITS };

/* Let progress calls write what is queued. */
void shm_out_dirty(struct shm_conn *conn);
/* There is something to poll that no descriptor reports: let sleeps end soon. */
void shm_out_poll_soon(struct shm_ep *ep);
/* Wake the peer after a store for which it may sleep, if *@asleep is 1, which the peer
 * sets in the segment before it sleeps. A full fence orders this endpoint's store
 * before its load of *@asleep; the peer's full fence (shm_arm) orders its store of that
 * word before its load of what this endpoint stored. */
void shm_out_ring(struct shm_conn *conn, _Atomic uint32_t *asleep);
/* Wake the peer if it sleeps; has to be called after every commit. */
void shm_out_wake_slow(struct shm_conn *conn);
/* Report the position of this endpoint's reader, and wake a writer that sleeps until
 * there is space. */
void shm_out_tell(struct shm_conn *conn);
/* Load the reader's position. False: it is impossible, and the connection failed. */
bool shm_out_refresh(struct shm_conn *conn);
bool shm_out_has_space_slow(struct shm_conn *conn);

/* Is a slot of the lane free? */
static inline bool shm_out_has_space(struct shm_conn *conn)
{
	return wf_likely(shm_writer_slots(&conn->out) > 0) ||
	       shm_out_has_space_slow(conn);
}

static inline void shm_out_wake(struct shm_conn *conn)
{
	if (wf_unlikely(conn->wake))
		shm_out_wake_slow(conn);
}

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

/* flush.c: write what is queued, as far as there is space. */
void shm_out_flush(struct shm_conn *conn);
/* out_op.c: write the queued operations in order. False: no space. */
bool shm_out_send_ops(struct shm_conn *conn);
/* Can the next operation be written? The end of a stream may complete the operation
 * that its fence waited for. */
bool shm_out_may_send_ops(struct shm_conn *conn);
/* out_stream.c: write the payloads of messages that have a clear to send, and of reads
 * that this endpoint answers. False: no space. */
bool shm_out_send_streams(struct shm_conn *conn);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_BULK_H
#define SHM_BULK_H

#include "providers/shm/conn/conn.h"

/* What bulk.c, bulk_pull.c, bulk_stream.c and share.c have in common. ep.lock held. */

/* Claim @claim of the messages that the writer of lane @lane of the region sends. */
static inline struct shm_claim *shm_bulk_claim(
	struct shm_conn *conn, unsigned int lane, uint32_t claim)
{
	return &conn->region->claims[lane][claim];
}

/* The claim of a message that is received; sink->claim is less than SHM_CLAIMS. */
static inline struct shm_claim *shm_bulk_sink_claim(const struct shm_sink *sink)
{
	return shm_bulk_claim(sink->conn, !sink->conn->out_lane, sink->claim);
}

/* Decide that this end moves the payload of message @id. False: the other end does. */
static inline bool shm_bulk_take_claim(struct shm_claim *claim, uint64_t id)
{
	return atomic_compare_exchange_strong_explicit(
		&claim->id, &id, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* Bytes of the payload that are received. */
static inline uint64_t shm_bulk_len(const struct shm_sink *sink)
{
	return WF_MIN(sink->len, sink->to.len);
}

/* The buffers behind the first @offset bytes of @iov, at most @max bytes; returns their
 * number. */
size_t shm_bulk_rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to);
/* This endpoint took the claim, and reads the payload alone. */
void shm_bulk_pull_alone(struct shm_sink *sink);

/* share.c, the receiver's part. It took the claim, and asks the sender to help. */
void shm_share_begin(struct shm_sink *sink);
/* The pieces that were taken are here: take the next one. False: there is none left. */
bool shm_share_next(struct shm_sink *sink);
/* Has the sender written all that it took? shm_share_next was false. */
bool shm_share_is_over(struct shm_sink *sink);
/* The sender shall write no more. When this returns, it writes nothing. */
void shm_share_revoke(struct shm_sink *sink);

/* Have the sender write the payload into the lane. */
void shm_bulk_clear(struct shm_sink *sink);
/* The payload of a message is complete. */
void shm_bulk_finish(struct shm_sink *sink);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_BULK_H
#define SHM_BULK_H

#include "providers/shm/conn/conn.h"

/* Functions that bulk.c, bulk_pull.c and bulk_stream.c share. ep.lock held. */

/* The token with index @token for messages that the writer of lane @lane of the
 * region sends. */
static inline struct shm_token *shm_bulk_token(
	struct shm_conn *conn, unsigned int lane, uint32_t token)
{
	return &conn->region->tokens[lane][token];
}

/* The token of a message that is received; sink->token is less than SHM_TOKENS. */
static inline struct shm_token *shm_bulk_sink_token(const struct shm_sink *sink)
{
	return shm_bulk_token(sink->conn, !sink->conn->out_lane, sink->token);
}

/* Take the token: decide that this end moves the payload of message @id. False:
 * the other end moves it. */
static inline bool shm_bulk_take_token(struct shm_token *token, uint64_t id)
{
	return atomic_compare_exchange_strong_explicit(
		&token->id, &id, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* Bytes of the payload that are received. */
static inline uint64_t shm_bulk_len(const struct shm_sink *sink)
{
	return WF_MIN(sink->len, sink->to.len);
}

/* Get the buffers behind the first @offset bytes of @iov, at most @max of them; returns
 * their number. */
size_t shm_bulk_rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to);
/* Is the sum of the lengths of rts->iov[] the length of the payload? */
bool shm_bulk_is_whole(const struct shm_rts *rts);
/* The payload is where the request @rts says. */
void shm_bulk_set_source(struct shm_sink *sink, const struct shm_rts *rts);
/* From now on, progress calls read the payload, or decide whether to. */
void shm_bulk_add_pull(struct shm_sink *sink);
/* Send the clear to send: the sender then writes the payload into the lane. */
void shm_bulk_clear(struct shm_sink *sink);
/* The payload is complete: end the receive. */
void shm_bulk_finish(struct shm_sink *sink);

#endif

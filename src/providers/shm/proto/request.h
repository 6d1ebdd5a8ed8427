/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_REQUEST_H
#define WF_SHM_PROTO_REQUEST_H

#include "providers/shm/proto/tx.h"

/* Requests to the peer for RMA and atomic operations, and pieces of streams. ep.lock
 * held. Functions that write return SHM_SENT or SHM_FULL (proto/out.h). */

/* Bytes of one piece of a stream: the peer reads a piece while the next one is
 * written. */
enum { SHM_CHUNK = 16 << 10 };

/* enum shm_kind of the records of RMA and atomic operations; 0 for messages. */
extern const uint8_t shm_access_kinds[WF_OP_COUNT];

/* Write a request of kind @kind: the id, the segments, @payload bytes of operands and
 * the comparands. */
int shm_request_send(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload);
/* Write the request for the whole operation @tx, which then waits for its answer. A
 * long write is a stream, and its pieces follow. */
int shm_request_whole(struct shm_conn *conn, struct shm_tx *tx);
/* Write a piece of a stream. SHM_FULL: no space, or the memory is no longer registered
 * (*ret_err is a negative fi_errno). */
int shm_request_piece(
	struct shm_conn *conn, struct shm_tx *tx, uint64_t word, int *ret_err);

static inline uint8_t shm_request_data_flag(const struct shm_tx *tx)
{
	return tx->op_flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_ANSWERS_H
#define WF_SHM_PROTO_ANSWERS_H

#include "providers/shm/proto/tx.h"

/* What this endpoint answers to its peers' operations. ep.lock is held. */

/* Send a record of kind @kind with a blob of @len bytes, which is copied: at once if
 * nothing is queued and there is space. If there is no memory, the connection fails. */
void shm_answer_send(struct shm_conn *conn, uint8_t kind, uint64_t word,
	const void *blob, size_t len);
/* Refuse the peer's operation @id with @err, a positive fi_errno. */
void shm_answer_error(struct shm_conn *conn, uint64_t id, int err);
/* Acknowledge it: together with others, when all records that came were read. */
void shm_answer_ack(struct shm_conn *conn, uint64_t id);
/* Queue a stream of DATA records from tx->local, which the caller sets, to the peer's
 * object with the id @sink. NULL: no memory, and the connection failed. */
struct shm_tx *shm_answer_stream(struct shm_conn *conn, uint64_t sink);
/* Such a stream has ended, and does not count as an answer any more. */
void shm_answer_stream_end(struct shm_conn *conn, const struct shm_tx *tx);

/* Send the acknowledgements of the records that were just read. */
void shm_answer_acks(struct shm_conn *conn);

/* Write the queued acknowledgements, and the queued answers. False: no space. */
bool shm_answer_flush_acks(struct shm_conn *conn);
bool shm_answer_flush(struct shm_conn *conn);

#endif

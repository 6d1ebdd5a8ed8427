/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_INCOMING_H
#define WF_SHM_PROTO_INCOMING_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/wire/record.h"

/* Records of the peer, decoded. ep.lock is held. */

/* Decode the record with @head, and learn from it what the peer has read. False: it is
 * malformed, or the peer cannot have read that. */
bool shm_incoming_decode(
	struct shm_conn *conn, uint64_t head, struct shm_record *ret_rec);
/* The record makes no sense: the connection fails with @ret, a negative fi_errno. */
void shm_incoming_refuse(struct shm_conn *conn, const struct shm_record *rec, int ret);
/* Handle the acknowledgements that come next, and no other records. */
void shm_incoming_acks(struct shm_conn *conn);

#endif

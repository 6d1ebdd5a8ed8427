/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_PIECES_H
#define WF_SHM_PROTO_PIECES_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/wire/record.h"

/*
 * Messages that are sent at once and come in pieces: the receiver copies one piece
 * while the sender writes the next one. The first record is that of a message with
 * SHM_FLAG_MORE and the length of all; the other pieces are DATA records with word 0,
 * and no other record of the sender is between them. ep.lock.
 */

/* Write the message of @op, which is complete then. False: it is not of that kind, or
 * the lane has no space for all of its pieces, and nothing was written. */
bool shm_pieces_write(struct shm_conn *conn, const struct wf_op *op);

/* The first piece came, and @entry was matched, or the message is @saved. */
void shm_pieces_begin(struct shm_conn *conn, const struct shm_record *rec,
	struct fi_peer_rx_entry *entry, struct wf_srx_unexpected *saved);

/* A later piece came; shm_pieces_expected is true. */
int shm_pieces_add(struct shm_conn *conn, const struct shm_record *rec);

/* Are there pieces of a message to come? */
static inline bool shm_pieces_expected(const struct shm_conn *conn)
{
	return conn->arriving.coming.left;
}

/* A receive matched the saved message whose pieces are still coming; @entry: the
 * receive. NULL: the message is dropped. */
void shm_pieces_match(struct shm_conn *conn, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry);

/* The connection ends: fail the receive that the pieces were for with @err, or, if
 * @quiet is true, give it up without a completion. */
void shm_pieces_end(struct shm_conn *conn, int err, bool quiet);

#endif

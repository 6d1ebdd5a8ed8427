/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_RX_H
#define WF_SHM_PROTO_RX_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/wire/record.h"

/* Handle the record with @head and those after it, up to a limit; returns their number.
 * The lock of the owner of ep.srx and ep.lock are held, as for all functions here. */
unsigned int shm_rx_from(struct shm_conn *conn, uint64_t head);

static inline unsigned int shm_rx_poll(struct shm_conn *conn)
{
	return shm_rx_from(conn, shm_reader_head(&conn->in));
}

/* Handlers of one kind of record each. They return 0, or the negative fi_errno with
 * which the connection fails: -FI_EPROTO. */

/* recv.c */
int shm_recv_msg(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_rts(struct shm_conn *conn, const struct shm_record *rec);
/* bulk_stream.c */
int shm_recv_cts(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_data(struct shm_conn *conn, const struct shm_record *rec);
/* access.c */
int shm_recv_performed(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_gone(struct shm_conn *conn, const struct shm_record *rec);
/* Handle a write in one slot, without flags, to one segment with a single piece of
 * memory. False: shm_recv_write has to handle it. */
bool shm_recv_small_write(struct shm_conn *conn, uint64_t head);
int shm_recv_write(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_read(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_atomic(struct shm_conn *conn, const struct shm_record *rec);
/* results.c */
int shm_recv_resp(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_ack(struct shm_conn *conn, const struct shm_record *rec);
int shm_recv_error(struct shm_conn *conn, const struct shm_record *rec);

#endif

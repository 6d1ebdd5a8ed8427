/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_DATA_STAGE_H
#define WF_TCP_DATA_STAGE_H

#include "providers/tcp/conn/conn.h"

/* Functions that tx.c, which adds records to the stream, and flush.c, which sends them,
 * share. ep.lock held. */

/* Add queued records to the stage while they fit; a record that does not fit becomes
 * conn->cur. */
void tcp_tx_fill(struct tcp_conn *conn);
/* The last byte of the record @tx is in the stage or was taken by the kernel. */
void tcp_tx_sent(struct tcp_conn *conn, struct tcp_tx *tx);
/* The kernel took @len bytes of the stage. */
void tcp_stage_sent(struct tcp_conn *conn, size_t len);
/* Give an empty stage back to the endpoint, so that idle connections have none. */
void tcp_stage_put(struct tcp_conn *conn);

#endif

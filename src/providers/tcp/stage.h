/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_STAGE_H
#define TCP_STAGE_H

#include "providers/tcp/conn.h"

/* Between tx.c, where records take their place in the stream, and flush.c, which gives
 * them to the socket. ep.lock held. */

/* Records into the stage, as many as fit; one that goes from where it is: conn->cur. */
void tcp_tx_fill(struct tcp_conn *conn);
/* The last byte of @tx is in the stage or in the kernel. */
void tcp_tx_sent(struct tcp_conn *conn, struct tcp_tx *tx);
/* The kernel has @len bytes more of the stage. */
void tcp_stage_sent(struct tcp_conn *conn, size_t len);
/* An empty stage goes back, so that quiet connections have none. */
void tcp_stage_put(struct tcp_conn *conn);

#endif

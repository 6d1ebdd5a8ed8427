/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_UNREAD_H
#define TCP_LOCAL_UNREAD_H

#include "providers/tcp/conn/conn.h"

/*
 * Messages that a process which died left unread. In memory a message is complete for
 * the application before the peer has begun to receive it, whatever its completion
 * level. Over a socket it would have failed, or waited for the next process at the
 * peer's address. So it waits for that process here, before all operations that were
 * posted later, and its end is not reported again. ep.lock and the lock of the owner of
 * ep.srx are held.
 */

/* End the connection below to @below, the peer of @conn, as tcp_below_remove, and queue
 * what the peer left unread for the next connection. */
void tcp_unread_take_over(struct tcp_conn *conn, fi_addr_t below, int err);

/* @conn ends before it has sent all messages that wait for it since the last process:
 * they wait for the next connection. */
void tcp_unread_keep(struct tcp_conn *conn);

#endif

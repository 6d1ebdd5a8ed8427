/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_UNREAD_H
#define TCP_LOCAL_UNREAD_H

#include "providers/tcp/conn/conn.h"

/*
 * Messages that a process left unread in memory when it died. In memory a message is
 * complete for the application before the peer has begun to receive it, whatever its
 * completion level. Over a socket it would have failed, or waited for the next process
 * at the peer's address. So it waits for that process here, before all operations that
 * were posted later, and its end is not reported again. ep.lock and the lock of the
 * owner of ep.srx are held.
 */

/* End the connection below to @below, the peer of @conn, with the positive fi_errno
 * @err, as wf_local_remove. If @err is not 0, the messages that the peer left unread
 * are queued for the next connection. */
void tcp_unread_take_over(struct tcp_conn *conn, fi_addr_t below, int err);

/* @conn ends: messages that an earlier process left unread and that @conn has not sent
 * are queued for the next connection. */
void tcp_unread_keep(struct tcp_conn *conn);

#endif

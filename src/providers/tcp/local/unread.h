/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_LOCAL_UNREAD_H
#define WF_TCP_LOCAL_UNREAD_H

#include "providers/tcp/conn/conn.h"

/* Messages that a process left unread in memory when it died (objects/local/unread.h).
 * ep.lock and the lock of the owner of ep.srx are held. */

/* End the connection below to @below, the peer of @conn, with the positive fi_errno
 * @err, as wf_local_take_over. */
void tcp_unread_take_over(struct tcp_conn *conn, fi_addr_t below, int err);

/* @conn ends: messages that an earlier process left unread and that @conn has not sent
 * are queued for the next connection. */
void tcp_unread_keep(struct tcp_conn *conn);

#endif

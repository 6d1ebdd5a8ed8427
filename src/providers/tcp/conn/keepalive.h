/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CONN_KEEPALIVE_H
#define WF_TCP_CONN_KEEPALIVE_H

#include "providers/tcp/conn/conn.h"

/* Detection of hosts that vanished; ep.lock held. */

/* Fail connections whose peers do not acknowledge the bytes that were sent. */
void tcp_keepalive_check(struct tcp_ep *ep, uint64_t now);
/* Time (wf_now_ns) of the next check; UINT64_MAX: all bytes were acknowledged. */
uint64_t tcp_keepalive_deadline(struct tcp_ep *ep);

/* Send a byte, so that the peer's kernel resets a connection that it no longer has. */
void tcp_conn_probe(struct tcp_conn *conn);

/*
 * Called before a send after a pause: has the peer closed the connection meanwhile? The
 * kernel would take the message, and it would be lost. True: it has, and the connection
 * has failed.
 */
bool tcp_conn_gone(struct tcp_conn *conn);

/* The kernel took bytes: check later that the peer acknowledges them. */
static inline void tcp_conn_owes(struct tcp_conn *conn)
{
	if (wf_likely(!wf_list_empty(&conn->owing_link)))
		return;
	wf_list_push(&conn->ep->owing, &conn->owing_link);
	if (conn->ep->watches.sleepers)
		wf_watches_expect(&conn->ep->watches, tcp_keepalive_deadline(conn->ep));
}

#endif

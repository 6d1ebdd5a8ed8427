/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_KEEPALIVE_H
#define TCP_KEEPALIVE_H

#include "providers/tcp/conn.h"

/* Hosts that vanish; ep.lock held. */

/* Find connections whose peers do not acknowledge what was sent. */
void tcp_keepalive_check(struct tcp_ep *ep, uint64_t now);
/* Time of the next check by wf_now_ns; UINT64_MAX: nothing is owed. */
uint64_t tcp_keepalive_deadline(struct tcp_ep *ep);

/* Find out soon whether the other end still has this connection. */
void tcp_conn_probe(struct tcp_conn *conn);

/*
 * About to send, after a pause: has the other end closed it meanwhile? The kernel would
 * take the message, and it would be lost. True: it failed, use another.
 */
bool tcp_conn_gone(struct tcp_conn *conn);

/* Bytes of it went to the kernel. */
static inline void tcp_conn_owes(struct tcp_conn *conn)
{
	if (wf_likely(!wf_list_empty(&conn->owing_link)))
		return;
	wf_list_push(&conn->ep->owing, &conn->owing_link);
	if (conn->ep->watches.sleepers)
		wf_watches_expect(&conn->ep->watches, tcp_keepalive_deadline(conn->ep));
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_SWITCH_H
#define TCP_LOCAL_SWITCH_H

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/way.h"

/*
 * When the operations to a peer go by memory instead of the connection
 * (docs/tcp-local.md). Each direction of a connection switches by itself, when nothing
 * is under way in it: its sender writes a marker into its page, whose answer says that
 * everything before was received and that the receiver knows the sender below. An
 * operation that is posted before the answer goes by the connection, and makes the
 * marker void. So nothing is held back, and nothing is under way on both ways. ep.lock
 * guards all of this; functions but those of tcp_post are called with the lock of the
 * owner of ep.srx, too.
 */

enum tcp_out {
	TCP_OUT_SOCKET, /* by the connection, for good */
	TCP_OUT_WAITS,  /* the same, until an idle moment */
	TCP_OUT_ASKED,  /* a marker was sent, and nothing since */
	TCP_OUT_MEMORY, /* by memory, for good */
};

/* Both ends of @conn have proven that they share memory. */
void tcp_switch_begin(struct tcp_conn *conn);
/* The connection ends, as its operations do: tcp_conn_end. */
void tcp_switch_end(struct tcp_conn *conn, int err);
/* @conn has failed: is it too early to end it? The peer has closed the socket, but not
 * its end of the memory. A process that dies closes both, one after the other; one that
 * lives may receive more. What it leaves unread is known only then, and goes to the
 * next connection, which has to wait so long; but not for a peer that does nothing. */
bool tcp_switch_lingers(struct tcp_conn *conn);
/* Look for markers and answers in the page of the peer, which has proven itself. */
void tcp_switch_look(struct tcp_conn *conn);
/* Send a marker if one is due and the connection is idle: from progress. */
void tcp_switch_tick(struct tcp_conn *conn);

/* An operation is about to be sent: if it is a message that nothing waits for, put a
 * marker behind it, if one is due. The peer then reads both at once, and its answer is
 * here before that to the message: so an exchange of single messages, which is never
 * idle, switches as well. */
void tcp_switch_behind(struct tcp_conn *conn);

/* tcp_post: an operation is posted to the peer of @conn, which has no route. Does it go
 * by memory, to tcp_switch_start? Else by @conn. */
bool tcp_switch_goes_below(struct tcp_conn *conn);
/* Start @op at that peer. Contract as struct wf_xfer_ops.start. */
ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op);

/* Is the socket's traffic over, at least of one direction? Then it is polled seldom. */
static inline bool tcp_switch_rests(const struct tcp_conn *conn)
{
	const struct tcp_way *way = conn->way;

	return way && (way->in || way->out == TCP_OUT_MEMORY);
}

#endif

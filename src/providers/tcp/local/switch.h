/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_LOCAL_SWITCH_H
#define WF_TCP_LOCAL_SWITCH_H

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/local.h"

/*
 * When the operations to a peer change over from the connection to the endpoint below
 * (docs/design/local.md). Each direction of a connection switches by itself, when
 * nothing is under way in it: its sender writes a marker into its page, and the answer
 * means that everything before the marker was received and that the receiver knows the
 * sender below. An operation that is posted before the answer uses the connection, and
 * makes the marker void. So no operation is delayed, and never is one under way on both
 * transports. ep.lock guards all of this; all functions but tcp_switch_goes_below and
 * tcp_switch_start are called with the lock of the owner of ep.srx held, too.
 */

enum tcp_out {
	TCP_OUT_SOCKET, /* through the connection, for good */
	TCP_OUT_WAITS,  /* through the connection, until it is idle */
	TCP_OUT_ASKED,  /* a marker was sent, and nothing since */
	TCP_OUT_MEMORY, /* through memory, for good */
};

/* Both ends of @conn have proven that they share memory. */
void tcp_switch_begin(struct tcp_conn *conn);
/* Called by tcp_conn_end: the connection ends, and so do its operations below. */
void tcp_switch_end(struct tcp_conn *conn, int err);
/* @conn has failed: is it too early to end it, because the peer has closed the socket,
 * but not its end of the memory (wf_local_lingers)? */
bool tcp_switch_lingers(struct tcp_conn *conn);
/* Look for markers and answers in the page of the peer, which has proven itself. */
void tcp_switch_poll(struct tcp_conn *conn);
/* Called by progress: send a marker if one is due and the connection is idle. */
void tcp_switch_tick(struct tcp_conn *conn);

/* An operation is about to be sent: if it is a message for which no answer is awaited,
 * put a marker behind it, if one is due. The peer then reads both at once, and its
 * answer to the marker arrives before that to the message. So an exchange of single
 * messages, which is never idle, switches as well. */
void tcp_switch_behind(struct tcp_conn *conn);

/* tcp_post: an operation is posted to the peer of @conn, which has no route. Does it
 * use memory, with tcp_switch_start? Otherwise it uses @conn. */
bool tcp_switch_goes_below(struct tcp_conn *conn);
/* Start @op at that peer. The contract is that of struct wf_xfer_ops.start. */
ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op);

/* Does at least one direction use memory for good? Then the socket is polled seldom. */
static inline bool tcp_switch_uses_memory(const struct tcp_conn *conn)
{
	const struct tcp_local *local = conn->local;

	return local && (local->in || local->out == TCP_OUT_MEMORY);
}

#endif

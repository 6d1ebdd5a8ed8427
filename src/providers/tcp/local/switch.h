/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_SWITCH_H
#define TCP_LOCAL_SWITCH_H

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/way.h"

/*
 * When the operations to a peer go by memory instead of the connection
 * (docs/tcp-local.md). Each direction of a connection switches by itself, when nothing
 * is under way in it: its sender sends a marker, whose answer says that everything
 * before was received and that the receiver knows the sender below. An operation that
 * is posted before the answer goes by the connection, and makes the marker void. So
 * nothing is held back, and nothing is under way on both ways. ep.lock guards all of
 * this; functions but those of tcp_post are called with the lock of the owner of
 * ep.srx, too.
 */

/*
 * The endpoint below, of shared memory (local/below.h; tests of the switch play it).
 * ep.lock is held, and but for start() the
 * lock of the owner of ep.srx, too. ep.below_ops is set before the endpoint has
 * connections.
 */
struct tcp_below_ops {
	/* The name by which peers insert it, text of at most TCP_PROOF_NAME bytes with
	 * its NUL. NULL: there is none. */
	const char *(*name)(const struct tcp_ep *ep);
	/* Insert the peer that has the text @name, which may have come from anywhere;
	 * it is @len bytes with its NUL. Its index in the AV is @user_id. 0 or a
	 * negative FI_E code. */
	int (*insert)(struct tcp_ep *ep, fi_addr_t user_id, const void *name,
		size_t len, fi_addr_t *ret_below);
	/* Connect to the peer that was inserted as @below. As struct
	 * wf_xfer_ops.reach. */
	int (*reach)(struct tcp_ep *ep, fi_addr_t below);
	/* End the connection to it, as struct wf_xfer_ops.part, and remove it. */
	void (*remove)(struct tcp_ep *ep, fi_addr_t below, int err);
	/* Start @op, whose address is that of @ep's AV, at the peer that was reached as
	 * @below. -FI_ENOTCONN: it is not any more. Else the contract is that of struct
	 * wf_xfer_ops.start. */
	ssize_t (*start)(struct tcp_ep *ep, fi_addr_t below, struct wf_op *op);
};

static inline const char *tcp_switch_name(const struct tcp_ep *ep)
{
	return ep->below_ops ? ep->below_ops->name(ep) : NULL;
}

enum tcp_out {
	TCP_OUT_SOCKET, /* by the connection, for good */
	TCP_OUT_WAITS,  /* the same, until an idle moment */
	TCP_OUT_ASKED,  /* a marker was sent, and nothing since */
	TCP_OUT_VOID,   /* a marker was sent, and operations since */
	TCP_OUT_MEMORY,
};

/* Both ends of @conn have proven that they share memory. */
void tcp_switch_begin(struct tcp_conn *conn);
/* The connection ends, as its operations do: tcp_conn_end. */
void tcp_switch_end(struct tcp_conn *conn, int err);
/* Send markers on connections that are idle: from progress. */
void tcp_switch_tick(struct tcp_ep *ep);

/* An operation is about to be sent: if it is a message that nothing waits for, put a
 * marker behind it, if one is due. The peer then reads both at once, and its answer is
 * here before that to the message: so an exchange of single messages, which is never
 * idle, switches as well. */
void tcp_switch_behind(struct tcp_conn *conn);

/* tcp_post: an operation is posted to @peer, which has a connection but no route.
 * Returns the connection, or NULL: the operation goes to tcp_switch_start. */
struct tcp_conn *tcp_switch_route(struct tcp_peer *peer);
/* The connection of the peer at @addr, to which tcp_switch_route found no route. */
struct tcp_conn *tcp_switch_conn(struct tcp_ep *ep, fi_addr_t addr);
/* Start @op at that peer. Contract as struct wf_xfer_ops.start. */
ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op);

/* Is the socket's traffic over, at least of one direction? Then it is polled seldom. */
static inline bool tcp_switch_rests(const struct tcp_conn *conn)
{
	const struct tcp_way *way = conn->way;

	return way && (way->in || way->out == TCP_OUT_MEMORY);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_UNEXP_H
#define TCP_UNEXP_H

#include "providers/tcp/conn.h"

/* In the note of a struct wf_srx_unexpected: where the payload is, and whether the
 * sender wants to hear of the match. Guarded by ep.lock. */
enum tcp_unexp {
	TCP_UNEXP_ARRIVING, /* in its payload memory, as far as the connection's rx got
			       it */
	TCP_UNEXP_WHOLE, /* in its payload memory; with TCP_UNEXP_MATCH the id behind it
			  */
	TCP_UNEXP_HELD,  /* in the socket until it is matched */
	TCP_UNEXP_RTS,   /* at the sender; its payload memory has a pointer to a struct
			    tcp_rdv */
	TCP_UNEXP_BROKEN, /* the connection was lost before any of it was kept */
	TCP_UNEXP_TORN,   /* the connection was lost while it came in */
	TCP_UNEXP_STATES = 7,
	TCP_UNEXP_MATCH = 8,
};

/*
 * Where messages that wait are from: a connection, and the receive context that they
 * are for. Kept until the connection and the last of them are gone, for they may
 * outlive it.
 */
struct tcp_origin {
	struct wf_srx_origin srx;
	struct tcp_origin *next; /* of the connection's */
	struct tcp_ep *ep;
	struct tcp_conn *conn; /* NULL: gone */
	struct tcp_peer *peer; /* FI_EP_RDM */
	int err;               /* what the connection ended with */
};

/* A message that the sender keeps, in conn->rdv to its last byte. */
struct tcp_rdv {
	struct wf_srx_unexpected *unexp; /* NULL: the sender was told to send */
	struct fi_peer_rx_entry *entry;  /* NULL: not matched, or dropped */
	uint64_t len;
	uint16_t index, flags; /* of the record */
};

/* Memory that a message takes while it waits. */
static inline uint64_t tcp_unexp_cost(uint64_t len)
{
	return len + sizeof(struct wf_srx_message);
}

/* unexp.c: the record that arrives waits, without its entry and with @size bytes. NULL:
 * no memory. */
struct wf_srx_unexpected *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t size);
/* Ask the sender for the data: for @entry, or to have it over. */
void tcp_rdv_clear(
	struct tcp_conn *conn, struct tcp_rdv *rdv, struct fi_peer_rx_entry *entry);

/* recv.c: the end of a message whose payload is where it belongs. */
void tcp_recv_done(struct tcp_ep *ep, struct tcp_peer *peer,
	struct fi_peer_rx_entry *entry, uint16_t flags, uint64_t len, uint64_t data);
/* Tell the sender that its message was matched, if it wants to know. */
void tcp_recv_matched(struct tcp_conn *conn, uint16_t flags, uint64_t id);

#endif

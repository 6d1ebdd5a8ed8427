/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_UNEXP_H
#define TCP_UNEXP_H

#include "providers/tcp/conn.h"

enum tcp_unexp_state {
	TCP_UNEXP_ARRIVING, /* the connection's rx fills buf */
	TCP_UNEXP_WHOLE,    /* all of it is in buf */
	TCP_UNEXP_HELD,     /* the payload stays in the socket until it is matched */
	TCP_UNEXP_RTS,      /* the payload is at the sender */
	TCP_UNEXP_CLEARED,  /* matched, and the sender was told to send */
	TCP_UNEXP_BROKEN,   /* the connection was lost before all of it came */
};

/*
 * A message without a receive, or one that the sender keeps. On conn->unexps as long
 * as there is a connection; in conn->rdv, too, from RTS to the last byte. Guarded by
 * ep.lock. @buf follows for messages that are kept here.
 */
struct tcp_unexp {
	struct wf_list link;
	struct tcp_ep *ep;
	struct tcp_conn *conn; /* NULL: gone */
	struct fi_peer_rx_entry *entry;
	uint64_t len, data, id;
	fi_addr_t source; /* index in the AV */
	int err;          /* BROKEN */
	uint16_t flags;   /* of the record */
	uint8_t state;
	uint8_t index;
	bool started; /* ARRIVING: a receive came meanwhile */
	bool dropped; /* nobody wants it */
	uint8_t buf[];
};

/* Memory that a message takes while it waits, the owner's part estimated. */
static inline uint64_t tcp_unexp_cost(uint64_t len)
{
	return len + sizeof(struct tcp_unexp) + 400;
}

/* unexp.c */
struct tcp_unexp *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t room);
void tcp_unexp_free(struct tcp_unexp *unexp);
/* Its last byte is in buf. */
void tcp_unexp_whole(struct tcp_unexp *unexp);
/* Ask the sender for the data. */
void tcp_unexp_clear(struct tcp_unexp *unexp);

/* recv.c: the end of a message whose payload is where it belongs. */
void tcp_recv_done(struct tcp_ep *ep, struct tcp_conn *conn,
	struct fi_peer_rx_entry *entry, uint16_t flags, uint64_t len, uint64_t data,
	fi_addr_t source);
/* Tell the sender that its message was matched, if it wants to know. */
void tcp_recv_matched(struct tcp_conn *conn, uint16_t flags, uint64_t id);

#endif

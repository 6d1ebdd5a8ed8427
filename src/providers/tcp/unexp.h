/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_UNEXP_H
#define TCP_UNEXP_H

#include "providers/tcp/conn.h"

enum tcp_unexp_state {
	TCP_UNEXP_ARRIVING, /* the connection's rx fills buf */
	TCP_UNEXP_DROPPED,  /* the same, and nobody wants it */
	TCP_UNEXP_WHOLE,    /* all of it is in buf */
	TCP_UNEXP_HELD,     /* the payload stays in the socket until it is matched */
	TCP_UNEXP_RTS,      /* the payload is at the sender */
	TCP_UNEXP_CLEARED,  /* matched or dropped, and the sender was told to send */
	TCP_UNEXP_BROKEN,   /* the connection was lost before all of it came */
};

/*
 * Where messages that wait are from. Made with the first one of a connection, and kept
 * until the connection and the last of them are gone, for there may be many of them and
 * they may outlive it.
 */
struct tcp_origin {
	struct tcp_ep *ep;
	struct tcp_conn *conn; /* NULL: gone */
	struct tcp_peer *peer; /* FI_EP_RDM */
	int err;               /* what the connection ended with */
	size_t refs;
};

/*
 * A message without a receive, or one that the sender keeps. There may be millions of
 * the first kind: what its entry says of it (length, data) is not repeated. One that is
 * not whole is its connection's rx.unexp, or in conn->rdv from RTS to the last byte.
 * Guarded by ep.lock.
 */
struct tcp_unexp {
	struct tcp_origin *origin;
	uint32_t len;   /* of what buf has room for */
	uint16_t flags; /* of the record */
	uint16_t state;
	/* The payload; behind it, with TCP_FLAG_MATCH, the id to answer with. */
	uint8_t buf[];
};

static_assert(sizeof(struct tcp_unexp) == 16, "one for each unexpected message");

/* What goes to buf of those that the sender keeps. */
struct tcp_rdv {
	uint64_t len;
	struct fi_peer_rx_entry *entry; /* NULL: not matched, or dropped */
	uint16_t index;                 /* in conn->rdv */
};

static inline struct tcp_rdv *tcp_rdv_of(struct tcp_unexp *unexp)
{
	return (struct tcp_rdv *)(void *)unexp->buf;
}

/* Memory that a message takes while it waits, the owner's part estimated. */
static inline uint64_t tcp_unexp_cost(uint64_t len)
{
	return len + sizeof(struct tcp_unexp) + 96;
}

/* unexp.c; @room: bytes of buf. */
struct tcp_unexp *tcp_unexp_new(struct tcp_conn *conn, size_t room);
/* One that buf has the payload of. */
struct tcp_unexp *tcp_unexp_keep(struct tcp_conn *conn);
void tcp_unexp_free(struct tcp_unexp *unexp);
/* Its last byte is in buf; @entry is the receive that came meanwhile, or NULL. */
void tcp_unexp_whole(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry);
/* Ask the sender for the data: for @entry, or to have it over. */
void tcp_unexp_clear(struct tcp_unexp *unexp, struct fi_peer_rx_entry *entry);

/* recv.c: the end of a message whose payload is where it belongs. */
void tcp_recv_done(struct tcp_ep *ep, struct tcp_peer *peer,
	struct fi_peer_rx_entry *entry, uint16_t flags, uint64_t len, uint64_t data);
/* Tell the sender that its message was matched, if it wants to know. */
void tcp_recv_matched(struct tcp_conn *conn, uint16_t flags, uint64_t id);

#endif

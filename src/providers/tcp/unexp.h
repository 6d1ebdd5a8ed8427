/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_UNEXP_H
#define TCP_UNEXP_H

#include "providers/tcp/conn.h"

/*
 * Unexpected messages (objects/conn/unexp.h) that are not whole: where the payload is.
 * Those whose connection was lost fail before the state matters.
 */
enum tcp_unexp {
	/* In the message's payload memory, as far as the connection's rx got it. */
	TCP_UNEXP_ARRIVING = 1,
	/* In the socket until the message is matched. */
	TCP_UNEXP_HELD,
	/* At the sender; the payload memory has a pointer to a struct tcp_rdv. */
	TCP_UNEXP_RTS,
};

/* A message that the sender keeps, in conn->rdv to its last byte. */
struct tcp_rdv {
	struct wf_srx_unexpected *unexp; /* NULL: the sender was told to send */
	struct fi_peer_rx_entry *entry;  /* NULL: not matched, or dropped */
	uint64_t len;
	uint16_t index, flags; /* of the record */
};

extern const struct wf_unexp_ops tcp_unexp_ops;
/* unexp.c: wf_unexp_save for the record that arrives. */
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

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_DATA_UNEXP_H
#define WF_TCP_DATA_UNEXP_H

#include "providers/tcp/conn/conn.h"

/*
 * The state (wf_srx_unexpected.note) of an incomplete unexpected message
 * (objects/conn/unexp.h): where its payload is. If the connection is lost, the message
 * fails, whatever its state.
 */
enum tcp_unexp {
	/* In the message's payload memory, as far as it has arrived. */
	TCP_UNEXP_ARRIVING = 1,
	/* In the socket, until a receive matches the message or there is memory. */
	TCP_UNEXP_HELD,
	/* At the sender; the payload memory holds a pointer to a struct tcp_rdv. */
	TCP_UNEXP_RTS,
};

/* A rendezvous message of the peer; it is in conn->rdv until its last byte has
 * arrived. */
struct tcp_rdv {
	struct wf_srx_unexpected *unexp; /* NULL: the clear to send was sent */
	/* NULL: not matched, or the message is discarded */
	struct fi_peer_rx_entry *entry;
	uint64_t len;
	uint16_t index, flags; /* index and TCP_FLAG_* of the record */
};

extern const struct wf_unexp_ops tcp_unexp_ops;
/* unexp.c: wf_unexp_save for the record that is arriving, with @size bytes of payload
 * memory. */
struct wf_srx_unexpected *tcp_unexp_new(
	struct tcp_conn *conn, struct fi_peer_rx_entry *entry, size_t size);
/* Send the clear to send, with @entry as the receive; NULL: to discard the payload. */
void tcp_rdv_clear(
	struct tcp_conn *conn, struct tcp_rdv *rdv, struct fi_peer_rx_entry *entry);

/* The message that was left in the socket has a place for its payload: read on. */
void tcp_rx_resumed(struct tcp_conn *conn);

/* recv.c: memory for unexpected messages was given back: connections whose messages
 * were left in the socket go on, if there is enough. */
void tcp_held_resume(struct tcp_ep *ep);

/* recv.c: complete a message whose payload is in its buffers. */
void tcp_recv_done(struct tcp_ep *ep, struct tcp_peer *peer,
	struct fi_peer_rx_entry *entry, uint16_t flags, uint64_t len, uint64_t data);
/* Tell the sender that its message was matched, if @flags ask for that. */
void tcp_recv_matched(struct tcp_conn *conn, uint16_t flags, uint64_t id);

#endif

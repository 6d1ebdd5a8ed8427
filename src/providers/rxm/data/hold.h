/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_HOLD_H
#define WF_RXM_DATA_HOLD_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/data/wire.h"

/*
 * Connections that are held: their peers have as much of the endpoint's memory as they
 * may have (objects/conn/budget.h), for unexpected messages or for answers that they
 * have not read. Nothing more is read from such a connection until memory is given
 * back: the provider below leaves packets in its socket, or finds no buffers. Packets
 * that it had brought before are kept, in order, and handled first when the connection
 * goes on.
 *
 * Packets that need no memory are handled meanwhile, because this endpoint's operations
 * may wait for them: credits, and the peer's answers.
 *
 * Two ends that hold each other would wait for ever. So a requester limits the answers
 * that it waits for to RXM_ANSWER_WINDOW, and a known peer may have RXM_ANSWER_SHARE in
 * any case. The lock of the receive context and ep.lock are held.
 */
enum {
	RXM_ANSWER_COST =
		512, /* bytes that an answer is counted as besides its packet */
	RXM_ANSWER_WINDOW = 256 << 10,
	RXM_ANSWER_SHARE = 2 * RXM_ANSWER_WINDOW,
};

void rxm_hold_init(struct rxm_ep *ep);

static inline bool rxm_conn_is_held(const struct rxm_conn *conn)
{
	return !wf_list_empty(&conn->data.held_link);
}

/* Memory was taken for the peer: hold the connection if it may have no more. */
void rxm_hold_if_full(struct rxm_conn *conn);

/* A packet, or a message without a header (@entry, else NULL), of a connection that is
 * held. True: it is kept for later, or the connection failed; false: it has to be
 * handled now. */
bool rxm_hold_packet(struct rxm_conn *conn, const void *packet, size_t len,
	const struct fi_cq_tagged_entry *entry);

/* The connection ends: handle the packets that were kept. */
void rxm_hold_end(struct rxm_conn *conn);

/* Memory was given back: let connections go on. */
void rxm_hold_resume(struct rxm_ep *ep);

/* The same for messages without a header that came over an unknown connection: is there
 * no memory for another one? Then its buffer is kept (rxm_bufs_deliver_raw). */
bool rxm_hold_raw(struct rxm_ep *ep);

#endif

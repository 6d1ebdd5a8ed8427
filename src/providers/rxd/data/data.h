/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_DATA_DATA_H
#define WF_RXD_DATA_DATA_H

#include "providers/rxd/rxd.h"

/*
 * Operations: how they become transfers of a flow, and what the packets of a peer do.
 * ep->ep.lock is held in all functions; in those that receive packets the lock of the
 * receive context, too.
 */

/* Payload and operands of up to this many bytes are stored in struct rxd_tx. */
enum { RXD_COPY_INLINE = 128 };

/* An operation of the application, or an answer to one of a peer. */
struct rxd_tx {
	struct rxd_xfer xfer;
	struct rxd_peer *peer;
	struct wf_list link; /* link in ep->ops */
	/* Link in peer->requests while an answer is awaited. */
	struct wf_list request_link;
	/* Kind of the operation; WF_OP_COUNT: an answer. Then head.type is RXD_ANSWER,
	 * head.tx_id is the peer's id of the request, and without @copy the payload is
	 * the memory of head.rma. */
	enum wf_op_kind kind;
	bool in_flow;  /* the flow uses xfer */
	bool reported; /* The success has been reported, so only an error will be. */
	uint64_t flags;
	void *context;
	size_t len; /* bytes that the completion reports */
	struct rxd_op_head head;
	size_t payload; /* bytes of payload of all packets */
	size_t first;   /* bytes of payload of packet 0 */
	/* Bytes of payload of each other packet; set when the transfer begins. */
	size_t packet_bytes;
	/* The payload in the application's memory; for a request, the buffers for the
	 * result. */
	struct iovec iov[RXD_IOV_LIMIT];
	size_t iov_count;
	uint8_t *copy; /* copy of the payload, used instead of @iov; NULL: none */
	uint64_t got;  /* bytes of the answer that have arrived */
	uint8_t small[RXD_COPY_INLINE];
};

static inline struct rxd_tx *rxd_tx_of(struct rxd_xfer *xfer)
{
	return wf_container_of(xfer, struct rxd_tx, xfer);
}

static inline bool rxd_tx_is_request(const struct rxd_tx *tx)
{
	return tx->kind == WF_OP_READ || tx->kind == WF_OP_FETCH ||
	       tx->kind == WF_OP_COMPARE;
}

extern const struct rxd_flow_ops rxd_flow_ops;
extern const struct wf_unexp_ops rxd_unexp_ops;

int rxd_data_init(struct rxd_ep *ep);
void rxd_data_done(struct rxd_ep *ep);
/* Drop all operations and messages of the peer, whose flow has ended, without
 * completions: the endpoint is being closed. The lock of the receive context is
 * held. */
void rxd_data_peer_done(struct rxd_peer *peer);

/* start.c; wf_xfer_ops.start, called without locks. */
ssize_t rxd_start(struct wf_ep *wf, struct wf_op *op);

/* tx.c */
struct rxd_tx *rxd_tx_new(struct rxd_peer *peer, enum wf_op_kind kind);
/* Allocate tx->copy for @len bytes of payload; false: no memory. */
bool rxd_tx_reserve(struct rxd_tx *tx, size_t len);
void rxd_tx_free(struct rxd_tx *tx);
void rxd_tx_send(struct rxd_tx *tx);
/* The operation ended with 0 or the positive fi_errno @err: complete and free it. */
void rxd_tx_end(struct rxd_tx *tx, int err);
/* Is there something to send that does not wait for further calls of the
 * application? */
bool rxd_tx_any_owed(struct rxd_ep *ep);
/* wf_xfer_ops.cancel_tx */
bool rxd_cancel(struct wf_ep *wf, const struct wf_cancel *which);

/* packet.c. rxd_packets_init returns 0 or -FI_ENOMEM; rxd_packets_done may be called
 * without it. The other functions are in struct rxd_flow_ops. */
int rxd_packets_init(struct rxd_ep *ep);
void rxd_packets_done(struct rxd_ep *ep);
ssize_t rxd_packet_send(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base);
size_t rxd_packets_flush(struct rxd_flow *flow);
ssize_t rxd_packet_send_control(struct rxd_flow *flow, const void *packet, size_t len);

/* request.c: answers to this endpoint's requests. */
/* Give a request an id; false: none is free. */
bool rxd_request_add(struct rxd_tx *tx);
void rxd_request_remove(struct rxd_tx *tx);
int64_t rxd_request_answered(struct rxd_peer *peer, const uint8_t *packet, size_t len);
/* Fail all requests to the peer with the positive fi_errno @err. */
void rxd_requests_fail(struct rxd_peer *peer, int err);

/* rx.c: packets in order. rxd_deliver: rxd_flow_ops.deliver. rxd_rx_append: the next
 * bytes of the transfer that is arriving. rxd_rx_abort: the rest of that transfer will
 * not arrive; fail it with @err. */
int64_t rxd_deliver(struct rxd_flow *flow, const struct rxd_base *base,
	const uint8_t *packet, size_t len);
void rxd_rx_append(struct rxd_peer *peer, const uint8_t *data, size_t len);
void rxd_rx_abort(struct rxd_peer *peer, int err);

/* recv.c, access.c: operations of peers. Results are those of rxd_flow_ops.deliver. */
int64_t rxd_receive_msg(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len);
/* Get memory for @len more bytes of the message that is arriving. False: not now. */
bool rxd_msg_reserve(struct rxd_peer *peer, size_t len);
void rxd_msg_append(struct rxd_peer *peer, const uint8_t *data, size_t len);
void rxd_msg_finish(struct rxd_peer *peer);
int64_t rxd_receive_write(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len);
int64_t rxd_receive_read(struct rxd_peer *peer, const struct rxd_op_head *head);
int64_t rxd_receive_atomic(struct rxd_peer *peer, const struct rxd_op_head *head,
	const uint8_t *data, size_t len);
void rxd_write_append(struct rxd_peer *peer, const uint8_t *data, size_t len);
void rxd_write_finish(struct rxd_peer *peer);
/* Copy bytes of the regions that the peer reads, from @offset on; those of a region
 * that was closed meanwhile are zeros. */
void rxd_read_bytes(struct rxd_ep *ep, const struct rxd_op_head *head, uint64_t offset,
	uint8_t *to, size_t len);

#endif

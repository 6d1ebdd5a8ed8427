/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_DATA_H
#define WF_RXM_DATA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/conn/unexp.h"
#include "objects/endpoint/xfer.h"
#include "objects/op/op.h"
#include "sys/id_map.h"
#include "sys/list.h"
#include "sys/pool.h"

/*
 * Functions of data/ for the rest of the provider: operations, and packets that arrive.
 *
 *   wire.c      encoding and decoding of packets
 *   work.c      the queue of works to send over a connection
 *   packet.c    packets that are being sent, and their memory
 *   op.c        operations of the application; cancel.c cancels them
 *   memory.c    operations to peers that are reached by memory
 *   send.c      messages in one packet or in segments
 *   rdv_tx.c    messages that stay in the sender's memory, rdv_rx.c at the receiver
 *   rma.c       RMA operations
 *   atomic.c    atomic operations and their answers
 *   recv.c      packets that arrive, and the matching of messages; segments.c
 *   unexp.c     unexpected messages whose payload is incomplete
 *   hold.c      connections whose peers have too much memory
 *
 * ep.lock guards all state. Functions that end receives are called with the lock of the
 * receive context held, too.
 */
struct rxm_ep;
struct rxm_conn;

/* State of one endpoint in data/. */
struct rxm_data {
	size_t pending,
		size; /* number of operations that have not ended, and its limit */
	/* Operations that wait for an answer, by the lower half of their message id;
	 * the upper half is a running number. */
	struct wf_id_map ids;
	uint32_t generation;
	struct wf_pool ops; /* of struct rxm_op without a copy of the payload */
	/* rxm_ep.polls when a message last completed early; see is_early(). */
	uint32_t early_polls;
	bool is_stream; /* rxm_below_is_stream() */
	bool quiet; /* Set from outside data/: operations that end are not reported. */
	size_t iov_limit; /* limit of the buffers of one message below */
	/* Registered memory from which the provider below sends; see packet.h. */
	struct wf_list buffers, slabs;
	/* Origin of unexpected messages whose connection is not known. */
	struct wf_unexp_conn raw;
	struct wf_budget answers; /* memory of all connections' answers */
	/* Connections that are held (hold.h), by data.held_link, and buffers with
	 * messages of @raw that wait for memory, by call.link. */
	struct wf_list held_conns, held_raw;
	bool memory_given; /* Memory was given back that some of these wait for. */
};

/* State of one connection in data/; zeroed with the connection. */
struct rxm_conn_data {
	bool quiet; /* Operations of this connection that end are not reported. */
	/* Number of the application's operations of which something was sent and that
	 * have not ended. */
	size_t begun;
	/* The member of conn->waiting that is an operation with FI_FENCE and waits
	 * until @begun is 0; NULL: there is none. The works before it can be sent. */
	struct wf_list *fence;
	struct wf_list open; /* struct rxm_op that wait for an answer, by work.link */
	/* struct rxm_rdv, the messages that have to be fetched, by all. */
	struct wf_list rdv;
	/* struct rxm_partial, the messages that arrive in segments, by link. */
	struct wf_list partial;
	unsigned int partial_count;
	/* Memory of answers: the connection's part of ep->data.answers. */
	size_t answer_bytes;
	/* Bytes of answers that the peer may have to keep because of this end's
	 * requests; see hold.h. */
	size_t asked_bytes;
	/* Packets that were kept while the connection is held, and their bytes. */
	struct wf_list held;
	size_t held_bytes;
	struct wf_list held_link; /* Link in ep->data.held_conns while it is held. */
};

/* Initialise and free the state of an endpoint, and initialise that of a connection.
 * rxm_data_init is called when struct wf_ep is initialised, and returns 0 or a negative
 * fi_errno; rxm_data_done when the endpoint is not used any more. */
int rxm_data_init(struct rxm_ep *ep);
void rxm_data_done(struct rxm_ep *ep);
void rxm_data_conn_init(struct rxm_conn *conn);

/* The most bytes of operands of one atomic operation. */
size_t rxm_atomic_max(void);
/* struct wf_prov.query_atomic, struct wf_xfer_ops.atomic_valid. */
int rxm_query_atomic(struct wf_domain *domain, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags);
int rxm_atomic_valid(struct wf_ep *ep, enum wf_op_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *ret_count);

/* struct wf_xfer_ops.start, .cancel_tx and .tx_left. */
ssize_t rxm_start(struct wf_ep *ep, struct wf_op *op);
bool rxm_cancel(struct wf_ep *ep, const struct wf_cancel *which);
size_t rxm_tx_left(struct wf_ep *ep);
/* struct wf_xfer_ops.send_small, for peers that are reached by memory. */
ssize_t rxm_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
ssize_t rxm_send_small_data(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data);

extern const struct wf_unexp_ops rxm_unexp_ops;

/*
 * The lock of the receive context and ep.lock are held for all functions below.
 */

/* The packet at @packet, a message of @len bytes below, arrived over @conn. It is valid
 * during the call only; @len is at most RXM_HEADER + ep->buffer_size. The endpoint is
 * not being closed (@quiet). The connection may be in state ACCEPTING or CONNECTING. */
void rxm_data_received(struct rxm_conn *conn, const void *packet, size_t len);

/* The same, also if the connection is held. */
void rxm_data_handle(struct rxm_conn *conn, const void *packet, size_t len);
void rxm_data_handle_raw(struct rxm_conn *conn, const void *buf, size_t len,
	const struct fi_cq_tagged_entry *entry);

/* A tagged message arrived below: the @len bytes at @buf are a message of the
 * application without a header, as release 1.17 sends it over tcp. @conn is NULL if it
 * is not known. @entry: the completion below, with tag and data. */
void rxm_data_received_raw(struct rxm_ep *ep, struct rxm_conn *conn, const void *buf,
	size_t len, const struct fi_cq_tagged_entry *entry);

/* Handle a completion below that belongs to no call, for example that of a peer's write
 * with remote CQ data. */
void rxm_data_event(struct rxm_ep *ep, const struct fi_cq_tagged_entry *entry);

/* The connection is up, or calls have ended: send the works in conn->waiting, in order,
 * until -FI_EAGAIN. */
void rxm_data_resume(struct rxm_conn *conn);
/* Is there a work in conn->waiting that can be sent when the queue below has space? */
bool rxm_data_any_waits(const struct rxm_conn *conn);

/* The connection ended with @err, a positive fi_errno, and all its calls have ended:
 * end the operations that wait for the peer, also those in conn->waiting, and break its
 * unexpected messages (wf_unexp_break). */
void rxm_data_lost(struct rxm_conn *conn, int err);

/* For the members of remote.pending and conn->waiting, by their link. _fail: the
 * operation ends with the positive fi_errno @err. _free: free it without a report.
 * _is_promised: must it be sent before the endpoint is closed, because it was injected
 * or is an answer? */
void rxm_data_op_fail(struct wf_list *link, int err);
void rxm_data_op_free(struct wf_list *link);
bool rxm_data_op_is_promised(const struct wf_list *link, const void *arg);

/* Have all promised works and all calls that were started on the connection been
 * sent? */
bool rxm_data_flushed(const struct rxm_conn *conn);

#endif

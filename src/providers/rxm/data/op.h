/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_OP_H
#define WF_RXM_DATA_OP_H

#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/packet.h"
#include "providers/rxm/data/work.h"

/*
 * An operation of the application that could not be sent at once. ep.lock guards it.
 *
 * It has one reference while some of it has to be sent or while it waits for an answer,
 * and one for each call below. When the last reference is dropped, the operation ends
 * and is reported.
 */
struct rxm_segment;

enum { RXM_MAX_SEGS = 4 }; /* segments of memory of one message; see wire.h */

/* A write by which the sender moves the payload of a rendezvous. */
struct rxm_write {
	struct rxm_call call;
	struct rxm_op *op;
};

struct rxm_op {
	struct rxm_work work;
	struct rxm_ep *ep;
	/* The connection over which some of it was sent; NULL: none. */
	struct rxm_conn *conn;
	/* The operation; it points to the arrays below. @copy contains the payload of
	 * an injected operation, or the operands of an atomic one. */
	struct wf_op op;
	struct iovec iov[RXM_IOV_LIMIT];
	void *desc[RXM_IOV_LIMIT];
	struct fi_rma_iov rma[RXM_MAX_SEGS];
	int err; /* positive fi_errno; 0: no error */
	/* An earlier process left the message unread: its end was reported before. */
	bool left;
	bool pooled; /* The memory is of data.ops. */
	uint32_t refs;
	/* Message id, whose lower half is an index of data.ids; 0: none. */
	uint64_t msg_id;
	struct rxm_sending sending;
	union {
		struct {
			/* Array with one entry for each segment. */
			struct rxm_segment *at;
			uint32_t count, sent;
		} segments;
		struct {
			/* Registrations of iov[], also of RMA operations; NULL:
			 * none. */
			struct fid_mr *mr[RXM_IOV_LIMIT];
			struct rxm_write write[RXM_MAX_SEGS];
			/* Number of segments in rma[], and of writes that were
			 * started. */
			unsigned int write_count, written;
			/* Number of writes that were started and have not ended. */
			unsigned int writing;
		} rdv;
		struct {
			enum fi_datatype datatype;
			enum fi_op op;
			struct iovec result[RXM_IOV_LIMIT];
			size_t result_count;
			/* The application's buffers of the comparands. */
			struct iovec compare[RXM_IOV_LIMIT];
			size_t compare_count;
			size_t packet_len; /* length of the packet in @copy, in bytes */
		} atomic;
	};
	uint8_t copy[];
};

/* Make a copy of @op, which @ops sends, with one reference and @copy_len bytes of
 * memory for @copy. NULL: no memory. */
struct rxm_op *rxm_op_new(struct rxm_ep *ep, const struct wf_op *op,
	const struct rxm_work_ops *ops, size_t copy_len);
/* Make an operation of the message @op, which a process left unread, with a copy of its
 * payload; no success and no failure of it is reported. NULL: no memory. */
struct rxm_op *rxm_op_new_left(struct rxm_ep *ep, const struct wf_op *op);
/* Is @work such a message, of which nothing was sent? */
bool rxm_op_is_left(const struct rxm_work *work);
/* Keep @op at the end of @list, where operations wait. 0, -FI_EAGAIN or -FI_ENOMEM. */
ssize_t rxm_op_queue(struct rxm_ep *ep, struct wf_list *list, const struct wf_op *op);
/* @conn ends: keep @op for the next connection to the peer. Results as above. */
ssize_t rxm_op_wait_for_next(struct rxm_conn *conn, const struct wf_op *op);
/* The same for @work, an operation of which nothing was sent and which is in no
 * list. */
void rxm_op_move_to_next(struct rxm_conn *conn, struct rxm_work *work);
/* Note that something of the operation was sent over @conn. */
static inline void rxm_op_begun(struct rxm_op *op, struct rxm_conn *conn)
{
	if (!op->conn)
		conn->data.begun++;
	op->conn = conn;
}

/* Bytes that the answer to @op, an atomic operation, takes at the peer. */
static inline size_t rxm_op_asked_cost(const struct wf_op *op)
{
	size_t len = op->atomic ? op->atomic->size : op->len;

	return RXM_ANSWER_COST + RXM_WIRE_RESULT + (op->kind == WF_OP_ATOMIC ? 0 : len);
}

/* Must @op wait until earlier operations of @conn, which have begun, end? */
static inline bool rxm_op_must_wait(const struct rxm_conn *conn, const struct wf_op *op)
{
	if (wf_likely(!conn->data.begun))
		return false;
	return op->flags & FI_FENCE ||
	       (op->kind >= WF_OP_ATOMIC && conn->data.asked_bytes &&
		       conn->data.asked_bytes + rxm_op_asked_cost(op) >
			       RXM_ANSWER_WINDOW);
}

/* Drop a reference. The last one ends the operation, with the error op->err if it is
 * not 0. */
void rxm_op_unref(struct rxm_op *op);
/* One call of the operation ended, with 0 or the positive fi_errno @err. */
void rxm_op_call_done(struct rxm_op *op, int err);

/* call.done of op->sending, for all kinds of operations with one packet or call
 * below. */
void rxm_op_sent(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry);

/* Send the packet of @op in op->sending, as rxm_sending_start does, and let the
 * operation wait for its answer. @op has a message id. */
ssize_t rxm_op_send_request(struct rxm_conn *conn, struct rxm_op *op, size_t head_len,
	const struct iovec *iov, size_t count, uint64_t flags);
/* Give the operation a message id, so that its answer can be matched with it. False: no
 * memory. */
bool rxm_op_number(struct rxm_op *op);
/* The operation of kind @ops on @conn that an answer with @msg_id belongs to; NULL:
 * there is none. Its id is freed, it does not wait any more, and the caller gets its
 * reference. */
struct rxm_op *rxm_op_answered(
	struct rxm_conn *conn, uint64_t msg_id, const struct rxm_work_ops *ops);

/* Functions for the rxm_work_ops of the kinds of operations. */
void rxm_op_fail(struct rxm_work *work, int err);
void rxm_op_free(struct rxm_work *work);
bool rxm_op_is_promised(const struct rxm_work *work);
bool rxm_op_is(const struct rxm_work *work, const struct wf_cancel *which);
const struct wf_op *rxm_op_fresh(const struct rxm_work *work);

#define RXM_OP_OPS(send_)                                                              \
	{                                                                              \
		.send = send_, .fail = rxm_op_fail, .free = rxm_op_free,               \
		.is_promised = rxm_op_is_promised, .is = rxm_op_is,                    \
		.fresh = rxm_op_fresh                                                  \
	}

static inline struct rxm_op *rxm_op_of(const struct rxm_work *work)
{
	return wf_container_of(work, struct rxm_op, work);
}

/* The kinds: messages in one packet, in segments, or by rendezvous; RMA and atomic
 * operations. */
extern const struct rxm_work_ops rxm_eager_ops, rxm_segments_ops, rxm_rdv_ops,
	rxm_rma_ops, rxm_atomic_ops;
/* A rendezvous whose receiver wants the sender to write the payload. */
extern const struct rxm_work_ops rxm_rdv_write_ops;

/* memory.c: operations to the peer of @conn, which is reached by memory.
 * rxm_memory_post: start the application's operation @op, or keep it. The contract is
 * that of struct wf_xfer_ops.start. rxm_memory_send: start and free @work, an operation
 * that was kept; results as for rxm_work_ops.send, and -FI_ENOTCONN: the connection
 * ends. */
ssize_t rxm_memory_post(struct rxm_conn *conn, struct wf_op *op);
ssize_t rxm_memory_send(struct rxm_conn *conn, struct rxm_work *work);

/* send.c: the kind for a message. */
const struct rxm_work_ops *rxm_send_ops(struct rxm_ep *ep, const struct wf_op *op);
/* The description of the message @op in the header of its packets. */
struct rxm_message rxm_message_of(const struct wf_op *op);
/* Send a message at once from the caller's buffers, without a struct rxm_op. Returns 0:
 * it is sent; else as rxm_conn_inject. */
ssize_t rxm_send_now(struct rxm_conn *conn, const struct rxm_message *msg,
	const struct iovec *iov, size_t count);
void rxm_segments_free(struct rxm_op *op);

/* rma.c: free the registrations or the copy of the local buffers. */
void rxm_rma_free(struct rxm_op *op);

/* rdv_tx.c: close the registrations. */
void rxm_rdv_close(struct rxm_op *op);
/* The receiver has read the message, or sends the addresses that the payload has to be
 * written to. If there is no such message, the connection fails. */
void rxm_rdv_read(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_rdv_to(struct rxm_conn *conn, const struct rxm_packet *packet);

/* atomic.c. rxm_atomic_request: a peer's operation. rxm_atomic_result: the answer to
 * one of this endpoint. */
struct rxm_op *rxm_atomic_new(struct rxm_ep *ep, const struct wf_op *op);
void rxm_atomic_request(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_atomic_result(struct rxm_conn *conn, const struct rxm_packet *packet);

#endif

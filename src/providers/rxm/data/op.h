/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_OP_H
#define RXM_OP_H

#include "providers/rxm/data/packet.h"
#include "providers/rxm/data/work.h"

/*
 * An operation of the application that was not sent at once. ep.lock guards it.
 *
 * It has a reference while something of it is to be sent or it waits for an answer, and
 * one for each call below. With the last one the operation ends, and is reported.
 */
struct rxm_segment;

enum { RXM_MAX_SEGS = 4 }; /* pieces of memory of one message; see wire.h */

/* A write of a rendezvous. */
struct rxm_write {
	struct rxm_call call;
	struct rxm_op *op;
};

struct rxm_op {
	struct rxm_work work;
	struct rxm_ep *ep;
	struct rxm_conn *conn; /* NULL: nothing was sent */
	/* Points to the arrays below. The payload of an injected operation, and what an
	 * atomic one sends, are in @copy. */
	struct wf_op op;
	struct iovec iov[RXM_IOV_LIMIT];
	void *desc[RXM_IOV_LIMIT];
	struct fi_rma_iov rma[RXM_MAX_SEGS];
	int err; /* positive FI_E code; 0: none yet */
	uint32_t refs;
	uint64_t msg_id; /* number in data.ids; 0: none */
	struct rxm_sending sending;
	union {
		struct {
			struct rxm_segment *at; /* one for each segment */
			uint32_t count, sent;
		} segments;
		struct {
			/* Registrations of iov[], NULL: none; also of RMA. */
			struct fid_mr *mr[RXM_IOV_LIMIT];
			struct rxm_write write[RXM_MAX_SEGS];
			unsigned int write_count, written; /* of rma[]: all, started */
			unsigned int writing;              /* started and not ended */
		} rdv;
		struct {
			enum fi_datatype datatype;
			enum fi_op op;
			struct iovec result[RXM_IOV_LIMIT];
			size_t result_count;
			size_t packet_len; /* of @copy */
		} atomic;
	};
	uint8_t copy[];
};

/* A copy of @op that is sent by @ops, with one reference and @copy_len bytes of memory.
 * NULL: no memory. */
struct rxm_op *rxm_op_new(struct rxm_ep *ep, const struct wf_op *op,
	const struct rxm_work_ops *ops, size_t copy_len);
/* Something of the operation was sent over @conn. */
static inline void rxm_op_begun(struct rxm_op *op, struct rxm_conn *conn)
{
	if (!op->conn)
		conn->data.begun++;
	op->conn = conn;
}
/* End the operation with its last reference; an error is in op->err. */
void rxm_op_unref(struct rxm_op *op);
/* One call of the operation ended. */
void rxm_op_call_done(struct rxm_op *op, int err);

/* call.done of op->sending, for all kinds that have one packet or call below. */
void rxm_op_sent(
	struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry);

/* Give the operation a message id, so that its answer finds it. False: no memory. */
bool rxm_op_number(struct rxm_op *op);
/* The operation on @conn that an answer of kind @ops names; NULL: there is none. It
 * does not wait any more and has no number: the caller has its reference. */
struct rxm_op *rxm_op_answered(
	struct rxm_conn *conn, uint64_t msg_id, const struct rxm_work_ops *ops);

/* For the tables of the kinds of operations. */
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

/* What is sent as it stands, in one packet, in segments, or by a rendezvous; RMA and
 * atomic operations. */
extern const struct rxm_work_ops rxm_eager_ops, rxm_segments_ops, rxm_rdv_ops,
	rxm_rma_ops, rxm_atomic_ops;
/* A rendezvous that the receiver wants to be written to it. */
extern const struct rxm_work_ops rxm_rdv_write_ops;

/* send.c: the table for a message. */
const struct rxm_work_ops *rxm_send_ops(struct rxm_ep *ep, const struct wf_op *op);
/* What the header says of the message. */
struct rxm_message rxm_message_of(const struct wf_op *op);
/* Send a message at once from the caller's buffers, without a struct rxm_op. 0: it is
 * sent; otherwise as rxm_conn_inject. */
ssize_t rxm_send_now(struct rxm_conn *conn, const struct rxm_message *msg,
	const struct iovec *iov, size_t count);
void rxm_segments_free(struct rxm_op *op);

/* rma.c: give back what local buffers were registered or copied with. */
void rxm_rma_free(struct rxm_op *op);

/* rdv_tx.c: close the registrations. */
void rxm_rdv_close(struct rxm_op *op);
/* The receiver has read the message, or gives the memory to write it to. Does nothing
 * but fail the connection where there is no such message. */
void rxm_rdv_read(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_rdv_to(struct rxm_conn *conn, const struct rxm_packet *packet);

/* atomic.c */
struct rxm_op *rxm_atomic_new(struct rxm_ep *ep, const struct wf_op *op);
void rxm_atomic_asked(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_atomic_result(struct rxm_conn *conn, const struct rxm_packet *packet);

#endif

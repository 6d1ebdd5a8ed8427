/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_TX_H
#define WF_SHM_PROTO_TX_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/copy/span.h"

/* The parts of struct shm_tx.atomic. */
struct shm_tx_atomic {
	uint8_t datatype, op; /* enum fi_datatype, enum fi_op */
	uint8_t result_count, compare_count;
};

/* An RMA operation that is a request in the lane, or that this endpoint performs. */
struct shm_tx_request {
	/* It is a request; this endpoint has performed it (copy/remote.h). */
	bool by_lane, is_performed;
	/* A read or write whose request can be withdrawn; it is withdrawn; the number
	 * of its record (proto/withdraw.h). */
	bool in_record, is_gone;
	uint32_t number;
	uint32_t tell; /* SHM_TELL_* of its regions */
};

/* A long write (proto/parts.h): it is sent in parts, and ends when they have. */
struct shm_tx_parts {
	bool are_sent;  /* it is sent in parts */
	bool are_ended; /* all were sent: it ends with the last of them */
	uint32_t count; /* parts that have not ended */
	int err;        /* positive fi_errno of the first one that failed */
	/* Of a part: the long write. */
	struct shm_tx *whole;
};

/*
 * An operation of the application that did not end at once, or an answer to a peer's
 * request (op is WF_OP_COUNT). Operations wait in queue.txq until the lane has space;
 * then they are complete, or wait in waits.settling until the peer answers; the answer
 * contains their id.
 */
struct shm_tx {
	struct wf_list link;
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	uint64_t id; /* id in records of the peer; 0: the operation has none */
	uint64_t tag, data, sink;
	/* Payload bytes that were sent (streams), received (reads), or copied by this
	 * endpoint (copy/remote.h). */
	uint64_t done;
	uint8_t op;   /* enum wf_op_kind, or WF_OP_COUNT */
	uint8_t kind; /* of an answer: enum shm_kind of its record */
	/* Index in segment->tokens[], plus 1; 0: the message has no token. */
	uint8_t token;
	uint8_t seg_count;
	bool asked; /* rendezvous: the request to send was written */
	/* Stream: the first record was sent, or the peer sent a clear to send. */
	bool begun;
	/* A replayed message, whose completion was written before: its end is not
	 * reported. */
	bool is_completed;
	struct shm_tx_atomic atomic;
	struct shm_tx_request request;
	struct shm_tx_parts parts;
	/* Heap memory that is freed with the operation: an injected payload, or the
	 * blob of an answer. NULL: none. */
	uint8_t *copy;
	size_t copy_len;
	struct shm_span local;
	/* Valid up to seg_count, atomic.result_count and atomic.compare_count. */
	struct fi_rma_iov seg[SHM_RMA_LIMIT];
	struct iovec result[SHM_IOV_LIMIT], compare[SHM_IOV_LIMIT];
};

/* Operations that do not end in the call that posts them. ep.lock is held. */

/* An answer to the peer, on no list; NULL: no memory. */
struct shm_tx *shm_tx_blank(struct shm_ep *ep);
struct shm_tx *shm_tx_new(struct shm_ep *ep, const struct wf_op *op);
/* Describe the queued RMA or atomic operation @tx as the call that posted it did, for
 * as long as @tx and @atomic exist. */
void shm_tx_describe(
	const struct shm_tx *tx, struct wf_op *op, struct wf_op_atomic *atomic);
/* shm_tx_new for an operation whose record is in the lane: stores only the fields that
 * its end needs. */
struct shm_tx *shm_tx_sent(struct shm_ep *ep, const struct wf_op *op);
void shm_tx_free(struct shm_ep *ep, struct shm_tx *tx);
void shm_tx_complete(struct shm_ep *ep, struct shm_tx *tx);
/* @peer: its name, for the error entry. */
void shm_tx_fail(struct shm_ep *ep, struct shm_tx *tx, int err, const char *peer);
/* Give the operation an id. False: no memory, and the connection failed. */
bool shm_tx_need_id(struct shm_conn *conn, struct shm_tx *tx);
/* The peer answers the operation no more. */
void shm_tx_drop_id(struct shm_conn *conn, struct shm_tx *tx);
/* The operation now waits for the peer's answer, which contains its id. */
void shm_tx_settle_later(struct shm_conn *conn, struct shm_tx *tx);
/* The peer answered the operation: complete it, or fail it with @err (positive). One
 * with parts ends when they have. */
void shm_tx_settle(struct shm_conn *conn, struct shm_tx *tx, int err);

/* An operation that failed: the fields are those of struct wf_op. */
struct shm_failure {
	enum wf_op_kind kind;
	int err; /* positive fi_errno */
	uint64_t op_flags;
	void *context;
	fi_addr_t addr;
	const char *peer; /* its name */
};

/* Write the error entry, which contains the peer's fi_addr_t and its address, and count
 * the failure. */
void shm_tx_report_failure(struct shm_ep *ep, const struct shm_failure *failure);

/* Does the operation need an acknowledgement that the message was received, or
 * matched? */
static inline bool shm_tx_wants_ack(const struct shm_tx *tx)
{
	return tx->op_flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE);
}

static inline struct shm_tx *shm_tx_of(const struct wf_list *link)
{
	return wf_list_entry(link, struct shm_tx, link);
}

#endif

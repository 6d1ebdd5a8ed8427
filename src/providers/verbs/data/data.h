/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DATA_DATA_H
#define WF_VERBS_DATA_DATA_H

#include "providers/verbs/mr/mr.h"
#include "providers/verbs/verbs.h"

/* The data path: work requests and their completions. */

/* A work request for a queue pair, with its buffers. */
struct verbs_send {
	struct ibv_send_wr wr;
	struct ibv_sge sge[VERBS_SGE_MAX];
};

/* A kind of verbs_wr without an operation: a mark in the send queue, whose completion
 * means that all earlier requests have ended. */
#define VERBS_MARK WF_OP_COUNT

/* queue.c. @capacity: limit of posted requests. 0 or -FI_ENOMEM. */
int verbs_queue_init(struct verbs_queue *queue, uint32_t capacity);
void verbs_queue_done(struct verbs_queue *queue);

/* Number of requests that can still be posted. The lock of the poster is held. */
static inline uint32_t verbs_queue_left(const struct verbs_queue *queue)
{
	/* acquire: the poller has read the slots that it frees. */
	uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);

	return queue->capacity - (queue->head - tail);
}

/* Has the next send to ask for a completion even if the application wants none? One
 * send in half a queue does, so that the queue empties. The lock of the poster is
 * held. */
static inline bool verbs_queue_is_due(const struct verbs_queue *sq)
{
	return sq->unsignalled + 1 >= (sq->capacity + 1) / 2;
}

/* The next send was posted. The lock of the poster is held. */
static inline void verbs_queue_posted(struct verbs_queue *sq, bool signalled)
{
	sq->head++;
	sq->unsignalled = signalled ? 0 : sq->unsignalled + 1;
}

/*
 * send.c. verbs_start: wf_xfer_ops.start. verbs_fill_send and verbs_post are used by
 * ud/, too: the first makes a work request of @op in @send, without the destination;
 * the second posts it. Results: 0; -FI_EAGAIN: the queue is full; -FI_EINVAL: a buffer
 * lacks its descriptor.
 */
ssize_t verbs_start(struct wf_ep *ep, struct wf_op *op);
int verbs_fill_send(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send);
ssize_t verbs_post(
	struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send);
/* wf_xfer_ops.flushed and tx_left. */
bool verbs_flushed(struct wf_ep *ep);
size_t verbs_tx_left(struct wf_ep *ep);

/* Convert the local buffers of @op to the device's list. Returns the number of entries;
 * -FI_EINVAL: @need_desc, and a buffer has no descriptor. */
int verbs_sges(const struct wf_op *op, bool need_desc, struct ibv_sge *sge);

/* rma.c, atomic.c: fill @send for an operation of these kinds. 0 or a negative
 * fi_errno. */
int verbs_fill_rma(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send);
int verbs_fill_atomic(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send);
/* wf_xfer_ops.atomic_valid, wf_prov.query_atomic. */
int verbs_atomic_valid(struct wf_ep *ep, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count);
int verbs_query_atomic(struct wf_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);

/* recv.c: post a receive to the queue pair of the endpoint. */
ssize_t verbs_recv(struct verbs_ep *ep, const struct wf_op *op);
/* Convert the buffers of the receive @op to the device's list. *@ret_bare: one of them
 * has no memory descriptor. Returns the number of entries. */
int verbs_recv_sges(const struct wf_op *op, struct ibv_sge *sge, bool *ret_bare);
size_t verbs_rx_left(struct wf_ep *ep);

/* complete.c: process one completion. cq->lock is held. */
void verbs_complete(struct verbs_cq *cq, const struct ibv_wc *wc);

#endif

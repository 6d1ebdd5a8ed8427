/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_BUILD_H
#define WF_OBJECTS_ENDPOINT_CALLS_BUILD_H

#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/calls/trigger.h"

/*
 * Building a struct wf_op from the arguments of a data transfer call: the functions
 * that message, tagged, RMA and atomic calls share. A transfer of zero bytes has no
 * buffers, even if the arguments name some. The callers hold no lock.
 */

static inline uint64_t wf_flags_plain(const struct wf_ep_flags *flags)
{
	return atomic_load_explicit(&flags->plain, memory_order_relaxed);
}

/* Injected operations have no context of their own: error entries have the endpoint's
 * context. */
static inline uint64_t wf_flags_inject(const struct wf_ep *ep)
{
	return (wf_flags_plain(&ep->tx) & ~FI_COMPLETION) | FI_INJECT;
}

/* The flags in force for a call with flags argument @call. A peer transfer always
 * reports its result; see objects/endpoint/calls/transfer.h. */
static inline uint64_t wf_flags_call(const struct wf_ep_flags *flags, uint64_t call)
{
	if (wf_unlikely(call & FI_PEER_TRANSFER))
		call |= FI_COMPLETION;
	return call | flags->forced;
}

/* Set the buffers of a call with one buffer. @desc must stay valid until the call
 * returns. */
static inline void wf_op_set_buf(
	struct wf_op *op, const void *buf, size_t len, void **desc)
{
	op->one.iov_base = (void *)(uintptr_t)buf;
	op->one.iov_len = len;
	op->iov = &op->one;
	op->desc = desc;
	op->iov_count = len != 0;
	op->len = len;
}

/* Set the buffers of @op. -FI_EINVAL, logged: more than @limit buffers. -FI_EMSGSIZE:
 * the sum of their lengths exceeds a size_t. */
int wf_op_set_iov(struct wf_ep *ep, struct wf_op *op, const struct iovec *iov,
	void **desc, size_t count, size_t limit);

/* Set the remote buffers of @op, whose local buffers are set. -FI_EINVAL, logged: more
 * than rma_iov_limit buffers, or the lengths differ. */
int wf_op_set_rma(
	struct wf_ep *ep, struct wf_op *op, const struct fi_rma_iov *rma, size_t count);

/* Log why a call is refused, and return its negative FI_E code. */
int wf_op_too_long(const struct wf_ep *ep, size_t len, size_t limit, const char *name);
int wf_op_bad_flags(const struct wf_ep *ep, uint64_t flags);
int wf_op_bad_multi_recv(const struct wf_ep *ep, size_t count);

/* 0, or -FI_EMSGSIZE with a log line if @op exceeds max_msg_size or inject_size. */
static inline int wf_op_check_len(const struct wf_ep *ep, const struct wf_op *op)
{
	if (wf_unlikely(op->len > ep->max_msg_size))
		return wf_op_too_long(ep, op->len, ep->max_msg_size, "max_msg_size");
	if (wf_unlikely(op->flags & FI_INJECT && op->len > ep->inject_size))
		return wf_op_too_long(ep, op->len, ep->inject_size, "inject_size");
	return 0;
}

/* 0, or -FI_EINVAL with a log line if a multi-receive has more than one buffer. */
static inline int wf_op_check_rx(const struct wf_ep *ep, const struct wf_op *op)
{
	if (wf_unlikely(op->flags & FI_MULTI_RECV && op->iov_count > 1))
		return wf_op_bad_multi_recv(ep, op->iov_count);
	return 0;
}

/* Start @op of a transmitting call without flags, which cannot have FI_TRIGGER. */
static inline ssize_t wf_op_start_tx(struct wf_ep *ep, struct wf_op *op)
{
	int ret = wf_op_check_len(ep, op);

	return wf_unlikely(ret) ? ret : ep->xfer->start(ep, op);
}

/* Flags with which a message must wait, before it is sent or until it is complete. */
#define WF_OP_NOT_SMALL (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_FENCE)

/* Complete a small message, which the transport has sent. */
static inline void wf_op_small_sent(struct wf_ep *ep, enum wf_op_kind kind,
	uint64_t flags, size_t len, void *context)
{
	wf_ep_tx_plain_done(
		ep, WF_CNTR_SEND, context, flags, wf_op_reports[kind].comp_flags, len);
}

/* The fast path of a small message. False: nothing was done, the caller uses
 * wf_call_send. */
static inline bool wf_op_send_small(struct wf_ep *ep, enum wf_op_kind kind,
	uint64_t flags, const void *buf, size_t len, fi_addr_t addr, uint64_t tag,
	void *context)
{
	if (wf_unlikely(len >= ep->small_limit || flags & WF_OP_NOT_SMALL) ||
		wf_unlikely(ep->xfer->send_small(ep, kind, buf, len, addr, tag)))
		return false;
	wf_op_small_sent(ep, kind, flags, len, context);
	return true;
}

/* The same for a message with the remote CQ data @data. */
static inline bool wf_op_send_small_data(struct wf_ep *ep, enum wf_op_kind kind,
	uint64_t flags, const void *buf, size_t len, fi_addr_t addr, uint64_t tag,
	uint64_t data, void *context)
{
	const struct wf_xfer_ops *xfer = ep->xfer;

	if (wf_unlikely(len >= ep->small_limit || flags & WF_OP_NOT_SMALL) ||
		!xfer->send_small_data ||
		wf_unlikely(xfer->send_small_data(ep, kind, buf, len, addr, tag, data)))
		return false;
	wf_op_small_sent(ep, kind, flags, len, context);
	return true;
}

/* Start @op, a receive or a transmission, now. */
static inline ssize_t wf_op_launch(struct wf_ep *ep, struct wf_op *op)
{
	if (op->kind == WF_OP_RECV || op->kind == WF_OP_TRECV)
		return ep->start_rx(ep, op);
	return ep->xfer->start(ep, op);
}

/* Start @op, which has FI_TRIGGER or FI_PEER_TRANSFER. */
ssize_t wf_op_start_special(struct wf_ep *ep, struct wf_op *op);

/* Start @op of a call with flags, after all checks; with FI_TRIGGER it is queued. */
static inline ssize_t wf_op_start(struct wf_ep *ep, struct wf_op *op)
{
	if (wf_unlikely(op->flags & (FI_TRIGGER | FI_PEER_TRANSFER)))
		return wf_op_start_special(ep, op);
	return wf_op_launch(ep, op);
}

/*
 * Check all arguments of a call with flags and build its operation; in msg.c, tagged.c
 * and rma.c. @op borrows what @msg points to. 0 or a negative FI_E code.
 */
int wf_op_send(
	struct wf_ep *ep, const struct fi_msg *msg, uint64_t flags, struct wf_op *op);
int wf_op_recv(
	struct wf_ep *ep, const struct fi_msg *msg, uint64_t flags, struct wf_op *op);
int wf_op_tsend(struct wf_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
	struct wf_op *op);
int wf_op_trecv(struct wf_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
	struct wf_op *op);
int wf_op_read(struct wf_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
	struct wf_op *op);
int wf_op_write(struct wf_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
	struct wf_op *op);

/* An atomic operation with the vectors that it points to, whose counts are scaled to
 * bytes. */
enum { WF_OP_ATOMIC_IOV = 8 };

struct wf_op_atomic_call {
	struct wf_op op;
	struct wf_op_atomic atomic;
	struct iovec iov[WF_OP_ATOMIC_IOV];      /* buffers with operands */
	struct iovec result[WF_OP_ATOMIC_IOV];   /* buffers for fetched values */
	struct iovec compare[WF_OP_ATOMIC_IOV];  /* buffers with compare operands */
	struct fi_rma_iov rma[WF_OP_ATOMIC_IOV]; /* remote segments */
};

/* Build an atomic operation in *@call. @fetch and @compare are NULL unless @kind has
 * such buffers; @flags are the flags in force. 0 or a negative FI_E code, logged. */
int wf_op_set_atomic(struct wf_ep *ep, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare, uint64_t flags,
	struct wf_op_atomic_call *call);

/* The largest atomic operation on @ep, in bytes of elements. */
size_t wf_op_max_atomic(const struct wf_ep *ep);

#endif

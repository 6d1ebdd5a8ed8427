/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_CALL_H
#define WF_OBJECTS_LOWER_CALL_H

#include "objects/endpoint/calls/build.h"
#include "objects/lower/endpoint.h"

/*
 * Passing an operation of the layered provider to the provider below. The functions are
 * data transfer calls and take no lock; the provider below takes its own.
 */

/* Maps memory descriptors (fi_mr_desc(3)) of the layered provider to descriptors of the
 * provider below. */
struct wf_lower_descs {
	/* Returns the descriptor below for @desc, which the application gave. Both may
	 * be NULL: a buffer that is not registered. */
	void *(*map)(const struct wf_lower_descs *descs, void *desc);
};

/*
 * Start @op at @ep by its public call, with @addr instead of op->addr. The call is
 * fi_sendmsg or another one with flags, which gets the flags of @op. If @op reports no
 * success (an inject call, which has one buffer), it is fi_inject or another inject
 * call, whose success no queue of @ep reports; an operation that inject calls cannot
 * express, for example with FI_DELIVERY_COMPLETE, takes the call with flags and
 * FI_INJECT. @descs: NULL: the provider below gets no descriptors. Returns the result
 * of the call; -FI_EINVAL if descriptors of more than WF_OP_ATOMIC_IOV buffers have to
 * be mapped. The flag WF_OP_WORK must be clear: the layered provider handles deferred
 * work.
 */
ssize_t wf_lower_call(struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr,
	const struct wf_lower_descs *descs);

/* Start @op at @below, with @addr instead of op->addr: by xfer->start of an endpoint of
 * this library, or by wf_lower_call without descriptors. An atomic operation that is
 * too large for an endpoint of this library also takes wf_lower_call, which refuses it.
 * @op is unchanged afterwards. Contract as struct wf_xfer_ops.start. */
static inline ssize_t wf_lower_start(
	const struct wf_lower_ep *below, struct wf_op *op, fi_addr_t addr)
{
	struct wf_ep *builtin = below->builtin;
	fi_addr_t above = op->addr;
	ssize_t ret;

	if (wf_unlikely(!builtin) ||
		wf_unlikely(op->atomic && op->atomic->size > wf_op_max_atomic(builtin)))
		return wf_lower_call(below->fid, op, addr, NULL);
	op->addr = addr;
	ret = builtin->xfer->start(builtin, op);
	op->addr = above;
	return ret;
}

/* Send a message to @addr by the fast path of @builtin, an endpoint of this library
 * below, as struct wf_xfer_ops.send_small; the caller completes the message.
 * -FI_EAGAIN: it cannot take the fast path. No lock of @builtin is held. */
static inline ssize_t wf_lower_send_small(struct wf_ep *builtin, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	if (wf_unlikely(len >= builtin->small_limit))
		return -FI_EAGAIN;
	return builtin->xfer->send_small(builtin, kind, buf, len, addr, tag);
}

/* The same with the remote CQ data @data. */
static inline ssize_t wf_lower_send_small_data(struct wf_ep *builtin,
	enum wf_op_kind kind, const void *buf, size_t len, fi_addr_t addr, uint64_t tag,
	uint64_t data)
{
	if (wf_unlikely(len >= builtin->small_limit || !builtin->xfer->send_small_data))
		return -FI_EAGAIN;
	return builtin->xfer->send_small_data(builtin, kind, buf, len, addr, tag, data);
}

/* Inject a message of FI_MSG, as fi_inject(3). */
static inline ssize_t wf_lower_inject(
	const struct wf_lower_ep *below, const void *buf, size_t len, fi_addr_t addr)
{
	struct wf_ep *builtin = below->builtin;
	struct wf_op op = { .kind = WF_OP_SEND, .addr = addr };

	if (wf_unlikely(!builtin))
		return fi_inject(below->fid, buf, len, addr);
	op.flags = wf_flags_inject(builtin);
	if (wf_op_send_small(builtin, WF_OP_SEND, op.flags, buf, len, addr, 0, NULL))
		return 0;
	op.context = builtin->fid.fid.context;
	wf_op_set_buf(&op, buf, len, NULL);
	return wf_op_start_tx(builtin, &op);
}

/* Can wf_lower_send_many send to @below? */
static inline bool wf_lower_sends_many(const struct wf_lower_ep *below)
{
	return below->builtin && below->builtin->xfer->send_many;
}

/* struct wf_xfer_ops.send_many of @below; wf_lower_sends_many is true. */
static inline size_t wf_lower_send_many(const struct wf_lower_ep *below, fi_addr_t addr,
	const struct wf_datagram *datagrams, size_t count)
{
	return below->builtin->xfer->send_many(below->builtin, addr, datagrams, count);
}

/* fi_atomicvalid(3) of @kind at @ep: 0 and the number of elements, or a negative FI_E
 * code. */
int wf_lower_atomic_valid(struct fid_ep *ep, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count);

/* Withdraw the transmission that @which names, at an endpoint of this library: struct
 * wf_xfer_ops.cancel_tx, but the caller does not hold the endpoint's lock. */
bool wf_lower_cancel_tx(const struct wf_lower_ep *below, const struct wf_cancel *which);

#endif

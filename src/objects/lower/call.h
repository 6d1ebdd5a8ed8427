/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_CALL_H
#define WF_OBJECTS_LOWER_CALL_H

#include "objects/endpoint/calls/build.h"
#include "objects/lower/endpoint.h"

/*
 * An operation of the layered provider becomes one of the provider below. Data calls:
 * the functions here take no lock; a provider below takes its own.
 */

/* How memory descriptors (fi_mr_desc(3)) of the layered provider become those of the
 * provider below. */
struct wf_lower_descs {
	/* Returns the descriptor below for @desc, which the application gave. Both may
	 * be NULL: a buffer that is not registered. */
	void *(*map)(const struct wf_lower_descs *descs, void *desc);
};

/*
 * Make the public call of @ep that is @op, with @addr in its place: fi_sendmsg and its
 * like with the flags of @op, or where @op reports no success (an inject call, which
 * has one buffer), fi_inject and its like, whose success no queue of @ep reports. What
 * the latter cannot say, such as FI_DELIVERY_COMPLETE, takes the former with FI_INJECT.
 * @descs: NULL: the provider below gets no descriptors. Returns what the call returns;
 * -FI_EINVAL when descriptors of more than WF_OP_ATOMIC_IOV buffers are to be mapped.
 * The flag WF_OP_WORK must be clear: deferred work is the layered provider's.
 */
ssize_t wf_lower_call(struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr,
	const struct wf_lower_descs *descs);

/* Start @op at @below, with @addr in its place: an endpoint of this library starts it
 * as it is, one of another library gets wf_lower_call without descriptors. So does one
 * of this library that has to refuse an atomic operation as too large. @op is unchanged
 * afterwards. Contract as struct wf_xfer_ops.start. */
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

/* Can wf_lower_send_many send to @below? */
static inline bool wf_lower_sends_many(const struct wf_lower_ep *below)
{
	return below->builtin && below->builtin->xfer->send_many;
}

/* Send datagrams at once: struct wf_xfer_ops.send_many of an endpoint of this library
 * that has it. */
static inline size_t wf_lower_send_many(const struct wf_lower_ep *below, fi_addr_t addr,
	const struct wf_datagram *datagrams, size_t count)
{
	return below->builtin->xfer->send_many(below->builtin, addr, datagrams, count);
}

/* fi_atomicvalid(3) of @kind at @ep: 0 and the number of elements, or a negative FI_E
 * code. */
int wf_lower_atomic_valid(struct fid_ep *ep, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count);

/* Withdraw at an endpoint of this library the transmission that @which names: as
 * struct wf_xfer_ops.cancel_tx, but no lock is held. */
bool wf_lower_cancel_tx(const struct wf_lower_ep *below, const struct wf_cancel *which);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OP_BUILD_H
#define WF_OBJECTS_OP_BUILD_H

#include "objects/endpoint.h"

/*
 * Turning arguments of the data calls into a struct wf_op: what the message, tagged,
 * RMA and atomic files share. A transfer of zero bytes has no buffers, whatever the
 * arguments say.
 */

static inline uint64_t wf_flags_plain(const struct wf_ep_flags *flags)
{
	return atomic_load_explicit(&flags->plain, memory_order_relaxed);
}

/* The call has a single buffer; @desc stays valid as long as the call runs. */
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

/* -FI_EINVAL with a log line for more than @limit buffers; -FI_EMSGSIZE when their
 * sum does not fit a size_t. */
int wf_op_set_iov(struct wf_ep *ep, struct wf_op *op, const struct iovec *iov,
	void **desc, size_t count, size_t limit);

/* Log lines of refused calls; they return their code. */
int wf_op_too_long(const struct wf_ep *ep, size_t len, size_t limit, const char *name);
int wf_op_bad_flags(const struct wf_ep *ep, uint64_t flags);

/* Is this transmission too long? */
static inline int wf_op_check_len(const struct wf_ep *ep, const struct wf_op *op)
{
	if (wf_unlikely(op->len > ep->max_msg_size))
		return wf_op_too_long(ep, op->len, ep->max_msg_size, "max_msg_size");
	if (wf_unlikely(op->flags & FI_INJECT && op->len > ep->inject_size))
		return wf_op_too_long(ep, op->len, ep->inject_size, "inject_size");
	return 0;
}

#endif

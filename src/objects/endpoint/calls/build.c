/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/log.h"

int wf_op_set_iov(struct wf_ep *ep, struct wf_op *op, const struct iovec *iov,
	void **desc, size_t count, size_t limit)
{
	size_t len = 0;

	if (count > limit) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"%zu buffers in one operation, iov_limit is %zu\n", count,
			limit);
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			return wf_op_too_long(ep, SIZE_MAX, SIZE_MAX, "address space");
	op->iov = iov;
	op->desc = desc;
	op->iov_count = len ? count : 0;
	op->len = len;
	return 0;
}

int wf_op_set_rma(
	struct wf_ep *ep, struct wf_op *op, const struct fi_rma_iov *rma, size_t count)
{
	/* The calls without a message structure have one remote buffer. */
	size_t limit = WF_MAX(ep->rma_iov_limit, 1), len = 0;

	if (count > limit) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"%zu remote buffers in one operation, rma_iov_limit is %zu\n",
			count, limit);
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(len, rma[i].len, &len))
			return wf_op_too_long(ep, SIZE_MAX, SIZE_MAX, "address space");
	if (len != op->len) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"%zu bytes in local, %zu in remote buffers; need as many\n",
			op->len, len);
		return -FI_EINVAL;
	}
	op->rma = rma;
	op->rma_count = count;
	return 0;
}

int wf_op_too_long(const struct wf_ep *ep, size_t len, size_t limit, const char *name)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"message of %zu bytes refused, %s is %zu\n", len, name, limit);
	return -FI_EMSGSIZE;
}

int wf_op_bad_flags(const struct wf_ep *ep, uint64_t flags)
{
	char text[256];

	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"operation flags that this endpoint does not offer: %s\n",
		fi_tostr_r(text, sizeof(text), &flags, FI_TYPE_OP_FLAGS));
	return -FI_EBADFLAGS;
}

int wf_op_bad_multi_recv(const struct wf_ep *ep, size_t count)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"FI_MULTI_RECV takes one buffer, not %zu\n", count);
	return -FI_EINVAL;
}

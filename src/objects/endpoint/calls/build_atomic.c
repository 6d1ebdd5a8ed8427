/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/log.h"

/* Checks of atomic calls, and their descriptor, which counts bytes instead of
 * elements. */

static int build_atomic_refuse(const struct wf_ep *ep, int err, const char *what,
	size_t asked, size_t possible)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"atomic operation refused: %zu %s, possible is %zu\n", asked, what,
		possible);
	return err;
}

size_t wf_op_max_atomic(const struct wf_ep *ep)
{
	return WF_MIN(ep->domain->prov->max_atomic_size, ep->max_msg_size);
}

/* Elements that a vector must have in total, and bytes of one element. */
struct extent {
	size_t elements, size;
};

static __attribute__((noinline)) int build_atomic_scale_long(const struct wf_ep *ep,
	const struct fi_ioc *iov, size_t count, const struct extent *want,
	struct iovec *ret_iov)
{
	size_t limit = WF_MIN(ep->tx_iov_limit, WF_OP_ATOMIC_IOV),
	       left = want->elements;

	if (count > limit)
		return build_atomic_refuse(
			ep, -FI_EINVAL, "buffers (iov_limit)", count, limit);
	for (size_t i = 0; i < count; i++) {
		if (iov[i].count > left)
			return build_atomic_refuse(ep, -FI_EINVAL,
				"elements more than in the other buffers",
				iov[i].count - left, 0);
		left -= iov[i].count;
		ret_iov[i] = (struct iovec){ iov[i].addr, iov[i].count * want->size };
	}
	return left ? build_atomic_refuse(ep, -FI_EINVAL,
			      "elements less than in the other buffers", left, 0)
		    : 0;
}

/* Scale @iov to bytes: at most iov_limit buffers, with @want->elements in total. */
static inline int build_atomic_scale(const struct wf_ep *ep, const struct fi_ioc *iov,
	size_t count, const struct extent *want, struct iovec *ret_iov)
{
	if (wf_unlikely(
		    count != 1 || iov->count != want->elements || !ep->tx_iov_limit))
		return build_atomic_scale_long(ep, iov, count, want, ret_iov);
	*ret_iov = (struct iovec){ iov->addr, iov->count * want->size };
	return 0;
}

static __attribute__((noinline)) int build_atomic_scale_rma_long(const struct wf_ep *ep,
	const struct fi_msg_atomic *msg, size_t max, struct extent *want,
	struct fi_rma_iov *ret_rma)
{
	size_t limit = WF_MIN(ep->rma_iov_limit, WF_OP_ATOMIC_IOV);

	/* The calls without a message structure have one remote buffer. */
	limit = WF_MAX(limit, 1);
	if (msg->rma_iov_count > limit)
		return build_atomic_refuse(ep, -FI_EINVAL,
			"remote buffers (rma_iov_limit)", msg->rma_iov_count, limit);
	want->elements = 0;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		const struct fi_rma_ioc *rma = &msg->rma_iov[i];

		if (rma->count > max - want->elements)
			return build_atomic_refuse(ep, -FI_EMSGSIZE, "elements",
				rma->count, max - want->elements);
		want->elements += rma->count;
		ret_rma[i] = (struct fi_rma_iov){ rma->addr, rma->count * want->size,
			rma->key };
	}
	return want->elements ? 0
			      : build_atomic_refuse(ep, -FI_EINVAL, "elements", 0, max);
}

/* Scale the remote buffers to bytes. They determine the number of elements, at most
 * @max. */
static inline int build_atomic_scale_rma(const struct wf_ep *ep,
	const struct fi_msg_atomic *msg, size_t max, struct extent *want,
	struct fi_rma_iov *ret_rma)
{
	const struct fi_rma_ioc *one = msg->rma_iov;

	if (wf_unlikely(msg->rma_iov_count != 1 || !one->count || one->count > max))
		return build_atomic_scale_rma_long(ep, msg, max, want, ret_rma);
	want->elements = one->count;
	*ret_rma = (struct fi_rma_iov){ one->addr, one->count * want->size, one->key };
	return 0;
}

static int build_atomic_check_type(const struct wf_ep *ep, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, size_t *ret_max)
{
	char op[32], type[32];
	int ret = wf_atomic_valid(
		kind, msg->datatype, msg->op, wf_op_max_atomic(ep), ret_max);

	if (ret)
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
			"atomic operation refused: %s on %s in this kind of call\n",
			fi_tostr_r(op, sizeof(op), &msg->op, FI_TYPE_ATOMIC_OP),
			fi_tostr_r(type, sizeof(type), &msg->datatype,
				FI_TYPE_ATOMIC_TYPE));
	return ret;
}

static int build_atomic_check_flags(const struct wf_ep *ep, uint64_t flags)
{
	if (flags & ep->tx.refused)
		return wf_op_bad_flags(ep, flags & ep->tx.refused);
	if (!(flags & FI_TAGGED))
		return 0;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"atomic operation refused: a tagged receive as target\n");
	return -FI_EOPNOTSUPP;
}

/* The descriptor and the vectors of @call lie within it; descriptors of memory and data
 * do not. */
int wf_op_set_atomic(struct wf_ep *ep, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare, uint64_t flags,
	struct wf_op_atomic_call *call)
{
	struct wf_op_atomic *atomic = &call->atomic;
	struct extent want = { 0, wf_atomic_size(msg->datatype) };
	size_t max = 0;
	int ret;

	ret = build_atomic_check_flags(ep, flags);
	if (!ret)
		ret = build_atomic_check_type(ep, kind, msg, &max);
	if (!ret)
		ret = build_atomic_scale_rma(ep, msg, max, &want, call->rma);
	if (ret)
		return ret;
	*atomic = (struct wf_op_atomic){
		.datatype = msg->datatype,
		.op = msg->op,
		.count = want.elements,
		.size = want.elements * want.size,
	};
	call->op = (struct wf_op){
		.kind = kind,
		.flags = flags,
		.addr = msg->addr,
		.context = msg->context,
		.data = msg->data,
		.rma = call->rma,
		.rma_count = msg->rma_iov_count,
		.atomic = atomic,
	};
	if (msg->op != FI_ATOMIC_READ) {
		call->op.iov = call->iov;
		call->op.desc = msg->desc;
		call->op.iov_count = msg->iov_count;
		call->op.len = atomic->size;
		ret = build_atomic_scale(
			ep, msg->msg_iov, msg->iov_count, &want, call->iov);
	}
	if (!ret && fetch) {
		atomic->result = call->result;
		atomic->result_desc = fetch->desc;
		atomic->result_count = fetch->iov_count;
		ret = build_atomic_scale(
			ep, fetch->msg_iov, fetch->iov_count, &want, call->result);
	}
	if (!ret && compare) {
		atomic->compare = call->compare;
		atomic->compare_desc = compare->desc;
		atomic->compare_count = compare->iov_count;
		ret = build_atomic_scale(
			ep, compare->msg_iov, compare->iov_count, &want, call->compare);
	}
	return ret ? ret : wf_op_check_len(ep, &call->op);
}

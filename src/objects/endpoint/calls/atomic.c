/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/atomic/ops.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/calls/tables.h"

#include "objects/endpoint/calls/plain_atomic.inl"

/*
 * The atomic calls: each builds one operation descriptor and starts it. The calls count
 * elements, the transport's descriptor counts bytes.
 */

static ssize_t atomic_start(struct wf_ep *ep, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare, uint64_t flags)
{
	struct wf_op_atomic_call call;
	int ret = wf_op_set_atomic(ep, kind, msg, fetch, compare, flags, &call);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &call.op);
}

static ssize_t start_plain(struct fid_ep *fid, enum wf_op_kind kind,
	const struct fi_msg_atomic *msg, const struct fi_msg_fetch *fetch,
	const struct fi_msg_compare *compare)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return atomic_start(ep, kind, msg, fetch, compare, wf_flags_plain(&ep->tx));
}

static ssize_t atomic_writemsg(
	struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return atomic_start(
		ep, WF_OP_ATOMIC, msg, NULL, NULL, wf_flags_call(&ep->tx, flags));
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
	enum fi_op op)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct fi_ioc iov = one_ioc(buf, count);
	struct fi_rma_ioc remote = { addr, count, key };
	struct fi_msg_atomic msg = { &iov, NULL, 1, dest_addr, &remote, 1, datatype, op,
		ep->fid.fid.context, 0 };

	return atomic_start(ep, WF_OP_ATOMIC, &msg, NULL, NULL, wf_flags_inject(ep));
}

static ssize_t atomic_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct fi_msg_fetch fetch = { resultv, result_desc, result_count };

	return atomic_start(
		ep, WF_OP_FETCH, msg, &fetch, NULL, wf_flags_call(&ep->tx, flags));
}

static ssize_t atomic_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
	const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct fi_msg_fetch fetch = { resultv, result_desc, result_count };
	struct fi_msg_compare compare = { comparev, compare_desc, compare_count };

	return atomic_start(ep, WF_OP_COMPARE, msg, &fetch, &compare,
		wf_flags_call(&ep->tx, flags));
}

static int calls_atomic_valid(struct fid_ep *fid, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	struct wf_ep *ep = wf_ep_of(fid);

	if (!count)
		return -FI_EINVAL;
	if (ep->xfer->atomic_valid)
		return ep->xfer->atomic_valid(ep, kind, datatype, op, count);
	return wf_atomic_valid(kind, datatype, op, wf_op_max_atomic(ep), count);
}

static int atomic_writevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return calls_atomic_valid(fid, WF_OP_ATOMIC, datatype, op, count);
}

static int atomic_readwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return calls_atomic_valid(fid, WF_OP_FETCH, datatype, op, count);
}

static int atomic_compwritevalid(
	struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return calls_atomic_valid(fid, WF_OP_COMPARE, datatype, op, count);
}

void wf_ep_atomic_finish(struct wf_ep *ep)
{
	struct fi_ops_atomic *ops = &ep->atomic_ops;

	*ops = wf_absent_atomic;
	if (wf_ep_initiates(ep, FI_WRITE)) {
		ops->write = plain_write;
		ops->writev = plain_writev;
		ops->writemsg = atomic_writemsg;
		ops->inject = atomic_inject;
		ops->writevalid = atomic_writevalid;
	}
	if (wf_ep_initiates(ep, FI_READ)) {
		ops->readwrite = plain_readwrite;
		ops->readwritev = plain_readwritev;
		ops->readwritemsg = atomic_readwritemsg;
		ops->compwrite = plain_compwrite;
		ops->compwritev = plain_compwritev;
		ops->compwritemsg = atomic_compwritemsg;
		ops->readwritevalid = atomic_readwritevalid;
		ops->compwritevalid = atomic_compwritevalid;
	}
}

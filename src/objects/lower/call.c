/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/call.h"

#include "sys/compiler.h"

enum { PIECES = WF_OP_ATOMIC_IOV };

/* One public call: the operation, and the arguments that differ from it. */
struct call {
	struct fid_ep *ep;
	const struct wf_op *op;
	fi_addr_t addr;
	const struct wf_lower_descs *descs;
	void *desc[PIECES]; /* mapped descriptors of the operation's buffers */
};

/* Map @count descriptors @above of the layer to @ret. Returns @ret, or NULL: the call
 * passes no descriptors. */
static void **call_map_descs(
	const struct wf_lower_descs *descs, void **above, size_t count, void **ret)
{
	if (!descs || !above)
		return NULL;
	for (size_t i = 0; i < count; i++)
		ret[i] = descs->map(descs, above[i]);
	return ret;
}

static void **call_op_descs(struct call *call)
{
	return call_map_descs(
		call->descs, call->op->desc, call->op->iov_count, call->desc);
}

static ssize_t call_msg(struct call *call)
{
	const struct wf_op *op = call->op;
	struct fi_msg msg = { op->iov, call_op_descs(call), op->iov_count, call->addr,
		op->context, op->data };

	return op->kind == WF_OP_RECV ? fi_recvmsg(call->ep, &msg, op->flags)
				      : fi_sendmsg(call->ep, &msg, op->flags);
}

static ssize_t call_tagged(struct call *call)
{
	const struct wf_op *op = call->op;
	struct fi_msg_tagged msg = { op->iov, call_op_descs(call), op->iov_count,
		call->addr, op->tag, op->ignore, op->context, op->data };

	return op->kind == WF_OP_TRECV ? fi_trecvmsg(call->ep, &msg, op->flags)
				       : fi_tsendmsg(call->ep, &msg, op->flags);
}

static ssize_t call_rma(struct call *call)
{
	const struct wf_op *op = call->op;
	struct fi_msg_rma msg = { op->iov, call_op_descs(call), op->iov_count,
		call->addr, op->rma, op->rma_count, op->context, op->data };

	return op->kind == WF_OP_READ ? fi_readmsg(call->ep, &msg, op->flags)
				      : fi_writemsg(call->ep, &msg, op->flags);
}

/* Convert buffers in bytes to buffers in elements. */
static void call_count_elements(const struct wf_op_atomic *atomic,
	const struct iovec *iov, size_t count, struct fi_ioc *ret)
{
	size_t size = atomic->size / atomic->count;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct fi_ioc){ iov[i].iov_base, iov[i].iov_len / size };
}

static ssize_t call_atomic(struct call *call)
{
	const struct wf_op *op = call->op;
	const struct wf_op_atomic *atomic = op->atomic;
	void *result_desc[PIECES], *compare_desc[PIECES], **results;
	struct fi_ioc iov[PIECES], result[PIECES], compare[PIECES];
	struct fi_rma_ioc rma[PIECES];
	struct fi_msg_atomic msg = { iov, call_op_descs(call), op->iov_count,
		call->addr, rma, op->rma_count, atomic->datatype, atomic->op,
		op->context, op->data };

	call_count_elements(atomic, op->iov, op->iov_count, iov);
	for (size_t i = 0; i < op->rma_count; i++)
		rma[i] = (struct fi_rma_ioc){ op->rma[i].addr,
			op->rma[i].len * atomic->count / atomic->size, op->rma[i].key };
	if (op->kind == WF_OP_ATOMIC)
		return fi_atomicmsg(call->ep, &msg, op->flags);
	call_count_elements(atomic, atomic->result, atomic->result_count, result);
	results = call_map_descs(
		call->descs, atomic->result_desc, atomic->result_count, result_desc);
	if (op->kind == WF_OP_FETCH)
		return fi_fetch_atomicmsg(call->ep, &msg, result, results,
			atomic->result_count, op->flags);
	call_count_elements(atomic, atomic->compare, atomic->compare_count, compare);
	return fi_compare_atomicmsg(call->ep, &msg, compare,
		call_map_descs(call->descs, atomic->compare_desc, atomic->compare_count,
			compare_desc),
		atomic->compare_count, result, results, atomic->result_count,
		op->flags);
}

static ssize_t (*const calls[WF_OP_COUNT])(struct call *call) = {
	[WF_OP_SEND] = call_msg,
	[WF_OP_RECV] = call_msg,
	[WF_OP_TSEND] = call_tagged,
	[WF_OP_TRECV] = call_tagged,
	[WF_OP_READ] = call_rma,
	[WF_OP_WRITE] = call_rma,
	[WF_OP_ATOMIC] = call_atomic,
	[WF_OP_FETCH] = call_atomic,
	[WF_OP_COMPARE] = call_atomic,
};

static ssize_t call_inject_msg(
	struct fid_ep *ep, const struct wf_op *op, const void *buf, fi_addr_t addr)
{
	return op->flags & FI_REMOTE_CQ_DATA
		       ? fi_injectdata(ep, buf, op->len, op->data, addr)
		       : fi_inject(ep, buf, op->len, addr);
}

static ssize_t call_inject_tagged(
	struct fid_ep *ep, const struct wf_op *op, const void *buf, fi_addr_t addr)
{
	return op->flags & FI_REMOTE_CQ_DATA
		       ? fi_tinjectdata(ep, buf, op->len, op->data, addr, op->tag)
		       : fi_tinject(ep, buf, op->len, addr, op->tag);
}

static ssize_t call_inject_write(
	struct fid_ep *ep, const struct wf_op *op, const void *buf, fi_addr_t addr)
{
	const struct fi_rma_iov *rma = op->rma;

	return op->flags & FI_REMOTE_CQ_DATA
		       ? fi_inject_writedata(
				 ep, buf, op->len, op->data, addr, rma->addr, rma->key)
		       : fi_inject_write(ep, buf, op->len, addr, rma->addr, rma->key);
}

static ssize_t call_inject_atomic(
	struct fid_ep *ep, const struct wf_op *op, const void *buf, fi_addr_t addr)
{
	const struct wf_op_atomic *atomic = op->atomic;

	return fi_inject_atomic(ep, buf, atomic->count, addr, op->rma->addr,
		op->rma->key, atomic->datatype, atomic->op);
}

static ssize_t (*const injects[WF_OP_COUNT])(
	struct fid_ep *ep, const struct wf_op *op, const void *buf, fi_addr_t addr) = {
	[WF_OP_SEND] = call_inject_msg,
	[WF_OP_TSEND] = call_inject_tagged,
	[WF_OP_WRITE] = call_inject_write,
	[WF_OP_ATOMIC] = call_inject_atomic,
};

/* Can an inject call express @op? */
static bool call_is_inject(const struct wf_op *op)
{
	const uint64_t said = FI_INJECT | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE |
			      FI_TRANSMIT_COMPLETE;

	return injects[op->kind] && !wf_op_is_reported(op->flags) &&
	       !(op->flags & ~said) && op->iov_count <= 1 &&
	       (op->kind == WF_OP_SEND || op->kind == WF_OP_TSEND ||
		       op->rma_count == 1);
}

ssize_t wf_lower_call(struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr,
	const struct wf_lower_descs *descs)
{
	struct call call = { .ep = ep, .op = op, .addr = addr, .descs = descs };

	if (call_is_inject(op))
		return injects[op->kind](
			ep, op, op->iov_count ? op->iov->iov_base : NULL, addr);
	if (descs && op->desc && op->iov_count > PIECES)
		return -FI_EINVAL;
	return calls[op->kind](&call);
}

int wf_lower_atomic_valid(struct fid_ep *ep, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	static int (*const valid[WF_OP_COUNT])(
		struct fid_ep *, enum fi_datatype, enum fi_op, size_t *) = {
		[WF_OP_ATOMIC] = fi_atomicvalid,
		[WF_OP_FETCH] = fi_fetch_atomicvalid,
		[WF_OP_COMPARE] = fi_compare_atomicvalid,
	};

	return valid[kind](ep, datatype, op, ret_count);
}

bool wf_lower_cancel_tx(const struct wf_lower_ep *below, const struct wf_cancel *which)
{
	struct wf_ep *builtin = below->builtin;
	bool found;

	wf_lock(&builtin->lock);
	found = builtin->xfer->cancel_tx && builtin->xfer->cancel_tx(builtin, which);
	wf_unlock(&builtin->lock);
	return found;
}

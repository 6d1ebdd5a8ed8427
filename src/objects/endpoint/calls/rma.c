/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/calls/build.h"
#include "objects/endpoint/calls/tables.h"

/* The RMA calls (fi_rma(3)): each builds one operation descriptor and starts it. */

/* Flags that only a write can have. */
static const uint64_t not_for_read = FI_REMOTE_CQ_DATA | FI_COMMIT_COMPLETE;

/* The default flags of a read: its buffer is in use until it completes, so it has no
 * FI_INJECT. */
static inline uint64_t rma_read_plain(const struct wf_ep *ep)
{
	return wf_flags_plain(&ep->tx) & ~FI_INJECT;
}

/* Start an operation with one buffer; @desc must stay valid until the call returns. */
static inline ssize_t rma_start_one(struct wf_ep *ep, enum wf_op_kind kind,
	uint64_t flags, const void *buf, size_t len, void **desc, fi_addr_t peer,
	uint64_t addr, uint64_t key, uint64_t data, void *context)
{
	struct fi_rma_iov remote = { addr, len, key };
	struct wf_op op = {
		.kind = kind,
		.flags = flags,
		.addr = peer,
		.context = context,
		.data = data,
		.rma = &remote,
		.rma_count = 1,
	};

	wf_op_set_buf(&op, buf, len, desc);
	return wf_op_start_tx(ep, &op);
}

static inline ssize_t rma_start_vector(struct wf_ep *ep, enum wf_op_kind kind,
	uint64_t flags, const struct iovec *iov, void **desc, size_t count,
	fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov remote = { addr, 0, key };
	struct wf_op op = {
		.kind = kind,
		.flags = flags,
		.addr = peer,
		.context = context,
		.rma = &remote,
		.rma_count = 1,
	};
	int ret = wf_op_set_iov(ep, &op, iov, desc, count, ep->tx_iov_limit);

	remote.len = op.len;
	return ret ? ret : wf_op_start_tx(ep, &op);
}

static ssize_t calls_rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return rma_start_one(ep, WF_OP_READ, rma_read_plain(ep), buf, len, &desc,
		src_addr, addr, key, 0, context);
}

static ssize_t calls_rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return rma_start_vector(ep, WF_OP_READ, rma_read_plain(ep), iov, desc, count,
		src_addr, addr, key, context);
}

/* Build an operation from a message; @refused are the flags that it must not have. */
static inline int rma_set_msg(struct wf_ep *ep, struct wf_op *op, enum wf_op_kind kind,
	const struct fi_msg_rma *msg, uint64_t flags, uint64_t refused)
{
	bool reads = kind == WF_OP_READ;
	int ret;

	*op = (struct wf_op){
		.kind = kind,
		.flags = wf_flags_call(&ep->tx, reads ? flags & ~FI_INJECT : flags),
		.addr = msg->addr,
		.context = msg->context,
		.data = reads ? 0 : msg->data,
	};
	if (flags & refused)
		return wf_op_bad_flags(ep, flags & refused);
	ret = wf_op_set_iov(
		ep, op, msg->msg_iov, msg->desc, msg->iov_count, ep->tx_iov_limit);
	if (!ret)
		ret = wf_op_set_rma(ep, op, msg->rma_iov, msg->rma_iov_count);
	return ret ? ret : wf_op_check_len(ep, op);
}

int wf_op_read(struct wf_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
	struct wf_op *op)
{
	return rma_set_msg(
		ep, op, WF_OP_READ, msg, flags, ep->tx.refused | not_for_read);
}

static ssize_t calls_rma_readmsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_read(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t calls_rma_write(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return rma_start_one(ep, WF_OP_WRITE, wf_flags_plain(&ep->tx), buf, len, &desc,
		dest_addr, addr, key, 0, context);
}

static ssize_t calls_rma_writev(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return rma_start_vector(ep, WF_OP_WRITE, wf_flags_plain(&ep->tx), iov, desc,
		count, dest_addr, addr, key, context);
}

int wf_op_write(struct wf_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
	struct wf_op *op)
{
	return rma_set_msg(ep, op, WF_OP_WRITE, msg, flags, ep->tx.refused);
}

static ssize_t calls_rma_writemsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_write(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t calls_rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);

	return rma_start_one(ep, WF_OP_WRITE,
		wf_flags_plain(&ep->tx) | FI_REMOTE_CQ_DATA, buf, len, &desc, dest_addr,
		addr, key, data, context);
}

static ssize_t rma_inject_one(struct wf_ep *ep, const void *buf, size_t len,
	uint64_t flags, uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	void *desc = NULL;

	return rma_start_one(ep, WF_OP_WRITE, wf_flags_inject(ep) | flags, buf, len,
		&desc, dest_addr, addr, key, data, ep->fid.fid.context);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return rma_inject_one(wf_ep_of(fid), buf, len, 0, 0, dest_addr, addr, key);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return rma_inject_one(
		wf_ep_of(fid), buf, len, FI_REMOTE_CQ_DATA, data, dest_addr, addr, key);
}

void wf_ep_rma_finish(struct wf_ep *ep)
{
	struct fi_ops_rma *ops = &ep->rma_ops;

	*ops = wf_absent_rma;
	if (wf_ep_initiates(ep, FI_READ)) {
		ops->read = calls_rma_read;
		ops->readv = calls_rma_readv;
		ops->readmsg = calls_rma_readmsg;
	}
	if (wf_ep_initiates(ep, FI_WRITE)) {
		ops->write = calls_rma_write;
		ops->writev = calls_rma_writev;
		ops->writemsg = calls_rma_writemsg;
		ops->inject = rma_inject;
	}
	if (wf_ep_initiates(ep, FI_WRITE) && ep->info->domain_attr->cq_data_size) {
		ops->writedata = calls_rma_writedata;
		ops->injectdata = rma_injectdata;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_rma.h>

#include "objects/endpoint/alias/alias.h"
#include "sys/iov.h"

/* RMA calls through an alias. */

static ssize_t alias_rma_readmsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fi_readmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov rma = { addr, wf_iov_len(iov, count), key };
	struct fi_msg_rma msg = { iov, desc, count, src_addr, &rma, 1, context, 0 };

	return alias_rma_readmsg(fid, &msg, wf_alias_tx(fid));
}

static ssize_t alias_rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { buf, len };

	return alias_rma_readv(fid, &iov, &desc, 1, src_addr, addr, key, context);
}

static ssize_t alias_rma_writemsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fi_writemsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_rma_writev(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)
{
	struct fi_rma_iov rma = { addr, wf_iov_len(iov, count), key };
	struct fi_msg_rma msg = { iov, desc, count, dest_addr, &rma, 1, context, 0 };

	return alias_rma_writemsg(fid, &msg, wf_alias_tx(fid));
}

static ssize_t alias_rma_write(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_rma_writev(fid, &iov, &desc, 1, dest_addr, addr, key, context);
}

static ssize_t alias_rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_rma_iov rma = { addr, len, key };
	struct fi_msg_rma msg = { &iov, &desc, 1, dest_addr, &rma, 1, context, data };

	return alias_rma_writemsg(fid, &msg, wf_alias_tx(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t alias_rma_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return fi_inject_write(wf_alias_target(fid), buf, len, dest_addr, addr, key);
}

static ssize_t alias_rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return fi_inject_writedata(
		wf_alias_target(fid), buf, len, data, dest_addr, addr, key);
}

struct fi_ops_rma wf_alias_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = alias_rma_read,
	.readv = alias_rma_readv,
	.readmsg = alias_rma_readmsg,
	.write = alias_rma_write,
	.writev = alias_rma_writev,
	.writemsg = alias_rma_writemsg,
	.inject = alias_rma_inject,
	.writedata = alias_rma_writedata,
	.injectdata = alias_rma_injectdata,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_tagged.h>

#include "objects/endpoint/alias/alias.h"

/* Tagged message calls through an alias. */

static ssize_t alias_tagged_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return fi_trecvmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_tagged_recvv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	void *context)
{
	struct fi_msg_tagged msg = { iov, desc, count, src_addr, tag, ignore, context,
		0 };

	return alias_tagged_recvmsg(fid, &msg, wf_alias_rx(fid));
}

static ssize_t alias_tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec iov = { buf, len };

	return alias_tagged_recvv(fid, &iov, &desc, 1, src_addr, tag, ignore, context);
}

static ssize_t alias_tagged_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return fi_tsendmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_tagged_sendv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct fi_msg_tagged msg = { iov, desc, count, dest_addr, tag, 0, context, 0 };

	return alias_tagged_sendmsg(fid, &msg, wf_alias_tx(fid));
}

static ssize_t alias_tagged_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_tagged_sendv(fid, &iov, &desc, 1, dest_addr, tag, context);
}

static ssize_t alias_tagged_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg_tagged msg = { &iov, &desc, 1, dest_addr, tag, 0, context, data };

	return alias_tagged_sendmsg(fid, &msg, wf_alias_tx(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t alias_tagged_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t tag)
{
	return fi_tinject(wf_alias_target(fid), buf, len, dest_addr, tag);
}

static ssize_t alias_tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t tag)
{
	return fi_tinjectdata(wf_alias_target(fid), buf, len, data, dest_addr, tag);
}

struct fi_ops_tagged wf_alias_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = alias_tagged_recv,
	.recvv = alias_tagged_recvv,
	.recvmsg = alias_tagged_recvmsg,
	.send = alias_tagged_send,
	.sendv = alias_tagged_sendv,
	.sendmsg = alias_tagged_sendmsg,
	.inject = alias_tagged_inject,
	.senddata = alias_tagged_senddata,
	.injectdata = alias_tagged_injectdata,
};

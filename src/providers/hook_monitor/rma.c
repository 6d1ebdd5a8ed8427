/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/endpoint.h"
#include "providers/hook_monitor/tables.h"

/* Remote memory access. A transfer that a peer posts (fi_peer(3)) is not the
 * application's. */

static struct mon_ep *rma_ep_of(const struct fid_ep *fid)
{
	return wf_container_of(fid->rma, struct mon_ep, rma);
}

static ssize_t mon_rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->read(fid, buf, len, desc, src, addr, key, context);

	mon_count(ep->file, MON_READ, len, ret);
	return ret;
}

static ssize_t mon_rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret =
		ep->below_rma->readv(fid, iov, desc, count, src, addr, key, context);

	if (!ret)
		mon_count(ep->file, MON_READV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_rma_readmsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->readmsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_READMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_rma_write(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret =
		ep->below_rma->write(fid, buf, len, desc, dest, addr, key, context);

	mon_count(ep->file, MON_WRITE, len, ret);
	return ret;
}

static ssize_t mon_rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret =
		ep->below_rma->writev(fid, iov, desc, count, dest, addr, key, context);

	if (!ret)
		mon_count(ep->file, MON_WRITEV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_rma_writemsg(
	struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->writemsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_WRITEMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_rma_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest, uint64_t addr, uint64_t key)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->inject(fid, buf, len, dest, addr, key);

	mon_count(ep->file, MON_INJECT_WRITE, len, ret);
	return ret;
}

static ssize_t mon_rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
	void *context)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->writedata(
		fid, buf, len, desc, data, dest, addr, key, context);

	mon_count(ep->file, MON_WRITEDATA, len, ret);
	return ret;
}

static ssize_t mon_rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	struct mon_ep *ep = rma_ep_of(fid);
	ssize_t ret = ep->below_rma->injectdata(fid, buf, len, data, dest, addr, key);

	mon_count(ep->file, MON_INJECT_WRITEDATA, len, ret);
	return ret;
}

void mon_rma_replace(struct fi_ops_rma *ops)
{
	MON_REPLACE(ops, read, mon_rma_read);
	MON_REPLACE(ops, readv, mon_rma_readv);
	MON_REPLACE(ops, readmsg, mon_rma_readmsg);
	MON_REPLACE(ops, write, mon_rma_write);
	MON_REPLACE(ops, writev, mon_rma_writev);
	MON_REPLACE(ops, writemsg, mon_rma_writemsg);
	MON_REPLACE(ops, inject, mon_rma_inject);
	MON_REPLACE(ops, writedata, mon_rma_writedata);
	MON_REPLACE(ops, injectdata, mon_rma_injectdata);
}

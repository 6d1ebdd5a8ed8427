/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/endpoint.h"
#include "providers/hook_monitor/tables.h"

/* Tagged messages. A transfer that a peer posts (fi_peer(3)) is not the
 * application's. */

static struct mon_ep *tagged_ep_of(const struct fid_ep *fid)
{
	return wf_container_of(fid->tagged, struct mon_ep, tagged);
}

static ssize_t mon_tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret =
		ep->below_tagged->recv(fid, buf, len, desc, src, tag, ignore, context);

	mon_count(ep->file, MON_TRECV, len, ret);
	return ret;
}

static ssize_t mon_tagged_recvv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
	void *context)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->recvv(
		fid, iov, desc, count, src, tag, ignore, context);

	if (!ret)
		mon_count(ep->file, MON_TRECVV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_tagged_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->recvmsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_TRECVMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_tagged_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest, uint64_t tag, void *context)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->send(fid, buf, len, desc, dest, tag, context);

	mon_count(ep->file, MON_TSEND, len, ret);
	return ret;
}

static ssize_t mon_tagged_sendv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t dest, uint64_t tag, void *context)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret =
		ep->below_tagged->sendv(fid, iov, desc, count, dest, tag, context);

	if (!ret)
		mon_count(ep->file, MON_TSENDV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_tagged_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->sendmsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_TSENDMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_tagged_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->inject(fid, buf, len, dest, tag);

	mon_count(ep->file, MON_TINJECT, len, ret);
	return ret;
}

static ssize_t mon_tagged_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->senddata(
		fid, buf, len, desc, data, dest, tag, context);

	mon_count(ep->file, MON_TSENDDATA, len, ret);
	return ret;
}

static ssize_t mon_tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest, uint64_t tag)
{
	struct mon_ep *ep = tagged_ep_of(fid);
	ssize_t ret = ep->below_tagged->injectdata(fid, buf, len, data, dest, tag);

	mon_count(ep->file, MON_TINJECTDATA, len, ret);
	return ret;
}

void mon_tagged_replace(struct fi_ops_tagged *ops)
{
	MON_REPLACE(ops, recv, mon_tagged_recv);
	MON_REPLACE(ops, recvv, mon_tagged_recvv);
	MON_REPLACE(ops, recvmsg, mon_tagged_recvmsg);
	MON_REPLACE(ops, send, mon_tagged_send);
	MON_REPLACE(ops, sendv, mon_tagged_sendv);
	MON_REPLACE(ops, sendmsg, mon_tagged_sendmsg);
	MON_REPLACE(ops, inject, mon_tagged_inject);
	MON_REPLACE(ops, senddata, mon_tagged_senddata);
	MON_REPLACE(ops, injectdata, mon_tagged_injectdata);
}

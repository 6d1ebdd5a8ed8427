/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/endpoint.h"
#include "providers/hook_monitor/tables.h"

/* Messages. A transfer that a peer posts (fi_peer(3)) is not the application's. */

static struct mon_ep *msg_ep_of(const struct fid_ep *fid)
{
	return wf_container_of(fid->msg, struct mon_ep, msg);
}

static ssize_t mon_msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, void *context)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->recv(fid, buf, len, desc, src, context);

	mon_count(ep->file, MON_RECV, len, ret);
	return ret;
}

static ssize_t mon_msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src, void *context)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->recvv(fid, iov, desc, count, src, context);

	if (!ret)
		mon_count(ep->file, MON_RECVV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_msg_recvmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->recvmsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_RECVMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->send(fid, buf, len, desc, dest, context);

	mon_count(ep->file, MON_SEND, len, ret);
	return ret;
}

static ssize_t mon_msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest, void *context)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->sendv(fid, iov, desc, count, dest, context);

	if (!ret)
		mon_count(ep->file, MON_SENDV, mon_iov_len(iov, count), ret);
	return ret;
}

static ssize_t mon_msg_sendmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->sendmsg(fid, msg, flags);

	if (!ret && !(flags & FI_PEER_TRANSFER))
		mon_count(ep->file, MON_SENDMSG,
			mon_iov_len(msg->msg_iov, msg->iov_count), ret);
	return ret;
}

static ssize_t mon_msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->inject(fid, buf, len, dest);

	mon_count(ep->file, MON_INJECT, len, ret);
	return ret;
}

static ssize_t mon_msg_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, void *context)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->senddata(fid, buf, len, desc, data, dest, context);

	mon_count(ep->file, MON_SENDDATA, len, ret);
	return ret;
}

static ssize_t mon_msg_injectdata(
	struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	struct mon_ep *ep = msg_ep_of(fid);
	ssize_t ret = ep->below_msg->injectdata(fid, buf, len, data, dest);

	mon_count(ep->file, MON_INJECTDATA, len, ret);
	return ret;
}

void mon_msg_replace(struct fi_ops_msg *ops)
{
	MON_REPLACE(ops, recv, mon_msg_recv);
	MON_REPLACE(ops, recvv, mon_msg_recvv);
	MON_REPLACE(ops, recvmsg, mon_msg_recvmsg);
	MON_REPLACE(ops, send, mon_msg_send);
	MON_REPLACE(ops, sendv, mon_msg_sendv);
	MON_REPLACE(ops, sendmsg, mon_msg_sendmsg);
	MON_REPLACE(ops, inject, mon_msg_inject);
	MON_REPLACE(ops, senddata, mon_msg_senddata);
	MON_REPLACE(ops, injectdata, mon_msg_injectdata);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages whose buffers are registered. */
#include "local.h"

static ssize_t local_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src, void *context)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);

	return l->msg_under->recv(
		ep, buf, len, cf_local_one(l, buf, len, desc, true), src, context);
}

static ssize_t local_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src, void *context)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, true, room);
	return l->msg_under->recvv(ep, iov, desc, count, src, context);
}

static ssize_t local_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);
	struct fi_msg m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, true, room);
	return l->msg_under->recvmsg(ep, &m, flags);
}

static ssize_t local_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);

	return l->msg_under->send(
		ep, buf, len, cf_local_one(l, buf, len, desc, false), dest, context);
}

static ssize_t local_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest, void *context)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, false, room);
	return l->msg_under->sendv(ep, iov, desc, count, dest, context);
}

static ssize_t local_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);
	struct fi_msg m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, false, room);
	return l->msg_under->sendmsg(ep, &m, flags);
}

static ssize_t local_senddata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, void *context)
{
	struct local_ep *l = OWNER(ep->msg, local_ep, msg);

	desc = cf_local_one(l, buf, len, desc, false);
	return l->msg_under->senddata(ep, buf, len, desc, data, dest, context);
}

void cf_local_msg(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->msg || ep->msg == &l->msg)
		return;
	l->msg_under = ep->msg;
	COPY_TABLE(l->msg, ep->msg);
	l->msg.recv = local_recv;
	l->msg.recvv = local_recvv;
	l->msg.recvmsg = local_recvmsg;
	l->msg.send = local_send;
	l->msg.sendv = local_sendv;
	l->msg.sendmsg = local_sendmsg;
	l->msg.senddata = local_senddata;
	ep->msg = &l->msg;
}

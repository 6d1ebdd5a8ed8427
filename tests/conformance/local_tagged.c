/* SPDX-License-Identifier: BSD-2-Clause */
/* Tagged messages whose buffers are registered. */
#include "local.h"

static ssize_t local_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);

	desc = cf_local_one(l, buf, len, desc, true);
	return l->tagged_under->recv(ep, buf, len, desc, src, tag, ignore, context);
}

static ssize_t local_trecvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, true, room);
	return l->tagged_under->recvv(ep, iov, desc, count, src, tag, ignore, context);
}

static ssize_t local_trecvmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);
	struct fi_msg_tagged m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, true, room);
	return l->tagged_under->recvmsg(ep, &m, flags);
}

static ssize_t local_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);

	desc = cf_local_one(l, buf, len, desc, false);
	return l->tagged_under->send(ep, buf, len, desc, dest, tag, context);
}

static ssize_t local_tsendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest, uint64_t tag, void *context)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, false, room);
	return l->tagged_under->sendv(ep, iov, desc, count, dest, tag, context);
}

static ssize_t local_tsendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);
	struct fi_msg_tagged m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, false, room);
	return l->tagged_under->sendmsg(ep, &m, flags);
}

static ssize_t local_tsenddata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	struct local_ep *l = OWNER(ep->tagged, local_ep, tagged);

	desc = cf_local_one(l, buf, len, desc, false);
	return l->tagged_under->senddata(ep, buf, len, desc, data, dest, tag, context);
}

void cf_local_tagged(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->tagged || ep->tagged == &l->tagged)
		return;
	l->tagged_under = ep->tagged;
	COPY_TABLE(l->tagged, ep->tagged);
	l->tagged.recv = local_trecv;
	l->tagged.recvv = local_trecvv;
	l->tagged.recvmsg = local_trecvmsg;
	l->tagged.send = local_tsend;
	l->tagged.sendv = local_tsendv;
	l->tagged.sendmsg = local_tsendmsg;
	l->tagged.senddata = local_tsenddata;
	ep->tagged = &l->tagged;
}

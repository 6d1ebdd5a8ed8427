/* SPDX-License-Identifier: BSD-2-Clause */
/* RMA whose local buffers are registered. */
#include "local.h"

static ssize_t local_read(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);

	desc = cf_local_one(l, buf, len, desc, true);
	return l->rma_under->read(ep, buf, len, desc, src, addr, key, context);
}

static ssize_t local_readv(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, true, room);
	return l->rma_under->readv(ep, iov, desc, count, src, addr, key, context);
}

static ssize_t local_readmsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);
	struct fi_msg_rma m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, true, room);
	return l->rma_under->readmsg(ep, &m, flags);
}

static ssize_t local_write(struct fid_ep *ep, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);

	desc = cf_local_one(l, buf, len, desc, false);
	return l->rma_under->write(ep, buf, len, desc, dest, addr, key, context);
}

static ssize_t local_writev(struct fid_ep *ep, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);
	void *room[VECTOR_MAX];

	desc = cf_local_many(l, iov, desc, count, false, room);
	return l->rma_under->writev(ep, iov, desc, count, dest, addr, key, context);
}

static ssize_t local_writemsg(
	struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);
	struct fi_msg_rma m = *msg;
	void *room[VECTOR_MAX];

	m.desc = cf_local_many(l, m.msg_iov, m.desc, m.iov_count, false, room);
	return l->rma_under->writemsg(ep, &m, flags);
}

static ssize_t local_writedata(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
	void *context)
{
	struct local_ep *l = OWNER(ep->rma, local_ep, rma);

	desc = cf_local_one(l, buf, len, desc, false);
	return l->rma_under->writedata(
		ep, buf, len, desc, data, dest, addr, key, context);
}

void cf_local_rma(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->rma || ep->rma == &l->rma)
		return;
	l->rma_under = ep->rma;
	COPY_TABLE(l->rma, ep->rma);
	l->rma.read = local_read;
	l->rma.readv = local_readv;
	l->rma.readmsg = local_readmsg;
	l->rma.write = local_write;
	l->rma.writev = local_writev;
	l->rma.writemsg = local_writemsg;
	l->rma.writedata = local_writedata;
	ep->rma = &l->rma;
}

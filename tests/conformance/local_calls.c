/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages, tagged messages and RMA whose local buffers are registered. Each call has
 * one of three forms: one buffer, a vector, or a struct. A row of the lists below makes
 * the function for one call, which fills in the descriptors and calls the provider's.
 */
#include "local.h"

#define LIST(...) __VA_ARGS__

/* @params: parameters between the descriptor and the context; @args: their names. */
#define ONE(table, call, buf_type, written, params, args)                              \
	static ssize_t local_##table##_##call(struct fid_ep *ep, buf_type buf,         \
		size_t len, void *desc, LIST params, void *context)                    \
	{                                                                              \
		struct local_ep *l = OWNER(ep->table, local_ep, table);                \
                                                                                       \
		desc = cf_local_one(l, buf, len, desc, written);                       \
		return l->table##_under->call(ep, buf, len, desc, LIST args, context); \
	}
#define VECTOR(table, call, written, params, args)                                     \
	static ssize_t local_##table##_##call(struct fid_ep *ep,                       \
		const struct iovec *iov, void **desc, size_t count, LIST params,       \
		void *context)                                                         \
	{                                                                              \
		struct local_ep *l = OWNER(ep->table, local_ep, table);                \
		void *room[VECTOR_MAX];                                                \
                                                                                       \
		desc = cf_local_many(l, iov, desc, count, written, room);              \
		return l->table##_under->call(                                         \
			ep, iov, desc, count, LIST args, context);                     \
	}
#define STRUCT(table, call, msg_type, written)                                         \
	static ssize_t local_##table##_##call(                                         \
		struct fid_ep *ep, const struct msg_type *msg, uint64_t flags)         \
	{                                                                              \
		struct local_ep *l = OWNER(ep->table, local_ep, table);                \
		struct msg_type m = *msg;                                              \
		void *room[VECTOR_MAX];                                                \
                                                                                       \
		m.desc = cf_local_many(                                                \
			l, m.msg_iov, m.desc, m.iov_count, written, room);             \
		return l->table##_under->call(ep, &m, flags);                          \
	}

/* clang-format off */
ONE(msg, recv, void *, true, (fi_addr_t src), (src))
VECTOR(msg, recvv, true, (fi_addr_t src), (src))
STRUCT(msg, recvmsg, fi_msg, true)
ONE(msg, send, const void *, false, (fi_addr_t dest), (dest))
VECTOR(msg, sendv, false, (fi_addr_t dest), (dest))
STRUCT(msg, sendmsg, fi_msg, false)
ONE(msg, senddata, const void *, false, (uint64_t data, fi_addr_t dest), (data, dest))

#define RECV_PARAMS (fi_addr_t src, uint64_t tag, uint64_t ignore)
#define SEND_PARAMS (fi_addr_t dest, uint64_t tag)
ONE(tagged, recv, void *, true, RECV_PARAMS, (src, tag, ignore))
VECTOR(tagged, recvv, true, RECV_PARAMS, (src, tag, ignore))
STRUCT(tagged, recvmsg, fi_msg_tagged, true)
ONE(tagged, send, const void *, false, SEND_PARAMS, (dest, tag))
VECTOR(tagged, sendv, false, SEND_PARAMS, (dest, tag))
STRUCT(tagged, sendmsg, fi_msg_tagged, false)
ONE(tagged, senddata, const void *, false, (uint64_t data, fi_addr_t dest, uint64_t tag),
	(data, dest, tag))

#define RMA_PARAMS (fi_addr_t peer, uint64_t addr, uint64_t key)
ONE(rma, read, void *, true, RMA_PARAMS, (peer, addr, key))
VECTOR(rma, readv, true, RMA_PARAMS, (peer, addr, key))
STRUCT(rma, readmsg, fi_msg_rma, true)
ONE(rma, write, const void *, false, RMA_PARAMS, (peer, addr, key))
VECTOR(rma, writev, false, RMA_PARAMS, (peer, addr, key))
STRUCT(rma, writemsg, fi_msg_rma, false)
ONE(rma, writedata, const void *, false,
	(uint64_t data, fi_addr_t peer, uint64_t addr, uint64_t key),
	(data, peer, addr, key))
/* clang-format on */

#define TAKE(table, call) l->table.call = local_##table##_##call

void cf_local_msg(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->msg || ep->msg == &l->msg)
		return;
	l->msg_under = ep->msg;
	COPY_TABLE(l->msg, ep->msg);
	TAKE(msg, recv);
	TAKE(msg, recvv);
	TAKE(msg, recvmsg);
	TAKE(msg, send);
	TAKE(msg, sendv);
	TAKE(msg, sendmsg);
	TAKE(msg, senddata);
	ep->msg = &l->msg;
}

void cf_local_tagged(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->tagged || ep->tagged == &l->tagged)
		return;
	l->tagged_under = ep->tagged;
	COPY_TABLE(l->tagged, ep->tagged);
	TAKE(tagged, recv);
	TAKE(tagged, recvv);
	TAKE(tagged, recvmsg);
	TAKE(tagged, send);
	TAKE(tagged, sendv);
	TAKE(tagged, sendmsg);
	TAKE(tagged, senddata);
	ep->tagged = &l->tagged;
}

void cf_local_rma(struct local_ep *l, struct fid_ep *ep)
{
	if (!ep->rma || ep->rma == &l->rma)
		return;
	l->rma_under = ep->rma;
	COPY_TABLE(l->rma, ep->rma);
	TAKE(rma, read);
	TAKE(rma, readv);
	TAKE(rma, readmsg);
	TAKE(rma, write);
	TAKE(rma, writev);
	TAKE(rma, writemsg);
	TAKE(rma, writedata);
	ep->rma = &l->rma;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_CALL_H
#define WF_OBJECTS_ENDPOINT_CALLS_CALL_H

#include "objects/endpoint/calls/build.h"
#include "objects/srx/fast_post.h"

/*
 * The code that message and tagged calls share; a message has tag 0. Always inline, so
 * that each call compiles to code for its kind alone.
 */
#define WF_CALL WF_INLINE

/* Send one buffer; @desc must stay valid until the call returns. */
WF_CALL ssize_t wf_call_send(struct wf_ep *ep, enum wf_op_kind kind, uint64_t flags,
	const void *buf, size_t len, void **desc, fi_addr_t addr, uint64_t tag,
	uint64_t data, void *context)
{
	struct wf_op op = {
		.kind = kind,
		.flags = flags,
		.addr = addr,
		.tag = tag,
		.context = context,
		.data = data,
	};

	wf_op_set_buf(&op, buf, len, desc);
	return wf_op_start_tx(ep, &op);
}

WF_CALL ssize_t wf_call_inject(struct wf_ep *ep, enum wf_op_kind kind, uint64_t flags,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag, uint64_t data)
{
	void *desc = NULL;

	return wf_call_send(ep, kind, wf_flags_inject(ep) | flags, buf, len, &desc,
		addr, tag, data, ep->fid.fid.context);
}

WF_CALL ssize_t wf_call_sendv(struct wf_ep *ep, enum wf_op_kind kind,
	const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
	uint64_t tag, void *context)
{
	struct wf_op op = {
		.kind = kind,
		.flags = wf_flags_plain(&ep->tx),
		.addr = addr,
		.tag = tag,
		.context = context,
	};
	int ret = wf_op_set_iov(ep, &op, iov, desc, count, ep->tx_iov_limit);

	return ret ? ret : wf_op_start_tx(ep, &op);
}

/* Check the arguments of fi_sendmsg or fi_tsendmsg and build @op. For a message the tag
 * of @msg is 0. */
WF_CALL int wf_call_set_send(struct wf_ep *ep, enum wf_op_kind kind,
	const struct fi_msg_tagged *msg, uint64_t flags, struct wf_op *op)
{
	int ret;

	*op = (struct wf_op){
		.kind = kind,
		.flags = wf_flags_call(&ep->tx, flags),
		.addr = msg->addr,
		.tag = msg->tag,
		.context = msg->context,
		.data = msg->data,
	};
	if (flags & ep->tx.refused)
		return wf_op_bad_flags(ep, flags & ep->tx.refused);
	ret = wf_op_set_iov(
		ep, op, msg->msg_iov, msg->desc, msg->iov_count, ep->tx_iov_limit);
	return ret ? ret : wf_op_check_len(ep, op);
}

/* The default flags of a receive. FI_MULTI_RECV as a default applies to messages, not
 * to tagged receives, unless the endpoint has FI_TAGGED_MULTI_RECV. */
WF_CALL uint64_t wf_flags_recv(const struct wf_ep *ep, enum wf_op_kind kind)
{
	uint64_t plain = wf_flags_plain(&ep->rx);

	return kind == WF_OP_RECV ? plain : plain & ep->trecv_flags;
}

/* The fast path of a receive. False: nothing was done, the caller calls
 * wf_call_recv_long. */
WF_CALL bool wf_call_recv_fast(struct wf_ep *ep, enum wf_op_kind kind, void *buf,
	size_t len, void *desc, fi_addr_t addr, uint64_t tag, uint64_t ignore,
	void *context)
{
	uint64_t cap = kind == WF_OP_RECV ? FI_MSG : FI_TAGGED;

	return wf_likely(ep->fast_post) &&
	       wf_likely(wf_srx_fast_post(ep->srx_queue, cap, wf_flags_recv(ep, kind),
		       buf, len, desc, addr, tag, ignore, context));
}

WF_CALL ssize_t wf_call_recv_long(struct wf_ep *ep, enum wf_op_kind kind, void *buf,
	size_t len, void *desc, fi_addr_t addr, uint64_t tag, uint64_t ignore,
	void *context)
{
	struct wf_op op = {
		.kind = kind,
		.flags = wf_flags_recv(ep, kind),
		.addr = addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	wf_op_set_buf(&op, buf, len, &desc);
	return ep->start_rx(ep, &op);
}

WF_CALL ssize_t wf_call_recvv(struct wf_ep *ep, enum wf_op_kind kind,
	const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
	uint64_t tag, uint64_t ignore, void *context)
{
	struct wf_op op = {
		.kind = kind,
		.flags = wf_flags_recv(ep, kind),
		.addr = addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};
	int ret = wf_op_set_iov(ep, &op, iov, desc, count, ep->rx_iov_limit);

	if (!ret)
		ret = wf_op_check_rx(ep, &op);
	return ret ? ret : ep->start_rx(ep, &op);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/internal.h"
#include "objects/op/build.h"

/* The message calls: each is one operation descriptor and one start. */

/* Bits of tagged receives, which have other meanings elsewhere. */
static const uint64_t not_for_recv = FI_PEEK | FI_CLAIM | FI_DISCARD;

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;

	if (wf_likely(ep->post_quick) &&
		wf_likely(wf_srx_post_quick(ep, FI_MSG, wf_flags_plain(&ep->rx), buf,
			len, desc, src_addr, 0, 0, context)))
		return 0;
	op = (struct wf_op){
		.kind = WF_OP_RECV,
		.flags = wf_flags_plain(&ep->rx),
		.addr = src_addr,
		.context = context,
	};
	wf_op_set_buf(&op, buf, len, &desc);
	return ep->start_rx(ep, &op);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op = {
		.kind = WF_OP_RECV,
		.flags = wf_flags_plain(&ep->rx),
		.addr = src_addr,
		.context = context,
	};
	int ret = wf_op_set_iov(ep, &op, iov, desc, count, ep->rx_iov_limit);

	if (!ret)
		ret = wf_op_check_rx(ep, &op);
	return ret ? ret : ep->start_rx(ep, &op);
}

int wf_op_recv(
	struct wf_ep *ep, const struct fi_msg *msg, uint64_t flags, struct wf_op *op)
{
	int ret;

	*op = (struct wf_op){
		.kind = WF_OP_RECV,
		.flags = wf_flags_call(&ep->rx, flags),
		.addr = msg->addr,
		.context = msg->context,
		.data = msg->data,
	};
	if (flags & (ep->rx.refused | not_for_recv))
		return wf_op_bad_flags(ep, flags & (ep->rx.refused | not_for_recv));
	ret = wf_op_set_iov(
		ep, op, msg->msg_iov, msg->desc, msg->iov_count, ep->rx_iov_limit);
	return ret ? ret : wf_op_check_rx(ep, op);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_recv(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;

	if (wf_op_send_small(ep, WF_OP_SEND, wf_flags_plain(&ep->tx), buf, len,
		    dest_addr, 0, context))
		return 0;
	op = (struct wf_op){
		.kind = WF_OP_SEND,
		.flags = wf_flags_plain(&ep->tx),
		.addr = dest_addr,
		.context = context,
	};
	wf_op_set_buf(&op, buf, len, &desc);
	return wf_op_start_tx(ep, &op);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op = {
		.kind = WF_OP_SEND,
		.flags = wf_flags_plain(&ep->tx),
		.addr = dest_addr,
		.context = context,
	};
	int ret = wf_op_set_iov(ep, &op, iov, desc, count, ep->tx_iov_limit);

	return ret ? ret : wf_op_start_tx(ep, &op);
}

int wf_op_send(
	struct wf_ep *ep, const struct fi_msg *msg, uint64_t flags, struct wf_op *op)
{
	int ret;

	*op = (struct wf_op){
		.kind = WF_OP_SEND,
		.flags = wf_flags_call(&ep->tx, flags),
		.addr = msg->addr,
		.context = msg->context,
		.data = msg->data,
	};
	if (flags & ep->tx.refused)
		return wf_op_bad_flags(ep, flags & ep->tx.refused);
	ret = wf_op_set_iov(
		ep, op, msg->msg_iov, msg->desc, msg->iov_count, ep->tx_iov_limit);
	return ret ? ret : wf_op_check_len(ep, op);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_send(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op = {
		.kind = WF_OP_SEND,
		.flags = wf_flags_plain(&ep->tx) | FI_REMOTE_CQ_DATA,
		.addr = dest_addr,
		.context = context,
		.data = data,
	};

	wf_op_set_buf(&op, buf, len, &desc);
	return wf_op_start_tx(ep, &op);
}

/* Injected operations have no context of their own: errors report the endpoint's. */
static inline ssize_t inject(struct wf_ep *ep, const void *buf, size_t len,
	uint64_t flags, uint64_t data, fi_addr_t dest_addr)
{
	void *desc = NULL;
	struct wf_op op = {
		.kind = WF_OP_SEND,
		.flags = (wf_flags_plain(&ep->tx) & ~FI_COMPLETION) | FI_INJECT | flags,
		.addr = dest_addr,
		.context = ep->fid.fid.context,
		.data = data,
	};

	wf_op_set_buf(&op, buf, len, &desc);
	return wf_op_start_tx(ep, &op);
}

static ssize_t msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct wf_ep *ep = wf_ep_of(fid);
	uint64_t flags = (wf_flags_plain(&ep->tx) & ~FI_COMPLETION) | FI_INJECT;

	if (wf_op_send_small(ep, WF_OP_SEND, flags, buf, len, dest_addr, 0, NULL))
		return 0;
	return inject(ep, buf, len, 0, 0, dest_addr);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr)
{
	return inject(wf_ep_of(fid), buf, len, FI_REMOTE_CQ_DATA, data, dest_addr);
}

void wf_ep_msg_finish(struct wf_ep *ep)
{
	struct fi_ops_msg *ops = &ep->msg_ops;

	*ops = wf_absent_msg;
	if (ep->caps & FI_RECV) {
		ops->recv = msg_recv;
		ops->recvv = msg_recvv;
		ops->recvmsg = msg_recvmsg;
	}
	if (ep->caps & FI_SEND) {
		ops->send = msg_send;
		ops->sendv = msg_sendv;
		ops->sendmsg = msg_sendmsg;
		ops->inject = msg_inject;
	}
	if (ep->caps & FI_SEND && ep->info->domain_attr->cq_data_size) {
		ops->senddata = msg_senddata;
		ops->injectdata = msg_injectdata;
	}
}

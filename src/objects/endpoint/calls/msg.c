/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/calls/call.h"
#include "objects/endpoint/calls/tables.h"

/* The message calls (fi_msg(3)): each builds one operation descriptor and starts it. */

/* Flags of tagged receives; their bits mean something else in other calls. */
static const uint64_t not_for_recv = FI_PEEK | FI_CLAIM | FI_DISCARD;

static __attribute__((noinline)) ssize_t msg_recv_long(struct fid_ep *fid, void *buf,
	size_t len, void *desc, fi_addr_t src_addr, void *context)
{
	return wf_call_recv_long(
		wf_ep_of(fid), WF_OP_RECV, buf, len, desc, src_addr, 0, 0, context);
}

static ssize_t calls_msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, void *context)
{
	if (wf_likely(wf_call_recv_fast(wf_ep_of(fid), WF_OP_RECV, buf, len, desc,
		    src_addr, 0, 0, context)))
		return 0;
	return msg_recv_long(fid, buf, len, desc, src_addr, context);
}

static ssize_t calls_msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, void *context)
{
	return wf_call_recvv(
		wf_ep_of(fid), WF_OP_RECV, iov, desc, count, src_addr, 0, 0, context);
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

static ssize_t calls_msg_recvmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_recv(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t calls_msg_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	uint64_t flags = wf_flags_plain(&ep->tx);

	if (wf_op_send_small(ep, WF_OP_SEND, flags, buf, len, dest_addr, 0, context))
		return 0;
	return wf_call_send(
		ep, WF_OP_SEND, flags, buf, len, &desc, dest_addr, 0, 0, context);
}

static ssize_t calls_msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest_addr, void *context)
{
	return wf_call_sendv(
		wf_ep_of(fid), WF_OP_SEND, iov, desc, count, dest_addr, 0, context);
}

int wf_op_send(
	struct wf_ep *ep, const struct fi_msg *msg, uint64_t flags, struct wf_op *op)
{
	const struct fi_msg_tagged untagged = {
		.msg_iov = msg->msg_iov,
		.desc = msg->desc,
		.iov_count = msg->iov_count,
		.addr = msg->addr,
		.context = msg->context,
		.data = msg->data,
	};

	return wf_call_set_send(ep, WF_OP_SEND, &untagged, flags, op);
}

static ssize_t calls_msg_sendmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_send(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t calls_msg_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	uint64_t flags = wf_flags_plain(&ep->tx);

	if (wf_op_send_small_data(
		    ep, WF_OP_SEND, flags, buf, len, dest_addr, 0, data, context))
		return 0;
	return wf_call_send(ep, WF_OP_SEND, flags | FI_REMOTE_CQ_DATA, buf, len, &desc,
		dest_addr, 0, data, context);
}

static ssize_t calls_msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct wf_ep *ep = wf_ep_of(fid);

	if (wf_op_send_small(
		    ep, WF_OP_SEND, wf_flags_inject(ep), buf, len, dest_addr, 0, NULL))
		return 0;
	return wf_call_inject(ep, WF_OP_SEND, 0, buf, len, dest_addr, 0, 0);
}

static ssize_t calls_msg_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr)
{
	struct wf_ep *ep = wf_ep_of(fid);

	if (wf_op_send_small_data(ep, WF_OP_SEND, wf_flags_inject(ep), buf, len,
		    dest_addr, 0, data, NULL))
		return 0;
	return wf_call_inject(
		ep, WF_OP_SEND, FI_REMOTE_CQ_DATA, buf, len, dest_addr, 0, data);
}

void wf_ep_msg_finish(struct wf_ep *ep)
{
	struct fi_ops_msg *ops = &ep->msg_ops;

	*ops = wf_absent_msg;
	if (ep->caps & FI_RECV) {
		ops->recv = calls_msg_recv;
		ops->recvv = calls_msg_recvv;
		ops->recvmsg = calls_msg_recvmsg;
	}
	if (ep->caps & FI_SEND) {
		ops->send = calls_msg_send;
		ops->sendv = calls_msg_sendv;
		ops->sendmsg = calls_msg_sendmsg;
		ops->inject = calls_msg_inject;
	}
	if (ep->caps & FI_SEND && ep->info->domain_attr->cq_data_size) {
		ops->senddata = calls_msg_senddata;
		ops->injectdata = calls_msg_injectdata;
	}
}

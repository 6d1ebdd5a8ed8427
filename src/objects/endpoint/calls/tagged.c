/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/calls/call.h"
#include "objects/endpoint/calls/tables.h"
#include "objects/endpoint/log.h"

/* The tagged message calls (fi_tagged(3)): each builds one operation descriptor and
 * starts it. */

/* Flags that a tagged receive cannot have: FI_MULTI_RECV needs FI_TAGGED_MULTI_RECV. */
static uint64_t tagged_trecv_refused(const struct wf_ep *ep)
{
	return ep->rx.refused | (FI_MULTI_RECV & ~ep->trecv_flags);
}

static __attribute__((noinline)) ssize_t tagged_recv_long(struct fid_ep *fid, void *buf,
	size_t len, void *desc, fi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	void *context)
{
	return wf_call_recv_long(wf_ep_of(fid), WF_OP_TRECV, buf, len, desc, src_addr,
		tag, ignore, context);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	if (wf_likely(wf_call_recv_fast(wf_ep_of(fid), WF_OP_TRECV, buf, len, desc,
		    src_addr, tag, ignore, context)))
		return 0;
	return tagged_recv_long(fid, buf, len, desc, src_addr, tag, ignore, context);
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	return wf_call_recvv(wf_ep_of(fid), WF_OP_TRECV, iov, desc, count, src_addr,
		tag, ignore, context);
}

/*
 * FI_PEEK searches for a message and may at once reserve it (FI_CLAIM) or drop it
 * (FI_DISCARD). A later FI_CLAIM with the same context receives the reserved message,
 * or drops it (FI_CLAIM | FI_DISCARD). Each call is about one message, and only
 * FI_CLAIM without another of these flags uses buffers.
 */
static int tagged_check_peek(
	const struct wf_ep *ep, const void *context, uint64_t flags)
{
	const char *why = NULL;

	if (flags & FI_DISCARD && !(flags & (FI_PEEK | FI_CLAIM)))
		why = "FI_DISCARD needs FI_PEEK or FI_CLAIM";
	else if ((flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) ==
		 (FI_PEEK | FI_CLAIM | FI_DISCARD))
		why = "FI_PEEK either claims or discards";
	else if (flags & FI_CLAIM && !context)
		why = "FI_CLAIM needs a struct fi_context as context";
	else if (flags & FI_MULTI_RECV)
		why = "FI_MULTI_RECV goes with neither FI_PEEK nor FI_CLAIM";
	if (!why)
		return 0;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA, "fi_trecvmsg: %s\n", why);
	return -FI_EINVAL;
}

int wf_op_trecv(struct wf_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
	struct wf_op *op)
{
	int ret;

	*op = (struct wf_op){
		.kind = WF_OP_TRECV,
		.flags = wf_flags_call(&ep->rx, flags),
		.addr = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.context = msg->context,
		.data = msg->data,
	};
	if (flags & tagged_trecv_refused(ep))
		return wf_op_bad_flags(ep, flags & tagged_trecv_refused(ep));
	if (flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) {
		ret = tagged_check_peek(ep, msg->context, flags);
		if (ret)
			return ret;
	}
	if (flags & (FI_PEEK | FI_DISCARD))
		return 0;
	ret = wf_op_set_iov(
		ep, op, msg->msg_iov, msg->desc, msg->iov_count, ep->rx_iov_limit);
	return ret ? ret : wf_op_check_rx(ep, op);
}

static ssize_t tagged_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_trecv(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	uint64_t flags = wf_flags_plain(&ep->tx);

	if (wf_op_send_small(ep, WF_OP_TSEND, flags, buf, len, dest_addr, tag, context))
		return 0;
	return wf_call_send(
		ep, WF_OP_TSEND, flags, buf, len, &desc, dest_addr, tag, 0, context);
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	return wf_call_sendv(
		wf_ep_of(fid), WF_OP_TSEND, iov, desc, count, dest_addr, tag, context);
}

int wf_op_tsend(struct wf_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
	struct wf_op *op)
{
	return wf_call_set_send(ep, WF_OP_TSEND, msg, flags, op);
}

static ssize_t tagged_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_of(fid);
	struct wf_op op;
	int ret = wf_op_tsend(ep, msg, flags, &op);

	return wf_unlikely(ret) ? ret : wf_op_start(ep, &op);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct wf_ep *ep = wf_ep_of(fid);
	uint64_t flags = wf_flags_plain(&ep->tx);

	if (wf_op_send_small_data(
		    ep, WF_OP_TSEND, flags, buf, len, dest_addr, tag, data, context))
		return 0;
	return wf_call_send(ep, WF_OP_TSEND, flags | FI_REMOTE_CQ_DATA, buf, len, &desc,
		dest_addr, tag, data, context);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t tag)
{
	struct wf_ep *ep = wf_ep_of(fid);

	if (wf_op_send_small(ep, WF_OP_TSEND, wf_flags_inject(ep), buf, len, dest_addr,
		    tag, NULL))
		return 0;
	return wf_call_inject(ep, WF_OP_TSEND, 0, buf, len, dest_addr, tag, 0);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t tag)
{
	struct wf_ep *ep = wf_ep_of(fid);

	if (wf_op_send_small_data(ep, WF_OP_TSEND, wf_flags_inject(ep), buf, len,
		    dest_addr, tag, data, NULL))
		return 0;
	return wf_call_inject(
		ep, WF_OP_TSEND, FI_REMOTE_CQ_DATA, buf, len, dest_addr, tag, data);
}

void wf_ep_tagged_finish(struct wf_ep *ep)
{
	struct fi_ops_tagged *ops = &ep->tagged_ops;

	*ops = wf_absent_tagged;
	if (ep->caps & FI_RECV) {
		ops->recv = tagged_recv;
		ops->recvv = tagged_recvv;
		ops->recvmsg = tagged_recvmsg;
	}
	if (ep->caps & FI_SEND) {
		ops->send = tagged_send;
		ops->sendv = tagged_sendv;
		ops->sendmsg = tagged_sendmsg;
		ops->inject = tagged_inject;
	}
	if (ep->caps & FI_SEND && ep->info->domain_attr->cq_data_size) {
		ops->senddata = tagged_senddata;
		ops->injectdata = tagged_injectdata;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/calls/peer_tag.h"
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/log.h"

/*
 * Tagged calls of an endpoint with FI_COLLECTIVE, whose peer (transfer.h) has the tags
 * with WF_OP_PEER_TAG for itself. The application cannot send to such a tag, and its
 * receives never match such a tag, even if they ignore all bits. The calls check that,
 * then call the functions that the endpoint would have without a peer, so that
 * endpoints without a peer do not pay for the check.
 */

static const struct fi_ops_tagged *peer_tag_plain(struct fid_ep *fid)
{
	return wf_transfer_tagged(wf_ep_of(fid)->transfer);
}

static int peer_tag_refuse(const struct wf_ep *ep, const char *why, uint64_t tag)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA, "tag %#llx refused: %s\n",
		(unsigned long long)tag, why);
	return -FI_EINVAL;
}

static int peer_tag_refuse_app(struct fid_ep *fid, uint64_t tag)
{
	return peer_tag_refuse(wf_ep_of(fid),
		"the highest bit is for collectives on an endpoint with FI_COLLECTIVE",
		tag);
}

static ssize_t tag_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->recv(
		fid, buf, len, desc, src_addr, tag, ignore & ~WF_OP_PEER_TAG, context);
}

static ssize_t tag_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->recvv(fid, iov, desc, count, src_addr, tag,
		ignore & ~WF_OP_PEER_TAG, context);
}

/* A transfer of the peer must have the bit, and must not ignore it. */
static int peer_tag_check_peer(struct fid_ep *fid, uint64_t tag, uint64_t ignore)
{
	if (tag & ~ignore & WF_OP_PEER_TAG)
		return 0;
	return peer_tag_refuse(
		wf_ep_of(fid), "a peer transfer needs the highest bit", tag);
}

static ssize_t tag_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct fi_msg_tagged own = *msg;
	int ret;

	if (flags & FI_PEER_TRANSFER) {
		ret = peer_tag_check_peer(fid, msg->tag, msg->ignore);
		return ret ? ret : peer_tag_plain(fid)->recvmsg(fid, msg, flags);
	}
	if (wf_unlikely(msg->tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, msg->tag);
	own.ignore &= ~WF_OP_PEER_TAG;
	return peer_tag_plain(fid)->recvmsg(fid, &own, flags);
}

static ssize_t tag_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest_addr, uint64_t tag, void *context)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->send(fid, buf, len, desc, dest_addr, tag, context);
}

static ssize_t tag_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->sendv(
		fid, iov, desc, count, dest_addr, tag, context);
}

static ssize_t tag_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	int ret = 0;

	if (flags & FI_PEER_TRANSFER)
		ret = peer_tag_check_peer(fid, msg->tag, 0);
	else if (wf_unlikely(msg->tag & WF_OP_PEER_TAG))
		ret = peer_tag_refuse_app(fid, msg->tag);
	return ret ? ret : peer_tag_plain(fid)->sendmsg(fid, msg, flags);
}

static ssize_t tag_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->senddata(
		fid, buf, len, desc, data, dest_addr, tag, context);
}

static ssize_t tag_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest_addr, uint64_t tag)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->inject(fid, buf, len, dest_addr, tag);
}

static ssize_t tag_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr, uint64_t tag)
{
	if (wf_unlikely(tag & WF_OP_PEER_TAG))
		return peer_tag_refuse_app(fid, tag);
	return peer_tag_plain(fid)->injectdata(fid, buf, len, data, dest_addr, tag);
}

static const struct fi_ops_tagged shared_ops = {
	.size = sizeof(shared_ops),
	.recv = tag_recv,
	.recvv = tag_recvv,
	.recvmsg = tag_recvmsg,
	.send = tag_send,
	.sendv = tag_sendv,
	.sendmsg = tag_sendmsg,
	.inject = tag_inject,
	.senddata = tag_senddata,
	.injectdata = tag_injectdata,
};

/* The application has no FI_TAGGED: only the peer sends and receives. */

static ssize_t peer_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return flags & FI_PEER_TRANSFER ? tag_recvmsg(fid, msg, flags) : -FI_ENOSYS;
}

static ssize_t peer_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return flags & FI_PEER_TRANSFER ? tag_sendmsg(fid, msg, flags) : -FI_ENOSYS;
}

void wf_ep_peer_tag_finish(struct wf_ep *ep)
{
	struct fi_ops_tagged *ops = &ep->tagged_ops;

	*wf_transfer_tagged(ep->transfer) = *ops;
	*ops = shared_ops;
	if (ep->info->caps & FI_TAGGED)
		return;
	*ops = wf_absent_tagged;
	ops->recvmsg = peer_recvmsg;
	ops->sendmsg = peer_sendmsg;
}

int wf_ep_peer_tag_check(const struct wf_ep *ep, uint64_t tag, uint64_t *ignore)
{
	if (!(ep->caps & FI_COLLECTIVE) || !wf_transfer_owned(ep))
		return 0;
	if (!(ep->info->caps & FI_TAGGED))
		return -FI_ENOSYS;
	if (tag & WF_OP_PEER_TAG)
		return peer_tag_refuse(ep, "the highest bit is for collectives", tag);
	*ignore &= ~WF_OP_PEER_TAG;
	return 0;
}

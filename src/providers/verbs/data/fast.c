/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "providers/verbs/data/data.h"

/*
 * The fast path (fast.h). A message takes it if it has one buffer, the endpoint is
 * connected, the queue has room and no flag asks for more than a completion. All else,
 * every error with it, is left to the general call, before anything was done.
 */

/* Flags that change the request, or what is reported at its end. */
#define NOT_FAST                                                                       \
	(FI_FENCE | FI_INJECT | FI_REMOTE_CQ_DATA | FI_PEER_TRANSFER | WF_OP_WORK)

/* Number the request and mark its slot. The queue has room. ep.lock is held. */
static inline void fast_fill_send(struct verbs_ep *ep, uint64_t flags, uint32_t len,
	void *context, bool signalled)
{
	struct verbs_queue *sq = &ep->sq;

	ep->fast.send.wr_id = sq->head;
	ep->fast.send.send_flags = (len <= ep->inline_size ? IBV_SEND_INLINE : 0) |
				   (signalled ? IBV_SEND_SIGNALED : 0);
	sq->slots[sq->head & sq->mask] = (struct verbs_wr){
		.context = context,
		.flags = flags,
		.len = len,
		.kind = WF_OP_SEND,
	};
}

/* False: nothing was posted. ep.lock is held. */
static inline bool fast_post_send(
	struct verbs_ep *ep, uint64_t flags, uint32_t len, void *context)
{
	bool signalled = flags & FI_COMPLETION || wf_ep_counts(&ep->ep, WF_CNTR_SEND) ||
			 verbs_queue_is_due(&ep->sq);
	struct ibv_send_wr *bad;

	if (wf_unlikely(verbs_queue_left(&ep->sq) <= 1))
		return false;
	fast_fill_send(ep, flags, len, context, signalled);
	if (wf_unlikely(ibv_post_send(ep->qp, &ep->fast.send, &bad)))
		return false;
	verbs_queue_posted(&ep->sq, signalled);
	return true;
}

static inline bool fast_is_connected(const struct verbs_ep *ep)
{
	/* acquire: pairs with the release of the connection manager. */
	return atomic_load_explicit(&ep->ready, memory_order_acquire);
}

/* A message of no bytes has no buffer. */
static inline bool fast_is_fast(
	const struct verbs_ep *ep, uint64_t flags, size_t len, size_t limit)
{
	return wf_likely(len - 1 < limit && !(flags & NOT_FAST)) &&
	       wf_likely(fast_is_connected(ep));
}

static inline bool fast_send(struct verbs_ep *ep, uint64_t flags, const void *buf,
	size_t len, const void *desc, void *context)
{
	bool done;

	if (wf_unlikely(!wf_trylock_inline(&ep->ep.lock)))
		return false;
	ep->fast.send_buf.addr = (uintptr_t)buf;
	ep->fast.send_buf.length = (uint32_t)len;
	ep->fast.send_buf.lkey = verbs_lkey(desc);
	done = fast_post_send(ep, flags, (uint32_t)len, context);
	wf_unlock_inline(&ep->ep.lock);
	return done;
}

static ssize_t fast_msg_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest_addr, void *context)
{
	struct wf_ep *wf = wf_ep_of(fid);
	struct verbs_ep *ep = verbs_ep_of(wf);
	uint64_t flags = wf_flags_plain(&wf->tx);
	size_t limit = desc ? wf->max_msg_size : ep->inline_size;

	if (wf_likely(fast_is_fast(ep, flags, len, limit)) &&
		wf_likely(fast_send(ep, flags, buf, len, desc, context)))
		return 0;
	return ep->fast.general.send(fid, buf, len, desc, dest_addr, context);
}

static ssize_t fast_msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct wf_ep *wf = wf_ep_of(fid);
	struct verbs_ep *ep = verbs_ep_of(wf);
	uint64_t flags = wf_flags_plain(&wf->tx) & ~(FI_COMPLETION | FI_INJECT);

	if (wf_likely(fast_is_fast(ep, flags, len, wf->inject_size)) &&
		wf_likely(fast_send(
			ep, flags | FI_INJECT, buf, len, NULL, fid->fid.context)))
		return 0;
	return ep->fast.general.inject(fid, buf, len, dest_addr);
}

/* False: nothing was posted. ep.lock is held. */
static inline bool fast_post_recv(struct verbs_ep *ep, uint64_t flags, void *context)
{
	struct verbs_queue *rq = &ep->rq;
	struct ibv_recv_wr *bad;

	if (wf_unlikely(!verbs_queue_left(rq)))
		return false;
	ep->fast.recv.wr_id = VERBS_WR_RECV | rq->head;
	rq->slots[rq->head & rq->mask] = (struct verbs_wr){
		.context = context,
		.flags = flags,
		.kind = WF_OP_RECV,
	};
	if (wf_unlikely(ibv_post_recv(ep->qp, &ep->fast.recv, &bad)))
		return false;
	rq->head++;
	return true;
}

static inline bool fast_recv(struct verbs_ep *ep, uint64_t flags, void *buf, size_t len,
	const void *desc, void *context)
{
	bool done;

	if (wf_unlikely(!wf_trylock_inline(&ep->ep.lock)))
		return false;
	ep->fast.recv_buf.addr = (uintptr_t)buf;
	ep->fast.recv_buf.length = (uint32_t)len;
	ep->fast.recv_buf.lkey = verbs_lkey(desc);
	done = fast_post_recv(ep, flags, context);
	wf_unlock_inline(&ep->ep.lock);
	return done;
}

static ssize_t fast_msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, void *context)
{
	struct wf_ep *wf = wf_ep_of(fid);
	struct verbs_ep *ep = verbs_ep_of(wf);
	uint64_t flags = wf_flags_plain(&wf->rx);

	if (wf_likely(desc && len && len <= UINT32_MAX) &&
		wf_likely(fast_recv(ep, flags, buf, len, desc, context)))
		return 0;
	return ep->fast.general.recv(fid, buf, len, desc, src_addr, context);
}

static void fast_prepare(struct verbs_fast *fast)
{
	fast->send = (struct ibv_send_wr){
		.sg_list = &fast->send_buf,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	fast->recv = (struct ibv_recv_wr){ .sg_list = &fast->recv_buf, .num_sge = 1 };
}

/* Datagrams need more in each request; receives of a shared context have its queue. */
void verbs_fast_finish(struct wf_ep *wf)
{
	struct verbs_ep *ep = verbs_ep_of(wf);
	struct fi_ops_msg *ops = &wf->msg_ops;

	if (ep->ud || !(wf->caps & FI_MSG))
		return;
	fast_prepare(&ep->fast);
	ep->fast.general = *ops;
	if (wf->caps & FI_SEND) {
		ops->send = fast_msg_send;
		ops->inject = fast_msg_inject;
	}
	if (wf->caps & FI_RECV && !ep->srx)
		ops->recv = fast_msg_recv;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "providers/lnx/fast_path.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

/*
 * Frequent operations on builtin members do not use the public interface.
 *
 *   sending     For a small message the member's send_small is called. The operation
 *               is over when that returns, and completes in lnx. Other operations are
 *               started at the member as they are (start.c).
 *   receiving   The member delivers into the receive context of lnx; its queues and
 *               counters are linked with the application's (wf_cq_link, wf_cntr_link).
 *   progress    The member's endpoint is polled without its queue (progress.c).
 */

/* Returns 0: sent; -FI_EAGAIN: lnx_start() has to send the message. It sends to any
 * address with more than an index in it. */
static inline ssize_t fast_path_send_over(struct lnx_ep *ep, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	const struct lnx_av *av = ep->av;
	const struct lnx_fast_path *fast;
	struct lnx_peer *peer;
	uintptr_t segment;
	uint32_t rail;

	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return -FI_EAGAIN;
	segment = lnx_av_segment(av, addr);
	if (wf_unlikely(!segment))
		return -FI_EAGAIN;
	peer = lnx_av_peer_in(av, segment, addr);
	/* acquire: pairs with the release in the insertion of the address. */
	rail = atomic_load_explicit(&peer->rail, memory_order_acquire);
	fast = &ep->fast_path[rail];
	if (wf_unlikely(len >= fast->limit))
		return -FI_EAGAIN;
	return fast->send(fast->ep, kind, buf, len, peer->addr[rail], tag);
}

static inline bool fast_path_sent(struct lnx_ep *ep, enum wf_op_kind kind,
	uint64_t flags, const void *buf, size_t len, fi_addr_t dest, uint64_t tag,
	void *context)
{
	if (wf_unlikely(flags & WF_OP_NOT_SMALL) ||
		wf_unlikely(fast_path_send_over(ep, kind, buf, len, dest, tag)))
		return false;
	wf_op_small_sent(&ep->wf, kind, flags, len, context);
	return true;
}

static inline uint64_t fast_path_send_flags(const struct lnx_ep *ep)
{
	return wf_flags_plain(&ep->wf.tx);
}

static inline uint64_t fast_path_inject_flags(const struct lnx_ep *ep)
{
	return wf_flags_plain(&ep->wf.tx) & ~FI_COMPLETION;
}

static ssize_t fast_path_msg_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest, void *context)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (fast_path_sent(ep, WF_OP_SEND, fast_path_send_flags(ep), buf, len, dest, 0,
		    context))
		return 0;
	return ep->plain_msg.send(fid, buf, len, desc, dest, context);
}

static ssize_t fast_path_msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (fast_path_sent(ep, WF_OP_SEND, fast_path_inject_flags(ep), buf, len, dest,
		    0, NULL))
		return 0;
	return ep->plain_msg.inject(fid, buf, len, dest);
}

static ssize_t fast_path_tagged_send(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, fi_addr_t dest, uint64_t tag, void *context)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (fast_path_sent(ep, WF_OP_TSEND, fast_path_send_flags(ep), buf, len, dest,
		    tag, context))
		return 0;
	return ep->plain_tagged.send(fid, buf, len, desc, dest, tag, context);
}

static ssize_t fast_path_tagged_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (fast_path_sent(ep, WF_OP_TSEND, fast_path_inject_flags(ep), buf, len, dest,
		    tag, NULL))
		return 0;
	return ep->plain_tagged.inject(fid, buf, len, dest, tag);
}

static bool fast_path_any_sends(const struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->fast_path[i].limit)
			return true;
	return false;
}

void lnx_fast_path_finish(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);

	ep->plain_msg = wf->msg_ops;
	ep->plain_tagged = wf->tagged_ops;
	if (!fast_path_any_sends(ep) || !(wf->caps & FI_SEND))
		return;
	if (wf->caps & FI_MSG) {
		wf->msg_ops.send = fast_path_msg_send;
		wf->msg_ops.inject = fast_path_msg_inject;
	}
	if (wf->caps & FI_TAGGED) {
		wf->tagged_ops.send = fast_path_tagged_send;
		wf->tagged_ops.inject = fast_path_tagged_inject;
	}
}

/* Members report sources as indices in the AV of lnx, which become the application's
 * ids when its queue is written. Transmissions over a recorded rail complete in
 * completion.c. */
void lnx_fast_path_link(struct lnx_ep *ep, struct lnx_rail *rail)
{
	if (!rail->below.builtin)
		return;
	wf_cq_link_sources(rail->below.rx_cq, ep->wf.av);
	wf_cq_link(rail->below.rx_cq, rail->rx.cq);
	if (!rail->recorded)
		wf_cq_link(rail->below.tx_cq, rail->tx.cq);
	for (int k = 0; k < WF_CNTR_COUNT; k++)
		wf_cntr_link(rail->below.cntr[k].fid, ep->wf.cntr[k]);
}

/* Can the rail take small messages without a choice of rail for each and without
 * statistics? */
static bool fast_path_is_plain(const struct lnx_ep *ep, unsigned int index)
{
	return !lnx_params.stats && !(ep->per_msg && !ep->domain->link->local[index]);
}

void lnx_fast_path_enabled(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++) {
		struct wf_ep *member = ep->rail[i].below.builtin;

		if (!member || !fast_path_is_plain(ep, i))
			continue;
		ep->fast_path[i] = (struct lnx_fast_path){
			.send = member->xfer->send_small,
			.ep = member,
			.limit = member->small_limit,
		};
		/* A message to be striped takes the long path. */
		if (ep->stripe && !ep->domain->link->member[i].memory)
			ep->fast_path[i].limit =
				WF_MIN(member->small_limit, lnx_params.stripe_size);
	}
}

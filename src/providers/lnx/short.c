/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/build.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"

/*
 * Members of this library are not asked through the public interface for what every
 * message needs.
 *
 *   sending     the member's send_small is called for a small message, which is over
 *               when that returns: it completes here, whatever the endpoint does with
 *               other transmissions. Those are started as the operations that they are
 *               (start.c).
 *   receiving   the member delivers into our receive context and the application's CQ
 *               and counters (objects/srx/fast_path.c), as does all else that it
 * completes. While deferred work is under way completions come by here (owner.c).
 *   progress    the member's endpoint is moved without its queue (progress.c).
 */

/* 0: sent. An address with more in it than an index takes the long way. */
static inline ssize_t send_over(struct lnx_ep *ep, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	const struct lnx_av *av = ep->av;
	const struct lnx_short *way;
	struct lnx_peer *peer;
	uintptr_t segment;
	uint32_t rail;

	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return -FI_EAGAIN;
	segment = lnx_av_segment(av, addr);
	if (wf_unlikely(!segment))
		return -FI_EAGAIN;
	peer = lnx_av_peer_in(av, segment, addr);
	/* acquire: pairs with the release of the insertion. */
	rail = atomic_load_explicit(&peer->rail, memory_order_acquire);
	way = &ep->rail_short[rail];
	if (wf_unlikely(len >= way->limit))
		return -FI_EAGAIN;
	return way->send(way->ep, kind, buf, len, peer->addr[rail], tag);
}

static inline bool sent(struct lnx_ep *ep, enum wf_op_kind kind, uint64_t flags,
	const void *buf, size_t len, fi_addr_t dest, uint64_t tag, void *context)
{
	if (wf_unlikely(flags & WF_OP_NOT_SMALL) ||
		wf_unlikely(send_over(ep, kind, buf, len, dest, tag)))
		return false;
	wf_op_small_sent(&ep->wf, kind, flags, len, context);
	return true;
}

static inline uint64_t send_flags(const struct lnx_ep *ep)
{
	return wf_flags_plain(&ep->wf.tx);
}

static inline uint64_t inject_flags(const struct lnx_ep *ep)
{
	return wf_flags_plain(&ep->wf.tx) & ~FI_COMPLETION;
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (sent(ep, WF_OP_SEND, send_flags(ep), buf, len, dest, 0, context))
		return 0;
	return ep->long_msg.send(fid, buf, len, desc, dest, context);
}

static ssize_t msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (sent(ep, WF_OP_SEND, inject_flags(ep), buf, len, dest, 0, NULL))
		return 0;
	return ep->long_msg.inject(fid, buf, len, dest);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (sent(ep, WF_OP_TSEND, send_flags(ep), buf, len, dest, tag, context))
		return 0;
	return ep->long_tagged.send(fid, buf, len, desc, dest, tag, context);
}

static ssize_t tagged_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);

	if (sent(ep, WF_OP_TSEND, inject_flags(ep), buf, len, dest, tag, NULL))
		return 0;
	return ep->long_tagged.inject(fid, buf, len, dest, tag);
}

static bool any_sends(const struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail_short[i].limit)
			return true;
	return false;
}

void lnx_short_finish(struct lnx_ep *ep)
{
	struct wf_ep *wf = &ep->wf;

	/* Such a receive never is deferred work. */
	wf->fast_post = wf->srx_queue != NULL;
	ep->long_msg = wf->msg_ops;
	ep->long_tagged = wf->tagged_ops;
	if (!any_sends(ep) || !(wf->caps & FI_SEND))
		return;
	if (wf->caps & FI_MSG) {
		wf->msg_ops.send = msg_send;
		wf->msg_ops.inject = msg_inject;
	}
	if (wf->caps & FI_TAGGED) {
		wf->tagged_ops.send = tagged_send;
		wf->tagged_ops.inject = tagged_inject;
	}
}

/* Not into a queue that is imported itself: its owner is to be asked. */
static void set_cq(struct fid_cq *fid, struct lnx_port *port, bool on)
{
	struct wf_cq *cq = fid ? wf_cq_imported(fid) : NULL;

	if (cq)
		wf_cq_set_direct(
			cq, on && port->cq->owner == &port->cq->self ? port->cq : NULL);
}

static void set_cntr(struct fid_cntr *fid, struct lnx_cntr_port *port, bool on)
{
	struct wf_cntr *cntr = fid ? wf_cntr_imported(fid) : NULL;

	if (cntr)
		wf_cntr_set_direct(cntr, on ? port->fid.fid.context : NULL);
}

void lnx_short_direct(struct lnx_ep *ep, bool on)
{
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		set_cq(rail->tx_cq, &rail->tx, on && !ep->tracked);
		set_cq(rail->rx_cq, &rail->rx, on);
		for (int k = 0; k < WF_CNTR_COUNT; k++)
			set_cntr(rail->cntr[k], &rail->cntr_port[k], on);
	}
}

/* May this rail be taken without further thought? */
static bool is_plain(const struct lnx_ep *ep, unsigned int index)
{
	return !lnx_params.stats && !(ep->per_msg && !ep->domain->link->local[index]);
}

/* Sources are our indices; the application's ids come last. */
static void set_source(struct lnx_ep *ep, struct fid_cq *fid)
{
	struct wf_cq *cq = fid ? wf_cq_imported(fid) : NULL;

	if (cq)
		cq->direct_av = ep->wf.av;
}

void lnx_short_enabled(struct lnx_ep *ep)
{
	ep->all_here = true;
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		rail->here = wf_ep_from_fid(rail->ep);
		ep->all_here &= rail->here != NULL;
		set_source(ep, rail->rx_cq);
		ep->rail_short[i].ep = rail->here;
		if (rail->here && is_plain(ep, i)) {
			ep->rail_short[i].send = rail->here->xfer->send_small;
			ep->rail_short[i].limit = rail->here->small_limit;
		}
	}
	lnx_short_direct(ep, true);
}

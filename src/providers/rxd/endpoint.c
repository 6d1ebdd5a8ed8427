/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/name.h"
#include "providers/rxd/below.h"
#include "providers/rxd/data/data.h"
#include "providers/rxd/peer.h"

/* Opening, naming, enabling and closing endpoints. */

static int rxd_enable(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	int ret = rxd_below_enable(ep, wf_ep_may_sleep(wf));

	if (!ret)
		ret = rxd_peers_init(ep);
	if (!ret)
		ret = rxd_wait_enable(ep);
	if (ret)
		return ret;
	wf_av_removals_start(&ep->remotes.removals, wf->av);
	ep->unexp.wants = wf_recv_wants_of(wf);
	return 0;
}

static void rxd_destroy(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);

	/* In a forked child the peers are those of the parent. */
	if (!wf->inherited)
		rxd_peers_say_goodbye(ep);
	ep->closing = true;
	wf_av_removals_stop(&ep->remotes.removals);
	wf_ep_srx_lock(wf);
	rxd_peers_done(ep);
	wf_ep_srx_unlock(wf);
	rxd_wait_close(ep);
	rxd_below_close(ep);
	rxd_data_done(ep);
	wf_fds_done(&ep->fds);
	wf_watches_done(&ep->watches);
	wf_ep_free(wf);
}

static int rxd_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	/* The call only reads the address. */
	return fi_setname(&rxd_ep_of(wf)->below.fid->fid, (void *)(uintptr_t)addr, len);
}

static int rxd_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	return fi_getname(&rxd_ep_of(wf)->below.fid->fid, addr, len);
}

static size_t rxd_tx_left(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	size_t size = wf->info->tx_attr->size;

	return ep->tx_count < size ? size - ep->tx_count : 0;
}

static const struct wf_xfer_ops rxd_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = rxd_start,
	.progress = rxd_progress,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = rxd_enable,
	.cancel_tx = rxd_cancel,
	.flushed = rxd_flushed,
	.unfinished = rxd_unfinished,
	.flush_ms = RXD_FLUSH_MS,
	.destroy = rxd_destroy,
	.setname = rxd_setname,
	.getname = rxd_getname,
	.tx_left = rxd_tx_left,
	.wait_fds = rxd_wait_fds,
	.arm = rxd_arm,
};

int rxd_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	struct rxd_ep *ep;
	struct wf_ep *wf;
	int ret = wf_ep_new(sizeof(*ep), domain, info, &rxd_xfer_ops, context, &wf);

	(void)flags;
	if (ret)
		return ret;
	ep = rxd_ep_of(wf);
	ep->domain = rxd_domain_of(domain);
	ep->deadline_ns = UINT64_MAX;
	wf_list_init(&ep->active);
	wf_list_init(&ep->greeted);
	wf_list_init(&ep->settled);
	wf_watches_init(&ep->watches);
	wf_fds_init(&ep->fds);
	ret = rxd_data_init(ep);
	if (!ret)
		ret = rxd_wait_open(ep);
	if (!ret)
		ret = rxd_below_open(ep, context);
	if (ret) {
		rxd_destroy(&ep->ep);
		return ret;
	}
	*ret_ep = &ep->ep.fid;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/async.h"

static bool async_ep_run(struct wf_async_item *item)
{
	struct wf_ep *ep = wf_container_of(item, struct wf_ep, async);

	wf_ep_run(ep);
	return wf_ep_unfinished(ep);
}

/* Is @cq the queue of an owner in another library, or owned by a layer that runs the
 * endpoint? */
static bool async_cq_is_imported(const struct wf_cq *cq)
{
	return cq && cq->owner != &cq->self;
}

static bool async_ep_has_owner(const struct wf_ep *ep)
{
	if ((ep->srx && !ep->srx_lock) || async_cq_is_imported(ep->tx_cq) ||
		async_cq_is_imported(ep->rx_cq))
		return true;
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i] && ep->cntr[i]->owner != &ep->cntr[i]->self)
			return true;
	return false;
}

void wf_ep_async_init(struct wf_ep *ep)
{
	wf_async_item_init(&ep->async, NULL, NULL);
	ep->wants = &ep->async;
}

void wf_ep_async_enable(struct wf_ep *ep)
{
	if (ep->wants != &ep->async || !ep->xfer->unfinished ||
		wf_domain_has_thread(ep->domain) || async_ep_has_owner(ep) ||
		!wf_async_is_enabled())
		return;
	wf_async_item_init(&ep->async, ep->domain->gate, async_ep_run);
}

void wf_ep_async_stop(struct wf_ep *ep)
{
	wf_async_forget(&ep->async);
}

void wf_ep_async_close(struct wf_ep *ep)
{
	wf_async_close(&ep->async);
}

void wf_ep_async_below(struct wf_ep *above, struct wf_ep *below)
{
	below->wants = above->wants;
}

bool wf_ep_unfinished(struct wf_ep *ep)
{
	bool left;

	if (!ep->xfer->unfinished)
		return false;
	wf_lock(&ep->lock);
	left = ep->xfer->unfinished(ep);
	wf_unlock(&ep->lock);
	return left;
}

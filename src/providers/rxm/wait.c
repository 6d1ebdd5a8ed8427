/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/local/local.h"
#include "sys/clock.h"

/*
 * Sleeping threads wait for the descriptors of the queues below and for a timer. Queues
 * without a descriptor are read when the timer expires.
 */
enum { POLL_NS = 1000000 };

void rxm_wait_open(struct rxm_ep *ep)
{
	ep->has_fds = !wf_lower_wait_add(&ep->cq_wait, &ep->cq.fid->fid, &ep->fds) &&
		      !wf_lower_wait_add(&ep->eq_wait, &ep->eq->fid, &ep->fds);
}

void rxm_wait_close(struct rxm_ep *ep)
{
	wf_lower_wait_del(&ep->cq_wait);
	wf_lower_wait_del(&ep->eq_wait);
}

struct wf_fds *rxm_wait_fds(struct wf_ep *wf)
{
	return &rxm_ep_of(wf)->fds;
}

void rxm_wake_sleepers(struct rxm_ep *ep)
{
	if (ep->watches.sleepers && !ep->running)
		wf_watches_set_timer(&ep->watches, 0);
}

static void rxm_wait_set_timer(struct rxm_ep *ep)
{
	uint64_t deadline = rxm_peers_deadline(ep);

	if (!ep->has_fds)
		deadline = WF_MIN(deadline, wf_now_ns() + POLL_NS);
	wf_watches_set_timer(&ep->watches, deadline);
}

/* Are there connections below that came up and that no progress call has used yet?
 * Their events are over, so nothing would end the sleep. */
static bool wait_any_reached(const struct rxm_ep *ep)
{
	wf_list_foreach(link, &ep->reaching)
	{
		const struct rxm_local *local =
			wf_list_entry(link, struct rxm_local, link);

		if (wf_local_is_reached(ep->below, local->below))
			return true;
	}
	return false;
}

bool rxm_arm(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	struct fid *queues[] = { &ep->cq.fid->fid, &ep->eq->fid };

	ep->watches.sleepers = true;
	ep->armed_polls = ep->polls;
	/* The thread may wake because of an event. */
	ep->eq_soon = true;
	if (ep->below)
		wf_progress_set_partial(&wf->progress, false);
	if (!wf_list_empty(&ep->failed) || !wf_list_empty(&ep->ready) ||
		!wf_list_empty(&ep->idle) || ep->data.memory_given)
		return false;
	if (ep->has_fds &&
		fi_trywait(ep->domain->below.fabric, queues, WF_ARRAY_SIZE(queues)))
		return false;
	/* fi_trywait has armed the wait object that the inbox signals. */
	if (ep->inbox && !wf_inbox_empty(ep->inbox))
		return false;
	rxm_wait_set_timer(ep);
	return wf_local_arm(ep->below) && !wait_any_reached(ep);
}

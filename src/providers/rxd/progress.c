/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/below.h"
#include "providers/rxd/peer.h"
#include "providers/rxd/param.h"
#include "providers/rxd/rxd.h"
#include "sys/clock.h"
#include "sys/compiler.h"

/*
 * A progress call receives packets, up to the limit of FI_OFI_RXD_SPIN_COUNT, and runs
 * the flows that received some, and those whose deadline has come. A flow is in
 * ep->active as long as it has a deadline.
 */

enum { BATCH = 32 };

#define WARN_NS UINT64_C(1000000000)

bool rxd_may_warn(struct rxd_ep *ep)
{
	if (ep->warned_ns && ep->now_ns - ep->warned_ns < WARN_NS)
		return false;
	ep->warned_ns = ep->now_ns;
	return true;
}

static void progress_note_deadline(struct rxd_ep *ep, uint64_t deadline_ns)
{
	if (deadline_ns < ep->deadline_ns)
		ep->deadline_ns = deadline_ns;
	wf_watches_expect(&ep->watches, deadline_ns);
}

void rxd_schedule(struct rxd_peer *peer)
{
	uint64_t deadline_ns = rxd_flow_deadline(&peer->flow);
	struct rxd_ep *ep = peer->ep;

	if (deadline_ns == UINT64_MAX)
		return;
	if (wf_list_empty(&peer->active_link))
		wf_list_push(&ep->active, &peer->active_link);
	progress_note_deadline(ep, deadline_ns);
}

static void rxd_progress_receive(struct rxd_ep *ep, const struct rxd_packet *packet)
{
	struct rxd_peer *peer = NULL;

	if (wf_likely(packet->len >= sizeof(struct rxd_base)))
		peer = rxd_peer_from(ep, packet);
	if (wf_unlikely(!peer)) {
		/* The packet belongs to no peer of this endpoint: drop it. */
	} else if (wf_unlikely(rxd_flow_receive(
			   &peer->flow, packet->data, packet->len, ep->now_ns))) {
		rxd_peer_gone(peer);
	} else {
		if (wf_list_empty(&peer->active_link))
			wf_list_push(&ep->active, &peer->active_link);
		peer->touched = true;
	}
	rxd_below_put(ep, packet);
}

/* Receive all packets that have arrived; true: there were some. */
static bool progress_receive_all(struct rxd_ep *ep)
{
	size_t limit = rxd_params.spin_count ? rxd_params.spin_count : SIZE_MAX;
	struct rxd_packet packets[BATCH];
	size_t count, total = 0;

	do {
		count = rxd_below_receive(
			ep, packets, WF_MIN(limit - total, (size_t)BATCH));
		if (!count)
			break;
		ep->now_ns = wf_now_ns();
		for (size_t i = 0; i < count; i++)
			rxd_progress_receive(ep, &packets[i]);
		total += count;
	} while (total < limit);
	return total;
}

/* Run the active flows that received packets, or whose deadline has come; if @sleep,
 * all of them. */
static void progress_run_flows(struct rxd_ep *ep, bool sleep)
{
	ep->deadline_ns = UINT64_MAX;
	wf_list_foreach_safe(link, &ep->active)
	{
		struct rxd_peer *peer =
			wf_list_entry(link, struct rxd_peer, active_link);
		uint64_t deadline_ns;

		if (sleep || peer->touched ||
			rxd_flow_deadline(&peer->flow) <= ep->now_ns)
			rxd_flow_run(&peer->flow, ep->now_ns, sleep);
		peer->touched = false;
		deadline_ns = rxd_flow_deadline(&peer->flow);
		if (deadline_ns == UINT64_MAX)
			wf_list_remove(&peer->active_link);
		else
			progress_note_deadline(ep, deadline_ns);
	}
}

void rxd_run_flows(struct rxd_ep *ep)
{
	ep->now_ns = wf_now_ns();
	progress_run_flows(ep, true);
}

void rxd_progress(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	bool received = progress_receive_all(ep);

	if (received)
		wf_progress_found_some(&wf->progress);
	else if (ep->deadline_ns != UINT64_MAX)
		ep->now_ns = wf_now_ns();
	rxd_peers_tick(ep);
	if (received || ep->deadline_ns <= ep->now_ns)
		progress_run_flows(ep, false);
	if (wf_unlikely(ep->watches.sleepers))
		rxd_timer_tick(ep);
}

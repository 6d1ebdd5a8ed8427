/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/stranger.h"

#include "providers/rxd/param.h"
#include "providers/rxd/peer.h"

enum {
	GREETED_MAX = 4096, /* limit of strangers that have proven nothing */
	SEARCH_MAX = 16,    /* limit of strangers that one search examines */
};

static struct rxd_peer *stranger_first_of(const struct wf_list *list)
{
	return wf_list_empty(list)
		       ? NULL
		       : wf_list_entry(list->next, struct rxd_peer, stranger_link);
}

static void stranger_unlist(struct rxd_peer *peer)
{
	if (wf_list_empty(&peer->stranger_link))
		return;
	wf_list_remove(&peer->stranger_link);
	peer->ep->greeted_count -= !peer->settled;
}

static void stranger_settle(struct rxd_peer *peer)
{
	stranger_unlist(peer);
	peer->settled = true;
	wf_list_push(&peer->ep->settled, &peer->stranger_link);
}

/* Forget the oldest stranger that has proven nothing. False: there is none. */
static bool stranger_forget_greeted(struct rxd_ep *ep)
{
	struct rxd_peer *peer;

	while ((peer = stranger_first_of(&ep->greeted))) {
		if (!peer->flow.greeting.proven) {
			rxd_peer_forget(peer);
			return true;
		}
		stranger_settle(peer);
	}
	return false;
}

/* Is nothing under way to and from the peer, and has it been silent for as long as
 * makes a peer be given up? */
static bool stranger_is_idle(const struct rxd_peer *peer)
{
	uint64_t silent_ns =
		peer->ep->now_ns - WF_MIN(peer->ep->now_ns, peer->flow.in.heard_ns);

	return rxd_flow_idle(&peer->flow) && !peer->answers && !peer->rx.active &&
	       silent_ns >= peer->ep->config.patience_ns;
}

/* Forget a stranger that has been silent for long; one of this library is told so, and
 * greets this endpoint anew. False: none was found. */
static bool stranger_forget_settled(struct rxd_ep *ep)
{
	struct rxd_peer *peer;

	for (int i = 0; i < SEARCH_MAX && (peer = stranger_first_of(&ep->settled));
		i++) {
		if (stranger_is_idle(peer)) {
			rxd_flow_bye(&peer->flow, ep->now_ns);
			rxd_peer_gone(peer);
			return true;
		}
		stranger_settle(peer);
	}
	return false;
}

bool rxd_stranger_fits(struct rxd_ep *ep)
{
	if (ep->greeted_count >= GREETED_MAX)
		(void)stranger_forget_greeted(ep);
	return ep->strangers < rxd_params.max_peers || stranger_forget_greeted(ep) ||
	       stranger_forget_settled(ep);
}

void rxd_stranger_add(struct rxd_peer *peer)
{
	struct rxd_ep *ep = peer->ep;

	peer->strange = true;
	peer->settled = false;
	peer->greeted_ns = ep->now_ns;
	ep->strangers++;
	wf_list_push(&ep->greeted, &peer->stranger_link);
	ep->greeted_count++;
}

void rxd_stranger_remove(struct rxd_peer *peer)
{
	peer->ep->strangers -= peer->strange;
	peer->strange = false;
	stranger_unlist(peer);
}

void rxd_strangers_tick(struct rxd_ep *ep)
{
	uint64_t limit_ns = ep->config.patience_ns;
	struct rxd_peer *peer;

	while ((peer = stranger_first_of(&ep->greeted)) &&
		ep->now_ns - peer->greeted_ns >= limit_ns)
		if (peer->flow.greeting.proven)
			stranger_settle(peer);
		else
			rxd_peer_forget(peer);
}

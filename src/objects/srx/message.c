/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Messages that wait for a receive. There may be a million of them, so all that waits
 * is what their entries say; entries themselves, with their room for buffers, exist
 * only as long as a transport is at work on them. A peer that uses the public
 * operations may remember the entry, which is kept then.
 */

static_assert(sizeof(struct wf_srx_message) <= 88, "one for each unexpected message");

enum { SIZE_BITS = 62 };

static struct wf_match *side_of(struct wf_srx *srx, const struct fi_peer_rx_entry *peer)
{
	return wf_srx_side(srx, peer->flags);
}

static struct wf_pool *pool_of(struct wf_srx *srx, bool has_data)
{
	return &srx->messages[has_data];
}

static struct wf_srx_message *message_new(
	struct wf_srx *srx, const struct fi_peer_rx_entry *peer, bool has_data)
{
	struct wf_srx_message *msg = wf_pool_get(pool_of(srx, has_data));

	if (wf_unlikely(!msg))
		return NULL;
	msg->fid = peer->srx;
	msg->has_data = has_data;
	return msg;
}

/* The entry stays, for the peer knows it. */
static int keep(struct wf_srx *srx, struct fi_peer_rx_entry *peer)
{
	struct wf_srx_message *msg = message_new(srx, peer, false);

	if (wf_unlikely(!msg))
		return -FI_ENOMEM;
	msg->kept = true;
	msg->size = 0;
	msg->context = wf_srx_entry_of(peer);
	wf_match_queue(side_of(srx, peer), &msg->match, peer->tag, peer->addr);
	return 0;
}

int wf_srx_own_keep(struct fi_peer_rx_entry *peer)
{
	return keep(wf_srx_port_of(peer->srx)->srx, peer);
}

/* One is put by, for wf_srx_drain. */
static void give_up(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (srx->reserve)
		wf_pool_put(&srx->pool, entry);
	else
		srx->reserve = entry;
}

int wf_srx_own_stow(struct fi_peer_rx_entry *peer)
{
	struct wf_srx *srx = wf_srx_port_of(peer->srx)->srx;
	bool has_data = peer->flags & FI_REMOTE_CQ_DATA;
	struct wf_srx_message *msg;

	if (wf_unlikely(peer->msg_size >> SIZE_BITS))
		return keep(srx, peer);
	msg = message_new(srx, peer, has_data);
	if (wf_unlikely(!msg))
		return -FI_ENOMEM;
	msg->kept = false;
	msg->size = peer->msg_size;
	msg->context = peer->peer_context;
	if (has_data)
		msg->data[0] = peer->cq_data;
	wf_match_queue(side_of(srx, peer), &msg->match, peer->tag, peer->addr);
	give_up(srx, wf_srx_entry_of(peer));
	return 0;
}

static uint64_t flags_of(const struct wf_srx_message *msg)
{
	return msg->has_data ? FI_REMOTE_CQ_DATA : 0;
}

struct fi_peer_rx_entry wf_srx_view(const struct wf_srx_message *msg, uint64_t type)
{
	struct fi_peer_rx_entry view;

	if (msg->kept) {
		view = ((const struct wf_srx_entry *)msg->context)->peer;
		view.addr = wf_match_addr(&msg->match);
		return view;
	}
	return (struct fi_peer_rx_entry){
		.srx = msg->fid,
		.addr = wf_match_addr(&msg->match),
		.msg_size = msg->size,
		.tag = wf_match_tag(&msg->match),
		.cq_data = msg->has_data ? msg->data[0] : 0,
		.flags = type | FI_RECV | flags_of(msg),
		.peer_context = msg->context,
	};
}

/* What is known of the message goes to an entry that may have buffers. */
static struct wf_srx_entry *unfold(
	struct wf_srx_entry *blank, const struct wf_srx_message *msg)
{
	struct fi_peer_rx_entry *peer = &blank->peer;

	peer->srx = msg->fid;
	peer->addr = wf_match_addr(&msg->match);
	peer->msg_size = msg->size;
	peer->tag = wf_match_tag(&msg->match);
	if (msg->has_data)
		peer->cq_data = msg->data[0];
	peer->flags |= flags_of(msg);
	peer->peer_context = msg->context;
	return blank;
}

static struct wf_srx_entry *unkeep(struct wf_srx *srx, struct wf_srx_entry *blank,
	const struct wf_srx_message *msg)
{
	struct wf_srx_entry *entry = msg->context;

	entry->peer.addr = wf_match_addr(&msg->match);
	if (!blank)
		return entry;
	entry->parent = blank->parent;
	wf_srx_move_buffers(srx, entry, blank);
	wf_pool_put(&srx->pool, blank);
	return entry;
}

struct wf_srx_entry *wf_srx_take(struct wf_srx *srx, struct wf_match *side,
	struct wf_srx_message *msg, struct wf_srx_entry *blank)
{
	struct wf_srx_entry *entry = NULL;

	if (wf_unlikely(msg->kept))
		entry = unkeep(srx, blank, msg);
	else if (wf_likely(blank != NULL))
		entry = unfold(blank, msg);
	wf_match_unqueue(side, &msg->match);
	wf_pool_put(pool_of(srx, msg->has_data), msg);
	return entry;
}

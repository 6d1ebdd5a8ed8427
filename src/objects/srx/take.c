/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/* Unexpected messages (message.c) that a receive takes or a peek finds: their entries
 * are made from the fields that message.c saved. */

static struct wf_srx_entry *take_kept_entry(const struct wf_srx_unexpected *unexp)
{
	return (struct wf_srx_entry *)(uintptr_t)unexp->words[0];
}

static uint64_t take_data_of(const struct wf_srx_unexpected *unexp)
{
	return unexp->has_data ? unexp->words[0] : 0;
}

static uint64_t take_flags_of(const struct wf_srx_unexpected *unexp)
{
	return unexp->has_data ? FI_REMOTE_CQ_DATA : 0;
}

struct fid_peer_srx *wf_srx_fid_of(const struct wf_srx *srx, uint32_t msg)
{
	const struct wf_srx_unexpected *unexp = &wf_srx_message_at(srx, msg)->unexp;
	const struct wf_srx_origin *origin;

	if (unexp->kept)
		return take_kept_entry(unexp)->peer.srx;
	origin = srx->origins.at[unexp->origin];
	return origin->fid;
}

struct fi_peer_rx_entry *wf_srx_kept(const struct wf_srx *srx, uint32_t msg)
{
	const struct wf_srx_unexpected *unexp = &wf_srx_message_at(srx, msg)->unexp;

	return unexp->kept ? &take_kept_entry(unexp)->peer : NULL;
}

struct fi_peer_rx_entry wf_srx_view(
	const struct wf_srx *srx, uint32_t msg, uint64_t type)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_unexpected *unexp = &message->unexp;
	struct fi_peer_rx_entry view;

	if (unexp->kept) {
		view = take_kept_entry(unexp)->peer;
		view.addr = wf_match_addr(&message->match);
		return view;
	}
	return (struct fi_peer_rx_entry){
		.srx = wf_srx_fid_of(srx, msg),
		.addr = wf_match_addr(&message->match),
		.msg_size = wf_srx_len(unexp),
		.tag = wf_match_tag(&message->match),
		.cq_data = take_data_of(unexp),
		.flags = type | FI_RECV | take_flags_of(unexp),
		.peer_context = unexp,
	};
}

/* Fill @blank, which may have buffers, with the fields saved for message @msg. */
static struct wf_srx_entry *take_unfold(
	const struct wf_srx *srx, struct wf_srx_entry *blank, uint32_t msg)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_unexpected *unexp = &message->unexp;
	struct fi_peer_rx_entry *peer = &blank->peer;

	peer->srx = wf_srx_fid_of(srx, msg);
	peer->addr = wf_match_addr(&message->match);
	peer->msg_size = wf_srx_len(unexp);
	peer->tag = wf_match_tag(&message->match);
	if (unexp->has_data)
		peer->cq_data = take_data_of(unexp);
	peer->flags |= take_flags_of(unexp);
	peer->peer_context = unexp;
	return blank;
}

static struct wf_srx_entry *take_unkeep(struct wf_srx *srx, struct wf_srx_entry *blank,
	const struct wf_srx_message *message)
{
	struct wf_srx_entry *entry = take_kept_entry(&message->unexp);

	entry->peer.addr = wf_match_addr(&message->match);
	if (!blank)
		return entry;
	entry->parent = blank->parent;
	wf_srx_move_buffers(srx, entry, blank);
	wf_pool_put(&srx->pool, blank);
	return entry;
}

struct wf_srx_entry *wf_srx_take(struct wf_srx *srx, struct wf_match *engine,
	uint32_t msg, struct wf_srx_entry *blank)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_entry *entry = NULL;

	if (wf_unlikely(message->unexp.kept))
		entry = take_unkeep(srx, blank, message);
	else if (wf_likely(blank != NULL))
		entry = take_unfold(srx, blank, msg);
	wf_match_unqueue(engine, msg);
	if (wf_unlikely(message->unexp.kept))
		wf_srx_message_free(srx, &message->unexp);
	return entry;
}

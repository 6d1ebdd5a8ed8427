/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Messages that wait for a receive. There may be a million of them, so all that waits
 * is what their entries say, in one piece with the payload; entries themselves, with
 * their room for buffers, exist only as long as a transport is at work on them. A peer
 * that uses the public operations may remember the entry, which is kept then.
 *
 * Whom a message came through and whom the transport knows as its sender is the same
 * for many: a number stands for both, given while there are such messages.
 */

enum { MAX_ORIGINS = 1 << 24 };

/* A message of another owner's, whose entry is kept: what is ours of it. */
struct foreign {
	struct wf_srx_origin *origin;
	struct wf_srx_stowed stowed;
};

/* What is behind wf_srx_stowed.apart. */
struct apart {
	void *room;
	size_t size;
};

static struct foreign *foreign_of(struct wf_srx_stowed *stowed)
{
	return wf_container_of(stowed, struct foreign, stowed);
}

static struct wf_srx_message *message_of(struct wf_srx_stowed *stowed)
{
	return wf_container_of(stowed, struct wf_srx_message, stowed);
}

static struct apart *apart_of(struct wf_srx_stowed *stowed)
{
	return (struct apart *)(void *)(stowed->words + stowed->has_data +
					stowed->is_long);
}

static struct wf_srx_entry *kept_entry(const struct wf_srx_stowed *stowed)
{
	return (struct wf_srx_entry *)(uintptr_t)stowed->words[0];
}

static uint64_t size_of(const struct wf_srx_stowed *stowed)
{
	return stowed->is_long ? stowed->words[stowed->has_data] : stowed->len;
}

static uint64_t data_of(const struct wf_srx_stowed *stowed)
{
	return stowed->has_data ? stowed->words[0] : 0;
}

static uint64_t flags_of(const struct wf_srx_stowed *stowed)
{
	return stowed->has_data ? FI_REMOTE_CQ_DATA : 0;
}

/* ---- origins ---- */

static bool origin_get(struct wf_srx *srx, struct wf_srx_origin *origin)
{
	if (wf_unlikely(!origin->count))
		origin->number = wf_book_enter(&srx->origins, origin, MAX_ORIGINS);
	if (wf_unlikely(!origin->number))
		return false;
	origin->count++;
	return true;
}

static void origin_put(struct wf_srx *srx, struct wf_srx_origin *origin)
{
	if (!--origin->count)
		wf_book_leave(&srx->origins, origin->number);
}

struct wf_srx_origin *wf_srx_origin(const struct fi_peer_rx_entry *entry)
{
	struct wf_srx_stowed *stowed = entry->peer_context;

	if (wf_likely(stowed->origin))
		return wf_srx_port_of(entry->srx)->srx->origins.at[stowed->origin];
	return foreign_of(stowed)->origin;
}

/* ---- memory ---- */

/* @room bytes behind @words, and behind those of the room if that is apart. */
static struct wf_srx_stowed *own_new(struct wf_srx *srx, size_t words, size_t room)
{
	size_t len = words * sizeof(uint64_t);
	bool is_apart = room > WF_SIZES_NAMED - len;
	struct wf_srx_message *msg = wf_sizes_get(
		&srx->messages, len + (is_apart ? sizeof(struct apart) : room));
	struct apart apart = { .size = room };

	if (wf_unlikely(!msg))
		return NULL;
	msg->stowed = (struct wf_srx_stowed){ .apart = is_apart };
	if (!is_apart)
		return &msg->stowed;
	apart.room = wf_sizes_get(&srx->messages, room);
	if (!apart.room) {
		wf_sizes_put_named(msg);
		return NULL;
	}
	memcpy(msg->stowed.words + words, &apart, sizeof(apart));
	return &msg->stowed;
}

static void own_free(struct wf_srx *srx, struct wf_srx_stowed *stowed)
{
	if (wf_unlikely(stowed->apart))
		wf_sizes_put(
			&srx->messages, apart_of(stowed)->room, apart_of(stowed)->size);
	wf_sizes_put_named(message_of(stowed));
}

static void queue(struct wf_srx *srx, const struct fi_peer_rx_entry *peer,
	struct wf_srx_stowed *stowed)
{
	wf_match_queue(wf_srx_side(srx, peer->flags),
		wf_pool_name(&srx->messages.names, message_of(stowed)), peer->tag,
		wf_srx_known(peer->addr));
}

/* The entry stays, for the peer knows it. */
int wf_srx_own_keep(struct fi_peer_rx_entry *peer)
{
	struct wf_srx *srx = wf_srx_port_of(peer->srx)->srx;
	struct wf_srx_stowed *stowed = own_new(srx, 1, 0);

	if (wf_unlikely(!stowed))
		return -FI_ENOMEM;
	stowed->kept = true;
	stowed->words[0] = (uint64_t)(uintptr_t)wf_srx_entry_of(peer);
	queue(srx, peer, stowed);
	return 0;
}

/* One is put by, for wf_srx_drain. */
static void give_up(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (srx->reserve)
		wf_pool_put(&srx->pool, entry);
	else
		srx->reserve = entry;
}

static struct wf_srx_stowed *own_stow(
	struct fi_peer_rx_entry *peer, struct wf_srx_origin *origin, size_t room)
{
	struct wf_srx *srx = wf_srx_port_of(peer->srx)->srx;
	bool has_data = peer->flags & FI_REMOTE_CQ_DATA;
	bool is_long = peer->msg_size > UINT32_MAX;
	struct wf_srx_stowed *stowed = own_new(srx, has_data + is_long, room);

	if (wf_unlikely(!stowed))
		return NULL;
	if (wf_unlikely(!origin_get(srx, origin))) {
		own_free(srx, stowed);
		return NULL;
	}
	stowed->origin = origin->number;
	stowed->has_data = has_data;
	stowed->is_long = is_long;
	stowed->len = is_long ? UINT32_MAX : (uint32_t)peer->msg_size;
	if (has_data)
		stowed->words[0] = peer->cq_data;
	if (is_long)
		stowed->words[has_data] = peer->msg_size;
	queue(srx, peer, stowed);
	give_up(srx, wf_srx_entry_of(peer));
	return stowed;
}

/* The owner keeps the entry, and whatever else it likes. */
static struct wf_srx_stowed *foreign_stow(uint64_t type, struct fi_peer_rx_entry *peer,
	struct wf_srx_origin *origin, size_t room)
{
	const struct fi_ops_srx_owner *ops = peer->srx->owner_ops;
	struct foreign *foreign;
	int ret;

	if (room > SIZE_MAX - sizeof(*foreign))
		return NULL;
	foreign = malloc(sizeof(*foreign) + room);
	if (!foreign)
		return NULL;
	foreign->origin = origin;
	foreign->stowed = (struct wf_srx_stowed){
		.len = (uint32_t)WF_MIN(peer->msg_size, UINT32_MAX),
	};
	peer->peer_context = &foreign->stowed;
	ret = type == FI_TAGGED ? ops->queue_tag(peer) : ops->queue_msg(peer);
	if (ret) {
		free(foreign);
		return NULL;
	}
	origin->count++;
	return &foreign->stowed;
}

struct wf_srx_stowed *wf_srx_stow(uint64_t type, struct fi_peer_rx_entry *entry,
	struct wf_srx_origin *origin, size_t room)
{
	assert(origin->fid == entry->srx);
	return wf_srx_is_own(entry->srx) ? own_stow(entry, origin, room)
					 : foreign_stow(type, entry, origin, room);
}

void wf_srx_unstow(struct wf_srx_origin *origin, struct wf_srx_stowed *stowed)
{
	struct wf_srx *srx;

	if (wf_unlikely(!stowed->origin)) {
		free(foreign_of(stowed));
		origin->count--;
		return;
	}
	srx = wf_srx_port_of(origin->fid)->srx;
	own_free(srx, stowed);
	origin_put(srx, origin);
}

/* ---- for the rest of the context ---- */

struct fid_peer_srx *wf_srx_fid_of(const struct wf_srx *srx, uint32_t msg)
{
	const struct wf_srx_stowed *stowed = &wf_srx_message_at(srx, msg)->stowed;
	const struct wf_srx_origin *origin;

	if (stowed->kept)
		return kept_entry(stowed)->peer.srx;
	origin = srx->origins.at[stowed->origin];
	return origin->fid;
}

struct fi_peer_rx_entry *wf_srx_kept(const struct wf_srx *srx, uint32_t msg)
{
	const struct wf_srx_stowed *stowed = &wf_srx_message_at(srx, msg)->stowed;

	return stowed->kept ? &kept_entry(stowed)->peer : NULL;
}

struct fi_peer_rx_entry wf_srx_view(
	const struct wf_srx *srx, uint32_t msg, uint64_t type)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_stowed *stowed = &message->stowed;
	struct fi_peer_rx_entry view;

	if (stowed->kept) {
		view = kept_entry(stowed)->peer;
		view.addr = wf_match_addr(&message->match);
		return view;
	}
	return (struct fi_peer_rx_entry){
		.srx = wf_srx_fid_of(srx, msg),
		.addr = wf_match_addr(&message->match),
		.msg_size = size_of(stowed),
		.tag = wf_match_tag(&message->match),
		.cq_data = data_of(stowed),
		.flags = type | FI_RECV | flags_of(stowed),
		.peer_context = stowed,
	};
}

/* What is known of the message goes to an entry that may have buffers. */
static struct wf_srx_entry *unfold(
	const struct wf_srx *srx, struct wf_srx_entry *blank, uint32_t msg)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_stowed *stowed = &message->stowed;
	struct fi_peer_rx_entry *peer = &blank->peer;

	peer->srx = wf_srx_fid_of(srx, msg);
	peer->addr = wf_match_addr(&message->match);
	peer->msg_size = size_of(stowed);
	peer->tag = wf_match_tag(&message->match);
	if (stowed->has_data)
		peer->cq_data = data_of(stowed);
	peer->flags |= flags_of(stowed);
	peer->peer_context = stowed;
	return blank;
}

static struct wf_srx_entry *unkeep(struct wf_srx *srx, struct wf_srx_entry *blank,
	const struct wf_srx_message *message)
{
	struct wf_srx_entry *entry = kept_entry(&message->stowed);

	entry->peer.addr = wf_match_addr(&message->match);
	if (!blank)
		return entry;
	entry->parent = blank->parent;
	wf_srx_move_buffers(srx, entry, blank);
	wf_pool_put(&srx->pool, blank);
	return entry;
}

struct wf_srx_entry *wf_srx_take(struct wf_srx *srx, struct wf_match *side,
	uint32_t msg, struct wf_srx_entry *blank)
{
	struct wf_srx_message *message = wf_srx_message_at(srx, msg);
	struct wf_srx_entry *entry = NULL;

	if (wf_unlikely(message->stowed.kept))
		entry = unkeep(srx, blank, message);
	else if (wf_likely(blank != NULL))
		entry = unfold(srx, blank, msg);
	wf_match_unqueue(side, msg);
	if (wf_unlikely(message->stowed.kept))
		own_free(srx, &message->stowed);
	return entry;
}

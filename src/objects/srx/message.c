/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/origin.h"

/*
 * Unexpected messages. There may be a million of them, so a message is kept as one
 * small block with its payload, and the entry, with its vectors, exists only while a
 * transport uses it. A peer provider that calls the public operations (queue_msg,
 * queue_tag) may keep a pointer to the entry, so that entry stays.
 *
 * Many messages share a source: the block refers to the receive context's handle and
 * the transport's sender by one number, that of a struct wf_srx_origin, which is valid
 * while there are such messages.
 */

/* An unexpected message in an imported context, whose owner keeps the entry. */
struct foreign {
	struct wf_srx_origin *origin; /* where the message came from */
	struct wf_srx_unexpected unexp;
};

/* In words[] behind CQ data and length: payload memory that is a block of its own. */
struct separate {
	void *payload; /* address of the block */
	size_t size;   /* bytes of the block */
};

static struct foreign *message_foreign_of(struct wf_srx_unexpected *unexp)
{
	return wf_container_of(unexp, struct foreign, unexp);
}

static struct wf_srx_message *message_of(struct wf_srx_unexpected *unexp)
{
	return wf_container_of(unexp, struct wf_srx_message, unexp);
}

static struct separate *message_separate_of(struct wf_srx_unexpected *unexp)
{
	return (struct separate *)(void *)(unexp->words + unexp->has_data +
					   unexp->is_long);
}

struct wf_srx_origin *wf_srx_origin(const struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp = entry->peer_context;

	if (wf_likely(unexp->origin))
		return wf_srx_port_of(entry->srx)->srx->origins.at[unexp->origin];
	return message_foreign_of(unexp)->origin;
}

/* A message with @size bytes of payload memory behind @words 64-bit words, or in a
 * block of its own if the sum is too large. NULL: no memory. */
static struct wf_srx_unexpected *message_own_new(
	struct wf_srx *srx, size_t words, size_t size)
{
	size_t len = words * sizeof(uint64_t);
	bool is_separate = size > WF_SIZES_HANDLE_MAX - len;
	struct wf_srx_message *msg = wf_sizes_get(
		&srx->messages, len + (is_separate ? sizeof(struct separate) : size));
	struct separate separate = { .size = size };

	if (wf_unlikely(!msg))
		return NULL;
	msg->unexp = (struct wf_srx_unexpected){ .separate = is_separate };
	if (!is_separate)
		return &msg->unexp;
	separate.payload = wf_sizes_get(&srx->messages, size);
	if (!separate.payload) {
		wf_sizes_put_handled(msg);
		return NULL;
	}
	memcpy(msg->unexp.words + words, &separate, sizeof(separate));
	return &msg->unexp;
}

static_assert(sizeof(struct separate) == WF_SRX_ENLARGE_MIN, "of any message");

bool wf_srx_enlarge(
	struct fid_peer_srx *fid, struct wf_srx_unexpected *unexp, size_t size)
{
	struct separate separate = { .size = size };

	assert(!unexp->separate);
	separate.payload =
		wf_srx_is_own(fid)
			? wf_sizes_get(&wf_srx_port_of(fid)->srx->messages, size)
			: malloc(size);
	if (!separate.payload)
		return false;
	memcpy(message_separate_of(unexp), &separate, sizeof(separate));
	unexp->separate = true;
	return true;
}

void wf_srx_message_free(struct wf_srx *srx, struct wf_srx_unexpected *unexp)
{
	if (wf_unlikely(unexp->separate))
		wf_sizes_put(&srx->messages, message_separate_of(unexp)->payload,
			message_separate_of(unexp)->size);
	wf_sizes_put_handled(message_of(unexp));
}

static void message_queue(struct wf_srx *srx, const struct fi_peer_rx_entry *peer,
	struct wf_srx_unexpected *unexp)
{
	wf_match_queue(wf_srx_engine(srx, peer->flags),
		wf_pool_handle(&srx->messages.handles, message_of(unexp)), peer->tag,
		wf_srx_known(peer->addr));
}

/* The entry stays: the peer provider keeps a pointer to it. */
int wf_srx_own_keep(struct fi_peer_rx_entry *peer)
{
	struct wf_srx *srx = wf_srx_port_of(peer->srx)->srx;
	struct wf_srx_unexpected *unexp = message_own_new(srx, 1, 0);

	if (wf_unlikely(!unexp))
		return -FI_ENOMEM;
	unexp->kept = true;
	unexp->words[0] = (uint64_t)(uintptr_t)wf_srx_entry_of(peer);
	message_queue(srx, peer, unexp);
	return 0;
}

/* Free the entry, or make it the spare one for wf_srx_drain. */
static void message_give_up(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (srx->reserve)
		wf_pool_put(&srx->pool, entry);
	else
		srx->reserve = entry;
}

static struct wf_srx_unexpected *message_own_save(
	struct fi_peer_rx_entry *peer, struct wf_srx_origin *origin, size_t size)
{
	struct wf_srx *srx = wf_srx_port_of(peer->srx)->srx;
	bool has_data = peer->flags & FI_REMOTE_CQ_DATA;
	bool is_long = peer->msg_size > UINT32_MAX;
	struct wf_srx_unexpected *unexp =
		message_own_new(srx, has_data + is_long, size);

	if (wf_unlikely(!unexp))
		return NULL;
	if (wf_unlikely(!wf_srx_origin_get(srx, origin))) {
		wf_srx_message_free(srx, unexp);
		return NULL;
	}
	unexp->origin = origin->number;
	unexp->has_data = has_data;
	unexp->is_long = is_long;
	unexp->len = is_long ? UINT32_MAX : (uint32_t)peer->msg_size;
	if (has_data)
		unexp->words[0] = peer->cq_data;
	if (is_long)
		unexp->words[has_data] = peer->msg_size;
	message_queue(srx, peer, unexp);
	message_give_up(srx, wf_srx_entry_of(peer));
	return unexp;
}

/* The owner of the imported context keeps the entry. */
static struct wf_srx_unexpected *message_foreign_save(uint64_t type,
	struct fi_peer_rx_entry *peer, struct wf_srx_origin *origin, size_t size)
{
	const struct fi_ops_srx_owner *ops = peer->srx->owner_ops;
	struct foreign *foreign;
	int ret;

	if (size > SIZE_MAX - sizeof(*foreign))
		return NULL;
	foreign = malloc(sizeof(*foreign) + size);
	if (!foreign)
		return NULL;
	foreign->origin = origin;
	foreign->unexp = (struct wf_srx_unexpected){
		.len = (uint32_t)WF_MIN(peer->msg_size, UINT32_MAX),
	};
	peer->peer_context = &foreign->unexp;
	ret = type == FI_TAGGED ? ops->queue_tag(peer) : ops->queue_msg(peer);
	if (ret) {
		free(foreign);
		return NULL;
	}
	origin->count++;
	return &foreign->unexp;
}

struct wf_srx_unexpected *wf_srx_save(uint64_t type, struct fi_peer_rx_entry *entry,
	struct wf_srx_origin *origin, size_t size)
{
	assert(origin->fid == entry->srx);
	return wf_srx_is_own(entry->srx)
		       ? message_own_save(entry, origin, size)
		       : message_foreign_save(type, entry, origin, size);
}

bool wf_srx_grow(struct fid_peer_srx *fid, struct wf_srx_unexpected *unexp, size_t size)
{
	struct wf_srx *srx = wf_srx_port_of(fid)->srx;
	struct separate *separate = message_separate_of(unexp);
	void *payload;

	assert(unexp->separate && size >= separate->size);
	payload =
		wf_sizes_grow(&srx->messages, separate->payload, separate->size, size);
	if (!payload)
		return false;
	*separate = (struct separate){ payload, size };
	return true;
}

void wf_srx_release(struct wf_srx_origin *origin, struct wf_srx_unexpected *unexp)
{
	struct wf_srx *srx;

	if (wf_unlikely(!unexp->origin)) {
		if (unexp->separate)
			free(message_separate_of(unexp)->payload);
		free(message_foreign_of(unexp));
		origin->count--;
		return;
	}
	srx = wf_srx_port_of(origin->fid)->srx;
	wf_srx_message_free(srx, unexp);
	wf_srx_origin_put(srx, origin);
}

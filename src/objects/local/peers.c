/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/peers.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

/* Peers that one call of wf_local_peers_next_leaving examines. */
enum { EXAMINED_MAX = 8 };

/* A peer in the AV below. */
struct wf_local_peer {
	bool present; /* The peer is in the AV below. */
	bool leaving; /* The connection has ended; messages of the peer may remain. */
	/* The source of its messages: its index in the AV above, or
	 * FI_ADDR_NOTAVAIL. */
	fi_addr_t source;
	fi_addr_t index;        /* the last index that the peer had in the AV above */
	union wf_sockaddr addr; /* its address in the AV above */
};

static void peers_lock(struct wf_local_peers *peers)
{
	wf_lock(&peers->lock);
}

static void peers_unlock(struct wf_local_peers *peers)
{
	wf_unlock(&peers->lock);
}

/* Look up @peer, which is at @below, in the AV above. Returns whether its source
 * changed. */
static bool peers_find(
	struct wf_local_peers *peers, struct wf_local_peer *peer, size_t below)
{
	fi_addr_t source;

	if (!peer->present)
		return false;
	source = wf_av_index(peers->av, &peer->addr, wf_sockaddr_len(&peer->addr));
	if (source == peer->source)
		return false;
	peers->lost += source == FI_ADDR_NOTAVAIL;
	peers->lost -= peer->source == FI_ADDR_NOTAVAIL;
	peer->source = source;
	if (source != FI_ADDR_NOTAVAIL)
		peer->index = source;
	/* The memory for the id was allocated by the insertion. */
	(void)wf_av_set_id_untold(peers->below, below, source);
	return true;
}

static void peers_tell(struct wf_local_peers *peers, bool changed)
{
	if (changed)
		peers->changed(peers);
}

static bool peers_is_among(fi_addr_t source, const uint64_t *index, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (index[i] == source)
			return true;
	return false;
}

static void peers_removed(
	struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	struct wf_local_peers *peers =
		wf_container_of(watch, struct wf_local_peers, watch);
	bool changed = false;

	peers_lock(peers);
	for (size_t i = 0; i < peers->count; i++)
		if (peers_is_among(peers->at[i].source, index, count))
			changed |= peers_find(peers, &peers->at[i], i);
	peers_unlock(peers);
	peers_tell(peers, changed);
}

static bool peers_find_lost(struct wf_local_peers *peers)
{
	bool changed = false;

	for (size_t i = 0; i < peers->count && peers->lost; i++)
		if (peers->at[i].source == FI_ADDR_NOTAVAIL)
			changed |= peers_find(peers, &peers->at[i], i);
	return changed;
}

static void peers_inserted(struct wf_av_watch *watch)
{
	struct wf_local_peers *peers =
		wf_container_of(watch, struct wf_local_peers, watch);
	bool changed;

	peers_lock(peers);
	changed = peers_find_lost(peers);
	peers_unlock(peers);
	peers_tell(peers, changed);
}

void wf_local_peers_start(struct wf_local_peers *peers, struct wf_av *av,
	struct wf_av *below, void (*changed)(struct wf_local_peers *peers))
{
	wf_lock_init(&peers->lock, WF_LOCK_MUTEX);
	/* The gate, as the AVs have it: calls of the application enter the AV below
	 * while they hold this lock, and the library's thread takes it inside the
	 * gate. */
	wf_lock_set_gate(&peers->lock, av->domain->gate);
	peers->av = av;
	peers->below = below;
	peers->changed = changed;
	peers->shared_seq = wf_av_shared_seq(av);
	peers->watch = (struct wf_av_watch){ .inserted = peers_inserted,
		.removed = peers_removed };
	wf_av_watch_add(av, &peers->watch);
}

void wf_local_peers_stop(struct wf_local_peers *peers)
{
	if (!peers->watch.inserted)
		return;
	wf_av_watch_del(peers->av, &peers->watch);
	wf_av_watch_wait(&peers->watch);
	peers->watch.inserted = NULL;
}

void wf_local_peers_done(struct wf_local_peers *peers)
{
	if (!peers->av)
		return;
	wf_local_peers_stop(peers);
	if (peers->tx.peers)
		wf_cq_unexport(&peers->tx.port);
	if (peers->rx.peers)
		wf_cq_unexport(&peers->rx.port);
	wf_lock_done(&peers->lock);
	free(peers->at);
}

/* Set the address of the peer @below in @entry, a copy in @addr; no bytes if the peer
 * has none. peers->lock is held. */
static void peers_give_address(const struct wf_local_peers *peers, fi_addr_t below,
	struct fi_cq_err_entry *entry, union wf_sockaddr *addr)
{
	entry->err_data = NULL;
	entry->err_data_size = 0;
	if (below >= peers->count || !peers->at[below].addr.sa.sa_family)
		return;
	*addr = peers->at[below].addr;
	entry->err_data = addr;
	entry->err_data_size = wf_sockaddr_len(addr);
}

/* @entry with the address of the peer @below, a copy in @addr, and its index above. */
static struct fi_cq_err_entry peers_named(struct wf_local_peers *peers, fi_addr_t below,
	const struct fi_cq_err_entry *entry, union wf_sockaddr *addr)
{
	struct fi_cq_err_entry copy = *entry;

	peers_lock(peers);
	peers_give_address(peers, below, &copy, addr);
	copy.src_addr = copy.err_data ? peers->at[below].index : FI_ADDR_NOTAVAIL;
	peers_unlock(peers);
	return copy;
}

static struct wf_local_peers *local_peers_of(struct fid_peer_cq *port)
{
	return wf_container_of(port, struct wf_local_cq, port)->peers;
}

static ssize_t peers_write_tx_err(
	struct fid_peer_cq *port, const struct fi_cq_err_entry *entry)
{
	union wf_sockaddr addr;
	struct fi_cq_err_entry copy =
		peers_named(local_peers_of(port), entry->src_addr, entry, &addr);

	return wf_cq_write_err(port->fid.context, &copy);
}

/* FI_SOURCE_ERR: the entry of the endpoint below is for a message of a peer that is not
 * in the AV above. */
static ssize_t peers_write_rx_err(
	struct fid_peer_cq *port, const struct fi_cq_err_entry *entry)
{
	struct wf_local_peers *peers = local_peers_of(port);
	struct fi_cq_err_entry copy = *entry;
	union wf_sockaddr addr;

	if (entry->err == FI_EADDRNOTAVAIL && entry->err_data) {
		copy = peers_named(peers,
			wf_av_index(
				peers->below, entry->err_data, entry->err_data_size),
			entry, &addr);
		copy.src_addr = entry->src_addr;
	}
	return wf_cq_write_err(port->fid.context, &copy);
}

void wf_local_peers_export(
	struct wf_local_peers *peers, struct wf_local_cq *ret, struct wf_cq *cq)
{
	wf_cq_export(cq, &ret->port);
	ret->peers = peers;
	ret->ops = *ret->port.owner_ops;
	ret->ops.writeerr = ret == &peers->tx ? peers_write_tx_err : peers_write_rx_err;
	ret->port.owner_ops = &ret->ops;
}

static int peers_grow(struct wf_local_peers *peers, size_t count)
{
	struct wf_local_peer *at = realloc(peers->at, count * sizeof(*at));

	if (!at)
		return -FI_ENOMEM;
	memset(at + peers->count, 0, (count - peers->count) * sizeof(*at));
	peers->at = at;
	peers->count = count;
	return 0;
}

/* A peer that was leaving was inserted again: undo one of the two insertions, which the
 * AV below counts. */
static void peers_stay(
	struct wf_local_peers *peers, struct wf_local_peer *peer, fi_addr_t below)
{
	peers->leaving--;
	peers->lost -= peer->source == FI_ADDR_NOTAVAIL;
	(void)wf_av_remove_untold(peers->below, below);
}

/* The peer @below has the address @addr, and had the index @source a moment ago.
 * peers->lock is held. */
static int peers_set(struct wf_local_peers *peers, fi_addr_t below, fi_addr_t source,
	const union wf_sockaddr *addr)
{
	struct wf_local_peer *peer;

	if (below >= peers->count &&
		peers_grow(peers, WF_MAX(2 * peers->count, below + 1)))
		return -FI_ENOMEM;
	peer = &peers->at[below];
	if (peer->leaving)
		peers_stay(peers, peer, below);
	*peer = (struct wf_local_peer){
		.present = true, .source = source, .index = source, .addr = *addr
	};
	peers->lost += source == FI_ADDR_NOTAVAIL;
	(void)peers_find(peers, peer, below);
	return 0;
}

int wf_local_peers_insert(struct wf_local_peers *peers, const union wf_sockaddr *addr,
	const void *name, fi_addr_t *ret_below)
{
	fi_addr_t source = wf_av_index(peers->av, addr, wf_sockaddr_len(addr));
	int ret = wf_av_insert_untold(peers->below, name, source, ret_below);

	if (ret)
		return ret;
	peers_lock(peers);
	ret = peers_set(peers, *ret_below, source, addr);
	peers_unlock(peers);
	if (!ret)
		return 0;
	(void)wf_av_remove_untold(peers->below, *ret_below);
	*ret_below = FI_ADDR_NOTAVAIL;
	return ret;
}

void wf_local_peers_remove(struct wf_local_peers *peers, fi_addr_t below)
{
	struct wf_local_peer *peer;

	peers_lock(peers);
	peer = &peers->at[below];
	peers->lost -= peer->source == FI_ADDR_NOTAVAIL;
	peers->leaving -= peer->leaving;
	peer->present = peer->leaving = false;
	peers_unlock(peers);
	(void)wf_av_remove_untold(peers->below, below);
}

void wf_local_peers_leave(struct wf_local_peers *peers, fi_addr_t below)
{
	peers_lock(peers);
	peers->at[below].leaving = true;
	peers->leaving++;
	peers_unlock(peers);
}

fi_addr_t wf_local_peers_next_leaving(struct wf_local_peers *peers)
{
	fi_addr_t ret = FI_ADDR_NOTAVAIL;

	peers_lock(peers);
	for (int i = 0; i < EXAMINED_MAX && peers->leaving && ret == FI_ADDR_NOTAVAIL;
		i++) {
		peers->next = (peers->next + 1) % peers->count;
		if (peers->at[peers->next].leaving)
			ret = peers->next;
	}
	peers_unlock(peers);
	return ret;
}

void wf_local_peers_compare(struct wf_local_peers *peers)
{
	uint32_t seq;

	if (wf_likely(!peers->shared_seq))
		return;
	seq = atomic_load_explicit(peers->shared_seq, memory_order_acquire);
	if (wf_likely(seq == peers->seq && !peers->lost))
		return;
	peers->seq = seq;
	peers_lock(peers);
	for (size_t i = 0; i < peers->count; i++)
		(void)peers_find(peers, &peers->at[i], i);
	peers_unlock(peers);
}

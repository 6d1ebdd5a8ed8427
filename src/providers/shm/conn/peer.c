/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sys/calls.h"
#include "sys/clock.h"

/*
 * The peers of an endpoint: they are found by name, and connected to when there is
 * something to send. A failed attempt is repeated after growing delays. When the peer
 * could not be reached for connect_timeout, or no endpoint had its name for
 * refused_timeout, the operations that wait for the connection fail. While an endpoint
 * is being closed, one refusal is enough.
 */
enum {
	BACKOFF_MIN_US = 200,
	BACKOFF_MAX_US = 50000,
};

static struct shm_peers *shm_peers_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct shm_peers, remotes);
}

static bool shm_peer_is(const struct wf_remote *remote, const void *key)
{
	return !strcmp(shm_peer_of(remote)->name, key);
}

static struct wf_remote *shm_peer_make(const void *key)
{
	struct shm_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	(void)strncpy(peer->name, key, sizeof(peer->name) - 1);
	return &peer->remote;
}

static enum wf_remote_state shm_conn_peer_state(const struct wf_remote *remote)
{
	const struct shm_peer *peer = shm_peer_of(remote);

	return wf_remote_state_of(
		peer->conn && !peer->conn->err, peer->conn || peer->attempt);
}

static void shm_peer_connect(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)shm_attempt_start(shm_peers_of(remotes)->ep, shm_peer_of(remote));
}

static const char *peer_name_of(const struct wf_remote *remote, char *buf, size_t len)
{
	(void)buf;
	(void)len;
	return shm_peer_of(remote)->name;
}

static bool peer_give_up(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	if (shm_peer_of(remote)->attempt)
		shm_attempt_drop(shm_peer_of(remote)->attempt);
	return true;
}

static void shm_peer_end(struct wf_remotes *remotes, struct wf_remote *remote,
	struct wf_list *link, int err)
{
	struct shm_ep *ep = shm_peers_of(remotes)->ep;

	ep->conn_ops->end_waiting(ep, link, err, shm_peer_of(remote)->name);
}

/* The address was removed: the cached AV index is no longer that of the peer. */
static void peer_index_lost(struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct shm_ep *ep = shm_peers_of(remotes)->ep;
	struct shm_peer *peer = shm_peer_of(remote);

	if (peer->conn)
		peer->conn->index = FI_ADDR_NOTAVAIL;
	for (uint32_t i = 0; remote->refs > !!peer->conn && i < ep->conns.count; i++)
		if (ep->conns.at[i]->peer == peer)
			ep->conns.at[i]->index = FI_ADDR_NOTAVAIL;
}

/* Replayed messages, which a dead process of that name left unread, wait for its
 * successor as long as an attempt to connect may take, but not while the endpoint is
 * being closed. */
static bool shm_peer_keeps_waiting(struct wf_remotes *remotes, struct wf_remote *remote,
	const struct wf_list *link)
{
	const struct shm_ep *ep = shm_peers_of(remotes)->ep;

	(void)remote;
	return ep->conn_ops->is_replayed(link) && !ep->ep.flushing;
}

static void shm_peer_free(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	free(shm_peer_of(remote));
}

static const struct wf_remote_ops remote_ops = {
	.is = shm_peer_is,
	.make = shm_peer_make,
	.state = shm_conn_peer_state,
	.connect = shm_peer_connect,
	.give_up = peer_give_up,
	.end = shm_peer_end,
	.index_lost = peer_index_lost,
	.keeps_waiting = shm_peer_keeps_waiting,
	.drop = shm_attempt_end,
	.expired = shm_attempt_end,
	.free = shm_peer_free,
	.prov = &shm_fi,
	.name = peer_name_of,
	.backoff_min_us = BACKOFF_MIN_US,
	.backoff_max_us = BACKOFF_MAX_US,
};

int shm_peers_new(struct shm_ep *ep)
{
	struct shm_peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return -FI_ENOMEM;
	if (wf_sys_getrandom(&peers->instance, sizeof(peers->instance), 0) < 0 ||
		wf_sys_getrandom(&peers->probe, sizeof(peers->probe), 0) < 0 ||
		wf_remotes_init(&peers->remotes, &remote_ops, peers->instance,
			&ep->ep.progress, &ep->watches)) {
		free(peers);
		return -FI_ENOMEM;
	}
	peers->ep = ep;
	ep->av_seq.at = &peers->remotes.removals.seq;
	ep->peers = peers;
	ep->unexp.remotes = &peers->remotes;
	return 0;
}

void shm_peers_free(struct shm_ep *ep)
{
	struct shm_peers *peers = ep->peers;

	if (!peers)
		return;
	wf_remotes_done(&peers->remotes);
	shm_listing_done(&peers->listing);
	free(peers);
	ep->peers = NULL;
}

struct shm_peer *shm_peer_get(struct shm_ep *ep, const char *name)
{
	struct wf_remote *remote =
		wf_remotes_get(&ep->peers->remotes, shm_name_hash(name), name);

	return remote ? shm_peer_of(remote) : NULL;
}

void shm_peer_let_go(struct shm_ep *ep, struct shm_peer *peer)
{
	wf_remote_let_go(&ep->peers->remotes, &peer->remote);
}

void shm_peers_watch_av(struct shm_ep *ep)
{
	const _Atomic uint32_t *shared = wf_av_shared_seq(ep->ep.av);

	/* Other processes, too, remove addresses from a shared AV. */
	if (shared)
		ep->av_seq.at = shared;
	else
		wf_av_removals_start(&ep->peers->remotes.removals, ep->ep.av);
	ep->av_seq.seen = shm_av_seq(ep);
}

bool shm_peer_set_index(struct shm_conn *conn, fi_addr_t index)
{
	return wf_remotes_set_index(
		&conn->ep->peers->remotes, index, &conn->peer->remote);
}

void shm_peer_forget_indices(struct shm_ep *ep)
{
	ep->av_seq.seen = shm_av_seq(ep);
	if (wf_av_shared_seq(ep->ep.av))
		wf_remotes_forget_indices(&ep->peers->remotes);
	else
		wf_remotes_forget_removed(&ep->peers->remotes);
}

/* Copy the name at @addr of the AV to @ret_name. False: there is none. Other processes
 * may write the table of an AV with a name, so its bytes may have any value. */
static bool peer_name_at(struct shm_ep *ep, fi_addr_t addr, char ret_name[SHM_NAME_MAX])
{
	const char *text = wf_av_addr(ep->ep.av, addr);

	return text && wf_addrstr_spell(ret_name, text, SHM_NAME_MAX);
}

struct shm_peer *shm_peer_at(struct shm_ep *ep, fi_addr_t addr)
{
	char name[SHM_NAME_MAX];
	struct wf_remote *remote;

	if (!peer_name_at(ep, addr, name))
		return NULL;
	remote = wf_remotes_find(&ep->peers->remotes, shm_name_hash(name), name);
	return remote ? shm_peer_of(remote) : NULL;
}

int shm_peer_route_slow(struct shm_ep *ep, fi_addr_t addr, struct shm_conn **ret_conn,
	struct wf_list **ret_wait)
{
	size_t index = wf_av_slot_index(ep->ep.av, addr);
	char name[SHM_NAME_MAX];
	struct shm_peer *peer;

	if (shm_av_seq(ep) != ep->av_seq.seen)
		shm_peer_forget_indices(ep);
	if (wf_unlikely(!peer_name_at(ep, addr, name)))
		return wf_no_address(&shm_fi, addr);
	peer = shm_peer_get(ep, name);
	if (!peer)
		return -FI_ENOMEM;
	if (!wf_remotes_set_index(&ep->peers->remotes, index, &peer->remote)) {
		shm_peer_let_go(ep, peer);
		return -FI_ENOMEM;
	}
	*ret_conn = peer->conn && !peer->conn->err ? peer->conn : NULL;
	if (*ret_conn)
		return 0;
	*ret_wait = &peer->remote.pending;
	wf_remote_wanted(&ep->peers->remotes, &peer->remote);
	shm_peer_schedule(ep, peer);
	return 0;
}

void shm_peer_lost(struct shm_ep *ep, struct shm_conn *conn)
{
	if (conn->peer->conn == conn)
		conn->peer->conn = NULL;
	if (!wf_list_empty(&conn->peer->remote.pending))
		shm_peer_schedule(ep, conn->peer);
}

void shm_peer_connected(struct shm_peer *peer, struct shm_conn *conn)
{
	peer->conn = conn;
	wf_remote_connected(&peer->remote, &conn->queue.txq);
	if (!wf_list_empty(&conn->queue.txq))
		conn->ep->conn_ops->dirty(conn);
}

void shm_peers_tick(struct shm_ep *ep)
{
	struct wf_remotes *remotes = &ep->peers->remotes;

	if (wf_unlikely(shm_av_seq(ep) != ep->av_seq.seen))
		shm_peer_forget_indices(ep);
	if (!wf_remotes_busy(remotes))
		return;
	wf_remotes_tick(remotes, wf_now_ns(), shm_params.connect_timeout * 1000000ull,
		ep->ep.flushing ? 0 : shm_params.refused_timeout * 1000000ull);
}

uint64_t shm_peers_deadline(struct shm_ep *ep)
{
	return wf_remotes_deadline(&ep->peers->remotes);
}

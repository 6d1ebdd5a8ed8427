/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/peer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sys/clock.h"

/*
 * The peers of an endpoint: found by name, connected to when there is something to
 * send. An attempt that fails is repeated after a while that grows; when the peer was
 * not there for connect_timeout, what waits for it fails.
 */
enum {
	BACKOFF_MIN_US = 200,
	BACKOFF_MAX_US = 50000,
	FIRST_BUCKETS = 64,
};

static size_t hash_of(const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 1099511628211u;
	return hash ^ hash >> 32;
}

int shm_peers_new(struct shm_ep *ep)
{
	struct shm_peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return -FI_ENOMEM;
	peers->buckets = calloc(FIRST_BUCKETS, sizeof(struct shm_peer *));
	if (!peers->buckets ||
		getrandom(&peers->instance, sizeof(peers->instance), 0) < 0 ||
		getrandom(&peers->probe, sizeof(peers->probe), 0) < 0) {
		free(peers->buckets);
		free(peers);
		return -FI_ENOMEM;
	}
	peers->bucket_mask = FIRST_BUCKETS - 1;
	peers->ep = ep;
	ep->av_seq = 1; /* odd: no AV at rest has it */
	wf_list_init(&peers->busy);
	wf_list_init(&peers->dials);
	wf_list_init(&peers->dead_dials);
	ep->peers = peers;
	return 0;
}

static void free_peer(struct shm_ep *ep, struct shm_peer *peer)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&peer->pending)))
		shm_tx_free(ep, wf_list_entry(link, struct shm_tx, link));
	free(peer);
}

void shm_peers_free(struct shm_ep *ep)
{
	struct shm_peers *peers = ep->peers;

	if (!peers)
		return;
	while (!wf_list_empty(&peers->dials))
		shm_dial_drop(wf_list_entry(peers->dials.next, struct shm_dial, link));
	shm_dials_free_dead(peers);
	for (size_t i = 0; i <= peers->bucket_mask; i++) {
		struct shm_peer *peer = peers->buckets[i], *next;

		for (; peer; peer = next) {
			next = peer->hash_next;
			free_peer(ep, peer);
		}
	}
	free(peers->buckets);
	free(peers->by_index);
	free(peers);
	ep->peers = NULL;
}

static void grow(struct shm_peers *peers)
{
	size_t mask = peers->bucket_mask * 2 + 1;
	struct shm_peer **buckets = calloc(mask + 1, sizeof(*buckets)), *peer, *next;

	if (!buckets)
		return; /* longer chains, then */
	for (size_t i = 0; i <= peers->bucket_mask; i++) {
		for (peer = peers->buckets[i]; peer; peer = next) {
			size_t slot = hash_of(peer->name) & mask;

			next = peer->hash_next;
			peer->hash_next = buckets[slot];
			buckets[slot] = peer;
		}
	}
	free(peers->buckets);
	peers->buckets = buckets;
	peers->bucket_mask = mask;
}

struct shm_peer *shm_peer_get(struct shm_ep *ep, const char *name)
{
	struct shm_peers *peers = ep->peers;
	size_t hash = hash_of(name);
	struct shm_peer *peer = peers->buckets[hash & peers->bucket_mask];

	while (peer && strcmp(peer->name, name) != 0)
		peer = peer->hash_next;
	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	if (peers->count++ > peers->bucket_mask)
		grow(peers);
	(void)strncpy(peer->name, name, sizeof(peer->name) - 1);
	peer->give_up_ns = UINT64_MAX;
	wf_list_init(&peer->busy_link);
	wf_list_init(&peer->pending);
	peer->hash_next = peers->buckets[hash & peers->bucket_mask];
	peers->buckets[hash & peers->bucket_mask] = peer;
	return peer;
}

void shm_peer_busy(struct shm_ep *ep, struct shm_peer *peer)
{
	if (wf_list_empty(&peer->busy_link))
		wf_list_push(&ep->peers->busy, &peer->busy_link);
	/* A thread that sleeps already has not heard of the new deadline. */
	if (ep->sleeps && peer->retry_ns)
		shm_timer_set(ep, WF_MIN(ep->timer_ns, peer->retry_ns));
}

void shm_peer_forget_indices(struct shm_ep *ep)
{
	struct shm_peers *peers = ep->peers;

	if (peers->by_index)
		memset(peers->by_index, 0,
			peers->index_room * sizeof(struct shm_peer *));
	for (uint32_t i = 0; i < ep->conn_count; i++)
		ep->conns[i]->index = FI_ADDR_NOTAVAIL;
	ep->av_seq = shm_av_seq(ep->ep.av);
}

static bool remember(struct shm_peers *peers, size_t index, struct shm_peer *peer)
{
	size_t room = WF_MAX(peers->index_room, (size_t)64);
	struct shm_peer **by_index;

	if (index >= peers->index_room) {
		while (room <= index)
			room *= 2;
		by_index = realloc(peers->by_index, room * sizeof(*by_index));
		if (!by_index)
			return false;
		memset(by_index + peers->index_room, 0,
			(room - peers->index_room) * sizeof(*by_index));
		peers->by_index = by_index;
		peers->index_room = room;
	}
	peers->by_index[index] = peer;
	return true;
}

static int no_such_address(fi_addr_t addr)
{
	shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"operation refused: nothing is at fi_addr_t %#llx\n",
		(unsigned long long)addr);
	return -FI_EINVAL;
}

int shm_peer_route_slow(struct shm_ep *ep, fi_addr_t addr, struct shm_conn **ret_conn,
	struct wf_list **ret_wait)
{
	const char *text = wf_av_addr(ep->ep.av, addr);
	size_t index = addr & ep->ep.av->index_mask;
	char name[SHM_NAME_MAX];
	struct shm_peer *peer;

	if (shm_av_seq(ep->ep.av) != ep->av_seq)
		shm_peer_forget_indices(ep);
	/* Other processes may write where an AV with a name is. */
	if (wf_unlikely(!text || !wf_addrstr_spell(name, text, SHM_NAME_MAX)))
		return no_such_address(addr);
	peer = shm_peer_get(ep, name);
	if (!peer || !remember(ep->peers, index, peer))
		return -FI_ENOMEM;
	*ret_conn = peer->conn && !peer->conn->err ? peer->conn : NULL;
	if (*ret_conn)
		return 0;
	*ret_wait = &peer->pending;
	if (!peer->dial && !peer->conn && !peer->retry_ns)
		(void)shm_dial_start(ep, peer);
	shm_peer_busy(ep, peer);
	return 0;
}

void shm_peer_lost(struct shm_ep *ep, struct shm_conn *conn)
{
	if (conn->peer->conn == conn)
		conn->peer->conn = NULL;
	if (!wf_list_empty(&conn->peer->pending))
		shm_peer_busy(ep, conn->peer);
}

void shm_peer_connected(struct shm_peer *peer, struct shm_conn *conn)
{
	struct wf_list *link;

	peer->conn = conn;
	peer->retry_ns = 0;
	peer->backoff_us = 0;
	peer->give_up_ns = UINT64_MAX;
	while ((link = wf_list_pop(&peer->pending)))
		wf_list_push(&conn->txq, link);
	if (!wf_list_empty(&conn->txq))
		shm_out_dirty(conn);
}

void shm_peer_failed(struct shm_ep *ep, struct shm_peer *peer, int err)
{
	uint32_t next = peer->backoff_us * 2;

	peer->err = err;
	peer->backoff_us = WF_MIN(WF_MAX(next, BACKOFF_MIN_US), BACKOFF_MAX_US);
	/* Two that failed together should not come back together. */
	peer->retry_ns = wf_now_ns() + peer->backoff_us * 1000ull +
			 ep->peers->instance % (peer->backoff_us * 250ull);
	shm_peer_busy(ep, peer);
}

static void give_up(struct shm_ep *ep, struct shm_peer *peer)
{
	int err = peer->err ? peer->err : FI_ETIMEDOUT;
	struct wf_list *link;

	shm_log(FI_LOG_WARN, FI_LOG_EP_DATA, "cannot reach %s: %s\n", peer->name,
		fi_strerror(err));
	while ((link = wf_list_pop(&peer->pending)))
		shm_tx_fail(
			ep, wf_list_entry(link, struct shm_tx, link), err, peer->name);
	peer->give_up_ns = UINT64_MAX;
	if (peer->dial)
		shm_dial_drop(peer->dial);
}

/* True when nothing is left to be done. */
static bool tick(struct shm_ep *ep, struct shm_peer *peer, uint64_t now)
{
	uint64_t limit_ns = shm_params.connect_timeout * 1000000ull;

	if (peer->conn && !peer->conn->err) {
		peer->give_up_ns = UINT64_MAX;
		return true;
	}
	if (!wf_list_empty(&peer->pending) && limit_ns) {
		if (peer->give_up_ns == UINT64_MAX)
			peer->give_up_ns = now + limit_ns;
		else if (now >= peer->give_up_ns)
			give_up(ep, peer);
	}
	if (peer->dial || peer->conn || now < peer->retry_ns)
		return false;
	peer->retry_ns = 0;
	if (wf_list_empty(&peer->pending))
		return true;
	(void)shm_dial_start(ep, peer);
	return false;
}

void shm_peers_tick(struct shm_ep *ep)
{
	struct shm_peers *peers = ep->peers;
	uint64_t now;

	if (!wf_list_empty(&peers->dead_dials))
		shm_dials_free_dead(peers);
	if (wf_list_empty(&peers->busy) && wf_list_empty(&peers->dials))
		return;
	now = wf_now_ns();
	shm_dials_tick(ep, now);
	wf_list_foreach_safe(link, &peers->busy)
	{
		struct shm_peer *peer = wf_list_entry(link, struct shm_peer, busy_link);

		if (tick(ep, peer, now))
			wf_list_remove(&peer->busy_link);
	}
}

uint64_t shm_peers_deadline(struct shm_ep *ep)
{
	struct shm_peers *peers = ep->peers;
	uint64_t deadline = UINT64_MAX;

	wf_list_foreach(link, &peers->busy)
	{
		struct shm_peer *peer = wf_list_entry(link, struct shm_peer, busy_link);

		deadline = WF_MIN(deadline, peer->give_up_ns);
		if (peer->retry_ns)
			deadline = WF_MIN(deadline, peer->retry_ns);
	}
	wf_list_foreach(dial_link, &peers->dials)
	{
		struct shm_dial *dial = wf_list_entry(dial_link, struct shm_dial, link);

		deadline = WF_MIN(deadline, dial->deadline_ns);
	}
	return deadline;
}

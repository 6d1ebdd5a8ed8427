/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <sys/random.h>
#include <string.h>

#include "providers/tcp/peer.h"
#include "sys/clock.h"

/*
 * The peers of an FI_EP_RDM endpoint: found by address, connected to when there is
 * something to send. An attempt that fails is repeated after a while that grows;
 * when the peer could not be reached for conf.connect_ms, what waits for it fails.
 */
enum {
	BACKOFF_MIN_MS = 2,
	BACKOFF_MAX_MS = 500,
	FIRST_BUCKETS = 64,
};

static int random_ids(struct tcp_peers *peers)
{
	do {
		if (getrandom(&peers->id, sizeof(peers->id), 0) < 0 ||
			getrandom(&peers->instance, sizeof(peers->instance), 0) < 0)
			return -FI_EIO;
	} while (!peers->id || !peers->instance);
	return 0;
}

int tcp_peers_new(struct tcp_ep *ep)
{
	struct tcp_peers *peers = calloc(1, sizeof(*peers));
	int ret = -FI_ENOMEM;

	if (!peers)
		return ret;
	peers->buckets = calloc(FIRST_BUCKETS, sizeof(struct tcp_peer *));
	if (!peers->buckets)
		goto err_free;
	ret = random_ids(peers);
	if (ret)
		goto err_free;
	peers->bucket_mask = FIRST_BUCKETS - 1;
	peers->ep = ep;
	peers->listener.fd = -1;
	peers->watch.fd = -1;
	peers->watch.ready = tcp_dial_accept_ready;
	wf_list_init(&peers->busy);
	wf_list_init(&peers->dials);
	wf_list_init(&peers->dead_dials);
	ep->peers = peers;
	return 0;

err_free:
	free(peers->buckets);
	free(peers);
	return ret;
}

int tcp_peers_listen(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;
	int ret;

	if (peers->listener.fd >= 0)
		return 0;
	ret = tcp_listen(&peers->listener, &ep->name, &ep->conf);
	if (ret)
		return ret;
	peers->listener.make_room = tcp_dial_make_room;
	ep->name = peers->listener.name;
	peers->watch.fd = peers->listener.fd;
	tcp_watch_set(ep, &peers->watch, EPOLLIN);
	return 0;
}

static void free_peer(struct tcp_peer *peer)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&peer->pending)))
		tcp_tx_free(wf_list_entry(link, struct tcp_tx, link));
	free(peer);
}

void tcp_peers_free(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;

	if (!peers)
		return;
	while (!wf_list_empty(&peers->dials))
		tcp_dial_drop(wf_list_entry(peers->dials.next, struct tcp_dial, link));
	tcp_dials_free_dead(peers);
	if (peers->listener.fd >= 0)
		tcp_listener_close(&peers->listener);
	for (size_t i = 0; i <= peers->bucket_mask; i++) {
		struct tcp_peer *peer = peers->buckets[i], *next;

		for (; peer; peer = next) {
			next = peer->hash_next;
			free_peer(peer);
		}
	}
	free(peers->buckets);
	free(peers->by_index);
	free(peers);
	ep->peers = NULL;
}

static void grow(struct tcp_peers *peers)
{
	size_t mask = peers->bucket_mask * 2 + 1;
	struct tcp_peer **buckets = calloc(mask + 1, sizeof(*buckets)), *peer, *next;

	if (!buckets)
		return; /* longer chains, then */
	for (size_t i = 0; i <= peers->bucket_mask; i++) {
		for (peer = peers->buckets[i]; peer; peer = next) {
			size_t slot = wf_sockaddr_hash(&peer->addr) & mask;

			next = peer->hash_next;
			peer->hash_next = buckets[slot];
			buckets[slot] = peer;
		}
	}
	free(peers->buckets);
	peers->buckets = buckets;
	peers->bucket_mask = mask;
}

struct tcp_peer *tcp_peer_get(struct tcp_ep *ep, const union wf_sockaddr *addr)
{
	struct tcp_peers *peers = ep->peers;
	uint64_t hash = wf_sockaddr_hash(addr);
	struct tcp_peer *peer = peers->buckets[hash & peers->bucket_mask];

	while (peer && !wf_sockaddr_equal(&peer->addr, addr))
		peer = peer->hash_next;
	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	if (peers->count++ > peers->bucket_mask)
		grow(peers);
	peer->addr = *addr;
	peer->index = FI_ADDR_NOTAVAIL;
	peer->give_up_ns = UINT64_MAX;
	wf_list_init(&peer->busy_link);
	wf_list_init(&peer->pending);
	peer->hash_next = peers->buckets[hash & peers->bucket_mask];
	peers->buckets[hash & peers->bucket_mask] = peer;
	return peer;
}

fi_addr_t tcp_peer_index_slow(struct tcp_ep *ep, struct tcp_peer *peer)
{
	peer->index = wf_av_index(ep->ep.av, &peer->addr, wf_sockaddr_len(&peer->addr));
	return peer->index;
}

void tcp_peer_busy(struct tcp_ep *ep, struct tcp_peer *peer)
{
	if (wf_list_empty(&peer->busy_link))
		wf_list_push(&ep->peers->busy, &peer->busy_link);
	wf_progress_wake(&ep->ep.progress);
	/* A thread that sleeps already has not heard of the new deadline. */
	if ((!ep->manual || ep->sleepers) && peer->retry_ns)
		tcp_timer_set(ep, WF_MIN(ep->timer_ns, peer->retry_ns));
}

static bool remember(struct tcp_peers *peers, size_t index, struct tcp_peer *peer)
{
	struct tcp_peer **by_index;
	size_t room = WF_MAX(peers->index_room, (size_t)64);

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
	peer->sent_to = true;
	return true;
}

static struct tcp_peer *look_up(struct tcp_ep *ep, size_t index, const void *addr)
{
	struct tcp_peers *peers = ep->peers;
	union wf_sockaddr sa = { 0 };
	struct tcp_peer *peer;

	memcpy(&sa, addr, wf_av_addrlen(ep->ep.av));
	peer = tcp_peer_get(ep, &sa);
	if (!peer || !remember(peers, index, peer))
		return NULL;
	peer->index = index;
	return peer;
}

static int no_such_address(fi_addr_t addr)
{
	tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"operation refused: nothing is at fi_addr_t %#llx\n",
		(unsigned long long)addr);
	return -FI_EINVAL;
}

/* An operation begins to wait. */
static int wait_for(struct tcp_ep *ep, struct tcp_peer *peer)
{
	if (!peer->dial && wf_av_firewalled(ep->ep.av, peer->index)) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"operation refused: the peer is behind a firewall and has not "
			"connected\n");
		return -FI_EFIREWALLADDR;
	}
	if (!peer->dial && !peer->conn && !peer->retry_ns)
		(void)tcp_dial_start(ep, peer);
	tcp_peer_busy(ep, peer);
	return 0;
}

int tcp_peer_route(struct tcp_ep *ep, fi_addr_t addr, struct tcp_conn **ret_conn,
	struct wf_list **ret_wait)
{
	struct tcp_peers *peers = ep->peers;
	const void *sa = wf_av_addr(ep->ep.av, addr);
	size_t index = addr & ep->ep.av->index_mask;
	struct tcp_peer *peer = NULL;
	int ret;

	if (wf_unlikely(!sa))
		return no_such_address(addr);
	if (wf_likely(index < peers->index_room))
		peer = peers->by_index[index];
	if (wf_unlikely(!peer || !tcp_addr_is(&peer->addr, sa)))
		peer = look_up(ep, index, sa);
	if (wf_unlikely(!peer))
		return -FI_ENOMEM;
	*ret_conn = peer->conn;
	if (wf_likely(peer->conn && !peer->conn->err))
		return 0;
	*ret_conn = NULL;
	*ret_wait = &peer->pending;
	ret = wait_for(ep, peer);
	if (ret)
		return ret;
	/* A connection to this very machine may be up at once. */
	*ret_conn = peer->conn && !peer->conn->err ? peer->conn : NULL;
	return 0;
}

void tcp_peer_ref(struct tcp_peer *peer)
{
	peer->refs++;
}

void tcp_peer_unref(struct tcp_ep *ep, struct tcp_peer *peer)
{
	struct tcp_peers *peers = ep->peers;
	struct tcp_peer **at;

	if (--peer->refs || peer->sent_to)
		return;
	at = &peers->buckets[wf_sockaddr_hash(&peer->addr) & peers->bucket_mask];
	while (*at != peer)
		at = &(*at)->hash_next;
	*at = peer->hash_next;
	peers->count--;
	wf_list_remove(&peer->busy_link);
	free(peer);
}

void tcp_peer_lost(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn)
{
	if (peer->conn == conn)
		peer->conn = NULL;
	tcp_peer_unref(ep, peer);
}

int tcp_peer_connected(struct tcp_ep *ep, struct tcp_peer *peer, int fd,
	const struct tcp_wire_peer *wire, bool receive_only)
{
	struct tcp_conn *conn = tcp_conn_new(ep, fd, wire, peer);
	struct wf_list *link;

	if (!conn)
		return -FI_ENOMEM;
	if (receive_only)
		return 0;
	peer->conn = conn;
	peer->retry_ns = 0;
	peer->backoff_ms = 0;
	peer->give_up_ns = UINT64_MAX;
	while ((link = wf_list_pop(&peer->pending)))
		wf_list_push(&conn->txq, link);
	if (!wf_list_empty(&conn->txq))
		tcp_tx_dirty(conn);
	return 0;
}

void tcp_peer_failed(struct tcp_ep *ep, struct tcp_peer *peer, int err)
{
	uint32_t next = peer->backoff_ms * 2;

	peer->err = err;
	peer->backoff_ms = WF_MIN(WF_MAX(next, BACKOFF_MIN_MS), BACKOFF_MAX_MS);
	/* Two that failed together should not come back together. */
	peer->retry_ns = wf_now_ns() + peer->backoff_ms * 1000000ull +
			 (ep->peers->id + peer->retry_ns) % 1000000u;
	tcp_peer_busy(ep, peer);
}

static void give_up(struct tcp_ep *ep, struct tcp_peer *peer)
{
	char text[WF_SOCKADDR_STRLEN];
	int err = peer->err ? peer->err : FI_ETIMEDOUT;
	struct wf_list *link;

	tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA, "cannot reach %s: %s\n",
		wf_sockaddr_uri(&peer->addr, text, sizeof(text)), fi_strerror(err));
	while ((link = wf_list_pop(&peer->pending)))
		tcp_tx_fail(wf_list_entry(link, struct tcp_tx, link), err, &peer->addr);
	peer->give_up_ns = UINT64_MAX;
}

/* True when nothing is left to be done. */
static bool tick(struct tcp_ep *ep, struct tcp_peer *peer, uint64_t now)
{
	if (peer->conn && !peer->conn->err) {
		peer->give_up_ns = UINT64_MAX;
		return true;
	}
	if (!wf_list_empty(&peer->pending) && ep->conf.connect_ms) {
		if (peer->give_up_ns == UINT64_MAX)
			peer->give_up_ns = now + ep->conf.connect_ms * 1000000ull;
		else if (now >= peer->give_up_ns)
			give_up(ep, peer);
	}
	if (peer->dial || peer->conn || now < peer->retry_ns)
		return false;
	peer->retry_ns = 0;
	if (wf_list_empty(&peer->pending))
		return true;
	(void)tcp_dial_start(ep, peer);
	return false;
}

void tcp_peers_tick(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;
	uint64_t now;

	if (!wf_list_empty(&peers->dead_dials))
		tcp_dials_free_dead(peers);
	if (wf_list_empty(&peers->busy) && wf_list_empty(&peers->dials))
		return;
	now = wf_now_ns();
	tcp_dials_tick(ep, now);
	wf_list_foreach_safe(link, &peers->busy)
	{
		struct tcp_peer *peer = wf_list_entry(link, struct tcp_peer, busy_link);

		if (tick(ep, peer, now))
			wf_list_remove(&peer->busy_link);
	}
}

uint64_t tcp_peers_deadline(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;
	uint64_t deadline = UINT64_MAX;

	wf_list_foreach(link, &peers->busy)
	{
		struct tcp_peer *peer = wf_list_entry(link, struct tcp_peer, busy_link);

		deadline = WF_MIN(deadline, peer->give_up_ns);
		if (peer->retry_ns)
			deadline = WF_MIN(deadline, peer->retry_ns);
	}
	wf_list_foreach(dial_link, &peers->dials)
	{
		struct tcp_dial *dial = wf_list_entry(dial_link, struct tcp_dial, link);

		deadline = WF_MIN(deadline, dial->cm.deadline_ns);
	}
	return deadline;
}

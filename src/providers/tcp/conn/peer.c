/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <sys/random.h>

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/local.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/fds.h"

/*
 * The peers of an FI_EP_RDM endpoint: they are found by address, and connected to when
 * there is something to send. A failed attempt is repeated after growing delays. When
 * the peer could not be reached for conf.connect_ms, or its host refused for
 * conf.refused_ms, the operations that wait for the connection fail. While an endpoint
 * is being closed, one refusal is enough.
 */
enum {
	BACKOFF_MIN_US = 2000,
	BACKOFF_MAX_US = 2000000,
};

static struct wf_remote *tcp_peer_make(const void *key)
{
	return wf_ip_remote_new(sizeof(struct tcp_peer), key);
}

static enum wf_remote_state tcp_conn_peer_state(const struct wf_remote *remote)
{
	const struct tcp_peer *peer = tcp_peer_of(remote);

	/* Another connection does not verify this one. */
	if (peer->unverified && !peer->unverified->err)
		return wf_remote_state_of(false, peer->attempt);
	return wf_remote_state_of(
		peer->conn && !peer->conn->err, peer->conn || peer->attempt);
}

static void tcp_peer_connect(struct wf_remotes *remotes, struct wf_remote *remote)
{
	tcp_attempt_start(tcp_peers_of(remotes)->ep, tcp_peer_of(remote));
}

/* Messages that a process left unread wait for the next process at its address as long
 * as an attempt to connect may take, but not while the endpoint is being closed. */
static bool tcp_peer_keeps_waiting(struct wf_remotes *remotes, struct wf_remote *remote,
	const struct wf_list *link)
{
	(void)remote;
	return wf_list_entry(link, struct tcp_tx, link)->left &&
	       !tcp_peers_of(remotes)->ep->ep.flushing;
}

static void tcp_peer_end(struct wf_remotes *remotes, struct wf_remote *remote,
	struct wf_list *link, int err)
{
	struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

	(void)remotes;
	if (err)
		tcp_tx_fail(tx, err, &tcp_peer_of(remote)->ip.addr);
	else
		tcp_tx_free(tx);
}

static void tcp_peer_free(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	free(tcp_peer_of(remote));
}

static const struct wf_remote_ops remote_ops = {
	.is = wf_ip_remote_is,
	.make = tcp_peer_make,
	.state = tcp_conn_peer_state,
	.connect = tcp_peer_connect,
	.keeps_waiting = tcp_peer_keeps_waiting,
	.end = tcp_peer_end,
	.drop = tcp_attempt_end,
	.expired = tcp_attempt_expired,
	.free = tcp_peer_free,
	.verify = &tcp_verify_ops,
	.prov = &tcp_fi,
	.name = wf_ip_remote_name,
	.backoff_min_us = BACKOFF_MIN_US,
	.backoff_max_us = BACKOFF_MAX_US,
};

static int peer_random_ids(struct tcp_peers *peers)
{
	do {
		if (wf_sys_getrandom(&peers->id, sizeof(peers->id), 0) < 0 ||
			wf_sys_getrandom(&peers->instance, sizeof(peers->instance), 0) <
				0)
			return -FI_EIO;
	} while (!peers->id || !peers->instance);
	return 0;
}

int tcp_peers_new(struct tcp_ep *ep)
{
	struct tcp_peers *peers = calloc(1, sizeof(*peers));
	int ret;

	if (!peers)
		return -FI_ENOMEM;
	ret = peer_random_ids(peers);
	if (!ret)
		ret = wf_remotes_init(&peers->remotes, &remote_ops, peers->instance,
			&ep->ep.progress, &ep->watches);
	if (ret)
		goto err_free;
	peers->ep = ep;
	wf_list_init(&peers->unconfirmed);
	peers->listener.fd = -1;
	peers->watch.fd = -1;
	peers->watch.ready = tcp_attempt_accept_ready;
	ep->peers = peers;
	ep->unexp.remotes = &peers->remotes;
	return 0;

err_free:
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
	peers->listener.free_descriptor = tcp_attempt_free_descriptor;
	ep->name = peers->listener.name;
	peers->watch.fd = peers->listener.fd;
	ret = tcp_watch_set(ep, &peers->watch, EPOLLIN);
	if (ret)
		tcp_listener_close(&peers->listener);
	return ret;
}

void tcp_peers_close(struct tcp_ep *ep, int fd)
{
	/* In a forked child the number may be another file's. */
	if (!ep->ep.inherited)
		wf_fds_close(fd);
}

void tcp_peers_free(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;

	if (!peers)
		return;
	wf_remotes_done(&peers->remotes);
	if (peers->listener.fd >= 0)
		tcp_listener_close(&peers->listener);
	free(peers);
	ep->peers = NULL;
}

struct tcp_peer *tcp_peer_get(struct tcp_ep *ep, const union wf_sockaddr *addr)
{
	struct wf_ip_remote *ip = wf_ip_remotes_get(&ep->peers->remotes, addr);

	return ip ? tcp_peer_of_ip(ip) : NULL;
}

/* An operation will wait for a connection: start an attempt, unless the operation can
 * use the connection of a peer behind a firewall. 0 or -FI_EFIREWALLADDR. */
static int peer_wait_for(struct tcp_ep *ep, struct tcp_peer *peer)
{
	if (wf_verify_firewalled(&ep->peers->remotes, &peer->ip.remote))
		return 0;
	if (!peer->attempt && wf_av_firewalled(ep->ep.av, peer->ip.index)) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"operation refused: the peer is behind a firewall and has not "
			"connected\n");
		return -FI_EFIREWALLADDR;
	}
	wf_remote_wanted(&ep->peers->remotes, &peer->ip.remote);
	tcp_peer_schedule(ep, peer);
	return 0;
}

int tcp_peer_route(struct tcp_ep *ep, fi_addr_t addr, struct tcp_conn **ret_conn,
	struct wf_list **ret_wait)
{
	struct wf_ip_remote *ip = wf_ip_remote_at(&ep->peers->remotes, ep->ep.av, addr);
	struct tcp_peer *peer;
	int ret;

	if (wf_unlikely(!ip))
		return wf_ip_remote_error(ep->ep.av, &tcp_fi, addr);
	peer = tcp_peer_of_ip(ip);
	*ret_conn = peer->route;
	if (wf_likely(peer->route && !peer->route->err))
		return 0;
	if (peer->conn && !peer->conn->err) {
		*ret_conn = peer->conn;
		return tcp_switch_goes_below(peer->conn) ? TCP_ROUTE_BELOW : 0;
	}
	*ret_conn = NULL;
	*ret_wait = &peer->ip.remote.pending;
	ret = peer_wait_for(ep, peer);
	if (ret)
		return ret;
	if (peer->unverified && peer->attempt)
		tcp_attempt_progress(peer->attempt);
	/* A connection within this machine may be established at once. */
	*ret_conn = peer->conn && !peer->conn->err ? peer->conn : NULL;
	return 0;
}

struct tcp_conn *tcp_peer_memory_conn(struct tcp_ep *ep, fi_addr_t addr)
{
	struct wf_ip_remote *ip = wf_ip_remote_at(&ep->peers->remotes, ep->ep.av, addr);
	struct tcp_peer *peer = ip ? tcp_peer_of_ip(ip) : NULL;

	if (!peer || peer->route || !peer->conn || peer->conn->err)
		return NULL;
	return peer->conn->local->out == TCP_OUT_MEMORY ? peer->conn : NULL;
}

void tcp_peer_unref(struct tcp_ep *ep, struct tcp_peer *peer)
{
	wf_remote_unref(&ep->peers->remotes, &peer->ip.remote);
}

/* Read @conn from now on, and begin to find out whether its peer shares memory. Nothing
 * is sent to a peer that may be dead: the reset by its kernel would take the bytes that
 * the kernel still holds for this end. */
static void peer_open_conn(struct tcp_conn *conn, bool alive)
{
	tcp_conn_start_reading(conn);
	if (conn->wire.have & TCP_HAVE_LOCAL)
		tcp_local_begin(conn, conn->instance, alive);
}

/* Let operations use @conn, first those that waited for a connection. */
static void peer_use_conn(struct tcp_peer *peer, struct tcp_conn *conn)
{
	peer->conn = peer->route = conn;
	wf_remote_connected(&peer->ip.remote, &conn->txq);
	if (!wf_list_empty(&conn->txq))
		tcp_tx_dirty(conn);
}

void tcp_peer_use(struct tcp_peer *peer, struct tcp_conn *conn, bool alive)
{
	peer_open_conn(conn, alive);
	if (conn->extra && peer->conn && !peer->conn->err)
		return;
	conn->extra = false;
	peer_use_conn(peer, conn);
}

struct tcp_conn *tcp_peer_conn_at(
	struct tcp_ep *ep, struct tcp_peer *peer, const union wf_sockaddr *own)
{
	wf_list_foreach(link, &ep->conns)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, link);
		union wf_sockaddr name = { 0 };
		socklen_t len = sizeof(name);

		if (conn->peer == peer && conn != peer->unverified &&
			!getsockname(conn->watch.fd, &name.sa, &len) &&
			wf_sockaddr_same_host(&name, own))
			return conn;
	}
	return NULL;
}

/* A connection of @peer beside the one that operations use; NULL: there is none. */
static struct tcp_conn *peer_extra_conn(struct tcp_ep *ep, const struct tcp_peer *peer)
{
	if (!wf_sockaddr_is_wildcard(&ep->name))
		return NULL;
	wf_list_foreach(link, &ep->conns)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, link);

		if (conn->peer == peer && conn->extra && !conn->err &&
			conn != peer->unverified)
			return conn;
	}
	return NULL;
}

void tcp_peer_lost(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn)
{
	struct tcp_conn *other;

	if (peer->unverified == conn)
		peer->unverified = NULL;
	if (peer->conn == conn) {
		peer->conn = peer->route = NULL;
		other = peer_extra_conn(ep, peer);
		if (other) {
			other->extra = false;
			peer_use_conn(peer, other);
		}
	}
	tcp_peer_unref(ep, peer);
}

void tcp_peer_removed(struct tcp_ep *ep, struct tcp_peer *peer)
{
	struct tcp_conn *conn;

	if (peer->conn)
		tcp_conn_fail(peer->conn, FI_ECONNABORTED);
	if (peer->unverified)
		tcp_conn_fail(peer->unverified, FI_ECONNABORTED);
	while ((conn = peer_extra_conn(ep, peer)))
		tcp_conn_fail(conn, FI_ECONNABORTED);
}

int tcp_peer_connected(struct tcp_ep *ep, struct tcp_peer *peer, int fd,
	uint64_t instance, const struct tcp_wire_peer *wire, enum tcp_identity identity)
{
	struct tcp_conn *conn = tcp_conn_new(ep, fd, wire, peer);

	if (!conn)
		return -FI_ENOMEM;
	conn->instance = instance;
	conn->extra = identity == TCP_EXTRA;
	if (identity == TCP_UNVERIFIED || identity == TCP_EXTRA) {
		tcp_verify_begin(ep, peer, conn);
		return 0;
	}
	peer_open_conn(conn, true);
	if (identity == TCP_SELF)
		return 0;
	conn->made_ns = wf_now_ns();
	wf_list_push(&ep->peers->unconfirmed, &conn->unconfirmed_link);
	/* The peer verifies the connection at this endpoint's listener. */
	wf_ep_want(&ep->ep);
	peer_use_conn(peer, conn);
	return 0;
}

/* Has the peer verified the connection, or is it past the time in which peers do? A
 * peer sends nothing over an unverified connection. One that has connected may not have
 * sent its request yet. */
static bool peer_is_confirmed(const struct tcp_conn *conn)
{
	enum { LIMIT_NS = 1000000000 };

	return conn->err || conn->received ||
	       (!conn->ep->peers->callers && wf_now_ns() - conn->made_ns > LIMIT_NS);
}

bool tcp_peers_owe(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;

	wf_list_foreach_safe(link, &peers->unconfirmed)
	{
		struct tcp_conn *conn =
			wf_list_entry(link, struct tcp_conn, unconfirmed_link);

		if (!peer_is_confirmed(conn))
			return true;
		tcp_conn_confirmed(conn);
	}
	return false;
}

void tcp_peers_tick(struct tcp_ep *ep)
{
	struct tcp_peers *peers = ep->peers;
	struct wf_remotes *remotes = &peers->remotes;
	uint64_t now;

	/* Each operation compares the peer's address, so removed addresses need not be
	 * noticed at once; only the memory of their peers is freed. */
	wf_remotes_check_removed(remotes);
	if (!wf_remotes_busy(remotes))
		return;
	now = wf_now_ns();
	if (peers->callers > TCP_SILENT_MAX)
		tcp_attempts_drop_silent(ep, now);
	wf_remotes_tick(remotes, now, ep->conf.connect_ms * 1000000ull,
		ep->ep.flushing ? 0 : ep->conf.refused_ms * 1000000ull);
}

uint64_t tcp_peers_deadline(struct tcp_ep *ep)
{
	return wf_remotes_deadline(&ep->peers->remotes);
}

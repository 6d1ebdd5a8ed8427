/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/peer.h"

#include <stdlib.h>

#include "providers/rxm/local/local.h"
#include "providers/rxm/param.h"
#include "sys/clock.h"

/*
 * The peers of an endpoint: they are found by address, and connected to when there is
 * something to send. A failed attempt is repeated after growing delays. When the peer
 * could not be reached for connect_timeout, or its host refused for refused_timeout,
 * the operations that wait for the connection fail. While an endpoint is being closed,
 * one refusal is enough.
 */
enum {
	BACKOFF_MIN_US = 2000,
	BACKOFF_MAX_US = 2000000,
};

static struct rxm_peers *rxm_peers_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct rxm_peers, remotes);
}

static struct wf_remote *rxm_peer_make(const void *key)
{
	return wf_ip_remote_new(sizeof(struct rxm_peer), key);
}

static enum wf_remote_state rxm_conn_peer_state(const struct wf_remote *remote)
{
	const struct rxm_conn *conn = rxm_peer_of(remote)->conn;

	return wf_remote_state_of(conn && conn->state == RXM_CONN_UP, conn);
}

static void rxm_peer_connect(struct wf_remotes *remotes, struct wf_remote *remote)
{
	rxm_cm_connect(rxm_peers_of(remotes)->ep, rxm_peer_of(remote));
}

static void rxm_peer_end(struct wf_remotes *remotes, struct wf_remote *remote,
	struct wf_list *link, int err)
{
	(void)remotes;
	(void)remote;
	if (err)
		rxm_data_op_fail(link, err);
	else
		rxm_data_op_free(link);
}

static void peer_drop_attempt(struct wf_attempt *attempt)
{
	wf_attempts_end(
		&rxm_attempt_of(attempt)->conn->ep->peers->remotes.attempts, attempt);
}

static void rxm_peer_free(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	rxm_verify_drop(rxm_peer_of(remote));
	free(rxm_peer_of(remote));
}

static const struct wf_remote_ops remote_ops = {
	.is = wf_ip_remote_is,
	.make = rxm_peer_make,
	.state = rxm_conn_peer_state,
	.connect = rxm_peer_connect,
	.end = rxm_peer_end,
	.drop = peer_drop_attempt,
	.expired = rxm_cm_expired,
	.free = rxm_peer_free,
	.verify = &rxm_verify_ops,
	.prov = &rxm_fi,
	.name = wf_ip_remote_name,
	.backoff_min_us = BACKOFF_MIN_US,
	.backoff_max_us = BACKOFF_MAX_US,
};

int rxm_peers_new(struct rxm_ep *ep)
{
	struct rxm_peers *peers = calloc(1, sizeof(*peers));
	int ret;

	if (!peers)
		return -FI_ENOMEM;
	peers->ep = ep;
	peers->pid = rxm_random();
	ret = peers->pid ? wf_remotes_init(&peers->remotes, &remote_ops, peers->pid,
				   &ep->ep.progress, &ep->watches)
			 : -FI_EIO;
	if (ret) {
		free(peers);
		return ret;
	}
	ep->peers = peers;
	ep->unexp.remotes = &peers->remotes;
	return 0;
}

void rxm_peers_free(struct rxm_ep *ep)
{
	struct rxm_peers *peers = ep->peers;

	if (!peers)
		return;
	wf_remotes_done(&peers->remotes);
	rxm_ids_done(&peers->ids);
	free(peers);
	ep->peers = NULL;
}

struct rxm_peer *rxm_peer_get(struct rxm_ep *ep, const union wf_sockaddr *addr)
{
	struct wf_ip_remote *ip = wf_ip_remotes_get(&ep->peers->remotes, addr);

	return ip ? rxm_peer_of_ip(ip) : NULL;
}

int rxm_route(struct rxm_ep *ep, fi_addr_t addr, struct rxm_conn **ret_conn,
	struct wf_list **ret_wait)
{
	struct wf_remotes *remotes = &ep->peers->remotes;
	struct wf_ip_remote *ip = wf_ip_remote_at(remotes, ep->ep.av, addr);
	struct rxm_peer *peer;

	if (wf_unlikely(!ip))
		return wf_ip_remote_error(ep->ep.av, &rxm_fi, addr);
	peer = rxm_peer_of_ip(ip);
	*ret_conn = peer->conn;
	if (wf_likely(peer->conn && peer->conn->state == RXM_CONN_UP))
		return 0;
	*ret_conn = NULL;
	*ret_wait = &ip->remote.pending;
	wf_remote_wanted(remotes, &ip->remote);
	wf_remote_schedule(remotes, &ip->remote);
	return 0;
}

struct rxm_conn *rxm_memory_conn(struct rxm_ep *ep, fi_addr_t addr)
{
	struct wf_ip_remote *ip = wf_ip_remote_at(&ep->peers->remotes, ep->ep.av, addr);
	struct rxm_conn *conn = ip ? rxm_peer_of_ip(ip)->conn : NULL;

	if (!conn || conn->state != RXM_CONN_UP || !rxm_local_uses_memory(conn) ||
		!wf_list_empty(&conn->waiting) || !wf_list_empty(&conn->failed_link))
		return NULL;
	return conn;
}

void rxm_peers_tick(struct rxm_ep *ep)
{
	struct wf_remotes *remotes = &ep->peers->remotes;

	/* Each operation compares the peer's address, so removed addresses need not be
	 * noticed at once; only the memory of their peers is freed. */
	wf_remotes_check_removed(remotes);
	if (wf_likely(!wf_remotes_busy(remotes)))
		return;
	wf_remotes_tick(remotes, wf_now_ns(), rxm_params.connect_timeout * 1000000ull,
		ep->ep.flushing ? 0 : rxm_params.refused_timeout * 1000000ull);
}

bool rxm_peers_owe(const struct rxm_ep *ep)
{
	return wf_remotes_busy(&ep->peers->remotes);
}

uint64_t rxm_peers_deadline(struct rxm_ep *ep)
{
	return wf_remotes_deadline(&ep->peers->remotes);
}

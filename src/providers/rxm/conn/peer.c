/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/peer.h"

#include <stdlib.h>
#include <string.h>

#include "sys/clock.h"

/*
 * The peers of an endpoint: found by address, connected to when there is something to
 * send. A failed attempt is repeated after growing delays. When the peer could not be
 * reached for CONNECT_MS, or its host refused for REFUSED_MS, the operations that wait
 * for it fail. While an endpoint is being closed, one refusal is enough.
 */
enum {
	BACKOFF_MIN_US = 2000,
	BACKOFF_MAX_US = 2000000,
	REFUSED_MS = 2000,
};

static struct rxm_peers *peers_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct rxm_peers, remotes);
}

static bool is(const struct wf_remote *remote, const void *key)
{
	return wf_sockaddr_equal(&rxm_peer_of(remote)->addr, key);
}

static struct wf_remote *make(const void *key)
{
	struct rxm_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->addr = *(const union wf_sockaddr *)key;
	peer->index = FI_ADDR_NOTAVAIL;
	return &peer->remote;
}

static enum wf_remote_state state(const struct wf_remote *remote)
{
	const struct rxm_conn *conn = rxm_peer_of(remote)->conn;

	if (!conn)
		return WF_REMOTE_DOWN;
	return conn->state == RXM_CONN_UP ? WF_REMOTE_UP : WF_REMOTE_CHANGING;
}

static void connect_peer(struct wf_remotes *remotes, struct wf_remote *remote)
{
	rxm_cm_connect(peers_of(remotes)->ep, rxm_peer_of(remote));
}

static void give_up(struct wf_remotes *remotes, struct wf_remote *remote, int err)
{
	char text[WF_SOCKADDR_STRLEN];
	struct wf_list *link;

	(void)remotes;
	rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA, "cannot reach %s: %s\n",
		wf_sockaddr_uri(&rxm_peer_of(remote)->addr, text, sizeof(text)),
		fi_strerror(err));
	while ((link = wf_list_pop(&remote->pending)))
		rxm_data_op_fail(link, err);
}

static void drop_attempt(struct wf_attempt *attempt)
{
	wf_attempts_end(
		&rxm_attempt_of(attempt)->conn->ep->peers->remotes.attempts, attempt);
}

static void free_peer(struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct wf_list *link;

	(void)remotes;
	while ((link = wf_list_pop(&remote->pending)))
		rxm_data_op_free(link);
	free(rxm_peer_of(remote));
}

static const struct wf_remote_ops remote_ops = {
	.is = is,
	.make = make,
	.state = state,
	.connect = connect_peer,
	.give_up = give_up,
	.drop = drop_attempt,
	.expired = rxm_cm_expired,
	.free = free_peer,
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
	struct wf_remote *remote =
		wf_remotes_get(&ep->peers->remotes, wf_sockaddr_hash(addr), addr);

	return remote ? rxm_peer_of(remote) : NULL;
}

static bool addr_is(const union wf_sockaddr *a, const void *addr)
{
	const union wf_sockaddr *b = addr;

	if (wf_likely(a->sa.sa_family == AF_INET))
		return !memcmp(a, b, offsetof(struct sockaddr_in, sin_zero));
	return wf_sockaddr_equal(a, b);
}

fi_addr_t rxm_peer_index(struct rxm_ep *ep, struct rxm_peer *peer)
{
	const void *addr;

	if (wf_likely(peer->index != FI_ADDR_NOTAVAIL)) {
		addr = wf_av_addr(ep->ep.av, peer->index);
		if (wf_likely(addr && addr_is(&peer->addr, addr)))
			return peer->index;
	}
	peer->index = wf_av_index(ep->ep.av, &peer->addr, wf_sockaddr_len(&peer->addr));
	return peer->index;
}

static struct rxm_peer *look_up(struct rxm_ep *ep, size_t index, const void *addr)
{
	union wf_sockaddr sa = { 0 };
	struct rxm_peer *peer;

	memcpy(&sa, addr, wf_av_addrlen(ep->ep.av));
	peer = rxm_peer_get(ep, &sa);
	if (!peer)
		return NULL;
	if (!wf_remotes_set_index(&ep->peers->remotes, index, &peer->remote)) {
		wf_remote_let_go(&ep->peers->remotes, &peer->remote);
		return NULL;
	}
	peer->index = index;
	return peer;
}

int rxm_route(struct rxm_ep *ep, fi_addr_t addr, struct rxm_conn **ret_conn,
	struct wf_list **ret_wait)
{
	const void *sa = wf_av_addr(ep->ep.av, addr);
	size_t index = wf_av_slot_index(ep->ep.av, addr);
	struct wf_remote *remote = wf_remotes_at(&ep->peers->remotes, index);
	struct rxm_peer *peer = remote ? rxm_peer_of(remote) : NULL;

	if (wf_unlikely(!sa))
		return wf_no_address(&rxm_fi, addr);
	if (wf_unlikely(!peer || !addr_is(&peer->addr, sa)))
		peer = look_up(ep, index, sa);
	if (wf_unlikely(!peer))
		return -FI_ENOMEM;
	*ret_conn = peer->conn;
	if (wf_likely(peer->conn && peer->conn->state == RXM_CONN_UP))
		return 0;
	*ret_conn = NULL;
	*ret_wait = &peer->remote.pending;
	wf_remote_wanted(&ep->peers->remotes, &peer->remote);
	wf_remote_schedule(&ep->peers->remotes, &peer->remote);
	return 0;
}

void rxm_peers_tick(struct rxm_ep *ep)
{
	struct wf_remotes *remotes = &ep->peers->remotes;

	/* Each operation compares the peer's address, so removed addresses matter only
	 * for the memory of their peers. */
	if (wf_unlikely(
		    wf_av_removals_seq(&remotes->removals) != remotes->removals_seq))
		wf_remotes_forget_removed(remotes);
	if (!wf_remotes_busy(remotes))
		return;
	wf_remotes_tick(remotes, wf_now_ns(), RXM_CONNECT_MS * 1000000ull,
		ep->ep.flushing ? 0 : REFUSED_MS * 1000000ull);
}

uint64_t rxm_peers_deadline(struct rxm_ep *ep)
{
	return wf_remotes_deadline(&ep->peers->remotes);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/peer.h"

#include <stdlib.h>
#include <string.h>

#include "providers/rxd/data/data.h"
#include "providers/rxd/param.h"
#include "providers/rxd/stranger.h"
#include "sys/clock.h"
#include "sys/route.h"

/*
 * Peers are found by the name of their endpoint below, in the canonical form of the
 * address vector, or by the index that this endpoint gave them, which is another one
 * after a restart of the peer. A packet is of a peer only if it came from the address
 * of the peer, as far as the provider below tells sources: where it tells addresses, an
 * RTS is of the peer at the address that it came from, and the name in it is not used.
 */
enum {
	KEPT_MAX = 64 << 20, /* limit of early packets in bytes */
	/* Packets that a peer of this library may send unacknowledged. */
	WINDOW_OURS = 4096,
};

static struct rxd_ep *peer_ep_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct rxd_ep, remotes);
}

static bool rxd_peer_is(const struct wf_remote *remote, const void *name)
{
	return !memcmp(rxd_peer_of(remote)->name, name, RXD_NAME_SIZE);
}

static struct wf_remote *rxd_peer_make(const void *name)
{
	struct rxd_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	memcpy(peer->name, name, RXD_NAME_SIZE);
	peer->source = FI_ADDR_NOTAVAIL;
	wf_list_init(&peer->active_link);
	wf_list_init(&peer->requests);
	wf_list_init(&peer->stranger_link);
	return &peer->remote;
}

/* There are no connections; the flow knows whether the peer answers. A peer that is
 * gone is freed when no address leads to it. */
static enum wf_remote_state rxd_peer_state(const struct wf_remote *remote)
{
	return rxd_peer_of(remote)->gone ? WF_REMOTE_DOWN : WF_REMOTE_UP;
}

static void rxd_peer_free(struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct rxd_peer *peer = rxd_peer_of(remote);
	struct rxd_ep *ep = peer_ep_of(remotes);

	if (peer->ep) {
		rxd_stranger_remove(peer);
		rxd_flow_done(&peer->flow, FI_ECONNRESET);
		rxd_data_peer_done(peer);
		rxd_below_remove(ep, peer->below);
		wf_list_remove(&peer->active_link);
		rxd_index_remove(&ep->peers, peer->flow.own_index);
	}
	free(peer);
}

static const struct wf_remote_ops remote_ops = {
	.is = rxd_peer_is,
	.make = rxd_peer_make,
	.state = rxd_peer_state,
	.free = rxd_peer_free,
};

/* Convert the address @addr, in the format of the AV, to the form in packets. False: no
 * peer can have that address. */
static bool peer_spell(const struct rxd_ep *ep, const void *addr, uint8_t *ret_name)
{
	const struct wf_av_format *format = ep->ep.av->table.format;
	uint32_t words[WF_AV_ADDR_WORDS] = { 0 };

	if (!format->spell(words, addr))
		return false;
	memcpy(ret_name, words, format->addr_len);
	memset(ret_name + format->addr_len, 0, RXD_NAME_SIZE - format->addr_len);
	return true;
}

static int peer_own_name(struct rxd_ep *ep)
{
	uint8_t name[WF_AV_ADDR_WORDS * sizeof(uint32_t)] = { 0 };
	size_t len = sizeof(name);
	int ret = fi_getname(&ep->below.fid->fid, name, &len);

	memcpy(ep->config.name, name, RXD_NAME_SIZE);
	return wf_lower_result(&ep->domain->below, FI_LOG_EP_CTRL, "fi_getname", ret);
}

int rxd_peers_init(struct rxd_ep *ep)
{
	int ret = peer_own_name(ep);

	if (ret || ep->peers_ready)
		return ret;
	if (ep->ep.av->table.format->addr_len > RXD_NAME_SIZE) {
		rxd_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"not enabled: addresses of %s do not fit into packets\n",
			ep->ep.av->table.format->name);
		return -FI_EINVAL;
	}
	ep->config.ops = &rxd_flow_ops;
	ep->config.base_packet = (uint16_t)ep->domain->wire_mtu;
	ep->config.max_packet = (uint16_t)ep->domain->max_packet;
	ep->config.window = (uint16_t)rxd_params.max_unacked;
	ep->config.window_ext = WINDOW_OURS;
	ep->config.resend = rxd_params.retry;
	ep->config.westwood = rxd_params.congestion == RXD_CONGESTION_WESTWOOD;
	ep->config.patience_ns = rxd_params.peer_timeout * UINT64_C(1000000000);
	ep->config.epoch = rxd_epoch_new();
	ep->config.kept_max = KEPT_MAX;
	ret = wf_remotes_init(&ep->remotes, &remote_ops, ep->config.epoch,
		&ep->ep.progress, &ep->watches);
	ep->peers_ready = !ret;
	ep->unexp.remotes = &ep->remotes;
	return ret;
}

void rxd_peers_done(struct rxd_ep *ep)
{
	if (ep->peers_ready)
		wf_remotes_done(&ep->remotes);
	rxd_index_done(&ep->peers);
}

/* FNV-1a over words. */
static uint64_t peer_hash_of(const uint8_t *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325), word;

	for (size_t i = 0; i < RXD_NAME_SIZE; i += sizeof(word)) {
		memcpy(&word, name + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 29;
	}
	return hash;
}

size_t rxd_peer_path_packet(struct rxd_flow *flow)
{
	const struct rxd_peer *peer = rxd_peer_of_flow(flow);
	enum { UDP_HEAD = 8, IN_HEAD = 20, IN6_HEAD = 40 };
	size_t mtu, head;
	union wf_sockaddr sa;

	if (wf_sockaddr_read(peer->name, sizeof(sa), &sa) || wf_route_mtu(&sa, &mtu))
		return 0;
	head = UDP_HEAD + (sa.sa.sa_family == AF_INET ? IN_HEAD : IN6_HEAD);
	return mtu > head ? mtu - head : 0;
}

/* Are packets to have seals? Those to the same address do not leave the host. */
static bool peer_wants_seals(const struct rxd_ep *ep, const struct rxd_peer *peer)
{
	union wf_sockaddr own, other;

	if (rxd_params.crc >= 0)
		return rxd_params.crc;
	return !wf_sockaddr_read(ep->config.name, sizeof(own), &own) &&
	       !wf_sockaddr_read(peer->name, sizeof(other), &other) &&
	       !wf_sockaddr_is_loopback(&other) && !wf_sockaddr_same_host(&own, &other);
}

/* Set up a peer that has just been allocated. */
static int peer_begin(struct rxd_ep *ep, struct rxd_peer *peer)
{
	uint32_t index = rxd_index_add(&ep->peers, peer);
	int ret = index ? 0 : -FI_ENOMEM;

	if (!ret)
		ret = rxd_below_insert(ep, peer->name, &peer->below);
	if (ret) {
		if (index)
			rxd_index_remove(&ep->peers, index);
		return ret;
	}
	peer->ep = ep;
	rxd_flow_init(&peer->flow, &ep->config, index);
	peer->flow.wants_seals = peer_wants_seals(ep, peer);
	/* Both ends count packets as long as the endpoints exist. */
	wf_remote_ref(&peer->remote);
	return 0;
}

static int peer_get(struct rxd_ep *ep, const uint8_t *name, struct rxd_peer **ret_peer)
{
	struct wf_remote *remote =
		wf_remotes_get(&ep->remotes, peer_hash_of(name), name);
	struct rxd_peer *peer;
	int ret = 0;

	if (!remote)
		return -FI_ENOMEM;
	peer = rxd_peer_of(remote);
	if (wf_unlikely(!peer->ep))
		ret = peer_begin(ep, peer);
	if (ret) {
		wf_remotes_remove(&ep->remotes, remote);
		free(peer);
		return ret;
	}
	*ret_peer = peer;
	return 0;
}

static int peer_look_up(
	struct rxd_ep *ep, size_t index, const void *addr, struct rxd_peer **ret_peer)
{
	uint8_t name[RXD_NAME_SIZE];
	int ret;

	if (!peer_spell(ep, addr, name))
		return -FI_EINVAL;
	ret = peer_get(ep, name, ret_peer);
	if (ret)
		return ret;
	if (!wf_remotes_set_index(&ep->remotes, index, &(*ret_peer)->remote))
		return -FI_ENOMEM;
	(*ret_peer)->source = index;
	rxd_stranger_remove(*ret_peer);
	return 0;
}

static bool peer_has_addr(
	const struct rxd_ep *ep, const struct rxd_peer *peer, const void *addr)
{
	return !memcmp(peer->name, addr, ep->ep.av->table.format->addr_len);
}

int rxd_peer_at(struct rxd_ep *ep, fi_addr_t addr, struct rxd_peer **ret_peer)
{
	const void *name = wf_av_addr(ep->ep.av, addr);
	size_t index = wf_av_slot_index(ep->ep.av, addr);
	struct wf_remote *remote = wf_remotes_at(&ep->remotes, index);

	if (wf_unlikely(!name))
		return wf_no_address(&rxd_fi, addr);
	if (wf_unlikely(!remote || !peer_has_addr(ep, rxd_peer_of(remote), name)))
		return peer_look_up(ep, index, name, ret_peer);
	*ret_peer = rxd_peer_of(remote);
	return 0;
}

/* Is the address @name, of @remote if that is not NULL, in the AV? */
static bool peer_is_in_av(
	struct rxd_ep *ep, const struct wf_remote *remote, const uint8_t *name)
{
	return (remote && remote->indices) ||
	       wf_av_index(ep->ep.av, name, ep->ep.av->table.format->addr_len) !=
		       FI_ADDR_NOTAVAIL;
}

/* The peer @remote with @name, which this endpoint may not have inserted: the number of
 * such peers is limited. NULL in @remote: it is new. */
static struct rxd_peer *peer_stranger(
	struct rxd_ep *ep, struct wf_remote *remote, const uint8_t *name)
{
	struct rxd_peer *peer;
	bool known;

	if (remote && !rxd_peer_of(remote)->gone)
		return rxd_peer_of(remote);
	known = peer_is_in_av(ep, remote, name);
	if (!known && !rxd_stranger_fits(ep)) {
		if (rxd_may_warn(ep))
			rxd_log(FI_LOG_WARN, FI_LOG_EP_DATA,
				"a peer is not answered: there are %zu already "
				"(FI_OFI_RXD_MAX_PEERS)\n",
				ep->strangers);
		return NULL;
	}
	if (peer_get(ep, name, &peer))
		return NULL;
	if (peer->gone)
		wf_remote_ref(&peer->remote);
	peer->gone = false;
	if (!known)
		rxd_stranger_add(peer);
	return peer;
}

/* Can the packet have come from the address of @peer? */
static bool peer_is_from(const struct rxd_packet *packet, const struct rxd_peer *peer)
{
	const struct rxd_ep *ep = peer->ep;

	switch (ep->sources) {
	case RXD_SOURCES_ADDR:
		return !memcmp(
			packet->addr, peer->name, ep->ep.av->table.format->addr_len);
	case RXD_SOURCES_INDEX:
		return packet->index == peer->below;
	default:
		return true;
	}
}

/* The peer with the index @index that sent @packet. */
static struct rxd_peer *peer_by_index(
	struct rxd_ep *ep, uint64_t index, const struct rxd_packet *packet)
{
	struct rxd_peer *peer = rxd_index_get(&ep->peers, index);

	return wf_likely(peer && peer_is_from(packet, peer)) ? peer : NULL;
}

/* The peer that sent the RTS @packet. */
static struct rxd_peer *peer_by_name(struct rxd_ep *ep, const struct rxd_packet *packet)
{
	uint8_t name[RXD_NAME_SIZE];
	struct wf_remote *remote;
	struct rxd_rts rts;

	if (!rxd_rts_read(packet->data, packet->len, &rts) ||
		!peer_spell(ep, packet->addr ? packet->addr : rts.name, name))
		return NULL;
	remote = wf_remotes_find(&ep->remotes, peer_hash_of(name), name);
	/* A source that the AV below knows is a peer with another name. */
	if (remote ? !peer_is_from(packet, rxd_peer_of(remote))
		   : packet->index != FI_ADDR_NOTAVAIL)
		return NULL;
	return peer_stranger(ep, remote, name);
}

struct rxd_peer *rxd_peer_from(struct rxd_ep *ep, const struct rxd_packet *packet)
{
	struct rxd_base base;
	struct rxd_cts cts;

	memcpy(&base, packet->data, sizeof(base));
	if (base.type == RXD_RTS)
		return peer_by_name(ep, packet);
	if (base.type != RXD_CTS)
		return peer_by_index(ep, base.peer, packet);
	if (!rxd_cts_read(packet->data, packet->len, ep->config.epoch, &cts))
		return NULL;
	return peer_by_index(ep, cts.echo, packet);
}

uint32_t rxd_peer_new_index(struct rxd_flow *flow)
{
	struct rxd_peer *peer = rxd_peer_of_flow(flow);
	uint32_t index = rxd_index_add(&peer->ep->peers, peer);

	if (!index)
		return flow->own_index;
	rxd_index_remove(&peer->ep->peers, flow->own_index);
	return index;
}

void rxd_peer_forget(struct rxd_peer *peer)
{
	peer->gone = true;
	rxd_stranger_remove(peer);
	wf_remote_unref(&peer->ep->remotes, &peer->remote);
}

void rxd_peer_gone(struct rxd_peer *peer)
{
	if (peer->gone)
		return;
	rxd_flow_left(&peer->flow);
	/* Whole messages stay, and keep the peer. */
	wf_unexp_break(&peer->unexp, FI_ECONNRESET);
	rxd_peer_forget(peer);
}

void rxd_peers_say_goodbye(struct rxd_ep *ep)
{
	struct wf_remote *remote = NULL;
	uint64_t now_ns = wf_now_ns();

	if (!ep->peers_ready)
		return;
	while ((remote = wf_remotes_next(&ep->remotes, remote)))
		rxd_flow_bye(&rxd_peer_of(remote)->flow, now_ns);
}

void rxd_peers_tick(struct rxd_ep *ep)
{
	struct wf_remotes *remotes = &ep->remotes;

	if (wf_unlikely(!wf_list_empty(&ep->greeted)))
		rxd_strangers_tick(ep);
	if (wf_unlikely(
		    wf_av_removals_seq(&remotes->removals) != remotes->removals_seq))
		wf_remotes_forget_removed(remotes);
	if (wf_unlikely(wf_remotes_busy(remotes)))
		wf_remotes_tick(remotes, ep->now_ns, 0, 0);
}

fi_addr_t rxd_peer_index(struct rxd_peer *peer)
{
	struct rxd_ep *ep = peer->ep;
	const void *addr;

	if (wf_likely(peer->source != FI_ADDR_NOTAVAIL)) {
		addr = wf_av_addr(ep->ep.av, peer->source);
		if (wf_likely(addr && peer_has_addr(ep, peer, addr)))
			return peer->source;
	}
	peer->source =
		wf_av_index(ep->ep.av, peer->name, ep->ep.av->table.format->addr_len);
	return peer->source;
}

fi_addr_t rxd_peer_match_addr(struct rxd_peer *peer)
{
	fi_addr_t index =
		peer->ep->unexp.wants.index ? rxd_peer_index(peer) : FI_ADDR_UNSPEC;

	return wf_ep_srx_source(&peer->ep->ep, index);
}

fi_addr_t rxd_peer_source(struct rxd_peer *peer)
{
	if (!peer->ep->unexp.wants.source)
		return FI_ADDR_NOTAVAIL;
	return wf_recv_source(&peer->ep->ep, rxd_peer_index(peer));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_PEER_H
#define TCP_PEER_H

#include "objects/conn/remote.h"
#include "providers/tcp/cm.h"
#include "providers/tcp/conn.h"
#include "providers/tcp/listen.h"

struct tcp_attempt;

/*
 * An endpoint that an FI_EP_RDM endpoint talks to, by address. Made by the first
 * operation to it or by its request, whichever comes first. Guarded by ep.lock.
 */
struct tcp_peer {
	struct wf_remote remote;
	union wf_sockaddr addr;
	fi_addr_t index;             /* in the AV, as far as we know */
	struct tcp_conn *conn;       /* what operations go to */
	struct tcp_conn *claimed;    /* claim.c: receives only, until proven */
	bool contested;              /* a second request claimed the same address */
	struct tcp_attempt *attempt; /* our own attempt to connect */
	uint32_t remote_id;          /* of its endpoint, 0: not known */
	uint64_t remote_instance;    /* the same, from peers that know our extension */
};

/* What is known of the other end of a connection. */
enum tcp_identity {
	TCP_PROVEN,  /* it listens at the peer's address */
	TCP_CLAIMED, /* it says so */
	TCP_SELF,    /* it is this endpoint: receives only */
};

/* An attempt to connect, of ours to a peer or of a peer's to us. */
struct tcp_attempt {
	struct wf_watch watch;
	struct tcp_ep *ep;
	struct tcp_peer *peer; /* NULL: passive, and not known yet */
	struct wf_list link;
	bool passive;
	bool self;              /* passive: the other end is this endpoint */
	union wf_sockaddr from; /* passive */
	struct tcp_cm cm;
};

/* All of one endpoint. */
struct tcp_peers {
	struct tcp_ep *ep;
	struct wf_watch watch; /* of the listener */
	struct tcp_listener listener;
	uint32_t id;       /* ours; random, not 0 */
	uint64_t instance; /* the same for peers that know our extension */
	struct wf_remotes remotes;
	struct wf_list attempts; /* oldest first */
	struct wf_list dead_attempts;
	unsigned int callers; /* among them: passive ones */
};

int tcp_peers_new(struct tcp_ep *ep);
/* Listen; the endpoint's name is true from then on. */
int tcp_peers_listen(struct tcp_ep *ep);
void tcp_peers_free(struct tcp_ep *ep);

/* Where operations to @addr go: to a connection, or to the list of those that wait for
 * one. -FI_EINVAL, -FI_EFIREWALLADDR, -FI_ENOMEM. */
int tcp_peer_route(struct tcp_ep *ep, fi_addr_t addr, struct tcp_conn **ret_conn,
	struct wf_list **ret_wait);
struct tcp_peer *tcp_peer_get(struct tcp_ep *ep, const union wf_sockaddr *addr);
fi_addr_t tcp_peer_index_slow(struct tcp_ep *ep, struct tcp_peer *peer);
/* Something is to be done for it, now or at its retry_ns. */
void tcp_peer_busy(struct tcp_ep *ep, struct tcp_peer *peer);
/* A peer without references is freed later, by tcp_peers_tick. */
void tcp_peer_unref(struct tcp_ep *ep, struct tcp_peer *peer);
/* @conn of @peer is gone. */
void tcp_peer_lost(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn);
/* The exchange over @cm came to a good end: @fd carries records. */
int tcp_peer_connected(struct tcp_ep *ep, struct tcp_peer *peer, int fd,
	const struct tcp_wire_peer *wire, enum tcp_identity identity);
/* Operations go to @conn, what waited first. */
void tcp_peer_use(struct tcp_peer *peer, struct tcp_conn *conn);
/* An attempt to connect failed. */
void tcp_peer_failed(struct tcp_ep *ep, struct tcp_peer *peer, int err);
/* It failed because there is no listener. */
void tcp_peer_refused(struct tcp_ep *ep, struct tcp_peer *peer);

void tcp_peers_tick(struct tcp_ep *ep);
uint64_t tcp_peers_deadline(struct tcp_ep *ep);

/*
 * claim.c: connections whose other end says at which address it listens.
 */

/* @conn was accepted, and stands for @peer alone. */
void tcp_claim_made(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn);
/* The listener at the address accepted our own request: it is not @peer's claimed. */
void tcp_claim_refuted(struct tcp_peer *peer);
/* Our own request was rejected. True: that proves the claim, and operations go to it.
 */
bool tcp_claim_rejected(
	struct tcp_ep *ep, struct tcp_peer *peer, const struct tcp_cm_msg *msg);
/* The address cannot be connected to, -@err says why. True: what was claimed is used.
 */
bool tcp_claim_unreachable(struct tcp_ep *ep, struct tcp_peer *peer, int err);
/* The address is known as one that cannot be connected to: the claim is used. */
bool tcp_claim_firewalled(struct tcp_ep *ep, struct tcp_peer *peer);
/* Another request for the address of a claim that stands: ask the listener there. */
void tcp_claim_contest(struct tcp_ep *ep, struct tcp_peer *peer);

/* attempt.c */
int tcp_attempt_start(struct tcp_ep *ep, struct tcp_peer *peer);
void tcp_attempt_drop(struct tcp_attempt *attempt);
/* Go on with our own attempt, if there is something to go on with. */
void tcp_attempt_poke(struct tcp_attempt *attempt);
void tcp_attempt_accept_ready(struct wf_watch *watch, uint32_t events);
bool tcp_attempt_free_descriptor(struct tcp_listener *listener);
void tcp_attempts_tick(struct tcp_ep *ep, uint64_t now);
void tcp_attempts_free_dead(struct tcp_peers *peers);

static inline struct tcp_peer *tcp_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct tcp_peer, remote);
}

/* The same bytes in what matters; addresses of an AV have been normalised. */
static inline bool tcp_addr_is(const union wf_sockaddr *a, const void *addr)
{
	const union wf_sockaddr *b = addr;

	if (wf_likely(a->sa.sa_family == AF_INET))
		return !memcmp(a, b, offsetof(struct sockaddr_in, sin_zero));
	return wf_sockaddr_equal(a, b);
}

static inline fi_addr_t tcp_peer_index(struct tcp_ep *ep, struct tcp_peer *peer)
{
	const void *addr;

	if (wf_likely(peer->index != FI_ADDR_NOTAVAIL)) {
		addr = wf_av_addr(ep->ep.av, peer->index);
		if (wf_likely(addr && tcp_addr_is(&peer->addr, addr)))
			return peer->index;
	}
	return tcp_peer_index_slow(ep, peer);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CONN_PEER_H
#define WF_TCP_CONN_PEER_H

#include "objects/conn/ip.h"
#include "objects/conn/verify.h"
#include "providers/tcp/cm/cm.h"
#include "providers/tcp/conn/conn.h"
#include "providers/tcp/cm/listen.h"

struct tcp_attempt;

/*
 * A peer of an FI_EP_RDM endpoint, found by its address. Created by the first operation
 * to the peer or by the peer's first connection request. Guarded by ep.lock.
 */
struct tcp_peer {
	struct wf_ip_remote ip;
	/* The connection that operations use; NULL: there is none. */
	struct tcp_conn *conn;
	/* @conn, as long as all operations use its socket; NULL: there is no
	 * connection, or tcp_switch_goes_below decides for each operation. */
	struct tcp_conn *route;
	/* A connection that is not read until it is verified (verify.c); NULL: none. */
	struct tcp_conn *unverified;
	struct tcp_attempt
		*attempt; /* this endpoint's attempt to connect; NULL: none */
	/* A socket at the address has once accepted an attempt: no firewall keeps
	 * attempts off. */
	bool reached;
	uint32_t remote_id; /* id of the peer's endpoint; 0: not known */
	/* Instance of the peer's endpoint; 0: not known, or the peer does not know the
	 * extension. */
	uint64_t remote_instance;
	/* Instance of the peer's endpoint that memory failed for; 0: none. */
	uint64_t barred_instance;
};

/* How certain the identity of the peer of a connection is. */
enum tcp_identity {
	TCP_VERIFIED,   /* The peer listens at its address. */
	TCP_UNVERIFIED, /* The peer said in its request that it does. */
	/* The same, and it has a connection to another address of this endpoint. */
	TCP_EXTRA,
	TCP_SELF, /* The peer is this endpoint itself; the connection only receives. */
};

/* A connection attempt: of this endpoint to a peer (active), or of a peer to this
 * endpoint (passive). */
struct tcp_attempt {
	struct wf_attempt base;
	struct tcp_ep *ep;
	struct tcp_peer *peer; /* NULL: passive, and the request has not arrived */
	bool passive;
	bool verifies; /* active: it began to verify a connection */
	bool self;     /* passive: the other end is this endpoint */
	/* passive: there is a connection that the peer made to another address of this
	 * endpoint */
	bool extra;
	union wf_sockaddr from; /* passive: address from which the peer connected */
	struct tcp_cm cm;
};

/* All peers and connection attempts of one endpoint. */
struct tcp_peers {
	struct tcp_ep *ep;
	struct wf_watch watch; /* watches the listener */
	struct tcp_listener listener;
	uint32_t id; /* id of this endpoint; random, not 0 */
	uint64_t
		/* The same id for peers that know the extension, with 64 bits. */
		instance;
	struct wf_remotes remotes;
	unsigned int callers; /* number of passive attempts under way */
	/* Connections that this endpoint made and that their peers may be verifying, by
	 * unconfirmed_link, oldest first. */
	struct wf_list unconfirmed;
};

static inline struct tcp_peers *tcp_peers_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct tcp_peers, remotes);
}

int tcp_peers_new(struct tcp_ep *ep);
/* Listen; from then on the endpoint's name has the true port. 0 or a negative
 * fi_errno. */
int tcp_peers_listen(struct tcp_ep *ep);
/* Close the socket of an attempt or of a connection to a peer. */
void tcp_peers_close(struct tcp_ep *ep, int fd);
void tcp_peers_free(struct tcp_ep *ep);

/* Let tcp_peers_tick visit the peer, now or at its retry_ns. */
static inline void tcp_peer_schedule(struct tcp_ep *ep, struct tcp_peer *peer)
{
	wf_remote_schedule(&ep->peers->remotes, &peer->ip.remote);
}

enum { TCP_ROUTE_BELOW = 1 };

/* Find the connection for operations to @addr (*ret_conn) or, if that is NULL, the list
 * where they wait for one (*ret_wait). 0; TCP_ROUTE_BELOW: they use memory
 * (tcp_switch_start) as long as the connection *ret_conn exists; -FI_EINVAL,
 * -FI_EFIREWALLADDR or -FI_ENOMEM. ep.lock held. */
int tcp_peer_route(struct tcp_ep *ep, fi_addr_t addr, struct tcp_conn **ret_conn,
	struct wf_list **ret_wait);
/* For the fast path: the connection to @addr, if operations to it use memory for good.
 * NULL: tcp_peer_route decides. ep.lock held. */
struct tcp_conn *tcp_peer_memory_conn(struct tcp_ep *ep, fi_addr_t addr);
struct tcp_peer *tcp_peer_get(struct tcp_ep *ep, const union wf_sockaddr *addr);
/* Drop a reference. tcp_peers_tick frees a peer without references. */
void tcp_peer_unref(struct tcp_ep *ep, struct tcp_peer *peer);
/* The address of @peer was removed: end its connections. */
void tcp_peer_removed(struct tcp_ep *ep, struct tcp_peer *peer);
/* The connection of @peer that was made to this end's address @own and is verified;
 * NULL: there is none. */
struct tcp_conn *tcp_peer_conn_at(
	struct tcp_ep *ep, struct tcp_peer *peer, const union wf_sockaddr *own);
/* The connection @conn of @peer was taken down. */
void tcp_peer_lost(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn);
/* An exchange succeeded: create the connection over @fd. 0 or a negative fi_errno. */
int tcp_peer_connected(struct tcp_ep *ep, struct tcp_peer *peer, int fd,
	uint64_t instance, const struct tcp_wire_peer *wire,
	enum tcp_identity identity);
/* @conn is verified: read it, and let operations use it, first those that waited for a
 * connection; unless it is beside another one that they use. @alive: the peer answered
 * a moment ago. */
void tcp_peer_use(struct tcp_peer *peer, struct tcp_conn *conn, bool alive);

void tcp_peers_tick(struct tcp_ep *ep);
uint64_t tcp_peers_deadline(struct tcp_ep *ep);

/* Does a peer wait for progress of this endpoint, although no operation of the
 * application does: may one be verifying a connection that this endpoint made? ep.lock
 * held. */
bool tcp_peers_owe(struct tcp_ep *ep);
/* The peer has verified @conn. */
static inline void tcp_conn_confirmed(struct tcp_conn *conn)
{
	wf_list_remove(&conn->unconfirmed_link);
}

/*
 * verify.c: accepted connections, whose other end only says at which address it
 * listens (objects/conn/verify.h).
 */
extern const struct wf_verify_ops tcp_verify_ops;

/* @conn was accepted: begin to verify it. */
void tcp_verify_begin(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn);
/* This endpoint's attempt succeeded, or failed with the positive errno @err (0:
 * success). True: the attempt has verified @peer->unverified, which is used now. */
bool tcp_verify_answered(struct tcp_attempt *attempt, int err);

/* attempt.c. tcp_attempt_start: connect to @peer. */
void tcp_attempt_start(struct tcp_ep *ep, struct tcp_peer *peer);
void tcp_attempt_drop(struct tcp_attempt *attempt);
/* Continue this endpoint's attempt, if it is waiting for an event that has happened. */
void tcp_attempt_progress(struct tcp_attempt *attempt);
void tcp_attempt_accept_ready(struct wf_watch *watch, uint32_t events);
bool tcp_attempt_free_descriptor(struct tcp_listener *listener);
/* Drop the connections of peers that connected and sent nothing. */
void tcp_attempts_drop_silent(struct tcp_ep *ep, uint64_t now);
/* wf_remote_ops.drop and .expired */
void tcp_attempt_end(struct wf_attempt *attempt);
void tcp_attempt_expired(struct wf_attempt *attempt);

static inline struct tcp_attempt *tcp_attempt_of(const struct wf_attempt *attempt)
{
	return wf_container_of(attempt, struct tcp_attempt, base);
}

static inline struct tcp_peer *tcp_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct tcp_peer, ip.remote);
}

static inline struct tcp_peer *tcp_peer_of_ip(const struct wf_ip_remote *ip)
{
	return wf_container_of(ip, struct tcp_peer, ip);
}

static inline fi_addr_t tcp_peer_index(struct tcp_ep *ep, struct tcp_peer *peer)
{
	return wf_ip_remote_index(ep->ep.av, &peer->ip);
}

#endif

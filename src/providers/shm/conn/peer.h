/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_PEER_H
#define WF_SHM_CONN_PEER_H

#include "objects/conn/remote.h"
#include "providers/shm/conn/conn.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/listing.h"
#include "providers/shm/conn/socket.h"

struct shm_attempt;

/*
 * A peer of an endpoint, found by its name. Created by the first operation to the peer
 * or by the peer's connection request; freed by shm_peers_tick when it has no
 * connection, no operation waits for a connection, and no index of the AV refers to it.
 * Guarded by ep.lock.
 */
struct shm_peer {
	struct wf_remote remote;
	/* The connection that operations use; NULL: there is none. */
	struct shm_conn *conn;
	/* This endpoint's attempt to connect to the peer; NULL: there is none. */
	struct shm_attempt *attempt;
	/* The last attempt found no such name. */
	bool missed;
	/* Instance number of the endpoint that @conn connects to; random. */
	uint64_t instance;
	char name[SHM_NAME_MAX];
};

/* A connection attempt: of this endpoint to a peer (active), or of a peer to this
 * endpoint (passive). */
struct shm_attempt {
	/* A passive attempt has a deadline, after which it is dropped if its request
	 * has not arrived; an active one has none. */
	struct wf_attempt base;
	struct shm_ep *ep;
	struct shm_peer *peer; /* NULL: passive */
	struct shm_segment *segment;
	pid_t pid;
};

/* All peers and connection attempts of one endpoint. */
struct shm_peers {
	struct shm_ep *ep;
	uint64_t instance, probe;
	struct wf_remotes remotes;
	struct shm_listing listing;
	/* The log says why there is no memory for connections. */
	bool explained;
};

int shm_peers_new(struct shm_ep *ep);
void shm_peers_free(struct shm_ep *ep);

/* Find the connection for operations to @addr (*ret_conn) or, if that is NULL, the list
 * where they wait for a connection (*ret_wait). Returns 0, -FI_EINVAL or -FI_ENOMEM.
 * ep.lock held. */
int shm_peer_route_slow(struct shm_ep *ep, fi_addr_t addr, struct shm_conn **ret_conn,
	struct wf_list **ret_wait);
/* The peer at @addr; NULL: there is none, or no message was ever exchanged with it. */
struct shm_peer *shm_peer_at(struct shm_ep *ep, fi_addr_t addr);
struct shm_peer *shm_peer_get(struct shm_ep *ep, const char *name);
/* Let shm_peers_tick visit the peer, now or at its retry_ns. */
static inline void shm_peer_schedule(struct shm_ep *ep, struct shm_peer *peer)
{
	wf_remote_schedule(&ep->peers->remotes, &peer->remote);
}
/* The connection @conn was taken down. */
void shm_peer_lost(struct shm_ep *ep, struct shm_conn *conn);
/* A reference to @peer was dropped: the next tick frees it if there is no other. */
void shm_peer_let_go(struct shm_ep *ep, struct shm_peer *peer);
void shm_peer_connected(struct shm_peer *peer, struct shm_conn *conn);
/* Called by fi_enable: let the AV report the addresses that are removed. */
void shm_peers_watch_av(struct shm_ep *ep);
/* Forget the cached AV indices of removed addresses, which may now belong to other
 * peers. */
void shm_peer_forget_indices(struct shm_ep *ep);
/* Cache @index as that of conn->peer. False: no memory, so the caller must not cache
 * the index in the connection. */
bool shm_peer_set_index(struct shm_conn *conn, fi_addr_t index);
void shm_peers_tick(struct shm_ep *ep);
uint64_t shm_peers_deadline(struct shm_ep *ep);

/* reach.c: functions of struct wf_xfer_ops. */
int shm_reach(struct wf_ep *ep, fi_addr_t addr);
bool shm_is_reached(struct wf_ep *ep, fi_addr_t addr);
bool shm_disconnect(
	struct wf_ep *ep, fi_addr_t addr, int err, struct wf_unread *unread);

/* attempt.c */
int shm_attempt_start(struct shm_ep *ep, struct shm_peer *peer);
void shm_attempt_drop(struct shm_attempt *attempt);
/* Handle the answer of the peer to @attempt, one of this endpoint, if it has come. The
 * peer then has a connection, or no attempt any more; otherwise nothing changes. */
void shm_attempt_poll(struct shm_attempt *attempt);
/* accept.c: the listener is ready. */
void shm_attempt_accept_ready(struct wf_watch *watch, uint32_t events);
/* attempt.c: wf_remote_ops.drop and .expired. */
void shm_attempt_end(struct wf_attempt *attempt);

static inline struct shm_peer *shm_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct shm_peer, remote);
}

/* The working connection to @addr, or NULL. */
static inline struct shm_conn *shm_peer_conn(struct shm_ep *ep, fi_addr_t addr)
{
	struct wf_remote *remote =
		wf_remotes_at(&ep->peers->remotes, wf_av_slot_index(ep->ep.av, addr));
	struct shm_conn *conn;

	if (wf_unlikely(!remote || shm_av_seq(ep) != ep->av_seq.seen))
		return NULL;
	conn = shm_peer_of(remote)->conn;
	if (wf_unlikely(!conn || conn->err))
		return NULL;
	return conn;
}

static inline int shm_peer_route(struct shm_ep *ep, fi_addr_t addr,
	struct shm_conn **ret_conn, struct wf_list **ret_wait)
{
	*ret_conn = shm_peer_conn(ep, addr);
	return wf_likely(*ret_conn != NULL)
		       ? 0
		       : shm_peer_route_slow(ep, addr, ret_conn, ret_wait);
}

#endif

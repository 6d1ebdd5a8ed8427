/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PEER_H
#define SHM_PEER_H

#include "providers/shm/conn.h"
#include "providers/shm/socket.h"

struct shm_dial;

/*
 * Somebody that an endpoint talks to, by name. Made by the first operation to him or by
 * his request, and kept until the endpoint is closed. Guarded by ep.lock.
 */
struct shm_peer {
	struct wf_list busy_link; /* peers->busy while there is something to be done */
	struct shm_peer *hash_next;
	struct shm_conn *conn;  /* what operations go to */
	struct shm_dial *dial;  /* our own attempt to connect */
	struct wf_list pending; /* operations that wait for a connection */
	uint64_t retry_ns;      /* no attempt before */
	uint64_t give_up_ns;    /* pending operations fail then */
	uint64_t instance;      /* of the other end of @conn */
	uint32_t backoff_us;
	int err; /* of the last attempt */
	char name[SHM_NAME_MAX];
};

/* A connection in the making, ours to a peer or somebody's to us. */
struct shm_dial {
	struct shm_watch watch;
	struct shm_ep *ep;
	struct shm_peer *peer; /* NULL: passive, not known yet */
	struct shm_region *region;
	struct wf_list link;
	uint64_t deadline_ns; /* passive: it has to say who it is */
	pid_t pid;
};

/* All of one endpoint. */
struct shm_peers {
	struct shm_ep *ep;
	uint64_t instance, probe;
	struct shm_peer **buckets;
	size_t bucket_mask, count;
	struct shm_peer **by_index; /* those that we sent to */
	size_t index_room;
	struct wf_list busy, dials, dead_dials;
};

int shm_peers_new(struct shm_ep *ep);
void shm_peers_free(struct shm_ep *ep);

/* Where operations to @addr go: to a connection, or to the list of those that wait for
 * one. -FI_EINVAL, -FI_ENOMEM. */
int shm_peer_route_slow(struct shm_ep *ep, fi_addr_t addr, struct shm_conn **ret_conn,
	struct wf_list **ret_wait);
struct shm_peer *shm_peer_get(struct shm_ep *ep, const char *name);
/* Something is to be done for it, now or at its retry_ns. */
void shm_peer_busy(struct shm_ep *ep, struct shm_peer *peer);
/* @conn is gone. */
void shm_peer_lost(struct shm_ep *ep, struct shm_conn *conn);
void shm_peer_connected(struct shm_peer *peer, struct shm_conn *conn);
void shm_peer_failed(struct shm_ep *ep, struct shm_peer *peer, int err);
/* Indices mean other peers now, perhaps. */
void shm_peer_forget_indices(struct shm_ep *ep);
void shm_peers_tick(struct shm_ep *ep);
uint64_t shm_peers_deadline(struct shm_ep *ep);

/* dial.c */
int shm_dial_start(struct shm_ep *ep, struct shm_peer *peer);
void shm_dial_drop(struct shm_dial *dial);
void shm_dial_accept_ready(struct shm_watch *watch, uint32_t events);
void shm_dials_tick(struct shm_ep *ep, uint64_t now);
void shm_dials_free_dead(struct shm_peers *peers);

/* The connection to @addr, if there is one. */
static inline struct shm_conn *shm_peer_conn(struct shm_ep *ep, fi_addr_t addr)
{
	struct shm_peers *peers = ep->peers;
	struct wf_av *av = ep->ep.av;
	size_t index = addr & av->index_mask;
	struct shm_peer *peer;

	if (wf_unlikely(index >= peers->index_room || shm_av_seq(av) != ep->av_seq))
		return NULL;
	peer = peers->by_index[index];
	if (wf_unlikely(!peer || !peer->conn || peer->conn->err))
		return NULL;
	return peer->conn;
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

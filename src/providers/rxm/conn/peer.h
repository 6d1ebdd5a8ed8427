/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_CONN_PEER_H
#define WF_RXM_CONN_PEER_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/conn/hello.h"
#include "providers/rxm/conn/ids.h"

/* An exchange with a peer that is under way; it ends at its deadline at the latest. */
struct rxm_attempt {
	struct wf_attempt base;
	struct rxm_conn *conn;
};

static inline struct rxm_attempt *rxm_attempt_of(struct wf_attempt *attempt)
{
	return wf_container_of(attempt, struct rxm_attempt, base);
}

/* All peers of an endpoint. */
struct rxm_peers {
	struct rxm_ep *ep;
	struct wf_remotes remotes;
	struct rxm_ids ids;
	/* Identifies this endpoint like a process id, but is random: a restarted peer
	 * may have the process id of its predecessor. */
	uint32_t pid;
};

/* peer.c. Create and free all peers. rxm_peers_new returns 0 or a negative fi_errno.
 * Control calls. */
int rxm_peers_new(struct rxm_ep *ep);
void rxm_peers_free(struct rxm_ep *ep);

/* ep.lock is held for all functions below. */

/* The peer with the address @addr, created if there is none; NULL: no memory. */
struct rxm_peer *rxm_peer_get(struct rxm_ep *ep, const union wf_sockaddr *addr);
void rxm_peers_tick(struct rxm_ep *ep);
uint64_t rxm_peers_deadline(struct rxm_ep *ep);

/* cm.c: begin to connect. The result is reported to objects/conn/remote.h. */
void rxm_cm_connect(struct rxm_ep *ep, struct rxm_peer *peer);
/* Handle an event of @ep->eq, with @len bytes of the peer's data. The lock of the
 * receive context is held, too. */
void rxm_cm_event(struct rxm_ep *ep, uint32_t event, const struct fi_eq_cm_entry *entry,
	size_t len);
void rxm_cm_error(struct rxm_ep *ep, const struct fi_eq_err_entry *entry);
/* The exchange of @attempt has reached its deadline. */
void rxm_cm_expired(struct wf_attempt *attempt);

/* Accept @req, which is verified, for @peer; this function frees @req->info. */
struct rxm_request;
void rxm_cm_accept(
	struct rxm_ep *ep, struct rxm_peer *peer, const struct rxm_request *req);
void rxm_cm_reject(struct rxm_ep *ep, const struct rxm_request *req,
	enum rxm_reason reason, enum rxm_answer answer);

/*
 * verify.c: requests, whose senders only say at which address they listen
 * (objects/conn/verify.h).
 */

/* A connection request, from FI_CONNREQ. */
struct rxm_request {
	struct fi_info *info; /* info for opening the endpoint below that accepts */
	struct rxm_hello hello;
	bool has_card;
	uint8_t card[WF_PROOF_CARD]; /* for a proof of shared memory, if has_card */
	union wf_sockaddr own,
		from; /* the addresses of this endpoint and of the peer */
};

extern const struct wf_verify_ops rxm_verify_ops;

/* Keep @req, the only one of @peer, and begin to verify it. False: no memory. */
bool rxm_verify_begin(
	struct rxm_ep *ep, struct rxm_peer *peer, const struct rxm_request *req);
/* This endpoint's request @conn was accepted; or it was rejected for @reason with the
 * answer @answer, or failed, with the positive fi_errno @err. */
void rxm_verify_accepted(struct rxm_conn *conn);
void rxm_verify_failed(
	struct rxm_conn *conn, enum rxm_reason reason, enum rxm_answer answer, int err);
/* The endpoint is closed: drop the request of @peer. */
void rxm_verify_drop(struct rxm_peer *peer);

/* Does a peer wait for progress of this endpoint, although no operation of the
 * application does? ep.lock held. */
bool rxm_peers_owe(const struct rxm_ep *ep);

/* conn.c: make a connection to @peer, whose endpoint below is opened with @info; this
 * function frees @info. 0 or a negative fi_errno. */
int rxm_conn_new(struct rxm_ep *ep, struct rxm_peer *peer, struct fi_info *info,
	struct rxm_conn **ret_conn);
/* Let the endpoint's counters of remote events count the peer's RMA accesses; those
 * that are bound and do so already are skipped. Atomic operations are counted where
 * they are executed, in data/. 0 or a negative fi_errno. */
int rxm_conn_count_remote(struct rxm_conn *conn);
/* Begin the exchange of @conn in @state, with a deadline. False: no memory. */
bool rxm_conn_begin(struct rxm_conn *conn, enum rxm_conn_state state);
/* The connection is up if the exchange has succeeded and the transport of operations is
 * settled; otherwise no-op. */
void rxm_conn_settled(struct rxm_conn *conn);
/* End the connection with the positive fi_errno @err. The lock of the receive context
 * is held, too. Must not be called from the done() of a call. */
void rxm_conn_end(struct rxm_conn *conn, int err);
void rxm_conns_end_failed(struct rxm_ep *ep);
/* The peer closed the connection: the next progress call ends it, after all packets
 * that arrived before were received. */
void rxm_conn_shut_down(struct rxm_conn *conn);
/* Does the connection still exist, as far as this end can tell? */
bool rxm_conn_stands(struct rxm_conn *conn);

static inline void rxm_peer_unref(struct rxm_ep *ep, struct rxm_peer *peer)
{
	wf_remote_unref(&ep->peers->remotes, &peer->ip.remote);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_PEER_H
#define RXM_PEER_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/conn/hello.h"
#include "providers/rxm/conn/ids.h"

/* An exchange with a peer that is under way: it ends with the deadline at the latest.
 */
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
	/* Names this endpoint in the place of a process: not the process number, which
	 * a restarted peer may have again. */
	uint32_t pid;
};

/* peer.c. Life of all peers; new: 0 or a negative FI_E code. Control calls. */
int rxm_peers_new(struct rxm_ep *ep);
void rxm_peers_free(struct rxm_ep *ep);

/* ep.lock is held for all that follow. */

/* The peer with @addr; NULL: no memory. */
struct rxm_peer *rxm_peer_get(struct rxm_ep *ep, const union wf_sockaddr *addr);
void rxm_peers_tick(struct rxm_ep *ep);
uint64_t rxm_peers_deadline(struct rxm_ep *ep);

/* cm.c: begin to connect; the end is told to remote.h. */
void rxm_cm_connect(struct rxm_ep *ep, struct rxm_peer *peer);
/* An event of @ep->eq, with @len bytes of the peer's data; the lock of the receive
 * context is held as well. */
void rxm_cm_event(struct rxm_ep *ep, uint32_t event, const struct fi_eq_cm_entry *entry,
	size_t len);
void rxm_cm_error(struct rxm_ep *ep, const struct fi_eq_err_entry *entry);
/* The exchange of @attempt takes too long. */
void rxm_cm_expired(struct wf_attempt *attempt);

/* conn.c: a connection to @peer whose endpoint below is opened from @info, which
 * belongs to this function. 0 or a negative FI_E code. */
int rxm_conn_new(struct rxm_ep *ep, struct rxm_peer *peer, struct fi_info *info,
	struct rxm_conn **ret_conn);
/* Have the peer's accesses counted by the endpoint's counters of remote events, those
 * that are bound and do not count them yet; atomic operations are counted where they
 * are made. 0 or a negative FI_E code. */
int rxm_conn_count_remote(struct rxm_conn *conn);
/* Begin the exchange of @conn, which ends at the latest after the limit. False: no
 * memory. */
bool rxm_conn_begin(struct rxm_conn *conn, enum rxm_conn_state state);
/* The exchange is over: the connection is up. */
void rxm_conn_up(struct rxm_conn *conn);
/* End the connection with the positive FI_E code @err. The lock of the receive context
 * is held as well. Not from within a done() of a call. */
void rxm_conn_end(struct rxm_conn *conn, int err);
void rxm_conns_end_failed(struct rxm_ep *ep);
/* The peer closed the connection: the next progress call ends it, after what came
 * before was received. */
void rxm_conn_shut_down(struct rxm_conn *conn);

static inline void rxm_peer_unref(struct rxm_ep *ep, struct rxm_peer *peer)
{
	wf_remote_unref(&ep->peers->remotes, &peer->ip.remote);
}

#endif

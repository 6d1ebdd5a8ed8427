/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_BELOW_PEERS_H
#define TCP_LOCAL_BELOW_PEERS_H

#include <pthread.h>

#include "objects/av/av.h"
#include "objects/cq/cq.h"
#include "sys/sockaddr.h"

/*
 * The peers in the AV of the endpoint below, with their indices in tcp's AV. A peer
 * that the application removes from tcp's AV stays in the AV below, as its connection
 * stays; only its user id becomes FI_ADDR_NOTAVAIL, and the new index when the address
 * is inserted again. So messages of the peer have the same source as over a socket.
 *
 * The completion queues of tcp's endpoint are exported to the endpoint below. An error
 * entry from it has the peer's index and address in the AV below, which are replaced by
 * those of tcp. For that purpose a peer stays in this table when it was removed from
 * the AV below, because its operations may fail only then.
 *
 * @lock guards @at and the fields below it. While it is held, only locks of the AVs are
 * taken.
 */
struct tcp_below_peers;

/* An exported completion queue. */
struct tcp_below_cq {
	struct fid_peer_cq port; /* the export */
	/* Its operations: those of the queue, but for writeerr. */
	struct fi_ops_cq_owner ops;
	struct tcp_below_peers *peers;
};

struct tcp_below_peers {
	struct wf_av *av, *below; /* tcp's AV, and the AV below; NULL: not started */
	/* Called when peers have other sources than before: the sources of saved
	 * messages have to be determined again. Called from fi_av_insert and
	 * fi_av_remove, without locks. */
	void (*changed)(struct tcp_below_peers *peers);
	struct tcp_below_cq tx, rx; /* transmit and receive queue; zero: none */
	struct wf_av_watch watch;   /* reports changes of @av */
	/* shared_seq: counts removals by other processes, if they share @av
	 * (wf_av_shared_seq). seq: its value when @at was last compared with @av. */
	const _Atomic uint32_t *shared_seq;
	uint32_t seq;
	pthread_mutex_t lock;
	struct tcp_below_peer *at; /* by index in the AV below */
	size_t count;              /* number of elements of @at */
	size_t lost;    /* number of peers in the AV below that are not in @av */
	size_t leaving; /* number of peers that are leaving */
	size_t next;    /* index of the peer to examine next */
};

/* @av and @below must not be closed before tcp_below_peers_done. */
void tcp_below_peers_start(struct tcp_below_peers *peers, struct wf_av *av,
	struct wf_av *below, void (*changed)(struct tcp_below_peers *peers));
/* Stop, and end the exports; the endpoint below is closed. A control call without
 * locks. No-op if @peers is all zero. */
void tcp_below_peers_done(struct tcp_below_peers *peers);
/* From now on @changed is not called. A control call without locks. */
void tcp_below_peers_stop(struct tcp_below_peers *peers);

/* Export @cq as ret->port; tcp_below_peers_done ends the export. @ret is a member of
 * @peers. */
void tcp_below_peers_export(
	struct tcp_below_peers *peers, struct tcp_below_cq *ret, struct wf_cq *cq);

/* Insert @name, a string in the format of the AV below, as the peer with the index
 * @index in tcp's AV. 0 or a negative fi_errno. */
int tcp_below_peers_insert(struct tcp_below_peers *peers, fi_addr_t index,
	const void *name, fi_addr_t *ret_below);
/* Remove peer @below from the AV below. */
void tcp_below_peers_remove(struct tcp_below_peers *peers, fi_addr_t below);
/* The connection of the peer has ended, and its messages may wait for a receive: the
 * peer stays until tcp_below_peers_next_leaving has returned it, and the caller removes
 * it. */
void tcp_below_peers_leave(struct tcp_below_peers *peers, fi_addr_t below);
/* The next of the leaving peers, cyclically, or FI_ADDR_NOTAVAIL. It examines a few
 * peers, which is enough for one call per insertion. */
fi_addr_t tcp_below_peers_next_leaving(struct tcp_below_peers *peers);

/* Other processes may have changed tcp's AV: compare the table with it. */
void tcp_below_peers_compare(struct tcp_below_peers *peers);

#endif

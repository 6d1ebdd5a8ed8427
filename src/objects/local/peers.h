/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_PEERS_H
#define WF_OBJECTS_LOCAL_PEERS_H

#include "objects/av/av.h"
#include "objects/cq/cq.h"
#include "sys/lock.h"
#include "sys/sockaddr.h"

/*
 * The peers in the AV of the endpoint below, with their indices in the AV above. A peer
 * that the application removes from the AV above stays in the AV below, as its
 * connection stays; only its user id becomes FI_ADDR_NOTAVAIL, and the new index when
 * the address is inserted again. So messages of the peer have the same source as over a
 * socket.
 *
 * The completion queues of the endpoint above are exported to the endpoint below. An
 * error entry from it has the peer's index and address in the AV below, which are
 * replaced by those of the AV above. For that purpose a peer stays in this table when
 * it was removed from the AV below, because its operations may fail only then.
 *
 * @lock guards @at and the fields below it. While it is held, only locks of the AVs are
 * taken.
 */
struct wf_local_peers;

/* An exported completion queue. */
struct wf_local_cq {
	struct fid_peer_cq port; /* the export */
	/* Its operations: those of the queue, but for writeerr. */
	struct fi_ops_cq_owner ops;
	struct wf_local_peers *peers;
};

struct wf_local_peers {
	struct wf_av *av,
		*below; /* the AV above, and the AV below; NULL: not started */
	/* Called when peers have other sources than before: the sources of saved
	 * messages have to be determined again. Called from fi_av_insert and
	 * fi_av_remove, without locks. */
	void (*changed)(struct wf_local_peers *peers);
	struct wf_local_cq tx, rx; /* transmit and receive queue; zero: none */
	struct wf_av_watch watch;  /* reports changes of @av */
	/* shared_seq: counts removals by other processes, if they share @av
	 * (wf_av_shared_seq). seq: its value when @at was last compared with @av. */
	const _Atomic uint32_t *shared_seq;
	uint32_t seq;
	struct wf_lock lock;
	struct wf_local_peer *at; /* by index in the AV below */
	size_t count;             /* number of elements of @at */
	size_t lost;    /* number of peers in the AV below that are not in @av */
	size_t leaving; /* number of peers that are leaving */
	size_t next;    /* index of the peer to examine next */
};

/* @av and @below must not be closed before wf_local_peers_done. */
void wf_local_peers_start(struct wf_local_peers *peers, struct wf_av *av,
	struct wf_av *below, void (*changed)(struct wf_local_peers *peers));
/* Stop, and end the exports; the endpoint below is closed. A control call without
 * locks. No-op if @peers is all zero. */
void wf_local_peers_done(struct wf_local_peers *peers);
/* From now on @changed is not called. A control call without locks. */
void wf_local_peers_stop(struct wf_local_peers *peers);

/* Export @cq as ret->port; wf_local_peers_done ends the export. @ret is a member of
 * @peers. */
void wf_local_peers_export(
	struct wf_local_peers *peers, struct wf_local_cq *ret, struct wf_cq *cq);

/* Insert @name, a string in the format of the AV below, as the peer with the address
 * @addr, which may be in the AV above or not. 0 or a negative fi_errno. */
int wf_local_peers_insert(struct wf_local_peers *peers, const union wf_sockaddr *addr,
	const void *name, fi_addr_t *ret_below);
/* Remove peer @below from the AV below. */
void wf_local_peers_remove(struct wf_local_peers *peers, fi_addr_t below);
/* The connection of the peer has ended, and its messages may wait for a receive: the
 * peer stays until wf_local_peers_next_leaving has returned it, and the caller removes
 * it. */
void wf_local_peers_leave(struct wf_local_peers *peers, fi_addr_t below);
/* The next of the leaving peers, cyclically, or FI_ADDR_NOTAVAIL. It examines a few
 * peers, which is enough for one call per insertion. */
fi_addr_t wf_local_peers_next_leaving(struct wf_local_peers *peers);

/* Other processes may have changed the AV above: compare the table with it. */
void wf_local_peers_compare(struct wf_local_peers *peers);

#endif

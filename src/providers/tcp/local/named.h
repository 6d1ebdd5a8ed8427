/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_NAMED_H
#define TCP_LOCAL_NAMED_H

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
 * entry from it has the peer's index and address in the AV below, and the application
 * gets those of tcp. For that purpose a peer stays in this table when it was removed
 * from the AV below, because its operations may fail only then.
 *
 * @lock guards the names. While it is held, only locks of the AVs are taken.
 */
struct tcp_named;

struct tcp_named_cq {
	struct fid_peer_cq port;
	struct fi_ops_cq_owner ops;
	struct tcp_named *named;
};

struct tcp_named {
	struct wf_av *av, *below; /* tcp's AV, and the AV below; NULL: not started */
	/* Called when peers have other sources than before: the sources of saved
	 * messages have to be determined again. Called from fi_av_insert and
	 * fi_av_remove, without locks. */
	void (*changed)(struct tcp_named *named);
	struct tcp_named_cq tx, rx;
	struct wf_av_watch watch;
	/* shared_seq: counts removals by other processes, if they share @av
	 * (wf_av_shared_seq). seq: its value when @names was last compared with @av. */
	const _Atomic uint32_t *shared_seq;
	uint32_t seq;
	pthread_mutex_t lock;
	struct tcp_name *names; /* by index in the AV below */
	size_t count;
	size_t lost; /* number of peers in the AV below that are not in @av */
	/* Leaving: number of peers that are leaving. next: index of the peer to examine
	 * next. */
	size_t leaving, next;
};

/* @av and @below must not be closed before tcp_named_done. */
void tcp_named_start(struct tcp_named *named, struct wf_av *av, struct wf_av *below,
	void (*changed)(struct tcp_named *named));
/* Stop, and end the exports; the endpoint below is closed. A control call without
 * locks. No-op if @named is all zero. */
void tcp_named_done(struct tcp_named *named);
/* From now on @changed is not called. A control call without locks. */
void tcp_named_stop(struct tcp_named *named);

/* Export @cq as ret->port; tcp_named_done ends the export. @ret is a member of @named.
 */
void tcp_named_export(
	struct tcp_named *named, struct tcp_named_cq *ret, struct wf_cq *cq);

/* Insert @name, a string in the format of the AV below, as the peer with the index
 * @index in tcp's AV. 0 or a negative fi_errno. */
int tcp_named_insert(struct tcp_named *named, fi_addr_t index, const void *name,
	fi_addr_t *ret_below);
/* Remove peer @below from the AV below. */
void tcp_named_remove(struct tcp_named *named, fi_addr_t below);
/* The connection of the peer has ended, and its messages may wait for a receive: the
 * peer stays until tcp_named_next_leaving has returned it, and the caller removes it.
 */
void tcp_named_leave(struct tcp_named *named, fi_addr_t below);
/* The next of the leaving peers, cyclically, or FI_ADDR_NOTAVAIL. It examines a few
 * peers, which is enough for one call per insertion. */
fi_addr_t tcp_named_next_leaving(struct tcp_named *named);

/* Other processes may have changed tcp's AV: compare the table with it. */
void tcp_named_compare(struct tcp_named *named);

#endif

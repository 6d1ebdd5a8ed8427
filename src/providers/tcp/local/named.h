/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_NAMED_H
#define TCP_LOCAL_NAMED_H

#include <pthread.h>

#include "objects/av/av.h"
#include "objects/cq/cq.h"
#include "sys/sockaddr.h"

/*
 * The peers in the AV of the endpoint below, and who they are in tcp's AV. A peer that
 * the application removes from its AV stays in the one below, as its connection stays;
 * only its user id there becomes FI_ADDR_NOTAVAIL, and the new index when the address
 * is inserted again. So messages of the peer have the source that they would have by a
 * socket.
 *
 * The completion queues of tcp's endpoint are exported here to the endpoint below. An
 * error entry from there names the peer by the index and address below, and the
 * application gets those of tcp. For that a peer stays named when it has left the AV
 * below, because its operations may fail only then.
 *
 * @lock guards the names. No lock but those of the AVs is taken under it.
 */
struct tcp_named;

struct tcp_named_cq {
	struct fid_peer_cq port;
	struct fi_ops_cq_owner ops;
	struct tcp_named *named;
};

struct tcp_named {
	struct wf_av *av, *below; /* tcp's, and that below; NULL: not started */
	/* Peers have other sources than before: ask again for those of saved messages.
	 * Called from fi_av_insert and fi_av_remove, without locks. */
	void (*changed)(struct tcp_named *named);
	struct tcp_named_cq tx, rx;
	struct wf_av_watch watch;
	/* Counts removals by other processes, where they share @av (wf_av_shared_seq),
	 * and its value when @names was last compared with @av. */
	const _Atomic uint32_t *shared_seq;
	uint32_t seq;
	pthread_mutex_t lock;
	struct tcp_name *names; /* by index in the AV below */
	size_t count;
	size_t lost;          /* peers in the AV below that are not in @av */
	size_t leaving, next; /* number of those that leave; the next to look at */
};

/* @av and @below stay until tcp_named_done. */
void tcp_named_start(struct tcp_named *named, struct wf_av *av, struct wf_av *below,
	void (*changed)(struct tcp_named *named));
/* Stop, and drop the exports; the endpoint below is closed. A control call without
 * locks. Nothing to do where @named is all zero. */
void tcp_named_done(struct tcp_named *named);
/* No @changed is called from then on. A control call without locks. */
void tcp_named_stop(struct tcp_named *named);

/* Export @cq as ret->port; tcp_named_done drops it. @ret is a member of @named. */
void tcp_named_export(
	struct tcp_named *named, struct tcp_named_cq *ret, struct wf_cq *cq);

/* Insert @name, text of the AV below, as the peer at @index of tcp's AV. 0 or a
 * negative FI_E code. */
int tcp_named_insert(struct tcp_named *named, fi_addr_t index, const void *name,
	fi_addr_t *ret_below);
/* Remove peer @below from the AV below. */
void tcp_named_remove(struct tcp_named *named, fi_addr_t below);
/* Its connection has ended, and messages of it wait for a receive: it stays until
 * tcp_named_next_leaving has named it, and the caller removes it. */
void tcp_named_leave(struct tcp_named *named, fi_addr_t below);
/* One of those after the last one that this function named, in turn, or
 * FI_ADDR_NOTAVAIL. It looks at a few peers, which is enough for one call per
 * insertion.
 */
fi_addr_t tcp_named_next_leaving(struct tcp_named *named);

/* Other processes may have changed tcp's AV: compare. */
void tcp_named_compare(struct tcp_named *named);

#endif

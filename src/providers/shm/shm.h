/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_SHM_H
#define WF_SHM_SHM_H

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "providers/shm/log.h"
#include "providers/shm/name.h"
#include "providers/shm/param.h"
#include "providers/shm/copy/regions.h"
#include "providers/shm/wire/wire.h"
#include "sys/iov.h"
#include "sys/pool.h"

/*
 * FI_EP_RDM between processes of one machine, on floors: a file calls those of its own
 * floor and of the floors above it in this list.
 *
 *   wire/    the memory that two endpoints share (a segment), and how records move
 *            in it
 *   conn/    directories and sockets, the exchange that hands a segment over, peers by
 *            address, connections and their ends, proof of the peer's process
 *   copy/    copies between buffers, registered memory and the memory of peers; the
 *            table in which an endpoint publishes its regions
 *   proto/   messages, RMA and atomic operations: posted, queued, written as records,
 *            handled, completed
 *   here     the endpoint, its progress, sleeping threads, the provider
 *
 * What a connection needs of the protocol it calls through struct shm_conn_ops.
 *
 * An endpoint has a socket by its name below /dev/shm. The first operation to a peer
 * connects to its socket and passes an anonymous memory file along. The socket stays
 * open: the kernel closes it with the process, so the peer learns of the death. A
 * killed process leaves only the name of a socket, which the next endpoint that is
 * opened removes.
 *
 * ep.lock guards everything that belongs to an endpoint. Receives are matched by the
 * owner of ep.srx under its lock, which is taken first: progress holds both, sending
 * holds only ep.lock. So sending never ends a connection; it marks it (shm_conn_fail),
 * and the next progress call takes it down.
 */
struct shm_conn;
struct shm_conn_ops;
struct shm_peers;

/* Nanoseconds after which a sleep ends in which something has to be polled. */
enum { SHM_FULL_NS = 200000 };

/* All connections of an endpoint; a progress call polls the first @hot ones, and one of
 * the others. */
struct shm_conns {
	struct shm_conn **at;
	uint32_t count, capacity, hot, next_cold;
	uint32_t wide_rings; /* connections with a wide byte ring (conn/reuse.h) */
};

/* When sockets are polled (progress.c). */
struct shm_pace {
	/* Number of progress calls between two polls of the sockets, and the number
	 * left until the next one. */
	uint32_t calls, left;
	/* Time of the last poll of the sockets, by wf_now_ns and by wf_coarse_ns. */
	uint64_t ns, coarse_ns;
	/* Number of records read from hot connections, at the last call of
	 * shm_progress_moved. */
	uint32_t read_before;
};

/* Operations that have not ended: their number, its limit, and their memory. */
struct shm_tx_limit {
	size_t pending, size;
	struct wf_pool pool;
};

/* A counter that changes when addresses are removed from the AV: that of
 * shm_peers.remotes.removals or, for an AV that other processes write, the one of its
 * table. @seen is its value when the cached AV indices were last valid. */
struct shm_av_seq {
	const _Atomic uint32_t *at;
	uint32_t seen;
};

struct shm_ep {
	struct wf_ep ep;
	/* Endpoint name as in address vectors, padded with zeros. */
	char name[SHM_NAME_MAX];
	/* The provider chose the name, and may choose another one if it is in use. */
	bool made_up;
	/* The automatic progress thread sleeps on the epoll set. */
	bool threaded;
	/* Process that opened the endpoint; a forked child cannot use it. */
	pid_t pid;

	const struct shm_conn_ops *conn_ops; /* what connections call (conn/conn.h) */
	struct shm_conns conns;
	struct shm_pace pace;
	/* Progress has to visit the lists failed, dirty, verdicts and pulls. */
	bool chores;
	struct wf_list failed; /* struct shm_conn to be taken down, by failed_link */
	/* struct shm_conn to be freed at the end of progress, by failed_link. */
	struct wf_list dead;
	/* struct shm_conn with records to send, by dirty_link. */
	struct wf_list dirty;
	/* struct shm_conn with operations that wait for a verdict, by verdict_link. */
	struct wf_list verdicts;
	/* struct shm_conn with requests that may be withdrawn, by patience.link. */
	struct wf_list impatient;
	/* struct shm_sink that may be read from the peer's memory, by pull_link. */
	struct wf_list pulls;
	struct wf_unexp unexp;
	struct wf_budget answers; /* memory of answers to all peers */
	struct shm_tx_limit tx;
	struct wf_pool sink_pool;

	/* .sleepers is set: peers are asked to wake this endpoint */
	struct wf_watches watches;
	struct wf_watch listener;
	/* A spare descriptor, closed in order to accept and refuse a connection when
	 * the process has no other left. -1: there is none. */
	int spare_fd;
	struct shm_peers *peers;
	struct shm_regions regions; /* its own, for peers to access */
	struct shm_av_seq av_seq;
};

static inline struct shm_ep *shm_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct shm_ep, ep);
}

static inline uint32_t shm_av_seq(const struct shm_ep *ep)
{
	/* acquire: pairs with the writer's release at the end of the removal. */
	return atomic_load_explicit(ep->av_seq.at, memory_order_acquire);
}

/* endpoint.c */
int shm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* send.c */
ssize_t shm_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
ssize_t shm_send_small_data(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data);
ssize_t shm_start(struct wf_ep *ep, struct wf_op *op);

/* progress.c. ep.lock is held. */
void shm_progress(struct wf_ep *ep);
/* wf_progress.moved. Takes ep.lock; false if another thread holds it. */
bool shm_progress_moved(struct wf_progress *item);

/* wait.c */
int shm_wait_fd(struct wf_ep *ep);
bool shm_arm(struct wf_ep *ep);
/* This thread drained the descriptors that end a sleep: wake other sleeping threads as
 * well. */
void shm_wake_sleepers(struct shm_ep *ep);

/* proto/closing.c */
bool shm_flushed(struct wf_ep *ep);
bool shm_unfinished(struct wf_ep *ep);

/* proto/cancel.c. ep->lock is held. */
bool shm_cancel(struct wf_ep *ep, const struct wf_cancel *which);

#endif

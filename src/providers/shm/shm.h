/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_H
#define SHM_H

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "providers/shm/log.h"
#include "providers/shm/name.h"
#include "providers/shm/param.h"
#include "providers/shm/wire.h"
#include "sys/iov.h"
#include "sys/pool.h"

/*
 * FI_EP_RDM between processes of one machine.
 *
 *   wire.h, ring.h    the memory that two endpoints share, and how records move in it
 *   region.c          that memory: made, checked, mapped
 *   dir.c, listen.c   where sockets are: directories, names in them
 *   socket.c          the exchange over a unix socket that hands it over
 *   attempt.c, peer.c    connections in the making; peers by address
 *   conn.c            a connection in use and its end
 *   replay.c          what a peer that died has not taken
 *   small.c           operations on a peer's memory that fit a slot
 *   tx.c, send.c      operations out
 *   rx.c, recv.c, unexp.c, access.c, bulk.c   records in
 *   progress.c        which connections are polled, and when; wait.c for sleepers
 *
 * An endpoint has a socket by its name below /dev/shm. The first operation to a peer
 * connects to its socket; memory that no file system knows goes along, and the socket
 * stays open: the kernel closes it with the process, which is how the other end learns
 * of a death. So a killed process leaves nothing but the name of a socket, which the
 * next endpoint to open removes.
 *
 * ep.lock guards everything that belongs to an endpoint. Receives are matched by the
 * owner of ep.srx under its lock, which comes first: progress has both, sending has
 * only ep.lock. So sending never ends a connection, it only marks it (shm_conn_fail),
 * and the next progress call takes it down.
 */
struct shm_conn;
struct shm_peers;

struct shm_ep {
	struct wf_ep ep;
	char name[SHM_NAME_MAX]; /* in the one spelling of AVs, zero-padded */
	bool made_up;            /* may be another, if this is in use */
	bool threaded;           /* the progress thread sleeps on the epoll set */
	pid_t pid;               /* a child that was forked has no endpoint */

	/* Progress calls poll the first @hot connections, and one of the rest. */
	struct shm_conn **conns;
	uint32_t conn_count, conn_capacity, hot, next_cold;
	/* Progress calls from one poll of the sockets to the next, and left of them. */
	uint32_t poll_calls, poll_left;
	uint64_t poll_ns,
		poll_coarse_ns; /* when that was, by wf_now_ns and wf_coarse_ns */
	uint32_t read_before;   /* records of hot connections: shm_progress_moved */
	bool chores;            /* one of these lists may have something */
	struct wf_list failed;  /* to be taken down, by failed_link */
	struct wf_list dead;    /* to be freed at the end of progress, by failed_link */
	struct wf_list dirty;   /* have something to send, by dirty_link */
	struct wf_list pulls;   /* read from peers' memory, by link */
	struct wf_unexp unexp;
	size_t tx_pending, tx_size;
	struct wf_pool tx_pool;

	struct wf_watches watches; /* with sleepers: peers that write to us are told */
	struct wf_watch listener;
	int spare_fd; /* to refuse connections with when no other is left; -1: none */
	struct shm_peers *peers;
	/* Changes when addresses left the AV: that of @peers->removals, or of an AV
	 * that other processes write. @av_seq: when what we know of indices was right.
	 */
	const _Atomic uint32_t *av_seq_at;
	uint32_t av_seq;
};

static inline struct shm_ep *shm_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct shm_ep, ep);
}

static inline uint32_t shm_av_seq(const struct shm_ep *ep)
{
	/* acquire: pairs with the writer's release when it is done. */
	return atomic_load_explicit(ep->av_seq_at, memory_order_acquire);
}

/* endpoint.c */
int shm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* send.c */
ssize_t shm_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
ssize_t shm_start(struct wf_ep *ep, struct wf_op *op);

/* progress.c; ep.lock held. */
void shm_progress(struct wf_ep *ep);
/* As of struct wf_progress; takes ep.lock, if it is free. */
bool shm_progress_moved(struct wf_progress *item);
/* Stop listening to the socket of @watch and close it, unless it is closed. */
void shm_watch_close(struct shm_ep *ep, struct wf_watch *watch);

/* wait.c */
int shm_wait_fd(struct wf_ep *ep);
bool shm_arm(struct wf_ep *ep);
/* There is something to poll that no descriptor tells of: end sleeps soon. */
void shm_poll_soon(struct shm_ep *ep);
/* This thread drained what ends a sleep: end that of other threads, too. */
void shm_wake_sleepers(struct shm_ep *ep);

/* closing.c */
bool shm_flushed(struct wf_ep *ep);

/* cancel.c; ep->lock held. */
bool shm_cancel(struct wf_ep *ep, const struct wf_cancel *which);

#endif

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
#include "providers/shm/data/regions.h"
#include "providers/shm/data/wire.h"
#include "sys/iov.h"
#include "sys/pool.h"

/*
 * FI_EP_RDM between processes of one machine.
 *
 *   wire.h, lane.h, writer.c, reader.h   the memory that two endpoints share, and how
 *                     records move in it
 *   region.c          creates, checks and maps that memory
 *   reuse.c           which bytes of it the next message takes
 *   dir.c, listen.c, listing.c   the directories of sockets, and the names in them
 *   socket.c          the exchange over a unix socket that hands the memory over
 *   attempt.c, accept.c, peer.c    making of connections; peers by address
 *   reach.c           connections that a provider above makes and ends
 *   conn.c            a connection in use and its end
 *   replay.c          sending again messages that a dead peer has not processed
 *   small.c, verdict.c   RMA and atomic operations that fit one slot
 *   parts.c           long writes, which are divided into such that have one record
 *   withdraw.c        those that a silent peer leaves unread
 *   tx.c, send.c      operations of the application
 *   out.c, out_answer.c, out_op.c, out_stream.c   writing records into the lane
 *   rx.c, recv.c, unexp.c, access.c, answer.c   handling of peers' records
 *   pieces.c          messages that are sent at once, in pieces
 *   bulk.c, bulk_pull.c, bulk_stream.c   large messages and other streams
 *   regions.c         the table in which an endpoint publishes its registered memory
 *   remote.c, remote_map.c, remote_op.c   operations on the registered memory of peers
 *   progress.c        which connections are polled, and when; wait.c for
 *                     sleeping threads
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
struct shm_peers;

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

	/* All connections; a progress call polls the first @hot ones, and one of the
	 * others. */
	struct shm_conn **conns;
	uint32_t conn_count, conn_capacity, hot, next_cold;
	/* Number of progress calls between two polls of the sockets, and the number
	 * left until the next one. */
	uint32_t poll_calls, poll_left;
	/* Time of the last poll of the sockets, by wf_now_ns and by wf_coarse_ns. */
	uint64_t poll_ns, poll_coarse_ns;
	/* Number of records read from hot connections, at the last call of
	 * shm_progress_moved. */
	uint32_t read_before;
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
	/* Number of operations that have not ended, and its limit. */
	size_t tx_pending, tx_size;
	/* Connections with a wide byte ring (data/reuse.h). */
	uint32_t wide_rings;
	struct wf_pool tx_pool, sink_pool;

	/* .sleepers is set: peers are asked to wake this endpoint */
	struct wf_watches watches;
	struct wf_watch listener;
	/* A spare descriptor, closed in order to accept and refuse a connection when
	 * the process has no other left. -1: there is none. */
	int spare_fd;
	struct shm_peers *peers;
	struct shm_regions regions; /* its own, for peers to access */
	/* A counter that changes when addresses are removed from the AV: that of
	 * @peers->removals or, for an AV that other processes write, the one of its
	 * table. @av_seq is its value when the cached AV indices were last valid. */
	const _Atomic uint32_t *av_seq_at;
	uint32_t av_seq;
};

static inline struct shm_ep *shm_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct shm_ep, ep);
}

static inline uint32_t shm_av_seq(const struct shm_ep *ep)
{
	/* acquire: pairs with the writer's release at the end of the removal. */
	return atomic_load_explicit(ep->av_seq_at, memory_order_acquire);
}

/* endpoint.c */
int shm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* send.c */
ssize_t shm_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
ssize_t shm_start(struct wf_ep *ep, struct wf_op *op);

/* progress.c. ep.lock is held. */
void shm_progress(struct wf_ep *ep);
/* wf_progress.moved. Takes ep.lock; false if another thread holds it. */
bool shm_progress_moved(struct wf_progress *item);
/* Stop watching the socket of @watch and close it, unless it is closed. */
void shm_watch_close(struct shm_ep *ep, struct wf_watch *watch);

/* wait.c */
int shm_wait_fd(struct wf_ep *ep);
bool shm_arm(struct wf_ep *ep);
/* There is something to poll that no descriptor reports: let sleeps end soon. */
void shm_poll_soon(struct shm_ep *ep);
/* This thread drained the descriptors that end a sleep: wake other sleeping threads as
 * well. */
void shm_wake_sleepers(struct shm_ep *ep);

/* closing.c */
bool shm_flushed(struct wf_ep *ep);
bool shm_unfinished(struct wf_ep *ep);

/* cancel.c. ep->lock is held. */
bool shm_cancel(struct wf_ep *ep, const struct wf_cancel *which);

#endif

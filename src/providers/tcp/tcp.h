/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_TCP_H
#define WF_TCP_TCP_H

#include <poll.h>
#include <sys/epoll.h>

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "providers/tcp/log.h"
#include "providers/tcp/netconf.h"
#include "providers/tcp/param.h"
#include "providers/tcp/data/wire.h"
#include "sys/iov.h"
#include "sys/sockaddr.h"

/*
 * Endpoints over TCP streams: FI_EP_MSG has one connection, FI_EP_RDM one for each
 * peer that it talks to. Both run the same engine:
 *
 *   conn.c       a connection in its data phase, and its end
 *   tx.c, flush.c, rx.c   sending and receiving its records
 *   recv.c, unexp.c, access.c, access_atomic.c, answer.c   handling of records
 *   keepalive.c  detection of hosts that vanished
 *   local.c      whether a peer shares memory with this process
 *   below.c      the endpoint below, for operations to such a peer (objects/local)
 *   switch.c     when the operations to a peer change over to the endpoint below
 *   unread.c     messages that a peer left in memory when it died
 *   progress.c   which sockets are polled, and when; wait.c for threads that sleep
 *   msg_new.c, msg_cm.c, msg_begin.c, pep.c, ask.c, peer.c, attempt.c   making of
 *       connections
 *   context.c, context_close_tx.c, context_close_rx.c   contexts of scalable endpoints
 *
 * ep.lock guards everything that belongs to an endpoint. Receives are matched by the
 * owner of ep.srx under its lock, which is taken first: progress holds both, sending
 * holds only ep.lock. So sending never ends a connection; it marks it (tcp_conn_fail),
 * and the next progress call takes it down.
 */
enum {
	TCP_IOV_LIMIT = 4,
	TCP_RMA_LIMIT = TCP_WIRE_SEGS_MAX,
	TCP_MAX_CM_DATA = 256,
	/* Payloads of up to this many bytes are copied into the stage. */
	TCP_COPY_MAX = 2048,
};

struct tcp_conn;
struct tcp_stage;
struct tcp_peers;
struct tcp_msg_cm;
struct tcp_ep;
struct wf_local;

/* An object that operations are posted to: an endpoint, or a transmit context. */
struct tcp_source {
	/* NULL: the context was closed; the results of its operations are not
	 * reported. */
	struct wf_ep *ep;
	/* Number of operations that have not ended, and its limit. */
	size_t pending, size;
};

struct tcp_ep {
	struct wf_ep ep;
	struct tcp_source own;
	struct tcp_netconf conf;
	/* Local address: until the endpoint listens the one that was asked for, then
	 * the true one. */
	union wf_sockaddr name;
	/* Manual progress: a message may wait for the next progress call. */
	bool manual;
	/* tcp_progress() is running, and will handle records that are queued
	 * meanwhile. */
	bool running;
	uint32_t armed_epoch; /* value of @epoch when a thread last prepared to sleep */
	uint32_t epoch;       /* number of progress calls; runs free */
	uint32_t hot_count;
	struct wf_budget answers; /* memory of all connections' answers */
	struct wf_unexp unexp;
	/* .sleepers is set: all sockets are in the epoll set */
	struct wf_watches watches;
	/* Reads of hot connections since the epoll set was polled. */
	uint32_t set_reads;
	/* Number of next progress calls that poll the epoll set in any case. */
	uint32_t set_again;
	/* Time (wf_coarse_ns) when the epoll set was last polled because of the time,
	 * not because of the number of progress calls. */
	uint64_t set_tick;
	/* Time (wf_now_ns) of the next check for hosts that vanished; keepalive.c. */
	uint64_t keepalive_ns;
	struct wf_list conns; /* all struct tcp_conn, by link */
	struct wf_list hot;   /* those that each progress call reads, by hot_link */
	struct wf_list dirty; /* those with records to send, by dirty_link */
	/* Connections with bytes that may not be acknowledged, by owing_link. */
	struct wf_list owing;
	/* Connections whose unexpected message is left in the socket, by held_link. */
	struct wf_list held;
	bool memory_given; /* Memory was given back since they were last looked at. */
	struct wf_list failed; /* those to be taken down, by failed_link */
	struct wf_list dead;   /* those to be freed at the end of progress, by link */
	/* struct tcp_local, by link: those whose peer's page is still polled. */
	struct wf_list switching;
	/* Number of connections whose operations use memory in at least one direction.
	 * Written with ep.lock. */
	atomic_uint memory_conns;
	/* Number of connections, those included. Written with ep.lock. */
	atomic_uint conn_count;
	bool after_partial; /* Partial calls came before the present full call. */
	uint32_t hot_idle;  /* full calls since a hot connection brought bytes */
	/* Buffer for one read, which is handled before the next read. */
	uint8_t *rbuf;
	size_t rbuf_size, stage_size;
	struct tcp_stage *spare_stage;

	/* FI_OPT_SHARED_MEMORY_PERMITTED is false. */
	bool memory_forbidden;
	struct wf_local *below; /* endpoint for peers of this machine; NULL: none */
	/* If there is one: descriptors for sleeping threads, the epoll sets of both. */
	struct wf_fds below_fds;
	struct tcp_peers *peers; /* NULL for FI_EP_MSG */
	struct tcp_msg_cm *cm;   /* NULL for FI_EP_RDM */

	/* The bits of an fi_addr_t that contain the index of a receive context, and
	 * their shift; fi_rx_addr in fi_endpoint(3). */
	uint64_t context_bits;
	unsigned int context_shift;
	/* Number of receive contexts that a record may be for. */
	unsigned int rx_contexts;
	/* Transmit contexts by index; NULL: the endpoint is not scalable. */
	struct tcp_source *contexts;
	/* Source of operations whose transmit context was closed. */
	struct tcp_source closed;
};

static inline struct tcp_ep *tcp_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct tcp_ep, ep);
}

extern const struct wf_prov tcp_prov;

/* endpoint.c: open an endpoint, which is not enabled. fi_endpoint(3). */
int tcp_ep_new(struct wf_domain *domain, struct fi_info *info, void *context,
	struct tcp_ep **ret_ep);
int tcp_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* pep.c */
int tcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context);

/* send.c */
ssize_t tcp_start(struct wf_ep *ep, struct wf_op *op);
/* wf_xfer_ops.send_small, for peers that are reached through memory. Messages to other
 * peers are gathered in the stage by tcp_start. */
ssize_t tcp_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
ssize_t tcp_send_small_data(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag, uint64_t data);
ssize_t tcp_post(struct tcp_ep *ep, struct tcp_source *from, struct wf_op *op);
size_t tcp_source_left(const struct tcp_source *from);

/* progress.c. ep.lock is held. */
void tcp_progress(struct wf_ep *ep);
/* wf_watch_set; logs a failure. */
int tcp_watch_set(struct tcp_ep *ep, struct wf_watch *watch, uint32_t events);

/* wait.c */
int tcp_wait_fd(struct wf_ep *ep);
bool tcp_arm(struct wf_ep *ep);
/* Wake sleeping threads: a record was queued that no socket event announces, and the
 * thread that queued it may not make another call. */
void tcp_wake_sleepers(struct tcp_ep *ep);
/* A poll drained the timerfd: rearm it for the sleepers. */
void tcp_rearm_timer(struct tcp_ep *ep);

/* closing.c */
bool tcp_flushed(struct wf_ep *ep);
bool tcp_unfinished(struct wf_ep *ep);

/* cancel.c; ep->lock held. */
bool tcp_cancel(struct wf_ep *ep, const struct wf_cancel *which);
bool tcp_cancel_from(struct tcp_ep *ep, const struct tcp_source *from,
	const struct wf_cancel *which);

#endif

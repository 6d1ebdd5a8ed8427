/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_H
#define TCP_H

#include <poll.h>
#include <sys/epoll.h>

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "providers/tcp/log.h"
#include "providers/tcp/netconf.h"
#include "providers/tcp/param.h"
#include "providers/tcp/wire.h"
#include "sys/iov.h"
#include "sys/sockaddr.h"

/*
 * Endpoints over TCP streams: FI_EP_MSG has one connection, FI_EP_RDM one for each
 * peer that it talks to. Both run the same engine:
 *
 *   conn.c       a connection in its data phase and its end
 *   tx.c, flush.c, rx.c   records out of it and into it
 *   recv.c, unexp.c, rma.c, atomic.c, ack.c   what records mean
 *   keepalive.c  hosts that vanish
 *   progress.c   which sockets are polled, and when; wait.c for threads that sleep
 *   msg_cm.c, pep.c, ask.c, peer.c, attempt.c   how connections come to be
 *
 * ep.lock guards everything that belongs to an endpoint. Receives are matched by the
 * owner of ep.srx under its lock, which comes first: progress has both, sending has
 * only ep.lock. So sending never ends a connection, it only marks it (tcp_conn_fail),
 * and the next progress call takes it down.
 */
enum {
	TCP_IOV_LIMIT = 4,
	TCP_RMA_LIMIT = TCP_WIRE_SEGS_MAX,
	TCP_MAX_CM_DATA = 256,
	TCP_COPY_MAX = 2048, /* messages up to here are copied rather than gathered */
};

#define TCP_MAX_MSG ((size_t)1 << 62)

struct tcp_conn;
struct tcp_stage;
struct tcp_peers;
struct tcp_msg_cm;
struct tcp_ep;

/* What operations are posted to: an endpoint, or a transmit context. */
struct tcp_source {
	struct wf_ep *ep; /* NULL: it was closed, and nothing is reported any more */
	size_t pending, size; /* operations under way, and how many there may be */
};

struct tcp_ep {
	struct wf_ep ep;
	struct tcp_source own;
	struct tcp_netconf conf;
	union wf_sockaddr name; /* local: wanted, and true once listening */
	bool manual;            /* sends may wait for the next progress call */
	bool running;           /* progress is at work and will see to what comes up */
	uint32_t armed_epoch;   /* epoch when a thread was about to sleep, last */
	uint32_t epoch;         /* progress calls */
	uint32_t hot_count;
	size_t answer_bytes; /* of all connections */
	struct wf_unexp unexp;
	struct wf_watches watches; /* with sleepers: all sockets are in the epoll set */
	/* wf_coarse_ns when the epoll set was polled because time had passed, not
	 * because of the number of progress calls. */
	uint64_t set_tick;
	uint64_t keepalive_ns; /* time of the next check for hosts that vanished */
	struct wf_list conns;  /* all, by link */
	struct wf_list hot;    /* read directly, by hot_link */
	struct wf_list dirty;  /* have something to send, by dirty_link */
	struct wf_list owing;  /* sent what may not be acknowledged, by owing_link */
	struct wf_list failed; /* to be taken down, by failed_link */
	struct wf_list dead;   /* to be freed at the end of progress, by link */
	uint8_t *rbuf;         /* what was read last; used up before the next read */
	size_t rbuf_size, stage_size;
	struct tcp_stage *spare_stage;

	struct tcp_peers *peers; /* FI_EP_RDM */
	struct tcp_msg_cm *cm;   /* FI_EP_MSG */

	/* Of an fi_addr_t, the bits that name a receive context, and where they are. */
	uint64_t context_bits;
	unsigned int context_shift;
	unsigned int rx_contexts;    /* that records may name */
	struct tcp_source *contexts; /* scalable: the transmit contexts, by index */
	struct tcp_source closed;    /* what closed ones left behind */
};

static inline struct tcp_ep *tcp_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct tcp_ep, ep);
}

extern const struct wf_prov tcp_prov;

/* endpoint.c. Opened, and not enabled. */
int tcp_ep_new(struct wf_domain *domain, struct fi_info *info, void *context,
	struct tcp_ep **ret_ep);
int tcp_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* pep.c */
int tcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context);

/* send.c */
ssize_t tcp_start(struct wf_ep *ep, struct wf_op *op);
ssize_t tcp_post(struct tcp_ep *ep, struct tcp_source *from, const struct wf_op *op);
size_t tcp_source_left(const struct tcp_source *from);

/* progress.c; ep.lock held. */
void tcp_progress(struct wf_ep *ep);
/* wf_watch_set; failure is logged. */
void tcp_watch_set(struct tcp_ep *ep, struct wf_watch *watch, uint32_t events);

/* wait.c */
int tcp_wait_fd(struct wf_ep *ep);
bool tcp_arm(struct wf_ep *ep);
/* There is something to do that no socket tells of, and the thread that posted it may
 * not call again: wake threads that sleep already. */
void tcp_wake_sleepers(struct tcp_ep *ep);
/* Another thread drained the timer: set it again for the sleepers. */
void tcp_rearm_timer(struct tcp_ep *ep);

/* closing.c */
bool tcp_flushed(struct wf_ep *ep);

/* cancel.c; ep->lock held. */
bool tcp_cancel(struct wf_ep *ep, const struct wf_cancel *which);
bool tcp_cancel_from(struct tcp_ep *ep, const struct tcp_source *from,
	const struct wf_cancel *which);

#endif

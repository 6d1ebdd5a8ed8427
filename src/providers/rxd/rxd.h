/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_RXD_H
#define WF_RXD_RXD_H

#include <rdma/providers/fi_log.h>

#include "objects/conn/remote.h"
#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/lower/cq.h"
#include "objects/lower/endpoint.h"
#include "providers/rxd/domain.h"
#include "providers/rxd/flow/flow.h"
#include "providers/rxd/index.h"
#include "providers/rxd/wire.h"
#include "sys/id_map.h"
#include "sys/pool.h"

/*
 * Reliable datagrams: an FI_EP_RDM endpoint over one FI_EP_DGRAM endpoint of any
 * provider below. Packets are those of docs/rxd-wire.md.
 *
 *   provider.c, param.c, domain.c   what is offered, and the domain below
 *   endpoint.c, closing.c           life of an endpoint
 *   below.c                         the endpoint below: packets out and in
 *   peer.c, stranger.c, index.c     peers, and which one a packet is from
 *   progress.c, wait.c              packets, timers, and threads that sleep
 *   flow/                           one peer's packets, reliable and in order
 *   data/                           operations
 *
 * ep.lock guards everything that belongs to an endpoint. Packets are received by
 * progress only, which holds the lock of the receive context as well; starting an
 * operation sends packets with ep.lock alone.
 */
enum {
	RXD_IOV_LIMIT = 4,
	/* Limit of operations under way, and of posted receives. */
	RXD_QUEUE_SIZE = 1024,
	RXD_INJECT_SIZE = 4096, /* the bytes are copied */
	RXD_NAME_MAX = RXD_NAME_SIZE,
	RXD_FLUSH_MS = 10000, /* default of FI_FLUSH_TIMEOUT */
	/* Limits of answers that are not acknowledged, to a peer and to all of them,
	 * of which a peer gets no more than it leaves to others; above them the
	 * requests wait. */
	RXD_ANSWERS_MAX = 1024,
	RXD_ANSWERS_ALL = 4096,
};

struct rxd_batch;
struct rxd_buf;
struct rxd_tx;

/* The message or write of a peer whose packets are arriving. Transfers of one peer do
 * not interleave. */
struct rxd_rx {
	bool active;   /* A transfer is incomplete. */
	uint64_t done; /* bytes that have arrived */
	struct rxd_op_head head;
	/* For a message: its receive, or the unexpected message; both NULL: it is
	 * dropped. */
	struct fi_peer_rx_entry *entry;
	struct wf_srx_unexpected *unexp;
	struct fid_peer_srx *srx; /* the receive context that has @unexp */
	size_t capacity;          /* bytes of payload memory of @unexp */
	bool is_write;            /* head.rma has checked segments. */
};

/* A peer, by the name of its endpoint below. It is kept until the endpoint is closed,
 * because both ends count their packets from the beginning. */
struct rxd_peer {
	struct wf_remote remote;
	struct rxd_ep *ep;
	struct rxd_flow flow;
	fi_addr_t below;  /* the peer's address below */
	fi_addr_t source; /* AV index when it was last looked up, or FI_ADDR_NOTAVAIL */
	/* Link in ep->active while its flow has a deadline. */
	struct wf_list active_link;
	bool touched; /* Progress received packets for the flow. */
	/* The peer reported that it is closed; remote has no reference of its own. */
	bool gone;
	bool strange; /* The peer is counted in ep->strangers. */
	bool settled; /* Of a stranger: it is in ep->settled, not in ep->greeted. */
	struct wf_list stranger_link; /* link in that list */
	uint64_t greeted_ns;          /* time of the RTS of a stranger (wf_now_ns) */
	struct rxd_rx rx;
	struct wf_unexp_conn unexp;
	/* struct rxd_tx that wait for answers, by request_link. */
	struct wf_list requests;
	uint32_t answers;            /* number of answers that are not acknowledged */
	uint8_t name[RXD_NAME_SIZE]; /* name of the endpoint below, padded with zeros */
};

/* What the provider below tells of the source of a packet. */
enum rxd_sources {
	RXD_SOURCES_NONE,  /* nothing */
	RXD_SOURCES_INDEX, /* its address in the AV below (FI_SOURCE) */
	RXD_SOURCES_ADDR,  /* its address, as a struct sockaddr (xfer->tell_sources) */
};

struct rxd_ep {
	struct wf_ep ep;
	struct rxd_domain *domain;

	/* Fields of below.c: the endpoint below and its buffers. */
	struct wf_lower_ep below;
	struct wf_lower_cq cq; /* plain objects below */
	struct fid_av *av;
	struct rxd_buf *bufs;     /* all buffers that were allocated, by next */
	struct wf_list free_bufs; /* struct rxd_buf that are not in use, by link */
	uint32_t posted;          /* buffers posted for receiving */
	uint32_t sending;         /* packets that the endpoint below has not sent yet */
	size_t buf_size; /* bytes of a packet in a buffer, including the prefix */
	bool sliced;     /* The buffers are multi-receive buffers. */
	enum rxd_sources sources;

	/* Fields of peer.c: the peers. */
	struct wf_remotes remotes;
	struct rxd_index peers;
	/* Strangers (stranger.h), struct rxd_peer by stranger_link: those that had
	 * proven nothing when they were last looked at, the oldest first, and the
	 * others in no order; the number of both, and that of the former. */
	struct wf_list greeted, settled;
	size_t strangers, greeted_count;
	struct rxd_flow_config config;
	bool peers_ready, closing;

	/* Fields of progress.c and wait.c: time and sleeping threads. */
	struct wf_watches watches; /* only their timer is used */
	/* Descriptors for sleeping threads: those of @watches and @cq. */
	struct wf_fds fds;
	struct wf_lower_wait cq_wait; /* wait state of @cq in @fds */
	struct wf_list active;        /* struct rxd_peer whose flow has a deadline */
	uint64_t deadline_ns; /* the earliest deadline, or an earlier time; wf_now_ns */
	/* Time (wf_now_ns) of the running progress call or operation. */
	uint64_t now_ns;
	uint64_t warned_ns; /* time of the last warning because of a peer's packet */

	/* Fields of data/: transfers. */
	struct wf_unexp unexp;
	struct wf_pool txs;
	struct wf_list ops; /* all struct rxd_tx by link, the oldest first */
	uint32_t answers;   /* number of answers that are not acknowledged */
	uint32_t
		tx_count; /* number of struct rxd_tx of operations of the application */
	struct wf_id_map requests; /* struct rxd_tx that wait for an answer, by id */
	struct rxd_batch *batch;   /* packets that are sent together */
};

static inline struct rxd_ep *rxd_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct rxd_ep, ep);
}

static inline struct rxd_peer *rxd_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct rxd_peer, remote);
}

static inline struct rxd_peer *rxd_peer_of_flow(struct rxd_flow *flow)
{
	return wf_container_of(flow, struct rxd_peer, flow);
}

extern struct fi_provider rxd_fi;

#define rxd_log(level, subsys, ...) FI_LOG(&rxd_fi, level, subsys, __VA_ARGS__)

/* endpoint.c */
int rxd_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* closing.c; wf_xfer_ops.flushed */
bool rxd_flushed(struct wf_ep *wf);
bool rxd_unfinished(struct wf_ep *wf);

/* progress.c */
void rxd_progress(struct wf_ep *wf);
/* The flow of @peer may have a deadline now: let progress run it in time, and wake
 * sleeping threads then. */
void rxd_schedule(struct rxd_peer *peer);
/* Run all flows that have a deadline, as before a sleep: send everything that can be
 * sent. */
void rxd_run_flows(struct rxd_ep *ep);

/* May a warning because of a peer's packet be logged now? One in a second may, because
 * a peer can send any number of such packets. */
bool rxd_may_warn(struct rxd_ep *ep);

/* wait.c. Control calls. rxd_wait_open: create the objects that threads sleep on.
 * rxd_wait_enable: the queue below is open; may be repeated. rxd_wait_close: the queue
 * will be closed. The first two return 0 or a negative fi_errno. */
int rxd_wait_open(struct rxd_ep *ep);
int rxd_wait_enable(struct rxd_ep *ep);
void rxd_wait_close(struct rxd_ep *ep);
/* Called by progress while threads may sleep: set the timer for them again. */
void rxd_timer_tick(struct rxd_ep *ep);
/* wf_xfer_ops */
struct wf_fds *rxd_wait_fds(struct wf_ep *wf);
bool rxd_arm(struct wf_ep *wf);

#endif

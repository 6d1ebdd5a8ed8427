/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_H
#define RXD_H

#include <rdma/providers/fi_log.h>

#include "objects/conn/remote.h"
#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/lower/endpoint.h"
#include "providers/rxd/domain.h"
#include "providers/rxd/flow/flow.h"
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
 *   peer.c                          peers, and which one a packet is from
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
	RXD_QUEUE_SIZE = 1024,  /* operations under way, and receives */
	RXD_INJECT_SIZE = 4096, /* the bytes are copied */
	RXD_NAME_MAX = RXD_NAME_SIZE,
	/* Answers to a peer that are not acknowledged; then its requests wait. */
	RXD_ANSWERS_MAX = 1024,
};

struct rxd_batch;
struct rxd_buf;
struct rxd_tx;

/* What arrives from a peer: the message or write whose packets come now. Transfers of
 * one peer do not interleave. */
struct rxd_rx {
	bool active;   /* there is a transfer of which bytes are missing */
	uint64_t done; /* bytes that came */
	struct rxd_op_head head;
	/* A message: the receive that it goes to, or the unexpected message that it is;
	 * both NULL: it is dropped. */
	struct fi_peer_rx_entry *entry;
	struct wf_srx_unexpected *unexp;
	bool is_write; /* head.rma has checked segments */
};

/* A peer, by the name of its endpoint below. It stays until the endpoint is closed,
 * because both sides count their packets from the beginning. */
struct rxd_peer {
	struct wf_remote remote;
	struct rxd_ep *ep;
	struct rxd_flow flow;
	uint32_t number;  /* in ep->peers: the low bits of flow.own_index */
	fi_addr_t below;  /* its address below */
	fi_addr_t source; /* AV index when last looked up, or FI_ADDR_NOTAVAIL */
	struct wf_list active_link; /* in ep->active while its flow has a deadline */
	bool touched;               /* progress received packets for the flow */
	bool gone; /* it said that it was closed; remote has no reference of its own */
	bool strange; /* counted in ep->strangers */
	struct rxd_rx rx;
	struct wf_unexp_conn unexp;
	struct wf_list requests; /* struct rxd_tx by request_link: wait for answers */
	uint32_t answers;        /* transfers of answers that are not acknowledged */
	uint8_t name[RXD_NAME_SIZE]; /* zero padded */
};

struct rxd_ep {
	struct wf_ep ep;
	struct rxd_domain *domain;

	/* below.c */
	struct wf_lower_ep below;
	struct fid_cq *cq; /* plain objects below; NULL: not open */
	struct fid_av *av;
	struct rxd_buf *bufs;     /* all buffers that were allocated, by next */
	struct wf_list free_bufs; /* struct rxd_buf by link: in no use */
	uint32_t posted;          /* buffers that wait for packets */
	uint32_t sending;         /* packets that the endpoint below has not sent yet */
	size_t buf_size;          /* bytes of a packet in a buffer, prefix included */
	bool has_fd;              /* @cq has a descriptor */
	bool sliced;              /* buffers are multi-receive ones */

	/* peer.c */
	struct wf_remotes remotes;
	struct wf_id_map peers; /* struct rxd_peer by index */
	size_t strangers;       /* peers that no operation was for */
	struct rxd_flow_config config;
	bool peers_ready, closing;

	/* progress.c, wait.c */
	struct wf_watches watches;    /* the timer */
	struct wf_fds fds;            /* for sleepers: @watches and @cq */
	struct wf_lower_wait cq_wait; /* @cq in @fds */
	struct wf_list active;        /* struct rxd_peer whose flow has a deadline */
	uint64_t deadline_ns;         /* the earliest of them, or earlier; wf_now_ns */
	/* wf_now_ns of the running progress call or operation. */
	uint64_t now_ns;

	/* data/ */
	struct wf_unexp unexp;
	struct wf_pool txs;
	struct wf_list ops;        /* struct rxd_tx by link: all, the oldest first */
	uint32_t tx_count;         /* of them, those of the application */
	struct wf_id_map requests; /* struct rxd_tx that waits for an answer, by id */
	struct rxd_batch *batch;   /* packets that leave together */
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

/* progress.c */
void rxd_progress(struct wf_ep *wf);
/* The flow of @peer may have a deadline now: have progress run it in time, and wake
 * sleepers then. */
void rxd_schedule(struct rxd_peer *peer);
/* Run all flows with a deadline as before a sleep: nothing that could leave stays. */
void rxd_run_flows(struct rxd_ep *ep);

/* wait.c. Control calls: open what threads sleep on; the queue below is open, may be
 * repeated; before the queue is closed. */
int rxd_wait_open(struct rxd_ep *ep);
int rxd_wait_enable(struct rxd_ep *ep);
void rxd_wait_close(struct rxd_ep *ep);
/* A progress call while threads may sleep: set the timer again for them. */
void rxd_timer_tick(struct rxd_ep *ep);
/* wf_xfer_ops */
struct wf_fds *rxd_wait_fds(struct wf_ep *wf);
bool rxd_arm(struct wf_ep *wf);

#endif

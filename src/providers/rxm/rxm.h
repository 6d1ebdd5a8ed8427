/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_RXM_H
#define WF_RXM_RXM_H

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
#include "objects/local/domain.h"
#include "objects/lower/cq.h"
#include "objects/lower/domain.h"
#include "objects/lower/endpoint.h"
#include "objects/lower/region.h"
#include "objects/provider.h"
#include "providers/rxm/data/data.h"
#include "providers/rxm/log.h"
#include "sys/list.h"
#include "sys/sockaddr.h"

/*
 * Reliable datagrams over connections: an FI_EP_RDM endpoint over the FI_EP_MSG
 * endpoints of a provider below, one for each peer.
 *
 *   provider.c, offer.c   what is offered over which provider below
 *   domain.c, mr.c        the domain below, and regions, which are regions below
 *   endpoint.c            life of an endpoint
 *   below.c               the queues below, which all connections of an endpoint share
 *   progress.c, wait.c    results of the queues below; threads that sleep
 *   local/                peers on the same machine, which are reached by memory
 *   conn/                 the listener, peers, connections and how they come to be
 *   data/                 packets, operations and receives
 *
 * ep.lock guards everything that belongs to an endpoint, and all calls of objects below
 * it are made with it. Receives are matched under the lock of the receive context,
 * which comes first: progress has both, starting an operation has only ep.lock. So
 * starting an operation never ends a connection, it only marks it (rxm_conn_fail), and
 * the next progress call takes it down.
 */
enum {
	RXM_IOV_LIMIT = 4,
	RXM_HEADER = 64, /* length of a packet's header in bytes */
	/* Longest message in bytes that rxm_conn_send_small takes. */
	RXM_SMALL_MAX = 512,
};

struct rxm_bufs;
struct rxm_conn;
struct rxm_peers;
struct wf_local;

struct rxm_domain {
	struct wf_domain *wf;
	struct wf_lower_domain below;
	/* The domain of shm, for peers on the same machine. */
	struct wf_local_domain local;
	/* Properties of the domain below, most of them modes of fi_mr(3). */
	/* FI_MR_LOCAL: the buffers of operations below need descriptors. */
	bool local_mr;
	bool has_descs; /* With @local_mr: the application passes descriptors. */
	bool virt_addr; /* FI_MR_VIRT_ADDR: remote addresses are virtual ones. */
	bool prov_key;  /* FI_MR_PROV_KEY: the provider below chooses the keys. */
	bool own;       /* The provider below is of this library. */
	bool delivery;  /* Operations below may have FI_DELIVERY_COMPLETE. */
	/* Tagged messages may arrive from below; see rxm_data_received_raw. */
	bool tagged;
	/* FI_RX_CQ_DATA: a peer's write with remote CQ data consumes a receive
	 * buffer. */
	bool rx_cq_data;
	size_t inject_size; /* bytes that an endpoint below injects */
	/* The largest key that may be chosen, unless prov_key is set. */
	uint64_t max_key;
	/* The next key to try for a region of a rendezvous; any thread. */
	_Atomic uint32_t next_key;
};

static inline struct rxm_domain *rxm_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/*
 * A call: one operation of an endpoint below. It is the context of that operation, and
 * valid until done() is called, which happens exactly once for each call that was
 * taken, also when the connection is lost.
 */
struct rxm_call {
	/* Must be first: a provider below with FI_CONTEXT or FI_CONTEXT2 writes to
	 * it. */
	struct fi_context2 scratch;
	/* The operation ended, with 0 or the positive fi_errno @err. @entry: the
	 * completion; after an error only its len and flags are valid, and they may be
	 * 0. The lock of the receive context and ep.lock are held. May start new calls,
	 * also with @call itself, and fail connections, but must not end any. */
	void (*done)(
		struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry);
	/* In conn->calls; linked to itself for a receive. */
	struct wf_list link;
	struct rxm_conn *conn; /* NULL: a receive in a shared receive context below */
	bool promised;         /* The call has to end before the endpoint is closed. */
};

struct rxm_ep {
	struct wf_ep ep;
	struct rxm_domain *domain;
	/* Local address: until the endpoint listens the one that was asked for, then
	 * the true one. */
	union wf_sockaddr name;
	struct wf_unexp unexp;
	struct wf_watches watches; /* only their timer is used */
	/* Descriptors for sleeping threads: those of @watches and of the queues
	 * below. */
	struct wf_fds fds;
	struct wf_lower_wait cq_wait, eq_wait; /* wait state of these queues in @fds */
	bool opened;  /* All objects below the endpoint are open. */
	bool has_fds; /* Both queues below have descriptors. */

	/* Objects below; NULL: not open. */
	struct wf_lower_cq cq;
	struct fid_eq *eq;
	struct fid_pep *pep;
	/* Shared receive context below; NULL also if each connection has its own
	 * buffers. */
	struct fid_ep *srx;
	/* Small packets of connections over streams; NULL: none. */
	struct wf_inbox *inbox;

	/* Constants of the endpoint: */
	size_t buffer_size; /* eager limit: longest payload of a packet in bytes */
	/* Longest packet that is injected below, in bytes with its header. */
	size_t inject_size;

	size_t rx_depth; /* number of buffers posted to @srx, or to each connection */
	struct rxm_bufs *bufs; /* buffers of @srx, or NULL */
	struct wf_list idle; /* struct rxm_buf that could not be posted, by call.link */
	/* Each connection has buffers of its own, and the peer has to know by credits
	 * how many packets it may send; see credit.h. */
	bool counts_credits;
	uint32_t polls;       /* number of full progress calls; runs free */
	uint32_t armed_polls; /* value of @polls when a thread last prepared to sleep */
	uint32_t idle_calls;  /* full calls since a packet arrived or was sent */
	bool running;         /* rxm_progress() is running. */
	bool eq_soon;         /* The next progress call reads @eq. */
	uint32_t eq_polls;    /* value of @polls at the last read of @eq */
	uint64_t eq_ns;       /* time (wf_coarse_ns) of the last read of @eq */

	struct wf_list conns; /* all struct rxm_conn, by link */
	/* Connections with works that can be sent, by ready_link; see
	 * rxm_conn_resume. */
	struct wf_list ready;
	struct wf_list failed; /* connections to be ended, by failed_link */

	/* FI_OPT_SHARED_MEMORY_PERMITTED is false. */
	bool memory_forbidden;
	/* Endpoint for peers on the same machine (local/local.h); NULL: none. */
	struct wf_local *below;
	/* struct rxm_local that connect to their peers below, by link. */
	struct wf_list reaching;
	/* Number of connections whose operations use memory, and of all connections.
	 * Written with ep.lock. */
	atomic_uint memory_conns, conn_count;
	struct rxm_peers *peers;

	struct rxm_data data; /* state of data/ */
};

static inline struct rxm_ep *rxm_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct rxm_ep, ep);
}

extern const struct wf_prov rxm_prov;

/* endpoint.c */
int rxm_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* domain.c, mr.c: hooks of struct wf_prov. */
int rxm_domain_init(struct wf_domain *domain, const struct fi_info *info);
void rxm_domain_done(struct wf_domain *domain);
int rxm_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr);

/* Register buffers of this process below, for one rendezvous. Any locks may be held. 0
 * or a negative fi_errno. @access: as in fi_mr_reg(3), or 0: FI_SEND and FI_RECV only.
 * The key is fi_mr_key(*ret_mr); fi_close ends the registration. */
int rxm_domain_expose(struct rxm_domain *domain, const struct iovec *iov,
	uint64_t access, struct fid_mr **ret_mr);

/* progress.c; ep.lock held. */
void rxm_progress(struct wf_ep *ep);
/* Handle the packets in the inbox, and read some completions of the queue below, and
 * end their calls. False: there was nothing. The lock of the receive context is held,
 * too. */
bool rxm_poll_cq(struct rxm_ep *ep);
/* Handle the events of the event queue below. False: there was none. The same locks are
 * held. */
bool rxm_poll_eq(struct rxm_ep *ep);

/* wait.c. rxm_wait_open: prepare sleeping, after the queues below were opened.
 * rxm_wait_close: undo that, before they are closed. These two and rxm_wait_fds are
 * control calls; for the others ep.lock is held. */
void rxm_wait_open(struct rxm_ep *ep);
void rxm_wait_close(struct rxm_ep *ep);
struct wf_fds *rxm_wait_fds(struct wf_ep *ep);
bool rxm_arm(struct wf_ep *ep);
/* A work was queued that no descriptor below announces: wake sleeping threads. */
void rxm_wake_sleepers(struct rxm_ep *ep);

/* closing.c */
bool rxm_flushed(struct wf_ep *ep);
bool rxm_unfinished(struct wf_ep *ep);

#endif

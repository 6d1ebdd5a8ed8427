/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_H
#define RXM_H

#include "objects/conn/unexp.h"
#include "objects/conn/watch.h"
#include "objects/endpoint/endpoint.h"
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
	RXM_HEADER = 64, /* bytes of a packet's header */
	/* Bytes of a message that rxm_conn_send_small takes at most. */
	RXM_SMALL_MAX = 512,
};

struct rxm_bufs;
struct rxm_conn;
struct rxm_peers;

struct rxm_domain {
	struct wf_domain *wf;
	struct wf_lower_domain below;
	/* The modes of the domain below (fi_mr(3)). */
	bool local_mr;  /* FI_MR_LOCAL: buffers of operations below have descriptors */
	bool has_descs; /* with @local_mr: the application passes descriptors */
	bool virt_addr; /* FI_MR_VIRT_ADDR: remote addresses are virtual ones */
	bool prov_key;  /* FI_MR_PROV_KEY: keys are chosen below */
	bool own;       /* the domain below is of this library */
	bool delivery;  /* operations below may have FI_DELIVERY_COMPLETE */
	bool tagged;    /* tagged messages come from below: see rxm_data_received_raw */
	/* FI_RX_CQ_DATA: a peer's write with remote CQ data takes a receive buffer. */
	bool rx_cq_data;
	size_t inject_size; /* bytes that the endpoints below inject */
	uint64_t max_key;   /* the largest key that may be chosen; see prov_key */
	/* The next key to try for a region of a rendezvous; any thread. */
	_Atomic uint32_t next_key;
};

static inline struct rxm_domain *rxm_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/*
 * One operation of an endpoint below. It is the context of that operation, and valid
 * until done() is called, which happens exactly once for each call that was taken, also
 * when the connection is lost.
 */
struct rxm_call {
	/* First: a provider below with FI_CONTEXT or FI_CONTEXT2 writes here. */
	struct fi_context2 scratch;
	/* The operation ended, with 0 or the positive FI_E code @err. @entry: the
	 * completion; with an error only its len and flags are valid, and they may be
	 * 0. The lock of the receive context and ep.lock are held. May start new calls,
	 * also with @call itself, and fail connections, but takes none down. */
	void (*done)(
		struct rxm_call *call, int err, const struct fi_cq_tagged_entry *entry);
	/* In conn->calls; linked to itself for a receive. */
	struct wf_list link;
	struct rxm_conn *conn; /* NULL: a buffer in a shared receive context below */
	bool promised;         /* it has to end before the endpoint is closed */
};

struct rxm_ep {
	struct wf_ep ep;
	struct rxm_domain *domain;
	/* Local address: the one that was asked for until the endpoint listens, then
	 * the true one. */
	union wf_sockaddr name;
	struct wf_unexp unexp;
	struct wf_watches watches; /* the timer */
	struct wf_fds fds;         /* for sleepers: @watches and the queues below */
	struct wf_lower_wait cq_wait, eq_wait; /* these in @fds */
	bool opened;  /* all that the endpoint has below is open */
	bool has_fds; /* both queues below have descriptors */

	/* Objects below; NULL: not open. */
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_ep *srx; /* NULL, too, where each connection has its own buffers */

	/* Constants of the endpoint. */
	size_t buffer_size; /* eager limit: payload bytes of the longest packet */
	size_t inject_size; /* bytes, header included, that are injected below */

	size_t rx_depth;       /* buffers posted to @srx, or to each connection */
	struct rxm_bufs *bufs; /* buffers in @srx, or NULL */
	struct wf_list idle;   /* struct rxm_buf, by call.link: could not be posted */
	/* Each connection has buffers of its own, and the provider below needs to be
	 * told by how many a peer may send: see credit.h. */
	bool counts_credits;
	uint32_t polls; /* progress calls; runs free */
	bool running;   /* rxm_progress() runs */
	bool eq_soon;   /* the next progress call reads @eq */
	uint64_t eq_ns; /* wf_coarse_ns of the last read of @eq */

	struct wf_list conns; /* struct rxm_conn, by link: all */
	/* By ready_link: connections with operations that can go on; see
	 * rxm_conn_resume. */
	struct wf_list ready;
	struct wf_list failed; /* by failed_link: to be taken down */
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

/* The descriptor below for @desc, which the application gave: the same. */
static inline void *rxm_domain_desc(const struct rxm_domain *domain, void *desc)
{
	(void)domain;
	return desc;
}

/* A registration below of buffers of this process for one rendezvous. Any locks may be
 * held. 0 or a negative FI_E code. @access: as in fi_mr_reg(3), or 0: none but FI_SEND
 * and FI_RECV. The key
 * is fi_mr_key(*ret_mr), closed with fi_close. */
int rxm_domain_expose(struct rxm_domain *domain, const struct iovec *iov,
	uint64_t access, struct fid_mr **ret_mr);

/* progress.c; ep.lock held. */
void rxm_progress(struct wf_ep *ep);
/* Read some completions of the queue below, and end their calls. False: there was none.
 * The lock of the receive context is held as well. */
bool rxm_poll_cq(struct rxm_ep *ep);
/* Handle the events of the event queue below. False: there was none. Locks as above. */
bool rxm_poll_eq(struct rxm_ep *ep);

/* wait.c; ep.lock held, but in the first three, control calls. Prepare sleeping, after
 * the queues below were opened; the opposite, before they are closed. */
void rxm_wait_open(struct rxm_ep *ep);
void rxm_wait_close(struct rxm_ep *ep);
struct wf_fds *rxm_wait_fds(struct wf_ep *ep);
bool rxm_arm(struct wf_ep *ep);
/* Something was queued that no descriptor below reports: wake sleeping threads. */
void rxm_wake_sleepers(struct rxm_ep *ep);

/* closing.c */
bool rxm_flushed(struct wf_ep *ep);

#endif

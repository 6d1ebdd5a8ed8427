/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_VERBS_H
#define WF_VERBS_VERBS_H

#include <stdatomic.h>

#include "objects/endpoint/endpoint.h"
#include "objects/provider.h"
#include "providers/verbs/data/fast.h"
#include "providers/verbs/data/finder.h"
#include "providers/verbs/lib.h"
#include "sys/list.h"
#include "sys/sockaddr.h"

/*
 * Endpoints over libibverbs: FI_EP_MSG over reliable connections (RC queue pairs, which
 * librdmacm connects) and FI_EP_DGRAM over unreliable datagrams (UD).
 *
 *   struct verbs_device   what discovery found (device/): names, templates, limits
 *   struct verbs_domain   an open context of a device and its protection domain
 *   struct verbs_cq       the hardware queue behind a CQ: it is polled by one item,
 *                         wf_cq.source, for all endpoints that are bound to the CQ
 *   struct verbs_ep       an endpoint and its queue pair
 *   struct verbs_srx      a shared receive context (SRQ)
 *
 * The hardware matches messages with receives: in the order of posting, on the queue
 * pair or SRQ. Memory descriptors are local keys (mr/), remote keys are those of the
 * device.
 *
 * cm/ has connections and passive endpoints, ud/ datagram addressing, data/ the work
 * requests and their completions.
 *
 * Locks, in this order: ep.lock (posting of sends and receives), verbs_cq.lock
 * (polling; never waited for with ep.lock held), wf_cq.lock.
 */

struct verbs_cm;
struct verbs_ud;

/* Index in verbs_cq.finders. */
enum { VERBS_SENDS, VERBS_RECEIVES };

enum {
	VERBS_SGE_MAX = 16,  /* largest iov limit of an endpoint */
	VERBS_POLL_MAX = 64, /* limit of completions that one ibv_poll_cq returns */
	VERBS_CQ_DATA_SIZE = 4,
	VERBS_GRH_SIZE = 40,
	VERBS_CM_DATA_MAX = 255, /* limit of data with a refused connection, in bytes */
};

/* A posted work request, until its completion is polled. */
struct verbs_wr {
	void *context;
	uint64_t flags; /* flags of struct wf_op */
	uint32_t len;   /* length in bytes, for counters */
	uint8_t kind;   /* enum wf_op_kind */
	bool bare;      /* a receive with a buffer that has no memory descriptor */
};

/*
 * The work requests of one direction of a queue pair, in the order of posting, in which
 * they also end. A request's wr_id is its number, with VERBS_WR_RECV if it is a
 * receive. The poster advances @head with ep.lock held; the poller of the CQ advances
 * @tail with verbs_cq.lock held, over all requests up to that of a completion: the
 * requests between asked for no completion, and have succeeded.
 */
#define VERBS_WR_RECV (UINT64_C(1) << 63)
struct verbs_queue {
	struct verbs_wr *slots;
	uint32_t mask;     /* number of entries in @slots, a power of two, minus 1 */
	uint32_t capacity; /* limit of posted requests */
	uint32_t head;     /* number of the next request */
	/* Requests since the last one that asked for a completion. */
	uint32_t unsignalled;
	_Alignas(64) atomic_uint tail; /* number of the oldest posted request */
};

struct verbs_scratch {
	uint64_t word; /* result of atomic operations without a result buffer */
	uint8_t header[VERBS_GRH_SIZE]; /* routing headers of datagrams */
};

struct verbs_domain {
	struct wf_domain *wf;
	const struct verbs_device *device;
	bool dgram;                  /* for datagram endpoints */
	struct ibv_context *context; /* context of this domain */
	struct ibv_pd *pd;
	/* Memory that the device writes and that is never read. */
	struct verbs_scratch *scratch;
	struct ibv_mr *scratch_mr;
	struct verbs_mr_cache *cache; /* mr/cache.c; NULL: none */
	struct verbs_async *async;    /* cm/async.c; NULL: none yet */
};

static inline struct verbs_domain *verbs_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/* The hardware queue behind a CQ. @lock guards all but the constants. */
struct verbs_cq {
	struct wf_progress item; /* wf_cq.source */
	struct wf_cq *wf;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
	struct wf_lock lock;
	int bunch; /* limit of completions of one poll: FI_VERBS_CQREAD_BUNCH_SIZE */
	/* size: entries of @cq. reserved: entries that the queues of bound endpoints
	 * may need. A hardware queue that overflows is unusable, so @reserved never
	 * exceeds @size. */
	uint32_t size, reserved;
	bool failed; /* A failure of the device was logged. */
	/* A datagram endpoint waits to be restarted. Set without the lock, too. */
	atomic_bool stopped;
	/* The endpoints that send, and those that receive, with this CQ. */
	struct verbs_finder finders[2];
};

static inline struct verbs_cq *verbs_cq_of(const struct wf_cq *cq)
{
	return cq->prov_data;
}

struct verbs_ep {
	struct wf_ep ep;
	struct verbs_domain *domain;
	struct ibv_qp *qp; /* NULL until fi_enable */
	uint32_t inline_size;
	/* Sends may be posted: the queue pair is in the state RTS (or in the error
	 * state, where they are flushed). cm/ or ud/ sets it; it stays set until the
	 * endpoint is closed. */
	atomic_bool ready;
	atomic_bool failed; /* The queue pair was put into the error state. */
	/* An operation failed, which put the queue pair into the error state, and cm/
	 * has not noticed it yet. */
	atomic_bool lost;
	struct verbs_queue sq, rq;
	struct verbs_fast fast;
	struct verbs_srx *srx; /* receives are posted there; NULL: to the queue pair */
	/* The endpoint is being closed: later failures are not reported. Guarded by the
	 * locks of both CQs. */
	bool closing;
	uint8_t port;
	struct verbs_cm *cm; /* for FI_EP_MSG, else NULL */
	struct verbs_ud *ud; /* for FI_EP_DGRAM, else NULL */
};

static inline struct verbs_ep *verbs_ep_of(const struct wf_ep *ep)
{
	return wf_container_of(ep, struct verbs_ep, ep);
}

extern struct fi_provider verbs_fi;
extern const struct wf_prov verbs_prov;

#define verbs_log(level, subsys, ...) FI_LOG(&verbs_fi, level, subsys, __VA_ARGS__)

/* Log that the verb @call failed, with the positive @err, and return -@err. */
int verbs_failed(enum fi_log_subsys subsys, const char *call, int err);

/* domain.c */
int verbs_domain_init(struct wf_domain *domain, const struct fi_info *info);
void verbs_domain_done(struct wf_domain *domain);

/* cq.c */
int verbs_cq_opened(struct wf_cq *cq);
void verbs_cq_closing(struct wf_cq *cq);
/* Reserve @entries more completions in the hardware queue, or release them. 0 or
 * -FI_ENOMEM with the reason logged. Takes the lock. */
int verbs_cq_reserve(struct verbs_cq *cq, uint32_t entries);
void verbs_cq_release(struct verbs_cq *cq, uint32_t entries);
/* Process all completions in the queue. The lock is held. */
void verbs_cq_drain(struct verbs_cq *cq);

/* endpoint.c */
int verbs_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context);

/*
 * qp.c: the queue pair of an endpoint. verbs_qp_create, called by the endpoint's
 * enable(), leaves it in the state INIT, so that receives can be posted. cm/ or ud/
 * changes it to RTS and sets ep->ready. No lock is held.
 */
int verbs_qp_create(struct verbs_ep *ep);
/* ibv_modify_qp: 0 or a negative errno, which is logged. */
int verbs_qp_modify(struct verbs_ep *ep, struct ibv_qp_attr *attr, int mask);
/* Change the state from RESET to INIT. 0 or a negative errno, which is logged. */
int verbs_qp_init(struct verbs_ep *ep);
/* Change to the error state: all posted requests are returned. */
void verbs_qp_set_error(struct verbs_ep *ep);
/* The CQ of the endpoint's sends (VERBS_SENDS) or receives; if it has only one CQ,
 * that. */
struct verbs_cq *verbs_ep_cq(const struct verbs_ep *ep, int direction);
/* The connection has ended: all posted requests end with FI_ECANCELED. */
void verbs_qp_fail(struct verbs_ep *ep);
/* Can requests still succeed: is the endpoint connected, and has not failed? */
bool verbs_qp_works(const struct verbs_ep *ep);
/* Destroy the queue pair; completions that are in the CQs already are reported. */
void verbs_qp_destroy(struct verbs_ep *ep);

#endif

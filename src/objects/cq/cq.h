/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_H
#define WF_OBJECTS_CQ_H

#include <stdatomic.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

#include "objects/av/av.h"
#include "objects/cq/ring.h"
#include "objects/domain/domain.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/give_way.h"
#include "sys/lock.h"

/*
 * A completion queue.
 *
 * Transports write through wf_cq_write and wf_cq_write_err. When the queue is ours
 * (@owner == &self) the entry goes straight into the ring. When it was imported with
 * FI_PEER the same calls go through the owner's operations, unless an owner of this
 * library linked the two queues (wf_cq_link): then successes end in @direct. Errors are
 * always the owner's.
 *
 * Errors wait in a list of their own, each stamped with the ring's head when it was
 * written: a reader gets the entries before an error first, then -FI_EAVAIL until
 * the error is read.
 *
 * @lock guards the ring and the errors; both can be seen to be empty without it.
 * Reading runs the items of @progress first, without @lock; see progress.h for the
 * lock order.
 */
struct wf_cq {
	struct fid_cq fid;
	struct wf_domain *domain;
	struct fid_peer_cq self;
	struct fid_peer_cq *owner;
	_Atomic(struct wf_cq *) direct; /* of our own: itself; NULL: through @owner */
	struct wf_av *direct_av;        /* NULL, or whose ids sources have in @direct */
	struct wf_lock lock;
	struct wf_cq_ring ring;
	atomic_uint error_count;
	struct wf_list errors;
	void *err_data; /* of the error last read, kept until the next one is */
	enum fi_cq_wait_cond wait_cond;
	atomic_uint sleepers; /* threads inside a blocking read */
	atomic_uint wakeups;  /* of them, how many return because of fi_cq_signal */
	atomic_int refs;      /* endpoints, contexts, poll sets and exports */
	struct wf_wait wait;
	struct wf_progress_list progress;
	struct wf_patience patience; /* of the threads that poll it */
	void *prov_data;             /* the provider's own, from wf_prov.cq_opened on */
	/* Set by wf_prov.cq_opened where completions of all endpoints come through one
	 * hardware queue: polls that queue, once whatever the number of endpoints, and
	 * writes each completion by the endpoint's wf_ep_tx_done and its like. It is
	 * run by threads that read the CQ or a counter of an endpoint bound to the CQ,
	 * and by the domain's progress thread, until cq_closing. NULL: each endpoint
	 * polls for itself. */
	struct wf_progress *source;
};

static inline struct wf_cq *wf_cq_of(struct fid_cq *fid)
{
	return wf_container_of(fid, struct wf_cq, fid);
}

int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context);

/* Fill @ret_peer for import into a peer, each peer its own: what it writes ends in @cq,
 * which stays open until wf_cq_unexport. See objects/peer/open.h. */
void wf_cq_export(struct wf_cq *cq, struct fid_peer_cq *ret_peer);
void wf_cq_unexport(struct fid_peer_cq *peer);

/*
 * Link @peer, which a provider imported, with the queue that owns it: successes are
 * written into @owner at once, without its operations; NULL: through them again.
 * Nothing happens when @peer is NULL or of another library, or when @owner was imported
 * itself. No lock; operations that end meanwhile take either way.
 */
void wf_cq_link(struct fid_cq *peer, struct wf_cq *owner);

/* Sources in completions of @peer, where it is of this library, are reported as @av
 * reports them (wf_av_report). Called before anything completes in @peer. */
void wf_cq_link_sources(struct fid_cq *peer, struct wf_av *av);

static inline struct wf_cq *wf_cq_direct(const struct wf_cq *cq)
{
	return atomic_load_explicit(&cq->direct, memory_order_relaxed);
}

/* A source as the transport reports it, in the numbers of wherever entries go. */
static inline fi_addr_t wf_cq_source(const struct wf_cq *cq, fi_addr_t src)
{
	if (wf_likely(src == FI_ADDR_NOTAVAIL || !cq->direct_av))
		return src;
	return wf_av_report(cq->direct_av, src);
}

/* One failure; the entry and its err_data are copied. */
ssize_t wf_cq_write_err(struct wf_cq *cq, const struct fi_cq_err_entry *entry);

/* Anything to read (entry or error)? For fi_poll and fi_trywait. No lock. */
static inline bool wf_cq_readable(struct wf_cq *cq)
{
	return !wf_cq_ring_empty(&cq->ring) ||
	       atomic_load_explicit(&cq->error_count, memory_order_relaxed);
}

/* One success into our own queue. -FI_ENOMEM when the ring could not grow. Always
 * inline: the fast path, too, completes by this. */
WF_INLINE int wf_cq_write_own(struct wf_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	int ret;

	wf_lock(&cq->lock);
	ret = wf_cq_ring_put(&cq->ring, context, flags, len, buf, data, tag, src);
	wf_unlock(&cq->lock);
	if (wf_likely(!ret))
		wf_wait_signal(&cq->wait);
	return ret;
}

/* Into the queue of an owner through its operations. */
ssize_t wf_cq_write_away(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src);

/* One success. Arguments as for fi_ops_cq_owner.write; members that the format lacks
 * are ignored. */
static inline ssize_t wf_cq_write(struct wf_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct wf_cq *direct = wf_cq_direct(cq);

	if (wf_unlikely(!direct))
		return wf_cq_write_away(cq, context, flags, len, buf, data, tag, src);
	return wf_cq_write_own(
		direct, context, flags, len, buf, data, tag, wf_cq_source(cq, src));
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_CQ_H
#define WF_OBJECTS_CQ_CQ_H

#include <stdatomic.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

#include "objects/av/av.h"
#include "objects/cq/ring.h"
#include "objects/domain/domain.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/forks.h"
#include "sys/give_way.h"
#include "sys/lock.h"

/*
 * A completion queue.
 *
 * Transports write through wf_cq_write and wf_cq_write_err. In a queue that the
 * application opened (@owner == &self) the entry goes into the ring. In one imported
 * with FI_PEER the calls use the owner's operations, unless an owner of this library
 * linked the two queues (wf_cq_link): then successes go into the ring of @direct.
 * Errors always use the owner's operations.
 *
 * Errors are in a list, each stamped with the ring's head when it was written: a reader
 * gets the entries before an error first, then -FI_EAVAIL until the error is read.
 *
 * @lock guards the ring and the errors; whether they are empty may be read without it.
 * Reading runs the items of @progress first, without @lock; see progress.h for the
 * lock order.
 */
struct wf_cq_error;

struct wf_cq {
	struct fid_cq fid;
	struct wf_domain *domain;
	/* the value of @owner in a queue that is not imported */
	struct fid_peer_cq self;
	struct fid_peer_cq *owner; /* owner of an imported queue, else &@self */
	/* The queue whose ring takes successes: this one, or, if imported, the linked
	 * owner. NULL: call the operations of @owner. */
	_Atomic(struct wf_cq *) direct;
	/* The AV whose user ids stand for sources in @direct; NULL: sources are
	 * reported as they are. */
	struct wf_av *direct_av;
	struct wf_lock lock;
	struct wf_cq_ring ring;         /* success entries */
	atomic_uint error_count;        /* entries in @errors */
	struct wf_list errors;          /* struct wf_cq_error, oldest first */
	struct wf_cq_error *error_read; /* read last, kept until the next one is read */
	struct wf_cq_error *error_spare; /* for one error when there is no memory */
	enum fi_cq_wait_cond wait_cond;
	atomic_uint sleepers; /* threads inside a blocking read */
	atomic_uint wakeups;  /* sleepers that fi_cq_signal woke and that did not return
				 yet */
	atomic_int refs; /* endpoints, contexts, poll sets and exports that use it */
	struct wf_wait wait;              /* signalled when an entry is written */
	struct wf_progress_list progress; /* items that readers run */
	struct wf_patience
		patience; /* time since the last entry, for threads that poll */
	void *prov_data;  /* for the provider, from wf_prov.cq_opened on */
	/* For a provider that has one hardware queue for all endpoints bound to the CQ:
	 * the item polls that queue and reports each completion to its endpoint, by
	 * wf_ep_tx_done, wf_srx_done and similar functions. wf_prov.cq_opened sets it.
	 * Threads that read the CQ, or a counter of an endpoint bound to the CQ, and
	 * the domain's progress thread run it until cq_closing. NULL: each endpoint
	 * polls for completions. */
	struct wf_progress *source;
	struct wf_fork_hook fork_hook; /* a child cannot read the queue */
};

static inline struct wf_cq *wf_cq_of(struct fid_cq *fid)
{
	return wf_container_of(fid, struct wf_cq, fid);
}

/* fi_ops_domain.cq_open; errors as fi_cq_open(3). No lock held. */
int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context);

/* Was the queue opened by this copy of the library? No lock. */
bool wf_cq_is_ours(const struct fid_cq *fid);

/* Fill *ret_peer, one for each peer, for the import of @cq into a peer: the peer's
 * completions are written to @cq, which cannot be closed until wf_cq_unexport. See
 * objects/peer/open.h. */
void wf_cq_export(struct wf_cq *cq, struct fid_peer_cq *ret_peer);
void wf_cq_unexport(struct fid_peer_cq *peer);

/*
 * Link the imported queue @peer with its owner: successes are written into the ring of
 * @owner without calling its operations. NULL in @owner: no link. No-op if @peer is
 * NULL or of another library, or if @owner is imported itself. Takes no lock;
 * operations that complete meanwhile may use the operations or the ring.
 */
void wf_cq_link(struct fid_cq *peer, struct wf_cq *owner);

/* Report sources in completions of the imported queue @peer as @av does (wf_av_report).
 * No-op if @peer is of another library. Called before an operation completes in
 * @peer. */
void wf_cq_link_sources(struct fid_cq *peer, struct wf_av *av);

static inline struct wf_cq *wf_cq_direct(const struct wf_cq *cq)
{
	return atomic_load_explicit(&cq->direct, memory_order_relaxed);
}

/* Convert a source from the transport's numbering to that of the application. */
static inline fi_addr_t wf_cq_source(const struct wf_cq *cq, fi_addr_t src)
{
	if (wf_likely(src == FI_ADDR_NOTAVAIL || !cq->direct_av))
		return src;
	return wf_av_report(cq->direct_av, src);
}

/* Write an error entry; it is copied with its err_data. 0, or a negative fabric
 * errno. */
ssize_t wf_cq_write_err(struct wf_cq *cq, const struct fi_cq_err_entry *entry);

/* Is there an entry or error to read? For fi_poll and fi_trywait. Takes no lock. */
static inline bool wf_cq_readable(struct wf_cq *cq)
{
	return !wf_cq_ring_empty(&cq->ring) ||
	       atomic_load_explicit(&cq->error_count, memory_order_relaxed);
}

/* Take up to @count (not 0) entries that are in the ring, without progress. Their
 * number, -FI_EAGAIN: none, or -FI_EAVAIL: an error comes first. @src may be NULL.
 * Takes the lock. */
ssize_t wf_cq_take(struct wf_cq *cq, void *buf, size_t count, fi_addr_t *src);

/* wf_cq_write_own in all cases. Out of line: a function that keeps nothing over a call
 * needs fewer registers. */
int wf_cq_write_slow(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src);

/* Write a success into the ring of @cq, which is not imported. -FI_ENOMEM: the ring
 * could not grow. Takes the lock. Always inline: the fast path completes by this,
 * too. */
WF_INLINE int wf_cq_write_own(struct wf_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	uint32_t head;

	if (wf_unlikely(cq->wait.obj != FI_WAIT_NONE || !wf_trylock_inline(&cq->lock)))
		goto slow;
	head = wf_cq_ring_head(&cq->ring);
	if (wf_unlikely(wf_cq_ring_full(&cq->ring, head)))
		goto full;
	wf_cq_ring_append(&cq->ring, head, context, flags, len, buf, data, tag, src);
	wf_unlock_inline(&cq->lock);
	return 0;

full:
	wf_unlock_inline(&cq->lock);
slow:
	return wf_cq_write_slow(cq, context, flags, len, buf, data, tag, src);
}

/* wf_cq_write for an imported queue: by the operations of its owner. */
ssize_t wf_cq_write_away(struct wf_cq *cq, void *context, uint64_t flags, size_t len,
	void *buf, uint64_t data, uint64_t tag, fi_addr_t src);

/* Write a success. Arguments as for fi_ops_cq_owner.write in fi_peer(3); members that
 * the format lacks are ignored. 0, or a negative fabric errno: the entry is lost. Takes
 * the lock of the CQ. */
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

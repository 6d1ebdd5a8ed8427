/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CNTR_CNTR_H
#define WF_OBJECTS_CNTR_CNTR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

#include "objects/domain/domain.h"
#include "objects/cntr/counted.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/forks.h"
#include "sys/give_way.h"

/*
 * A completion counter (fi_cntr(3)). Transports add through wf_cntr_add and
 * wf_cntr_add_err. In a counter opened by the application (@owner == &self) they change
 * @value and @err. In one imported with FI_PEER they call the owner's operations, or
 * add to @direct if this library owns both counters and has linked them (wf_cntr_link).
 * No lock guards the values: they are atomic.
 */
struct wf_cntr {
	struct fid_cntr fid;
	struct wf_domain *domain;
	struct fid_peer_cntr self; /* only its address is used, as a value of @owner */
	struct fid_peer_cntr *owner; /* owner of an imported counter, else &@self */
	/* In an imported counter, the linked owner; NULL: call the operations of
	 * @owner. */
	_Atomic(struct wf_cntr *) direct;
	enum fi_cntr_events events;                        /* completions or bytes */
	_Alignas(WF_CACHELINE) atomic_uint_fast64_t value; /* value of the counter */
	atomic_uint_fast64_t err; /* error value of the counter */
	atomic_bool has_work;     /* @work is not empty; see trigger.h */
	/* An endpoint that the counter is bound to has no descriptor that reports
	 * messages: a thread that waits for the counter wakes from time to time. */
	atomic_bool needs_polling;
	atomic_uint_fast64_t seen, seen_err; /* values that the application read last */
	atomic_int refs;     /* endpoints, regions, poll sets and exports that use it */
	struct wf_wait wait; /* signalled after each change */
	struct wf_progress_list progress; /* items that readers run */
	struct wf_patience
		patience; /* time since the last change, for threads that poll */
	struct wf_counted_cntr counted; /* entry in the domain if bound to regions */
	/* Operations that wait for this counter, by threshold; guarded by the lock of
	 * the domain's triggers (trigger.h). */
	struct wf_list work;
	struct wf_list work_link; /* in the domain's list while @work is not empty */
	atomic_bool watched;      /* threads that read the counter start its work */
	void *prov_data;          /* for the provider, from wf_prov.cntr_opened on */
	struct wf_fork_hook fork_hook; /* a child cannot use the counter */
};

static inline struct wf_cntr *wf_cntr_of(struct fid_cntr *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid);
}

/* fi_ops_domain.cntr_open; errors as fi_cntr_open(3). No lock held. */
int wf_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *context);

/* Fill *ret_peer, one for each peer, for the import of @cntr into a peer: the peer's
 * completions are counted by @cntr, which cannot be closed until wf_cntr_unexport. See
 * objects/peer/open.h. */
void wf_cntr_export(struct wf_cntr *cntr, struct fid_peer_cntr *ret_peer);
void wf_cntr_unexport(struct fid_peer_cntr *peer);

/* Link the imported counter @peer with its owner, as wf_cq_link does for CQs: successes
 * are added to @owner directly. NULL in @owner: no link. No-op if @peer is NULL or not
 * an imported counter of this library. */
void wf_cntr_link(struct fid_cntr *peer, struct wf_cntr *owner);

/* The counter that completions of @cntr are added to: the linked owner, or @cntr. The
 * result may only be compared with other pointers. */
static inline const struct wf_cntr *wf_cntr_target(const struct wf_cntr *cntr)
{
	const struct wf_cntr *direct =
		atomic_load_explicit(&cntr->direct, memory_order_relaxed);

	return direct ? direct : cntr;
}

/* Did the value or the error value change since the application read it? For
 * fi_trywait and wait sets. */
bool wf_cntr_changed(struct wf_cntr *cntr);

/* Called after the value or the error value changed: start work and wake sleepers.
 * seq_cst, like the change itself: pairs with the thread that queues work; see
 * trigger.h. The caller may hold any lock but that of a CQ or wait. */
static inline void wf_cntr_tell(struct wf_cntr *cntr)
{
	if (wf_unlikely(atomic_load_explicit(&cntr->has_work, memory_order_seq_cst)))
		wf_trigger_fire(cntr);
	wf_wait_signal(&cntr->wait);
}

/* Add @n to the owner of an imported counter; an owner of another library counts
 * one. */
void wf_cntr_add_owner(struct wf_cntr *cntr, uint64_t n);

/* Add @n successes. Locks as for wf_cntr_tell. */
static inline void wf_cntr_add_n(struct wf_cntr *cntr, uint64_t n)
{
	if (wf_unlikely(cntr->owner != &cntr->self)) {
		wf_cntr_add_owner(cntr, n);
		return;
	}
	/* release at least: a thread that sees the count sees the data that it
	 * counts. */
	atomic_fetch_add_explicit(&cntr->value, n, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

/* Count a success of @len bytes: adds 1, or @len with FI_CNTR_EVENTS_BYTES. Locks as
 * for wf_cntr_tell. */
static inline void wf_cntr_add(struct wf_cntr *cntr, size_t len)
{
	wf_cntr_add_n(cntr, cntr->events == FI_CNTR_EVENTS_BYTES ? len : 1);
}

/* The same; @cntr may be NULL, for no counter bound. */
static inline void wf_cntr_count(struct wf_cntr *cntr, size_t len)
{
	if (cntr)
		wf_cntr_add(cntr, len);
}

/* Count a failure. Locks as for wf_cntr_tell. */
static inline void wf_cntr_add_err(struct wf_cntr *cntr)
{
	if (wf_unlikely(cntr->owner != &cntr->self)) {
		cntr->owner->owner_ops->incerr(cntr->owner);
		return;
	}
	atomic_fetch_add_explicit(&cntr->err, 1, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

/* fi_cntr_add and fi_cntr_set of a counter that is not imported. Locks as for
 * wf_cntr_tell. */
void wf_cntr_add_value(struct wf_cntr *cntr, uint64_t value);
void wf_cntr_set_value(struct wf_cntr *cntr, uint64_t value);

#endif

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
#include "sys/give_way.h"

/*
 * A completion counter. Transports add through wf_cntr_add/wf_cntr_add_err, which
 * go straight to @value when the counter is ours and through the owner's operations
 * when it was imported with FI_PEER (@owner is then not &self), or to @direct, as for
 * CQs (objects/cq/cq.h).
 */
struct wf_cntr {
	struct fid_cntr fid;
	struct wf_domain *domain;
	struct fid_peer_cntr self; /* only its address means something */
	struct fid_peer_cntr *owner;
	_Atomic(struct wf_cntr *) direct; /* of an imported one; NULL: through @owner */
	enum fi_cntr_events events;
	_Alignas(WF_CACHELINE) atomic_uint_fast64_t value;
	atomic_uint_fast64_t err;
	atomic_bool has_work; /* something is in @work */
	atomic_bool
		naps; /* a feeding endpoint has no descriptor that tells of messages */
	atomic_uint_fast64_t seen, seen_err; /* what the application read last */
	atomic_int refs; /* endpoints, regions, poll sets and exports */
	struct wf_wait wait;
	struct wf_progress_list progress;
	struct wf_patience patience; /* of the threads that poll it */
	struct wf_counted_cntr counted;
	struct wf_list work;      /* that waits for us, by threshold; see trigger.h */
	struct wf_list work_link; /* of the domain's list while @work is not empty */
	atomic_bool watched;      /* reading us starts work */
	void *prov_data;          /* the provider's own, from wf_prov.cntr_opened on */
};

static inline struct wf_cntr *wf_cntr_of(struct fid_cntr *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid);
}

int wf_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *context);

/* Fill @ret_peer for import into a peer, each peer its own: what it counts is counted
 * by
 * @cntr, which stays open until wf_cntr_unexport. See objects/peer/open.h. */
void wf_cntr_export(struct wf_cntr *cntr, struct fid_peer_cntr *ret_peer);
void wf_cntr_unexport(struct fid_peer_cntr *peer);

/* As wf_cq_link: successes that @peer is told are counted by @owner at once. */
void wf_cntr_link(struct fid_cntr *peer, struct wf_cntr *owner);

/* The counter that counts what @cntr is told: its owner's where they are linked, else
 * itself. Only for comparing. */
static inline const struct wf_cntr *wf_cntr_target(const struct wf_cntr *cntr)
{
	const struct wf_cntr *direct =
		atomic_load_explicit(&cntr->direct, memory_order_relaxed);

	return direct ? direct : cntr;
}

/* Did the value or the error value change since the application read it? For
 * fi_trywait and wait sets. */
bool wf_cntr_changed(struct wf_cntr *cntr);

/* The value or the error value changed. seq_cst, as the change itself: the thread that
 * queues work pairs with both; see trigger.h. */
static inline void wf_cntr_tell(struct wf_cntr *cntr)
{
	if (wf_unlikely(atomic_load_explicit(&cntr->has_work, memory_order_seq_cst)))
		wf_trigger_fire(cntr);
	wf_wait_signal(&cntr->wait);
}

void wf_cntr_add_owner(struct wf_cntr *cntr, uint64_t n);

static inline void wf_cntr_add_n(struct wf_cntr *cntr, uint64_t n)
{
	if (wf_unlikely(cntr->owner != &cntr->self)) {
		wf_cntr_add_owner(cntr, n);
		return;
	}
	/* release at least: a thread that sees the count sees the data that it counts.
	 */
	atomic_fetch_add_explicit(&cntr->value, n, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

/* One operation of @len bytes succeeded: adds 1, or @len for
 * FI_CNTR_EVENTS_BYTES. */
static inline void wf_cntr_add(struct wf_cntr *cntr, size_t len)
{
	wf_cntr_add_n(cntr, cntr->events == FI_CNTR_EVENTS_BYTES ? len : 1);
}

/* The same for a counter that is bound, or NULL. */
static inline void wf_cntr_count(struct wf_cntr *cntr, size_t len)
{
	if (cntr)
		wf_cntr_add(cntr, len);
}

static inline void wf_cntr_add_err(struct wf_cntr *cntr)
{
	if (wf_unlikely(cntr->owner != &cntr->self)) {
		cntr->owner->owner_ops->incerr(cntr->owner);
		return;
	}
	atomic_fetch_add_explicit(&cntr->err, 1, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

/* fi_cntr_add and fi_cntr_set of a counter of ours, whatever locks are held. */
void wf_cntr_add_value(struct wf_cntr *cntr, uint64_t value);
void wf_cntr_set_value(struct wf_cntr *cntr, uint64_t value);

#endif

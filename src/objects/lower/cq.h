/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_CQ_H
#define WF_OBJECTS_LOWER_CQ_H

#include "objects/cq/cq.h"
#include "objects/lower/domain.h"

/*
 * A completion queue of the provider below whose entries a layer reads. A queue of this
 * library is polled and read without the public interface. The caller serialises all
 * calls for one queue.
 */
struct wf_lower_cq {
	struct fid_cq *fid; /* NULL: closed */
	/* The same queue if it is of this library; NULL: it is foreign. */
	struct wf_cq *builtin;
	bool has_fd; /* It has a descriptor for threads that sleep. */
};

/* Open a queue. If @attr asks for a descriptor and the provider below has none, it is
 * opened without one. No-op if it is open. A control call. 0 or a negative FI_E code,
 * logged. */
int wf_lower_cq_open(struct wf_lower_cq *cq, const struct wf_lower_domain *below,
	const struct fi_cq_attr *attr);

/* Close the queue, which no endpoint below uses any more. No-op if it is closed. */
void wf_lower_cq_close(struct wf_lower_cq *cq, const struct wf_lower_domain *below);

/* Make progress of the endpoints below, unless there are entries already. False: there
 * is nothing to read. */
static inline bool wf_lower_cq_poll(const struct wf_lower_cq *cq)
{
	if (wf_unlikely(!cq->builtin || !wf_cq_ring_empty(&cq->builtin->ring)))
		return true;
	wf_progress_list_run(&cq->builtin->progress);
	return wf_cq_readable(cq->builtin);
}

/* Read as fi_cq_read(3) after wf_lower_cq_poll has returned true. */
static inline ssize_t wf_lower_cq_read(
	const struct wf_lower_cq *cq, void *entries, size_t count)
{
	return wf_likely(cq->builtin != NULL)
		       ? wf_cq_take(cq->builtin, entries, count, NULL)
		       : fi_cq_read(cq->fid, entries, count);
}

/* Has data moved in the endpoints below (wf_progress_list_moved)? False for a foreign
 * queue. */
static inline bool wf_lower_cq_moved(const struct wf_lower_cq *cq)
{
	return cq->builtin && wf_progress_list_moved(&cq->builtin->progress);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_LATER_H
#define WF_OBJECTS_PROGRESS_LATER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "objects/progress/progress.h"
#include "sys/list.h"
#include "sys/lock.h"

/*
 * Deferred work. A thread that may hold the lock of an endpoint cannot run the work
 * itself, so it adds an entry to @list. @progress, an item in the progress lists of
 * CQs, counters and the progress thread, later runs the entries without such locks, one
 * after the other.
 *
 * @lock guards @list, and any state that the owner of this structure adds. @run_lock
 * is held by the one thread that runs entries, which keeps their order and prevents
 * recursion, and by a thread that cancels entries, so that every entry is in a list
 * meanwhile. Lock order: progress list lock, @run_lock, endpoint lock, @lock.
 *
 * @armed and @is_ready form a pair, both sequentially consistent: a thread that adds an
 * entry sets @is_ready, then reads @armed; a thread that goes to sleep sets @armed,
 * then reads @is_ready. At least one of the two sees the other's store.
 */
struct wf_later {
	struct wf_lock lock;
	struct wf_lock run_lock;
	struct wf_list list;  /* entries that wait, in the order of adding */
	atomic_bool is_ready; /* @list may have entries */
	atomic_bool armed;    /* a thread may be asleep on @fd: write to it */
	atomic_int fd;        /* eventfd for sleepers; -1 until one asks for it */

	/* Run one entry, which was taken out of @list. @run_lock is held. False: the
	 * entry cannot run now and stays first; the entries behind it wait. */
	bool (*run)(struct wf_later *later, struct wf_list *item);
	struct wf_progress progress; /* item whose run() runs the entries */
};

void wf_later_init(
	struct wf_later *later, bool (*run)(struct wf_later *, struct wf_list *));
void wf_later_done(struct wf_later *later);

/* Wake the sleepers after the caller added to @list and set @is_ready under @lock,
 * which it has released. */
void wf_later_wake(struct wf_later *later);

/* Add one entry and wake the sleepers. The caller may hold any lock but @lock and
 * those of a CQ or wait. */
void wf_later_add(struct wf_later *later, struct wf_list *item);

void wf_later_run_slow(struct wf_later *later);

/* Run all entries, unless another thread runs them. The caller holds no endpoint
 * lock. */
static inline void wf_later_run(struct wf_later *later)
{
	if (wf_unlikely(atomic_load_explicit(&later->is_ready, memory_order_relaxed)))
		wf_later_run_slow(later);
}

#endif

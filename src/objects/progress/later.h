/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_LATER_H
#define WF_OBJECTS_PROGRESS_LATER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "objects/progress/progress.h"
#include "sys/list.h"
#include "sys/lock.h"

/*
 * Things to do that were found out where they cannot be done, because any lock of an
 * endpoint may be held there. They wait in @list; @progress, an item of the lists that
 * are run when somebody reads or sleeps, and of the progress thread, does them without
 * such locks, one after the other.
 *
 * @lock guards @list, and what else its owner likes. @run_lock is held by the one
 * thread that does things, so that order is kept and nothing runs inside itself, and by
 * whoever takes things back, so that none is between the lists meanwhile. Order:
 * progress list lock, @run_lock, endpoint lock, @lock.
 *
 * @armed and @is_ready pair up, both sequentially consistent: who adds sets @is_ready,
 * then looks whether somebody may be asleep; who goes to sleep does the reverse.
 */
struct wf_later {
	struct wf_lock lock;
	struct wf_lock run_lock;
	struct wf_list list;
	atomic_bool is_ready;
	atomic_bool armed; /* somebody may be asleep on @fd */
	atomic_int fd;     /* -1 until somebody can */

	/* Do it. False: not now, and the others have to wait for it. */
	bool (*run)(struct wf_later *later, struct wf_list *item);
	struct wf_progress progress;
};

int wf_later_init(
	struct wf_later *later, bool (*run)(struct wf_later *, struct wf_list *));
void wf_later_done(struct wf_later *later);

/* Something was put into @list, with @is_ready set under @lock. */
void wf_later_wake(struct wf_later *later);

/* Add one thing. Any lock but that of a CQ, wait or @lock may be held. */
void wf_later_add(struct wf_later *later, struct wf_list *item);

void wf_later_run_slow(struct wf_later *later);

/* Do what there is. No lock of an endpoint is held. */
static inline void wf_later_run(struct wf_later *later)
{
	if (wf_unlikely(atomic_load_explicit(&later->is_ready, memory_order_relaxed)))
		wf_later_run_slow(later);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_ASYNC_H
#define WF_OBJECTS_PROGRESS_ASYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"
#include "sys/gate.h"
#include "sys/list.h"

/*
 * Progress of operations that were accepted, in domains with manual progress, while the
 * application makes no calls: it computes or sleeps. The process has one thread for
 * this, which is started when an endpoint first keeps an operation that it could not
 * finish within a call, and which sleeps while there is none. It ends with the process,
 * or when the library is unloaded.
 *
 * The endpoint tells that it keeps something (wf_async_want). The thread then looks at
 * it after WF_ASYNC_TICK_NS. If the application has run the endpoint's progress
 * meanwhile (wf_async_ran), the thread leaves it alone; else it makes progress for it.
 * Looks that leave work behind are made less and less often, down to one in
 * WF_ASYNC_TICK_MAX_NS: work that waits for a peer costs next to nothing. While the
 * application makes calls all the time, there is one in WF_ASYNC_TICK_ACTIVE_NS. So
 * what is kept when the calls end leaves at once after a burst, and otherwise after a
 * time that is short compared with that of the calls before.
 */
enum {
	WF_ASYNC_TICK_NS = 40000,
	WF_ASYNC_TICK_ACTIVE_NS = 500000,
	WF_ASYNC_TICK_MAX_NS = 5000000,
	WF_ASYNC_SKIPS = 64,
};

/* What an endpoint has for the thread. */
struct wf_async_item {
	/* Make progress. True: operations are left. @gate is closed, where there is
	 * one; else no lock is held. NULL: nothing is done without the application. */
	bool (*run)(struct wf_async_item *item);
	struct wf_gate *gate; /* of the domain; NULL: it has locks */
	struct wf_list link;  /* in the list of items; guarded by the thread's lock */
	/* The endpoint kept an operation since the thread looked last. */
	atomic_bool wanted;
	uint32_t fork_depth; /* sys/forks.h, of the process that the item belongs to */
	bool closed;         /* not listed any more; guarded by the thread's lock */
	/* Progress runs of the application, and the thread's; runs free. */
	_Atomic uint32_t runs;
	/* The thread's: @runs at its last look, successive looks that left @wanted set,
	 * and successive looks before each of which the application had done
	 * something. */
	uint32_t seen, skipped, busy;
};

/* May the thread be used? FI_BACKGROUND_PROGRESS (fabric(7)). */
bool wf_async_is_enabled(void);

/* @run NULL: wf_async_want does nothing for the item. */
void wf_async_item_init(struct wf_async_item *item, struct wf_gate *gate,
	bool (*run)(struct wf_async_item *item));
/* Remove the item and wait until the thread does not run it. The caller holds no lock
 * that run() waits for. */
void wf_async_forget(struct wf_async_item *item);
/* The same, for good: later calls of wf_async_want do nothing. */
void wf_async_close(struct wf_async_item *item);

void wf_async_want_slow(struct wf_async_item *item);

/* Progress of the endpoint is run. The caller is the only thread that does so now; a
 * count that is lost to another one only costs a look. */
static inline void wf_async_ran(struct wf_async_item *item)
{
	uint32_t runs = atomic_load_explicit(&item->runs, memory_order_relaxed);

	atomic_store_explicit(&item->runs, runs + 1, memory_order_relaxed);
}

/* The endpoint keeps an operation that its progress has to continue. The caller holds
 * the endpoint's lock. */
static inline void wf_async_want(struct wf_async_item *item)
{
	/* relaxed: the thread clears @wanted before it takes the endpoint's lock to see
	 * what is left. */
	if (!atomic_load_explicit(&item->wanted, memory_order_relaxed))
		wf_async_want_slow(item);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_ASYNC_H
#define WF_OBJECTS_PROGRESS_ASYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"
#include "sys/gate.h"
#include "sys/list.h"

/*
 * Progress of operations that were accepted, in a domain with manual progress, while
 * the application makes no calls: it computes or sleeps. The domain has one thread for
 * this, which is started when an endpoint first keeps an operation that it could not
 * finish within a call, and which sleeps while there is none.
 *
 * The endpoint tells that it keeps something (wf_async_want). The thread then looks at
 * it after WF_ASYNC_TICK_NS. If the endpoint told so again meanwhile, the application
 * makes calls, and the thread leaves the endpoint alone once; else it makes progress
 * for it. Looks that leave work behind are made less and less often, down to one in
 * WF_ASYNC_TICK_MAX_NS: work that waits for a peer costs next to nothing.
 */
enum {
	WF_ASYNC_TICK_NS = 40000,
	WF_ASYNC_TICK_MAX_NS = 5000000,
};

struct wf_async_item;

struct wf_async {
	/* Guards everything below and the links of items. Taken with any lock of an
	 * endpoint held; the thread runs items without it. */
	pthread_mutex_t lock;
	/* Something changed for the thread: there is an item, or it has to end. */
	pthread_cond_t changed;
	pthread_cond_t ran;            /* the thread has run an item */
	struct wf_list items;          /* items that keep operations */
	struct wf_async_item *running; /* the item that the thread runs; NULL: none */
	struct wf_gate *gate;          /* gate of the domain; NULL: it has locks */
	pthread_t thread;
	uint32_t fork_depth; /* sys/forks.h, when the domain was opened */
	bool has_thread, stop;
	bool enabled; /* FI_BACKGROUND_PROGRESS (fabric(7)); constant */
	/* Nanoseconds until the next look. */
	uint64_t tick_ns;
};

/* What an endpoint has for the thread; zeroed: it has no such thread. */
struct wf_async_item {
	struct wf_async *async; /* NULL: nothing is done without the application */
	/* Make progress. True: operations are left. The domain's gate is closed, where
	 * there is one; else no lock is held. */
	bool (*run)(struct wf_async_item *item);
	struct wf_list link; /* in async->items; guarded by async->lock */
	/* The endpoint kept an operation since the thread looked last. */
	atomic_bool wanted;
	bool closed; /* not listed any more; guarded by async->lock */
	bool spared; /* the thread's; the last look left the endpoint alone */
};

void wf_async_init(struct wf_async *async);
/* Stop and join the thread. No item is listed. */
void wf_async_done(struct wf_async *async);

void wf_async_item_init(
	struct wf_async_item *item, bool (*run)(struct wf_async_item *item));
/* Remove the item and wait until the thread does not run it. The caller holds no lock
 * that run() waits for. */
void wf_async_forget(struct wf_async_item *item);
/* The same, for good: later calls of wf_async_want do nothing. */
void wf_async_close(struct wf_async_item *item);

void wf_async_want_slow(struct wf_async_item *item);

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

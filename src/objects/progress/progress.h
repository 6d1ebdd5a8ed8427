/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_PROGRESS_H
#define WF_OBJECTS_PROGRESS_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "objects/wait/fds.h"
#include "sys/lock.h"

struct wf_domain;
struct wf_wait;
struct wf_progress_ref;

enum {
	WF_PROGRESS_PARKED = 1, /* at least one list has parked the item */
	/* Runs of the item are partial: run() polls only the part of the item that has
	 * work often. The item sets the bit and run() reads it. */
	WF_PROGRESS_PARTIAL = 2,
};

/* An object that makes progress when it is run: an endpoint, a listener. */
struct wf_progress {
	/* Move data without blocking. Takes the item's own lock. */
	void (*run)(struct wf_progress *item);

	/* The descriptor for sleepers: readable exactly while run() would find work (a
	 * descriptor that is readable without work makes a sleeper spin). Made at the
	 * first call, owned by the item. Returns -errno on failure. NULL: the item has
	 * no descriptor, or wait_fds. */
	int (*wait_fd)(struct wf_progress *item);

	/* For an item of a layer, which has work when the descriptors below are
	 * readable: the set of these descriptors, instead of an epoll descriptor that
	 * would nest them. Owned by the item, and the same in each call. NULL: the item
	 * has no descriptor, or wait_fd. */
	struct wf_fds *(*wait_fds)(struct wf_progress *item);

	/* A thread is about to sleep: make the descriptor report all later work.
	 * Returns false if there is work now and the thread must not sleep. NULL: the
	 * item needs no preparation. Takes the item's own lock. */
	bool (*arm)(struct wf_progress *item);

	/* Has data moved that @quiet does not count, since the last call or in the
	 * last few runs? May be NULL. The list's lock is held. */
	bool (*moved)(struct wf_progress *item);

	/* Runs since the last one that found work, including that one: 1 after a run
	 * that found work; 0 if no such run is known. Items that may be parked (see
	 * below) count in run(), under their own lock. Other items leave it at 0, and
	 * may set @some when a piece of a long transfer has moved. */
	atomic_uint quiet;
	atomic_bool some;
	/* Bit mask of WF_PROGRESS_PARKED and WF_PROGRESS_PARTIAL; a wake-up clears
	 * both. */
	atomic_uint state;
	/* Chain of the item's entries, one for each list; NULL: in no list. Guarded by
	 * chain_lock in progress.c. */
	struct wf_progress_ref *refs;
};

/*
 * The items that feed one CQ, counter, EQ or progress thread. An item may be added
 * several times (an endpoint binds one CQ for both directions) and is run once.
 *
 * An item whose runs found no work for long is parked: the list arms it as for a sleep
 * and stops running it; one epoll set watches the descriptors of all parked items. So
 * thousands of idle items cost a fraction of a system call. The list runs an item again
 * when its descriptor is readable or wf_progress_wake was called. The last awake item
 * is never parked, so a list of one item has no extra cost.
 *
 * @lock guards the array, and is held while items run, so that after
 * wf_progress_list_del returns the item is not running from this list.
 * Lock order: list lock, item's own lock, CQ or counter lock, wait.
 */
struct wf_progress_list {
	struct wf_lock lock;
	unsigned int count, capacity;
	unsigned int awake; /* awake items; the other @count - @awake are parked */
	struct wf_progress_ref **refs; /* @count entries, the awake items first */
	struct wf_wait *wait;          /* gets the items' descriptors; may be NULL */
	int epfd;          /* epoll set of all items ever parked here; -1: none was */
	unsigned int runs; /* runs of items since the last epoll_wait on @epfd */
	uint64_t tick;     /* coarse clock at the last epoll_wait on @epfd, in ns */
	bool poll_next;    /* call epoll_wait on @epfd at the next run */
	/* Lock-free stack of the items to unpark, linked by next_woken; NULL: empty. */
	_Atomic(struct wf_progress_ref *) woken;
};

/* An item in a list. */
struct wf_progress_ref {
	struct wf_progress *item;
	struct wf_progress_list *list;
	struct wf_progress_ref *next; /* next entry of @item; guarded by chain_lock */
	struct wf_progress_ref *next_woken; /* in list->woken; valid while @woken */
	atomic_bool woken;                  /* pushed to list->woken, not yet taken */
	bool watched;                       /* the descriptor is in list->epfd */
	/* at: position in list->refs; uses: wf_progress_list_add calls without a
	 * del. */
	unsigned int at, uses;
	/* The item's descriptor in list->wait, or -1, and its set there. */
	int fd;
	struct wf_fds_link fds;
};

/* One descriptor for sleepers, of an item that has wait_fd or wait_fds; a negative
 * fabric errno on failure. */
static inline int wf_progress_fd(struct wf_progress *item)
{
	return item->wait_fds ? wf_fds_open(item->wait_fds(item)) : item->wait_fd(item);
}

void wf_progress_list_init(
	struct wf_progress_list *list, enum wf_lock_kind kind, struct wf_wait *wait);
void wf_progress_list_done(struct wf_progress_list *list);
/* Add @item, or count one more use of it: each add needs one del. 0 or a negative
 * fabric errno. The caller does not hold the list's lock. */
int wf_progress_list_add(struct wf_progress_list *list, struct wf_progress *item);
void wf_progress_list_del(struct wf_progress_list *list, struct wf_progress *item);

/* Give the items' descriptors to @wait, which may be NULL, instead of to the list's
 * present one. */
int wf_progress_list_set_wait(struct wf_progress_list *list, struct wf_wait *wait);

/* Prepare the awake items for a sleep of the caller (parked items are armed already).
 * False: an item has work, do not sleep. */
bool wf_progress_list_arm(struct wf_progress_list *list);

/* Make every list that parked @item run it again, and its next run a full one: it has,
 * or expects, work that its descriptor does not report. The caller holds the item's own
 * lock. */
void wf_progress_wake_slow(struct wf_progress *item);

/* Has a list parked @item since it was woken last? The caller holds the item's own
 * lock. */
static inline bool wf_progress_is_parked(const struct wf_progress *item)
{
	/* relaxed: a thread that parks the item sets the bit before arm() takes the
	 * item's own lock, which the caller holds. */
	return atomic_load_explicit(&item->state, memory_order_relaxed) &
	       WF_PROGRESS_PARKED;
}

static inline void wf_progress_wake(struct wf_progress *item)
{
	/* relaxed: as above. */
	if (wf_unlikely(atomic_load_explicit(&item->state, memory_order_relaxed)))
		wf_progress_wake_slow(item);
}

/* Are runs of @item partial? Without the item's own lock the answer may be that of a
 * moment ago; a wake-up then takes effect with the run after this one. */
static inline bool wf_progress_is_partial(const struct wf_progress *item)
{
	return atomic_load_explicit(&item->state, memory_order_relaxed) &
	       WF_PROGRESS_PARTIAL;
}

/* Make runs of @item partial, or full without a wake-up. The caller holds the item's
 * own lock. */
static inline void wf_progress_set_partial(struct wf_progress *item, bool partial)
{
	if (partial == wf_progress_is_partial(item))
		return;
	/* One atomic operation, because a list may park the item at the same time. */
	if (partial)
		atomic_fetch_or_explicit(
			&item->state, WF_PROGRESS_PARTIAL, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&item->state,
			~(unsigned int)WF_PROGRESS_PARTIAL, memory_order_relaxed);
}

/* Count this run and the partial ones before it, @runs in all. run() calls this at its
 * end with the item's own lock held. @something: at least one of them found work. */
static inline void wf_progress_found_in(
	struct wf_progress *item, bool something, unsigned int runs)
{
	/* relaxed: an estimate; nothing is published by it. */
	unsigned int quiet = atomic_load_explicit(&item->quiet, memory_order_relaxed);

	atomic_store_explicit(
		&item->quiet, something ? 1 : quiet + runs, memory_order_relaxed);
	if (something)
		wf_progress_wake(item);
}

/* Count one run, as wf_progress_found_in. */
static inline void wf_progress_found(struct wf_progress *item, bool something)
{
	wf_progress_found_in(item, something, 1);
}

/* A piece of a long transfer has moved, in an item that does not count its runs. */
static inline void wf_progress_found_some(struct wf_progress *item)
{
	atomic_store_explicit(&item->some, true, memory_order_relaxed);
}

/* Has data moved in @item, or in any awake item of @list, since the last call or in the
 * last few runs? A thread whose polls find nothing asks this before it yields the CPU.
 * The caller of wf_progress_moved holds the lock of a progress list. */
bool wf_progress_moved(struct wf_progress *item);
bool wf_progress_list_moved(struct wf_progress_list *list);

/* park.c. The caller holds the list's lock. */
enum {
	/* Runs without work before an item is parked, divided by the number of awake
	 * items: the more items are awake, the sooner an idle one is parked. */
	WF_PROGRESS_PATIENCE = 2048,
	/* No item is parked after fewer runs without work than this. */
	WF_PROGRESS_QUIET_MIN = 32,
};
/* Park the item at position @at. True: parked, and refs[@at] is another item, or
 * @at is beyond the awake ones. False: the item cannot be parked or has work. */
bool wf_progress_park(struct wf_progress_list *list, unsigned int at);
/* Unpark the items that were woken and, now and then, those whose descriptor is
 * readable. */
void wf_progress_unpark(struct wf_progress_list *list);

static inline bool wf_progress_is_quiet(
	const struct wf_progress_list *list, const struct wf_progress *item)
{
	unsigned int quiet = atomic_load_explicit(&item->quiet, memory_order_relaxed);

	return quiet > WF_PROGRESS_QUIET_MIN && list->awake > 1 &&
	       (uint64_t)quiet * list->awake > WF_PROGRESS_PATIENCE;
}

/* Run each awake item once, and park the idle ones. The caller holds the list's
 * lock. */
void wf_progress_list_run_all(struct wf_progress_list *list);

/* Run each awake item once. Does nothing while another thread holds the list's lock. */
static inline void wf_progress_list_run(struct wf_progress_list *list)
{
	if (!wf_trylock(&list->lock))
		return;
	if (wf_unlikely(list->awake < list->count))
		wf_progress_unpark(list);
	if (wf_likely(list->awake == 1))
		list->refs[0]->item->run(list->refs[0]->item);
	else
		wf_progress_list_run_all(list);
	wf_unlock(&list->lock);
}

#endif

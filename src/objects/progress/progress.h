/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_H
#define WF_OBJECTS_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/lock.h"

struct wf_domain;
struct wf_wait;
struct wf_progress_ref;

/* Something that moves data when it is asked to: an endpoint, a listener. */
struct wf_progress {
	/* Move data without blocking. Takes the item's own lock. */
	void (*run)(struct wf_progress *item);

	/* A descriptor that is readable while run() would find work, for those who
	 * sleep, and only then, or a sleeper would spin; made at the first call,
	 * owned by the item. -errno on failure. NULL: the item has none. */
	int (*wait_fd)(struct wf_progress *item);

	/* Somebody is about to sleep: make sure that the descriptor will tell.
	 * False: there is work now, do not sleep. NULL: nothing to prepare. */
	bool (*arm)(struct wf_progress *item);

	/* Has something moved since this was asked last, or in the last few runs, that
	 * @quiet does not tell of? May be NULL. The list's lock is held. */
	bool (*moved)(struct wf_progress *item);

	/* Runs since something was found, that one included: counted by run() of items
	 * that may be parked, see below, under the item's own lock. The others write 1
	 * when part of something long has moved, or leave it at 0. */
	atomic_uint quiet;
	atomic_bool parked;           /* by some list since it was woken last */
	struct wf_progress_ref *refs; /* one for each list that it is in */
};

/*
 * The items that feed one CQ, counter, EQ or progress thread. An item may be added
 * several times (an endpoint binds one CQ for both directions) and is run once.
 *
 * An item that was quiet for long is parked: it is armed as for a sleep and its
 * descriptor watched, together with those of all others that are parked, instead of
 * running it. So thousands of idle ones cost a fraction of a system call. It is run
 * again when its descriptor is readable or when it was woken. The last one awake is
 * never parked, so that what is alone pays nothing.
 *
 * @lock guards the array, and is held while items run, so that after
 * wf_progress_list_del returns the item is not running from this list.
 * Lock order: list lock, item's own lock, CQ or counter lock, wait.
 */
struct wf_progress_list {
	struct wf_lock lock;
	unsigned int count, capacity;
	unsigned int awake;            /* of those; the others are parked */
	struct wf_progress_ref **refs; /* those awake first */
	struct wf_wait *wait;          /* gets the items' descriptors; may be NULL */
	int epfd;          /* of items that were parked once; -1: none was */
	unsigned int turn; /* items run since it was asked last */
	uint64_t tick;     /* when it was, by a coarse clock */
	bool look;         /* ask it with the next run */
	_Atomic(struct wf_progress_ref *) woken; /* a stack; pushed with no lock */
};

/* An item in a list. */
struct wf_progress_ref {
	struct wf_progress *item;
	struct wf_progress_list *list;
	struct wf_progress_ref *next;       /* of the item; see progress.c */
	struct wf_progress_ref *next_woken; /* while @woken */
	atomic_bool woken;                  /* on the list's stack */
	bool watched;                       /* in the list's epoll set */
	unsigned int at, uses;
	int fd; /* that list->wait has, or -1 */
};

int wf_progress_list_init(
	struct wf_progress_list *list, enum wf_lock_kind kind, struct wf_wait *wait);
void wf_progress_list_done(struct wf_progress_list *list);
int wf_progress_list_add(struct wf_progress_list *list, struct wf_progress *item);
void wf_progress_list_del(struct wf_progress_list *list, struct wf_progress *item);

/* Give the items' descriptors to @wait, which may be NULL, instead of to the list's
 * present one. */
int wf_progress_list_set_wait(struct wf_progress_list *list, struct wf_wait *wait);

/* False when an item has work, so that sleeping would be wrong. */
bool wf_progress_list_arm(struct wf_progress_list *list);

/* The item has work that its descriptor does not tell of, or expects some. Its own
 * lock is held. */
void wf_progress_wake_slow(struct wf_progress *item);

static inline void wf_progress_wake(struct wf_progress *item)
{
	/* relaxed: whoever parks it takes the item's own lock in arm() afterwards. */
	if (wf_unlikely(atomic_load_explicit(&item->parked, memory_order_relaxed)))
		wf_progress_wake_slow(item);
}

/* What run() says at its end. */
static inline void wf_progress_found(struct wf_progress *item, bool something)
{
	/* relaxed: a measure, no more. */
	unsigned int quiet = atomic_load_explicit(&item->quiet, memory_order_relaxed);

	atomic_store_explicit(
		&item->quiet, something ? 1 : quiet + 1, memory_order_relaxed);
	if (something)
		wf_progress_wake(item);
}

/* Part of something long has moved, in an item that does not count its runs. */
static inline void wf_progress_found_part(struct wf_progress *item)
{
	atomic_store_explicit(&item->quiet, 1, memory_order_relaxed);
}

/* Has something moved in @item, or in one of the list, since this was asked last, or
 * not long ago? For threads that poll in vain. */
bool wf_progress_moved(struct wf_progress *item);
bool wf_progress_list_moved(struct wf_progress_list *list);

/* park.c; the list's lock held. */
enum {
	/* Looks at items that find nothing, which the list can afford; divided among
	 * those awake, so that many active ones do not keep all the others awake. */
	WF_PROGRESS_PATIENCE = 2048,
	WF_PROGRESS_QUIET_MIN = 32,
};
/* Park the item at @at, if it lets itself be parked; another one is there then. */
bool wf_progress_park(struct wf_progress_list *list, unsigned int at);
/* Let those run again that have something to do. */
void wf_progress_unpark(struct wf_progress_list *list);

static inline bool wf_progress_is_quiet(
	const struct wf_progress_list *list, const struct wf_progress *item)
{
	unsigned int quiet = atomic_load_explicit(&item->quiet, memory_order_relaxed);

	return quiet > WF_PROGRESS_QUIET_MIN && list->awake > 1 &&
	       (uint64_t)quiet * list->awake > WF_PROGRESS_PATIENCE;
}

/* All that are awake, of which there may be several; the lock is held. */
void wf_progress_list_run_all(struct wf_progress_list *list);

/* Run every item once. When another thread is at it, leave it to that one. */
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

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_H
#define WF_OBJECTS_PROGRESS_H

#include <stdbool.h>

#include "sys/lock.h"

struct wf_domain;
struct wf_wait;

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
};

/*
 * The items that feed one CQ, counter, EQ or progress thread. An item may be added
 * several times (an endpoint binds one CQ for both directions) and is run once.
 *
 * @lock guards the array, and is held while items run, so that after
 * wf_progress_list_del returns the item is not running from this list.
 * Lock order: list lock, item's own lock, CQ or counter lock, wait.
 */
struct wf_progress_list {
	struct wf_lock lock;
	unsigned int count;
	unsigned int capacity;
	struct wf_progress_ref *refs;
	struct wf_wait *wait; /* gets the items' descriptors; may be NULL */
};

struct wf_progress_ref {
	struct wf_progress *item;
	unsigned int uses;
	int fd;
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

/* Run every item once. When another thread is at it, leave it to that one. */
static inline void wf_progress_list_run(struct wf_progress_list *list)
{
	if (!wf_trylock(&list->lock))
		return;
	for (unsigned int i = 0; i < list->count; i++)
		list->refs[i].item->run(list->refs[i].item);
	wf_unlock(&list->lock);
}

#endif

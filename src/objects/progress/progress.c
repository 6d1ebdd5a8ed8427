/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>

#include "objects/progress/park.h"
#include "objects/wait/wait.h"
#include "sys/calls.h"
#include "sys/fds.h"
#include "sys/give_way.h"

/*
 * Guards item->refs and ref->next of all items: one thread may add an item to a list
 * while another wakes the item. Taken after a list's lock or an item's own lock; no
 * other lock is taken under it.
 */
static pthread_mutex_t chain_lock = PTHREAD_MUTEX_INITIALIZER;

static void progress_link_ref(struct wf_progress_ref *ref)
{
	pthread_mutex_lock(&chain_lock);
	ref->next = ref->item->refs;
	ref->item->refs = ref;
	pthread_mutex_unlock(&chain_lock);
}

static void progress_unlink_ref(struct wf_progress_ref *ref)
{
	struct wf_progress_ref **at = &ref->item->refs;

	pthread_mutex_lock(&chain_lock);
	while (*at != ref)
		at = &(*at)->next;
	*at = ref->next;
	pthread_mutex_unlock(&chain_lock);
}

static struct wf_progress_ref *progress_find(
	struct wf_progress_list *list, const struct wf_progress *item)
{
	struct wf_progress_ref *ref;

	pthread_mutex_lock(&chain_lock);
	ref = item->refs;
	while (ref && ref->list != list)
		ref = ref->next;
	pthread_mutex_unlock(&chain_lock);
	return ref;
}

void wf_progress_wake_slow(struct wf_progress *item)
{
	/* relaxed: the item's own lock, which arm() takes too, orders the accesses. */
	if (!(atomic_exchange_explicit(&item->state, 0, memory_order_relaxed) &
		    WF_PROGRESS_PARKED))
		return;
	pthread_mutex_lock(&chain_lock);
	for (struct wf_progress_ref *ref = item->refs; ref; ref = ref->next)
		wf_progress_push_woken(ref);
	pthread_mutex_unlock(&chain_lock);
}

void wf_progress_list_init(
	struct wf_progress_list *list, enum wf_lock_kind kind, struct wf_wait *wait)
{
	memset(list, 0, sizeof(*list));
	list->wait = wait;
	list->epfd = -1;
	wf_lock_init(&list->lock, kind);
}

static int progress_watch_fd(struct wf_fds *fds, struct wf_progress_ref *ref)
{
	int fd = ref->item->wait_fd(ref->item);
	int err = fd < 0 ? fd : wf_fds_add(fds, fd);

	if (!err)
		ref->fd = fd;
	return err;
}

/* Give the item's descriptors to @wait, if a thread can sleep on descriptors there. */
static int progress_watch(struct wf_wait *wait, struct wf_progress_ref *ref)
{
	struct wf_fds *fds = wait ? wf_wait_fds(wait) : NULL;

	ref->fd = -1;
	if (fds && ref->item->wait_fds)
		return wf_fds_follow(&ref->fds, ref->item->wait_fds(ref->item), fds);
	return fds && ref->item->wait_fd ? progress_watch_fd(fds, ref) : 0;
}

static void progress_unwatch(struct wf_wait *wait, struct wf_progress_ref *ref)
{
	wf_fds_unfollow(&ref->fds);
	if (ref->fd >= 0)
		wf_fds_del(wf_wait_fds(wait), ref->fd);
	ref->fd = -1;
}

void wf_progress_list_done(struct wf_progress_list *list)
{
	for (unsigned int i = 0; i < list->count; i++) {
		progress_unwatch(list->wait, list->refs[i]);
		progress_unlink_ref(list->refs[i]);
		free(list->refs[i]);
	}
	free(list->refs);
	if (list->epfd >= 0)
		wf_fds_close(list->epfd);
	wf_lock_done(&list->lock);
}

static bool progress_make_space(struct wf_progress_list *list)
{
	unsigned int capacity = list->capacity ? 2 * list->capacity : 4;
	struct wf_progress_ref **refs;

	if (list->count < list->capacity)
		return true;
	refs = realloc(list->refs, capacity * sizeof(struct wf_progress_ref *));
	if (!refs)
		return false;
	list->refs = refs;
	list->capacity = capacity;
	return true;
}

/* @lock is held. */
static int progress_append(struct wf_progress_list *list, struct wf_progress *item)
{
	struct wf_progress_ref *ref = calloc(1, sizeof(*ref));
	int err = -FI_ENOMEM;

	if (!ref)
		return err;
	ref->item = item;
	ref->list = list;
	ref->uses = 1;
	if (!progress_make_space(list))
		goto err_free;
	err = progress_watch(list->wait, ref);
	if (err)
		goto err_free;
	ref->at = list->count++;
	list->refs[ref->at] = ref;
	wf_progress_unpark_item(ref);
	progress_link_ref(ref);
	return 0;

err_free:
	free(ref);
	return err;
}

int wf_progress_list_add(struct wf_progress_list *list, struct wf_progress *item)
{
	struct wf_progress_ref *ref;
	int err = 0;

	wf_lock(&list->lock);
	ref = progress_find(list, item);
	if (ref)
		ref->uses++;
	else
		err = progress_append(list, item);
	wf_unlock(&list->lock);
	/* A thread that sleeps on the wait has not armed the new item: wake it. */
	if (!err && list->wait)
		wf_wait_signal(list->wait);
	return err;
}

void wf_progress_list_del(struct wf_progress_list *list, struct wf_progress *item)
{
	struct wf_progress_ref *ref;

	wf_lock(&list->lock);
	ref = progress_find(list, item);
	if (ref && !--ref->uses) {
		progress_unwatch(list->wait, ref);
		progress_unlink_ref(ref);
		wf_progress_forget(ref);
		free(ref);
	}
	wf_unlock(&list->lock);
}

int wf_progress_list_set_wait(struct wf_progress_list *list, struct wf_wait *wait)
{
	unsigned int i;
	int err = 0;

	wf_lock(&list->lock);
	for (i = 0; i < list->count; i++)
		progress_unwatch(list->wait, list->refs[i]);
	list->wait = wait;
	for (i = 0; i < list->count && !err; i++)
		err = progress_watch(wait, list->refs[i]);
	if (err) {
		for (i = 0; i < list->count; i++)
			progress_unwatch(wait, list->refs[i]);
		list->wait = NULL;
	}
	wf_unlock(&list->lock);
	return err;
}

bool wf_progress_list_arm(struct wf_progress_list *list)
{
	bool idle = true;

	wf_lock(&list->lock);
	/* Parked items are armed already; the sleeper may be woken by one of them, so
	 * the next run asks the epoll set. */
	wf_progress_take_woken(list);
	list->poll_next = true;
	for (unsigned int i = 0; i < list->awake && idle; i++) {
		struct wf_progress *item = list->refs[i]->item;

		idle = !item->arm || item->arm(item);
	}
	wf_unlock(&list->lock);
	return idle;
}

void wf_progress_list_run_all(struct wf_progress_list *list)
{
	for (unsigned int i = 0; i < list->awake;) {
		struct wf_progress *item = list->refs[i]->item;

		item->run(item);
		if (wf_likely(!wf_progress_is_quiet(list, item)) ||
			!wf_progress_park(list, i))
			i++;
	}
}

bool wf_progress_moved(struct wf_progress *item)
{
	unsigned int quiet;

	if (item->moved && item->moved(item))
		return true;
	if (atomic_load_explicit(&item->some, memory_order_relaxed)) {
		atomic_store_explicit(&item->some, false, memory_order_relaxed);
		return true;
	}
	quiet = atomic_load_explicit(&item->quiet, memory_order_relaxed);
	return quiet && quiet < WF_PATIENCE_MISSES;
}

/* Never blocks: false while another thread holds the lock. */
bool wf_progress_list_moved(struct wf_progress_list *list)
{
	bool moved = false;

	if (!wf_trylock(&list->lock))
		return false;
	for (unsigned int i = 0; i < list->awake; i++)
		moved |= wf_progress_moved(list->refs[i]->item);
	wf_unlock(&list->lock);
	return moved;
}

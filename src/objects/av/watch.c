/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/internal.h"
#include "sys/pause.h"

/*
 * An endpoint that holds unexpected messages of unknown senders searches for the
 * senders again after each insertion; it also updates known senders after each removal.
 *
 * Its callbacks take the lock of a receive context. A thread that closes an endpoint
 * may hold that lock when it removes a watch. So callbacks run without the lock of the
 * watch list: the calling thread inserts a mark into the list, which keeps its
 * position, and counts itself in watch->holds during the callback.
 */

void wf_av_watch_add(struct wf_av *av, struct wf_av_watch *watch)
{
	atomic_init(&watch->holds, 0);
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_push(&av->watches, &watch->link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_watch_add_first(struct wf_av *av, struct wf_av_watch *watch)
{
	atomic_init(&watch->holds, 0);
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_insert_after(&av->watches, &watch->link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_watch_del(struct wf_av *av, struct wf_av_watch *watch)
{
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_remove(&watch->link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

bool wf_av_watch_is_called(struct wf_av_watch *watch)
{
	/* acquire: pairs with the release in tell. */
	return atomic_load_explicit(&watch->holds, memory_order_acquire);
}

void wf_av_watch_wait(struct wf_av_watch *watch)
{
	for (unsigned int round = 0; wf_av_watch_is_called(watch); round++)
		wf_pause(round);
}

/* The next watch after @mark, or NULL; moves @mark behind it. watch_lock is held. */
static struct wf_av_watch *watch_next(struct wf_av *av, struct wf_list *mark)
{
	struct wf_list *link;
	struct wf_av_watch *watch;

	while ((link = mark->next) != &av->watches) {
		wf_list_remove(mark);
		wf_list_insert_after(link, mark);
		watch = wf_list_entry(link, struct wf_av_watch, link);
		/* Skip the marks of other threads. */
		if (watch->inserted)
			return watch;
	}
	return NULL;
}

/* Call removed() of all watches, or inserted() if @index is NULL. */
static void watch_tell(struct wf_av *av, const uint64_t *index, size_t count)
{
	struct wf_av_watch mark = { .inserted = NULL }, *watch;

	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_insert_after(&av->watches, &mark.link);
	while ((watch = watch_next(av, &mark.link))) {
		atomic_fetch_add_explicit(&watch->holds, 1, memory_order_relaxed);
		(void)pthread_mutex_unlock(&av->watch_lock);
		if (index)
			watch->removed(watch, index, count);
		else
			watch->inserted(watch);
		(void)pthread_mutex_lock(&av->watch_lock);
		/* release: pairs with the acquire in wf_av_watch_is_called; the owner
		 * may free the watch after this. */
		atomic_fetch_sub_explicit(&watch->holds, 1, memory_order_release);
	}
	wf_list_remove(&mark.link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_tell_watches(struct wf_av *av)
{
	watch_tell(av, NULL, 0);
}

void wf_av_tell_removed(struct wf_av *av, const uint64_t *index, size_t count)
{
	if (count)
		watch_tell(av, index, count);
}

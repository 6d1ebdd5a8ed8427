/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/internal.h"

/*
 * Endpoints that hold messages of senders unknown so far look again after each
 * insertion, and those whose senders are known after each removal. The lock is taken
 * before those of the watchers, so they come and go without holding any.
 */

void wf_av_watch_add(struct wf_av *av, struct wf_av_watch *watch)
{
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_push(&av->watches, &watch->link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_watch_del(struct wf_av *av, struct wf_av_watch *watch)
{
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_remove(&watch->link);
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_tell_watches(struct wf_av *av)
{
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_foreach(link, &av->watches)
	{
		struct wf_av_watch *watch =
			wf_list_entry(link, struct wf_av_watch, link);

		watch->inserted(watch);
	}
	(void)pthread_mutex_unlock(&av->watch_lock);
}

void wf_av_tell_removed(struct wf_av *av, const uint64_t *index, size_t count)
{
	if (!count)
		return;
	(void)pthread_mutex_lock(&av->watch_lock);
	wf_list_foreach(link, &av->watches)
	{
		struct wf_av_watch *watch =
			wf_list_entry(link, struct wf_av_watch, link);

		watch->removed(watch, index, count);
	}
	(void)pthread_mutex_unlock(&av->watch_lock);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/removals.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the list, in indices. A list that would be longer is dropped: the endpoint
 * then checks every index for which it keeps state. */
enum { LIST_MAX = 1 << 16, FIRST_CAPACITY = 64 };

static bool removals_grow(struct wf_av_removals *removals, size_t count)
{
	size_t capacity = WF_MAX(removals->capacity, (size_t)FIRST_CAPACITY);
	uint64_t *index;

	while (capacity < count)
		capacity *= 2;
	if (capacity == removals->capacity)
		return true;
	if (capacity > LIST_MAX)
		return false;
	index = realloc(removals->index, capacity * sizeof(*index));
	if (!index)
		return false;
	removals->index = index;
	removals->capacity = capacity;
	return true;
}

static void removals_removed(
	struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	struct wf_av_removals *removals =
		wf_container_of(watch, struct wf_av_removals, watch);

	(void)pthread_mutex_lock(&removals->lock);
	if (!removals->all && removals_grow(removals, removals->count + count)) {
		memcpy(removals->index + removals->count, index,
			count * sizeof(*index));
		removals->count += count;
	} else {
		removals->all = true;
		removals->count = 0;
	}
	(void)pthread_mutex_unlock(&removals->lock);
	/* release: pairs with the acquire in wf_av_removals_seq. */
	atomic_fetch_add_explicit(&removals->seq, 1, memory_order_release);
}

static void removals_inserted(struct wf_av_watch *watch)
{
	(void)watch;
}

void wf_av_removals_start(struct wf_av_removals *removals, struct wf_av *av)
{
	if (removals->av)
		return;
	(void)pthread_mutex_init(&removals->lock, NULL);
	removals->av = av;
	removals->watch.inserted = removals_inserted;
	removals->watch.removed = removals_removed;
	/* First: later callbacks ask the endpoint what an index means, and it must know
	 * of the removal by then. */
	wf_av_watch_add_first(av, &removals->watch);
}

void wf_av_removals_stop(struct wf_av_removals *removals)
{
	if (!removals->av)
		return;
	wf_av_watch_del(removals->av, &removals->watch);
	wf_av_watch_wait(&removals->watch);
	(void)pthread_mutex_destroy(&removals->lock);
	free(removals->index);
	removals->index = NULL;
	removals->av = NULL;
}

size_t wf_av_removals_take(
	struct wf_av_removals *removals, uint64_t *index, size_t max, bool *ret_all)
{
	size_t n;

	(void)pthread_mutex_lock(&removals->lock);
	n = WF_MIN(max, removals->count);
	removals->count -= n;
	if (n)
		memcpy(index, removals->index + removals->count, n * sizeof(*index));
	*ret_all = removals->all;
	removals->all = false;
	if (!removals->count) {
		free(removals->index);
		removals->index = NULL;
		removals->capacity = 0;
	}
	(void)pthread_mutex_unlock(&removals->lock);
	return n;
}

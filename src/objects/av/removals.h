/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_REMOVALS_H
#define WF_OBJECTS_AV_REMOVALS_H

#include "objects/av/av.h"

/*
 * A list of the indices removed from an AV, for an endpoint that keeps state by index.
 * Any thread may call fi_av_remove at any time, so that call only lists the indices;
 * the endpoint takes the list during its own progress. Removals from a named AV by
 * other processes are not listed.
 *
 * @lock guards the list and is a leaf. @seq changes before fi_av_remove returns.
 */
struct wf_av_removals {
	struct wf_av_watch watch;
	struct wf_av *av;     /* NULL: not started */
	_Atomic uint32_t seq; /* grows when indices are listed; read without @lock */
	pthread_mutex_t lock;
	uint64_t *index;        /* the listed indices */
	size_t count, capacity; /* number of listed indices; number that @index has
				   memory for */
	bool all; /* too many removals to list: any index may have been removed */
};

/* Begin to list the removals from @av; no-op if started already. @removals was zeroed
 * before the first call. */
void wf_av_removals_start(struct wf_av_removals *removals, struct wf_av *av);
/* Stop and free the list; no-op if it was not started. The caller holds no lock. */
void wf_av_removals_stop(struct wf_av_removals *removals);

/* Move up to @max listed indices to @index and return their number. *@ret_all becomes
 * true if the list overflowed: any index may have been removed. */
size_t wf_av_removals_take(
	struct wf_av_removals *removals, uint64_t *index, size_t max, bool *ret_all);

static inline uint32_t wf_av_removals_seq(const struct wf_av_removals *removals)
{
	/* acquire: pairs with the release in removed(). */
	return atomic_load_explicit(&removals->seq, memory_order_acquire);
}

#endif

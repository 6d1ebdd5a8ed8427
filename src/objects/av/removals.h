/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_REMOVALS_H
#define WF_OBJECTS_AV_REMOVALS_H

#include "objects/av/av.h"

/*
 * Indices that left an AV, for an endpoint that keeps something by index. fi_av_remove
 * may be called by any thread at any time, so it only lists them; the endpoint takes
 * the list when it comes to it. Removals of other processes, from an AV with a name,
 * are not listed.
 *
 * @lock guards the list and is a leaf. @seq changes before fi_av_remove returns.
 */
struct wf_av_removals {
	struct wf_av_watch watch;
	struct wf_av *av; /* NULL: not started */
	_Atomic uint32_t seq;
	pthread_mutex_t lock;
	uint64_t *index;
	size_t count, room;
	bool all; /* there were too many to list: any index may have left */
};

/* Begin to list; again: nothing. @removals was zeroed. */
void wf_av_removals_start(struct wf_av_removals *removals, struct wf_av *av);
/* No lock is held. Also of one that was not started. */
void wf_av_removals_stop(struct wf_av_removals *removals);

/* Take some of the list: up to @max indices into @index, and how many. True in
 * *@ret_all: the list was too long, and any index may have left. */
size_t wf_av_removals_take(
	struct wf_av_removals *removals, uint64_t *index, size_t max, bool *ret_all);

static inline uint32_t wf_av_removals_seq(const struct wf_av_removals *removals)
{
	/* acquire: pairs with the release when some are listed. */
	return atomic_load_explicit(&removals->seq, memory_order_acquire);
}

#endif

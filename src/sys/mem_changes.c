/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/mem_changes.h"

void wf_mem_changes_add_locked(
	struct wf_mem_changes *changes, struct wf_mem_range range)
{
	changes->ring[changes->count++ % WF_MEM_CHANGES] = range;
}

void wf_mem_changes_add(struct wf_mem_changes *changes, struct wf_mem_range range)
{
	(void)pthread_mutex_lock(&changes->lock);
	wf_mem_changes_add_locked(changes, range);
	(void)pthread_mutex_unlock(&changes->lock);
}

uint64_t wf_mem_changes_now(struct wf_mem_changes *changes)
{
	uint64_t count;

	(void)pthread_mutex_lock(&changes->lock);
	count = changes->count;
	(void)pthread_mutex_unlock(&changes->lock);
	return count;
}

bool wf_mem_changes_next(
	struct wf_mem_changes *changes, uint64_t *pos, struct wf_mem_range *ret_range)
{
	bool found;

	(void)pthread_mutex_lock(&changes->lock);
	found = *pos != changes->count;
	if (found && changes->count - *pos > WF_MEM_CHANGES) {
		*ret_range = WF_MEM_ALL;
		*pos = changes->count;
	} else if (found) {
		*ret_range = changes->ring[(*pos)++ % WF_MEM_CHANGES];
	}
	(void)pthread_mutex_unlock(&changes->lock);
	return found;
}

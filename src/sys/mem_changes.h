/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEM_CHANGES_H
#define WF_SYS_MEM_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A log of memory ranges whose pages were unmapped, moved or given back to the kernel.
 * Any number of readers, each with its own position; a reader that falls behind learns
 * that all memory may have changed. No function allocates or frees memory while it
 * holds the lock, because a thread within munmap(2) may wait until a writer has added
 * its range.
 */
enum { WF_MEM_CHANGES = 256 };

struct wf_mem_range {
	uintptr_t start, end; /* addresses of the first byte, and behind the last */
};

struct wf_mem_changes {
	pthread_mutex_t lock;
	uint64_t count; /* number of ranges that were added so far */
	/* The latest ranges: range number n is at n modulo WF_MEM_CHANGES. */
	struct wf_mem_range ring[WF_MEM_CHANGES];
};

#define WF_MEM_CHANGES_INIT                                                            \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER                                      \
	}

/* The range that a reader gets if it fell behind: all memory. */
#define WF_MEM_ALL                                                                     \
	(struct wf_mem_range)                                                          \
	{                                                                              \
		.start = 0, .end = UINTPTR_MAX                                         \
	}

/* wf_mem_changes_add for a caller that holds the lock. */
void wf_mem_changes_add_locked(
	struct wf_mem_changes *changes, struct wf_mem_range range);
void wf_mem_changes_add(struct wf_mem_changes *changes, struct wf_mem_range range);

/* The position behind the latest range. Takes the lock. */
uint64_t wf_mem_changes_now(struct wf_mem_changes *changes);

/* Get the range at *@pos, and advance *@pos. False: there is no further range. Takes
 * the lock. */
bool wf_mem_changes_next(
	struct wf_mem_changes *changes, uint64_t *pos, struct wf_mem_range *ret_range);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEM_CHANGES_H
#define WF_SYS_MEM_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A log of memory whose pages went away: unmapped, moved or given back to the kernel.
 * Any number of readers, each with a position of its own; a reader that falls behind
 * learns that all memory may have changed. Nothing here allocates or frees memory while
 * it holds the lock, so that a writer may be in the middle of munmap(2), and a thread
 * that is may wait for a writer.
 */
enum { WF_MEM_CHANGES = 256 };

struct wf_mem_range {
	uintptr_t start, end; /* [start, end) */
};

struct wf_mem_changes {
	pthread_mutex_t lock;
	uint64_t count; /* ranges ever added */
	struct wf_mem_range ring[WF_MEM_CHANGES];
};

#define WF_MEM_CHANGES_INIT                                                            \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER                                      \
	}

/* What a reader learns that fell behind. */
#define WF_MEM_ALL                                                                     \
	(struct wf_mem_range)                                                          \
	{                                                                              \
		.start = 0, .end = UINTPTR_MAX                                         \
	}

/* The lock is held. */
void wf_mem_changes_add_locked(
	struct wf_mem_changes *changes, struct wf_mem_range range);
void wf_mem_changes_add(struct wf_mem_changes *changes, struct wf_mem_range range);

/* The position behind all that was added. */
uint64_t wf_mem_changes_now(struct wf_mem_changes *changes);

/* The range at *@pos, which moves on. False: there is none. */
bool wf_mem_changes_next(
	struct wf_mem_changes *changes, uint64_t *pos, struct wf_mem_range *ret_range);

#endif

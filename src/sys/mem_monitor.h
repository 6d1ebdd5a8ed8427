/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEM_MONITOR_H
#define WF_SYS_MEM_MONITOR_H

#include "sys/mem_changes.h"

/*
 * The memory monitor of the process, which caches of registrations ask about memory
 * that went away. The core has it (core/mr_cache.c): the application's own, if it
 * imported one, else userfaultfd(2). Providers, also those in libraries of their own,
 * get these calls by fi_open(3) of "mr_cache" and fi_open_ops with this name. Any
 * thread may call them.
 */
#define WF_MEM_MONITOR "weft memory monitor 1"

struct wf_mem_monitor_ops {
	size_t size;
	/* A cache begins to use the monitor. -FI_ENOSYS, logged: there is none, or the
	 * user wants no caches; then stop is not called. */
	int (*start)(void);
	void (*stop)(void);
	/* Regions, and bytes, that a cache may hold. */
	size_t (*max_count)(void);
	size_t (*max_size)(void);
	/* Watch this memory. *@ret_era names the monitor: another one may be imported
	 * later. 0 or a negative FI_E code: it cannot be watched. */
	int (*subscribe)(const void *addr, size_t len, uint64_t *ret_era);
	/* For what was subscribed, in its era. */
	void (*unsubscribe)(const void *addr, size_t len, uint64_t era);
	/* Does the memory still have the pages that it had? Asked besides the log. */
	bool (*valid)(const void *addr, size_t len, uint64_t era);
	/* The log, as wf_mem_changes_now and wf_mem_changes_next. */
	uint64_t (*now)(void);
	bool (*next)(uint64_t *pos, struct wf_mem_range *ret_range);
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEM_MONITOR_H
#define WF_SYS_MEM_MONITOR_H

#include "sys/mem_changes.h"

/*
 * The memory monitor of the process (fi_mem_monitor(3)), which tells caches of
 * registrations about memory that was unmapped. It is in the core (core/mr_cache.c):
 * the application's own, if it imported one, else userfaultfd(2). Providers, also
 * loadable ones, get this table by fi_open(3) of "mr_cache" and fi_open_ops with the
 * name WF_MEM_MONITOR. Any thread may call the functions.
 */
#define WF_MEM_MONITOR "weft memory monitor 1"

struct wf_mem_monitor_ops {
	size_t size;
	/* A cache begins to use the monitor. -FI_ENOSYS, logged: there is none, or the
	 * user wants no caches; then stop is not called. */
	int (*start)(void);
	void (*stop)(void); /* The cache does not use the monitor any more. */
	/* The most regions, and the most bytes in them, that a cache may hold. */
	size_t (*max_count)(void);
	size_t (*max_size)(void);
	/* Watch the @len bytes at @addr. *@ret_era identifies the monitor, because
	 * another one may be imported later. 0, or a negative FI_E code: the memory
	 * cannot be watched. */
	int (*subscribe)(const void *addr, size_t len, uint64_t *ret_era);
	/* Undo a successful subscribe, which returned @era. */
	void (*unsubscribe)(const void *addr, size_t len, uint64_t era);
	/* Does the memory still have the pages that it had when it was subscribed? A
	 * cache asks this and reads the log. */
	bool (*valid)(const void *addr, size_t len, uint64_t era);
	/* The log, as wf_mem_changes_now and wf_mem_changes_next. */
	uint64_t (*now)(void);
	bool (*next)(uint64_t *pos, struct wf_mem_range *ret_range);
};

#endif

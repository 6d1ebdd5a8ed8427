/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_MR_CACHE_H
#define WF_VERBS_MR_CACHE_H

#include "providers/verbs/verbs.h"
#include "sys/mem_monitor.h"

/*
 * Registrations of the device that are kept after the regions that used them were
 * closed, for the next region in the same memory. Only registrations without remote
 * access are kept, because the key of a closed region must not work any more. A
 * registration whose memory was unmapped (sys/mem_monitor.h) is not used for new
 * regions, and ends with the regions that use it.
 */
struct verbs_mr_cache;

/* A registration. Guarded by the cache's lock, except the constant fields. */
struct verbs_mr_kept {
	struct ibv_mr *mr; /* constant, as are the following five fields */
	const char *addr;
	size_t len;
	int access;
	bool watched; /* The monitor watches the memory, since @era. */
	uint64_t era;
	unsigned int users; /* number of regions that use the registration */
	bool listed;        /* New regions may use the registration. */
	struct wf_list link;
};

/* Make a cache for the registrations of @pd; NULL: no cache, because there is no memory
 * or no monitor, or the user wants none. Any thread may call the other functions at the
 * same time. */
struct verbs_mr_cache *verbs_mr_cache_new(struct ibv_pd *pd);
/* Free the cache; all regions are closed. NULL: no-op. */
void verbs_mr_cache_free(struct verbs_mr_cache *cache);

/* May registrations with these access bits of the device be kept? */
bool verbs_mr_cache_takes(int access);

/* Get a registration of this memory, and add a user. 0 or a negative fi_errno. */
int verbs_mr_cache_get(struct verbs_mr_cache *cache, const struct iovec *iov,
	int access, struct verbs_mr_kept **ret_kept);
/* Remove a user. */
void verbs_mr_cache_put(struct verbs_mr_cache *cache, struct verbs_mr_kept *kept);

/* ibv_reg_mr. If the system refuses more registrations, those in the cache that no
 * region uses are ended first. 0 or a negative fi_errno, which is logged. @cache may be
 * NULL. */
int verbs_mr_cache_register(struct verbs_mr_cache *cache, struct ibv_pd *pd,
	const struct iovec *iov, int access, struct ibv_mr **ret_mr);

#endif

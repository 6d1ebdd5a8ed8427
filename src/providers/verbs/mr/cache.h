/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_MR_CACHE_H
#define VERBS_MR_CACHE_H

#include "providers/verbs/verbs.h"
#include "sys/mem_monitor.h"

/*
 * Registrations of the device, kept after the regions that used them were closed, for
 * the next region in the same memory. Only those that grant peers nothing: the key of a
 * closed region must not work any more. A registration whose memory went away
 * (sys/mem_monitor.h) serves no new region, and ends with the regions that use it.
 */
struct verbs_mr_cache;

/* A registration. Guarded by the cache's lock but for the constants. */
struct verbs_mr_kept {
	struct ibv_mr *mr; /* constant, as are the following five */
	const char *addr;
	size_t len;
	int access;
	bool watched; /* by the monitor, since @era */
	uint64_t era;
	unsigned int users; /* regions */
	bool listed;        /* it may serve new regions */
	struct wf_list link;
};

/* A cache for the registrations of @pd; NULL: none, because there is no memory, no
 * monitor, or the user wants no cache. Any thread may make the other calls at the same
 * time. */
struct verbs_mr_cache *verbs_mr_cache_new(struct ibv_pd *pd);
/* All regions are closed. NULL: no-op. */
void verbs_mr_cache_free(struct verbs_mr_cache *cache);

/* May registrations with these access bits of the device be kept? */
bool verbs_mr_cache_takes(int access);

/* A registration of this memory, with one more user. 0 or a negative FI_E code. */
int verbs_mr_cache_get(struct verbs_mr_cache *cache, const struct iovec *iov,
	int access, struct verbs_mr_kept **ret_kept);
/* One user less. */
void verbs_mr_cache_put(struct verbs_mr_cache *cache, struct verbs_mr_kept *kept);

/* ibv_reg_mr; where the system has no room for more, what is idle in the cache makes
 * room. 0 or a negative FI_E code, logged. @cache may be NULL. */
int verbs_mr_cache_register(struct verbs_mr_cache *cache, struct ibv_pd *pd,
	const struct iovec *iov, int access, struct ibv_mr **ret_mr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_MR_MR_H
#define WF_VERBS_MR_MR_H

#include "objects/region/own.h"
#include "providers/verbs/verbs.h"

/* A registered region: fi_mr(3). */
struct verbs_mr {
	struct wf_mr_own own;
	struct ibv_mr *mr;
	/* Registration of the cache that has @mr; NULL: @mr is the region's own. */
	struct verbs_mr_kept *kept;
	uint64_t flags;
	struct iovec iov;      /* memory of the region */
	struct verbs_mr *base; /* the region that a sub-region is in, or NULL */
	atomic_int refs;       /* number of sub-regions */
};

/*
 * Memory descriptors are local keys with one bit set above them: so no descriptor is
 * NULL, and the device refuses a wrong one instead of a pointer being followed.
 */
#define VERBS_DESC_BIT (UINT64_C(1) << 32)

static inline void *verbs_desc(uint32_t lkey)
{
	return (void *)(uintptr_t)(VERBS_DESC_BIT | lkey);
}

static inline uint32_t verbs_lkey(const void *desc)
{
	return (uint32_t)(uintptr_t)desc;
}

/* wf_prov.mr_register */
int verbs_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr);

#endif

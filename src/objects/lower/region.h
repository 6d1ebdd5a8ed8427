/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_REGION_H
#define WF_OBJECTS_LOWER_REGION_H

#include "objects/lower/cntr.h"

/* A registration of memory with a provider below. Control calls; the caller serialises
 * those for one registration. */
struct wf_lower_region {
	struct fid_mr *fid;        /* NULL: not registered */
	struct wf_lower_cntr cntr; /* imported counter that is bound to it, if any */
};

/* Register the memory of @attr with @below under attr->requested_key. @base: the region
 * below that contains it as a sub-region, or NULL. 0 or fi_mr_regattr's negative FI_E
 * code, which is not logged, because -FI_ENOKEY may be one of many attempts. */
int wf_lower_region_open(struct wf_lower_region *ret,
	const struct wf_lower_domain *below, const struct wf_lower_region *base,
	const struct fi_mr_attr *attr, uint64_t flags);

/* Count by @cntr the accesses that @flags of fi_mr_bind(3) name. 0 or a negative FI_E
 * code with a log line; -FI_EBUSY: it has a counter. */
int wf_lower_region_bind_cntr(struct wf_lower_region *region,
	const struct wf_lower_domain *below, struct wf_cntr *cntr, uint64_t flags);

/* Close the registration and its counter. Nothing to do for one that is closed. */
void wf_lower_region_close(
	struct wf_lower_region *region, const struct wf_lower_domain *below);

#endif

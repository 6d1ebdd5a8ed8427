/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_REGION_REG_H
#define WF_OBJECTS_REGION_REG_H

#include "objects/domain/domain.h"

struct wf_cntr;

/* Register memory for a provider without mr_register (see region.c). @attr was read and
 * checked (attr.h). 0 or a negative fabric errno. */
int wf_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr);
/* The same under attr->requested_key, also where a provider chooses the keys
 * (FI_MR_PROV_KEY): a layered provider registered the memory below, and has that
 * key. */
int wf_mr_register_as(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr);

/* Check before a region is closed that it has no sub-regions (@parts: their number). 0,
 * or -FI_EBUSY, which is logged. */
int wf_mr_check_subregions(const struct wf_domain *domain, const atomic_int *parts);

/* Check that @cntr may be bound, with @flags, to a region that was registered with
 * @mr_flags. @bound: the counter already bound to it, or NULL. 0, or a negative error,
 * which is logged. */
int wf_mr_check_bind(const struct wf_domain *domain, uint64_t mr_flags,
	const struct wf_cntr *bound, const struct wf_cntr *cntr, uint64_t flags);

/* fi_control FI_GET_RAW_MR of a region with @key, whose remote address starts at
 * @base. */
int wf_mr_give_raw(const struct wf_domain *domain, uint64_t key, uint64_t base,
	const struct fi_mr_raw_attr *raw);

/* fi_control FI_MAP_RAW_MR of a domain: a raw key is the key itself. */
int wf_mr_map_raw(struct wf_domain *domain, const struct fi_mr_map_raw *map);

/* The operations of fid_domain.mr. */
extern struct fi_ops_mr wf_mr_ops;

#endif

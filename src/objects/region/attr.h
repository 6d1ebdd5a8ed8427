/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_REGION_ATTR_H
#define WF_OBJECTS_REGION_ATTR_H

#include "objects/domain/domain.h"

/*
 * Copy the fields that the application's structure has, which depends on the API
 * version and the capabilities of the domain: the structure grew without a new symbol
 * version, so fields beyond its end must not be read. They are zero in @ret_attr.
 */
void wf_mr_attr_read(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	struct fi_mr_attr *ret_attr);

/* Check a registration. @attr was read by wf_mr_attr_read. 0, or the negative errno of
 * fi_mr(3) with the reason logged. */
int wf_mr_attr_check(
	const struct wf_domain *domain, const struct fi_mr_attr *attr, uint64_t flags);

/* True if remote addresses are virtual addresses (FI_MR_VIRT_ADDR), not offsets. */
bool wf_mr_by_address(const struct wf_domain *domain);
/* True if the provider chooses the keys (FI_MR_PROV_KEY), not the application. */
bool wf_mr_chooses_key(const struct wf_domain *domain);

/* Bytes of a key, 1 to 8, and the largest key. */
size_t wf_mr_key_size(const struct wf_domain *domain);
uint64_t wf_mr_max_key(const struct wf_domain *domain);

#endif

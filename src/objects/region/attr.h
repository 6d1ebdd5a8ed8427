/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_REGION_ATTR_H
#define WF_OBJECTS_REGION_ATTR_H

#include "objects/domain/domain.h"

/*
 * Read what the caller's structure has, which depends on the API version and the
 * capabilities of the domain: it grew without a symbol version, so nothing behind its
 * end is touched. What the caller cannot have set is zero in @ret_attr.
 */
void wf_mr_attr_read(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	struct fi_mr_attr *ret_attr);

/* May this be registered? @attr was read by wf_mr_attr_read. 0, or the negative errno
 * of fi_mr(3) with the reason logged. */
int wf_mr_attr_check(
	const struct wf_domain *domain, const struct fi_mr_attr *attr, uint64_t flags);

bool wf_mr_by_address(const struct wf_domain *domain);
bool wf_mr_chooses_key(const struct wf_domain *domain);

/* Bytes of a key, 1 to 8. */
size_t wf_mr_key_size(const struct wf_domain *domain);
uint64_t wf_mr_max_key(const struct wf_domain *domain);

#endif

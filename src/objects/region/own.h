/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_REGION_OWN_H
#define WF_OBJECTS_REGION_OWN_H

#include "objects/domain/domain.h"

/* For a provider with mr_register: the first member of its own struct for a region. */
struct wf_mr_own {
	struct fid_mr fid;
	struct wf_domain *domain;
};

/* Fill @mr for the region of @attr, whose calls are @ops, with its key and
 * descriptor. */
void wf_mr_own_init(struct wf_mr_own *mr, struct wf_domain *domain,
	const struct fi_mr_attr *attr, struct fi_ops *ops, uint64_t key, void *desc);

/* The region that @attr names as base_mr, which must be of @domain and have the calls
 * @ops; *ret_base is NULL if it names none. 0, or -FI_EINVAL, which is logged. */
int wf_mr_own_base(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	const struct fi_ops *ops, struct wf_mr_own **ret_base);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OPEN_OPEN_H
#define WF_OBJECTS_OPEN_OPEN_H

#include "objects/domain/domain.h"

/*
 * Fabrics and domains with all their calls. The tables name what opens every other
 * object, so this is the top of the objects; below, objects know only what they use.
 */

/* The fi_provider.fabric callback of a provider, given its description; fi_fabric(3).
 */
int wf_fabric_open(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context);

/* fi_ops_fabric.domain and .domain2; fi_domain(3). */
int wf_domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context);
int wf_domain_open2(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, void *context);

/* What an open domain carries. */
extern struct fi_ops wf_domain_fid_ops;
extern struct fi_ops_domain wf_domain_ops;

/* Is @fid a domain of this copy of the library, so that what is opened on it may be
 * linked with objects of ours? */
bool wf_domain_is_own(const struct fid_domain *fid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OPEN_OPEN_H
#define WF_OBJECTS_OPEN_OPEN_H

#include "objects/domain/domain.h"

/*
 * Fabrics and domains with their tables of operations. The tables refer to the
 * functions that open all other objects, so this is the highest layer of objects.
 */

/* The fi_provider.fabric callback of a provider, given its description;
 * fi_fabric(3). */
int wf_fabric_open(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context);

/* fi_ops_fabric.domain and .domain2; fi_domain(3). */
int wf_domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context);
int wf_domain_open2(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, void *context);

/* The operations of an open domain. */
extern struct fi_ops wf_domain_fid_ops;
extern struct fi_ops_domain wf_domain_ops;

/* Was @fid opened by this copy of the library? Then queues and counters opened on it
 * may be linked (wf_cq_link, wf_cntr_link). */
bool wf_domain_is_own(const struct fid_domain *fid);
bool wf_fabric_is_own(const struct fid_fabric *fid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/region/own.h"

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

void wf_mr_own_init(struct wf_mr_own *mr, struct wf_domain *domain,
	const struct fi_mr_attr *attr, struct fi_ops *ops, uint64_t key, void *desc)
{
	mr->domain = domain;
	mr->fid = (struct fid_mr){
		.fid = { FI_CLASS_MR, attr->context, ops },
		.mem_desc = desc,
		.key = key,
	};
}

int wf_mr_own_base(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	const struct fi_ops *ops, struct wf_mr_own **ret_base)
{
	const struct fid_mr *fid = attr->base_mr;
	struct wf_mr_own *base = NULL;

	if (fid) {
		base = wf_container_of(fid, struct wf_mr_own, fid);
		if (fid->fid.fclass != FI_CLASS_MR || fid->fid.ops != ops ||
			base->domain != domain) {
			FI_WARN(domain->prov->fi, FI_LOG_MR,
				"registration refused: base_mr is none of this "
				"domain\n");
			return -FI_EINVAL;
		}
	}
	*ret_base = base;
	return 0;
}

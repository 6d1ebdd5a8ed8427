/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>

#include "objects/eq/eq.h"
#include "objects/open/open.h"
#include "objects/poll/poll.h"

static int fabric_passive_ep(struct fid_fabric *fid, struct fi_info *info,
	struct fid_pep **pep, void *context)
{
	const struct wf_prov *prov = wf_fabric_of(fid)->prov;

	if (!info || !pep)
		return -FI_EINVAL;
	if (!prov->passive_ep) {
		FI_INFO(prov->fi, FI_LOG_FABRIC,
			"passive endpoint refused: %s has no connections\n",
			prov->fi->name);
		return -FI_ENOSYS;
	}
	return prov->passive_ep(fid, info, pep, context);
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = wf_domain_open,
	.passive_ep = fabric_passive_ep,
	.eq_open = wf_eq_open,
	.wait_open = wf_wait_set_open,
	.trywait = wf_trywait,
	.domain2 = wf_domain_open2,
};

int wf_fabric_open(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context)
{
	return wf_fabric_new(prov, attr, &fabric_ops, ret_fabric, context);
}

bool wf_fabric_is_own(const struct fid_fabric *fid)
{
	/* A hook may have replaced the table, not this call. */
	return fid->ops && fid->ops->eq_open == wf_eq_open;
}

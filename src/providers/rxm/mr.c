/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/lower/region.h"
#include "objects/region/reg.h"
#include "providers/rxm/rxm.h"

/*
 * A region is a region below, for the RMA operations that peers start there, and one of
 * this domain, for the atomic ones that come in packets. Both have one key. The
 * descriptor is that of the provider below.
 */
struct rxm_mr {
	struct fid_mr fid;
	struct wf_domain *domain;
	struct wf_lower_region below;
	struct fid_mr *own; /* the region of this domain */
};

static struct rxm_mr *mr_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct rxm_mr, fid.fid);
}

static int mr_close(struct fid *fid)
{
	struct rxm_mr *mr = mr_of_fid(fid);
	int ret = fi_close(&mr->own->fid);

	if (ret)
		return ret;
	wf_lower_region_close(&mr->below, &rxm_domain_of(mr->domain)->below);
	free(mr);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct rxm_mr *mr = mr_of_fid(fid);
	int ret = fi_mr_bind(mr->own, bfid, flags);

	if (ret || bfid->fclass != FI_CLASS_CNTR)
		return ret;
	/* Writes are counted below, atomics here. */
	return wf_lower_region_bind_cntr(&mr->below, &rxm_domain_of(mr->domain)->below,
		wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct rxm_mr *mr = mr_of_fid(fid);
	int ret = fi_control(&mr->own->fid, command, arg);

	if (ret || command == FI_GET_RAW_MR)
		return ret;
	return fi_control(&mr->below.fid->fid, command, arg);
}

static struct fi_ops mr_fid_ops = WF_FID_OPS(mr_close, mr_bind, mr_control);

static int find_base(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	struct rxm_mr **ret_base)
{
	const struct fid_mr *fid = attr->base_mr;
	struct rxm_mr *base;

	*ret_base = NULL;
	if (!fid)
		return 0;
	base = wf_container_of(fid, struct rxm_mr, fid);
	if (fid->fid.fclass != FI_CLASS_MR || fid->fid.ops != &mr_fid_ops ||
		base->domain != domain) {
		rxm_log(FI_LOG_WARN, FI_LOG_MR,
			"registration refused: base_mr is none of this domain\n");
		return -FI_EINVAL;
	}
	*ret_base = base;
	return 0;
}

static int register_both(struct rxm_mr *mr, struct rxm_mr *base,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	struct rxm_domain *domain = rxm_domain_of(mr->domain);
	struct fi_mr_attr own = *attr;
	int ret;

	ret = wf_lower_region_open(
		&mr->below, &domain->below, base ? &base->below : NULL, attr, flags);
	if (ret)
		return ret;
	own.base_mr = base ? base->own : NULL;
	own.requested_key = fi_mr_key(mr->below.fid);
	ret = wf_mr_register_as(mr->domain, &own, flags, &mr->own);
	if (ret)
		wf_lower_region_close(&mr->below, &domain->below);
	return ret;
}

int rxm_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	struct rxm_mr *mr, *base;
	int ret = find_base(domain, attr, &base);

	if (ret)
		return ret;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	ret = register_both(mr, base, attr, flags);
	if (ret) {
		free(mr);
		return ret;
	}
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = fi_mr_desc(mr->below.fid);
	mr->fid.key = fi_mr_key(mr->below.fid);
	*ret_mr = &mr->fid;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/region.h"

int wf_lower_region_open(struct wf_lower_region *region,
	const struct wf_lower_domain *below, const struct wf_lower_region *base,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	struct fi_mr_attr copy = *attr;
	int ret;

	copy.context = NULL;
	copy.base_mr = base ? base->fid : NULL;
	ret = fi_mr_regattr(below->domain, &copy, flags, &region->fid);
	if (ret)
		region->fid = NULL;
	return ret;
}

int wf_lower_region_bind_cntr(struct wf_lower_region *region,
	const struct wf_lower_domain *below, struct wf_cntr *cntr, uint64_t flags)
{
	int ret;

	/* A binding to memory cannot be taken back, so neither can the import. */
	if (region->cntr.fid)
		return wf_lower_result(below, FI_LOG_MR, "fi_mr_bind", -FI_EBUSY);
	ret = wf_lower_cntr_import(&region->cntr, below, cntr, NULL);
	if (ret)
		return ret;
	ret = fi_mr_bind(region->fid, &region->cntr.fid->fid, flags);
	if (ret)
		wf_lower_cntr_close(&region->cntr, below);
	return wf_lower_result(below, FI_LOG_MR, "fi_mr_bind", ret);
}

void wf_lower_region_close(
	struct wf_lower_region *region, const struct wf_lower_domain *below)
{
	if (region->fid)
		wf_lower_close(below, &region->fid->fid);
	region->fid = NULL;
	wf_lower_cntr_close(&region->cntr, below);
}

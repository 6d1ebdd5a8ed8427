/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/domain.h"

#include <string.h>

enum { BASIC = 1 << 0, SCALABLE = 1 << 1 };

int wf_lower_result(const struct wf_lower_domain *below, enum fi_log_subsys subsys,
	const char *call, int ret)
{
	if (ret)
		FI_WARN(below->above, subsys, "%s: %s: %s\n", below->name, call,
			fi_strerror(-ret));
	return ret;
}

void wf_lower_close(const struct wf_lower_domain *below, struct fid *fid)
{
	if (fid)
		(void)wf_lower_result(below, FI_LOG_EP_CTRL, "fi_close", fi_close(fid));
}

int wf_lower_mr_mode(int mr_mode)
{
	if (mr_mode & BASIC)
		return FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return mr_mode & ~SCALABLE;
}

struct fi_info *wf_lower_domain_info(
	const struct fi_info *below, const struct wf_domain *domain)
{
	struct fi_info *copy = fi_dupinfo(below);
	struct fi_domain_attr *attr;

	if (!copy)
		return NULL;
	attr = copy->domain_attr;
	attr->threading = domain->progress == FI_PROGRESS_AUTO ? FI_THREAD_SAFE
							       : domain->threading;
	attr->progress = attr->control_progress = FI_PROGRESS_MANUAL;
	attr->mr_mode = wf_lower_mr_mode(domain->info->domain_attr->mr_mode);
	attr->av_type = FI_AV_TABLE;
	attr->domain = NULL;
	copy->fabric_attr->fabric = NULL;
	return copy;
}

int wf_lower_domain_open(struct wf_lower_domain *ret_below,
	const struct fi_provider *above, const char *name, struct fi_info *info)
{
	struct wf_lower_domain below = { above, name, info, NULL, NULL };
	int ret;

	memset(ret_below, 0, sizeof(*ret_below));
	ret = wf_lower_result(&below, FI_LOG_FABRIC, "fi_fabric",
		fi_fabric(info->fabric_attr, &below.fabric, NULL));
	if (ret)
		goto err_info;
	ret = wf_lower_result(&below, FI_LOG_DOMAIN, "fi_domain",
		fi_domain(below.fabric, info, &below.domain, NULL));
	if (ret)
		goto err_fabric;
	*ret_below = below;
	return 0;

err_fabric:
	wf_lower_close(&below, &below.fabric->fid);
err_info:
	fi_freeinfo(info);
	return ret;
}

void wf_lower_domain_close(struct wf_lower_domain *below)
{
	if (!below->info)
		return;
	wf_lower_close(below, &below->domain->fid);
	wf_lower_close(below, &below->fabric->fid);
	fi_freeinfo(below->info);
	memset(below, 0, sizeof(*below));
}

int wf_lower_query_atomic(const struct wf_lower_domain *below, unsigned int count,
	enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *ret_attr,
	uint64_t flags)
{
	struct fi_atomic_attr least, one;
	int ret = -FI_ENOSYS;

	for (unsigned int i = 0; i < count; i++) {
		ret = fi_query_atomic(below[i].domain, datatype, op, &one, flags);
		if (ret)
			return ret;
		if (!i || one.count < least.count)
			least = one;
	}
	if (!ret)
		*ret_attr = least;
	return ret;
}

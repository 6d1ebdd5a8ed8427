/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>

#include "objects/cntr/cntr.h"
#include "objects/region/attr.h"
#include "objects/region/reg.h"

/* The registration calls: each reads and checks its attributes, then registers. */

static int reg_register_region(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	int (*reg)(struct wf_domain *, const struct fi_mr_attr *, uint64_t,
		struct fid_mr **) = domain->prov->mr_register;
	int err = wf_mr_attr_check(domain, attr, flags);

	if (err)
		return err;
	return reg ? reg(domain, attr, flags, ret_mr)
		   : wf_mr_register(domain, attr, flags, ret_mr);
}

static bool reg_is_domain(const struct fid *fid)
{
	return fid && fid->fclass == FI_CLASS_DOMAIN;
}

static int reg_mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	struct wf_domain *domain;
	struct fi_mr_attr known;

	if (!reg_is_domain(fid) || !attr || !ret_mr)
		return -FI_EINVAL;
	domain = wf_container_of(fid, struct wf_domain, fid.fid);
	wf_mr_attr_read(domain, attr, &known);
	return reg_register_region(domain, &known, flags, ret_mr);
}

static int reg_mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
	struct fid_mr **ret_mr, void *context)
{
	const struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = key,
		.context = context,
	};

	if (!reg_is_domain(fid) || !ret_mr)
		return -FI_EINVAL;
	return reg_register_region(
		wf_container_of(fid, struct wf_domain, fid.fid), &attr, flags, ret_mr);
}

static int region_reg_mr(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
	void *context)
{
	const struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return reg_mr_regv(fid, &iov, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr wf_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = region_reg_mr,
	.regv = reg_mr_regv,
	.regattr = reg_mr_regattr,
};

int wf_mr_check_subregions(const struct wf_domain *domain, const atomic_int *parts)
{
	/* acquire: pairs with the release of the last sub-region's closing. */
	int count = atomic_load_explicit(parts, memory_order_acquire);

	if (!count)
		return 0;
	FI_INFO(domain->prov->fi, FI_LOG_MR,
		"region not closed: %d regions are parts of it\n", count);
	return -FI_EBUSY;
}

/* True if the domain's mr_mode requires FI_RMA_EVENT at the registration and the region
 * lacks it; otherwise a counter can be bound to any region. */
static bool reg_lacks_rma_event(const struct wf_domain *domain, uint64_t mr_flags)
{
	return domain->info->domain_attr->mr_mode & FI_MR_RMA_EVENT &&
	       !(mr_flags & FI_RMA_EVENT);
}

int wf_mr_check_bind(const struct wf_domain *domain, uint64_t mr_flags,
	const struct wf_cntr *bound, const struct wf_cntr *cntr, uint64_t flags)
{
	if (!(domain->info->caps & FI_RMA_EVENT)) {
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"bind refused: the domain lacks FI_RMA_EVENT\n");
		return -FI_ENOSYS;
	}
	if (flags != FI_REMOTE_WRITE) {
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"bind refused: flags 0x%llx asked for, FI_REMOTE_WRITE "
			"possible\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (bound || cntr->domain != domain || reg_lacks_rma_event(domain, mr_flags)) {
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"bind refused: one counter of the same domain, to a region "
			"registered with FI_RMA_EVENT\n");
		return -FI_EINVAL;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/lower/region.h"
#include "objects/region/attr.h"
#include "objects/region/own.h"
#include "objects/region/reg.h"
#include "providers/rxm/rxm.h"

/*
 * A region consists of a region below, for the RMA operations of peers, and one of this
 * domain, for atomic operations that arrive in packets. Both have the same key. The
 * descriptor is that of the provider below.
 */
struct rxm_mr {
	struct wf_mr_own base;
	struct wf_lower_region below;
	struct fid_mr *own; /* the region for packets */
};

static struct rxm_mr *rxm_mr_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct rxm_mr, base.fid.fid);
}

static int rxm_mr_close(struct fid *fid)
{
	struct rxm_mr *mr = rxm_mr_of_fid(fid);
	int ret = fi_close(&mr->own->fid);

	if (ret)
		return ret;
	wf_lower_region_close(&mr->below, &rxm_domain_of(mr->base.domain)->below);
	free(mr);
	return 0;
}

static int rxm_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct rxm_mr *mr = rxm_mr_of_fid(fid);
	int ret = fi_mr_bind(mr->own, bfid, flags);

	if (ret || bfid->fclass != FI_CLASS_CNTR)
		return ret;
	/* Writes are counted below, atomics in this domain. */
	return wf_lower_region_bind_cntr(&mr->below,
		&rxm_domain_of(mr->base.domain)->below,
		wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
}

static int rxm_mr_control(struct fid *fid, int command, void *arg)
{
	struct rxm_mr *mr = rxm_mr_of_fid(fid);
	int ret = fi_control(&mr->own->fid, command, arg);

	if (ret || command == FI_GET_RAW_MR)
		return ret;
	return fi_control(&mr->below.fid->fid, command, arg);
}

static struct fi_ops mr_fid_ops = WF_FID_OPS(rxm_mr_close, rxm_mr_bind, rxm_mr_control);

static int mr_register_both(struct rxm_mr *mr, struct rxm_mr *base,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	struct rxm_domain *domain = rxm_domain_of(mr->base.domain);
	struct fi_mr_attr own = *attr;
	int ret;

	ret = wf_lower_region_open(
		&mr->below, &domain->below, base ? &base->below : NULL, attr, flags);
	if (ret)
		return ret;
	own.base_mr = base ? base->own : NULL;
	/* The application gets the key that the provider below chose. An application
	 * that is no target chooses the keys itself; no peer uses them. */
	if (!domain->prov_key || wf_mr_chooses_key(mr->base.domain))
		own.requested_key = fi_mr_key(mr->below.fid);
	ret = wf_mr_register_as(mr->base.domain, &own, flags, &mr->own);
	if (ret)
		wf_lower_region_close(&mr->below, &domain->below);
	return ret;
}

int rxm_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	struct wf_mr_own *base;
	struct rxm_mr *mr;
	int ret = wf_mr_own_base(domain, attr, &mr_fid_ops, &base);

	if (ret)
		return ret;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->base.domain = domain;
	ret = mr_register_both(mr,
		base ? wf_container_of(base, struct rxm_mr, base) : NULL, attr, flags);
	if (ret) {
		free(mr);
		return ret;
	}
	wf_mr_own_init(&mr->base, domain, attr, &mr_fid_ops, fi_mr_key(mr->own),
		fi_mr_desc(mr->below.fid));
	*ret_mr = &mr->base.fid;
	return 0;
}

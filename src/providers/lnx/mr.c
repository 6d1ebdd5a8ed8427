/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/endpoint.h"
#include "objects/lower/region.h"
#include "objects/region/attr.h"
#include "objects/region/own.h"
#include "objects/region/reg.h"
#include "providers/lnx/endpoint.h"
#include "sys/iov.h"

/*
 * A region is registered with every member, under the same key, so that a peer needs to
 * know only one key over any link. Where the application leaves the key to the
 * provider, lnx tries numbers until one is free at every member.
 *
 * fi_mr_desc(3) gives NULL: descriptors differ between members, and no member that can
 * be linked needs one.
 */

struct lnx_mr {
	struct wf_mr_own own;
	struct lnx_domain *domain;
	struct lnx_mr *base; /* The region that this one is a sub-region of, or NULL. */
	atomic_int refs;     /* Number of sub-regions. */
	uint64_t flags;      /* Flags of the registration. */
	struct wf_cntr *cntr; /* the counter that is bound, or NULL */
	struct wf_lower_region member[LNX_MAX_LINKS]; /* the region at each member */
	size_t iov_count;
	struct iovec iov[]; /* the memory, @iov_count pieces */
};

enum { KEY_TRIES = 1 << 16 };

static struct lnx_mr *lnx_mr_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct lnx_mr, own.fid.fid);
}

static void mr_close_members(struct lnx_mr *mr)
{
	for (unsigned int i = 0; i < mr->domain->count; i++)
		wf_lower_region_close(&mr->member[i], &mr->domain->member[i]);
}

static int lnx_mr_close(struct fid *fid)
{
	struct lnx_mr *mr = lnx_mr_of_fid(fid);
	struct wf_domain *domain = mr->domain->wf;
	int err = wf_mr_check_subregions(domain, &mr->refs);

	if (err)
		return err;
	if (mr->cntr)
		wf_counted_unbind(domain, mr->cntr);
	mr_close_members(mr);
	if (mr->base)
		atomic_fetch_sub_explicit(&mr->base->refs, 1, memory_order_release);
	free(mr);
	wf_domain_unref(domain);
	return 0;
}

static int mr_bind_cntr(struct lnx_mr *mr, struct wf_cntr *cntr, uint64_t flags)
{
	int ret = wf_mr_check_bind(mr->domain->wf, mr->flags, mr->cntr, cntr, flags);

	if (!ret)
		ret = wf_counted_bind(mr->domain->wf, cntr);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < mr->domain->count && !ret; i++)
		ret = wf_lower_region_bind_cntr(
			&mr->member[i], &mr->domain->member[i], cntr, flags);
	if (!ret)
		mr->cntr = cntr;
	else
		wf_counted_unbind(mr->domain->wf, cntr);
	return ret;
}

static int mr_bind_ep(struct lnx_mr *mr, struct fid *fid, uint64_t flags)
{
	struct wf_ep *wf = wf_ep_resolve(fid);
	int ret = 0;

	if (wf->domain != mr->domain->wf) {
		lnx_log(FI_LOG_WARN, FI_LOG_MR,
			"bind refused: the endpoint is of another domain\n");
		return -FI_EDOMAIN;
	}
	for (unsigned int i = 0; i < mr->domain->count && !ret; i++)
		ret = fi_mr_bind(mr->member[i].fid,
			&lnx_ep_of(wf)->rail[i].below.fid->fid, flags);
	return ret;
}

static int lnx_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct lnx_mr *mr = lnx_mr_of_fid(fid);

	if (!bfid)
		return -FI_EINVAL;
	switch (bfid->fclass) {
	case FI_CLASS_CNTR:
		return mr_bind_cntr(
			mr, wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
	case FI_CLASS_EP:
		return mr_bind_ep(mr, bfid, flags);
	default:
		lnx_log(FI_LOG_WARN, FI_LOG_MR,
			"bind refused: a counter or an endpoint binds to a region\n");
		return -FI_EINVAL;
	}
}

/* Keys are the same at all members, and so are raw keys. */
static int lnx_mr_control(struct fid *fid, int command, void *arg)
{
	struct lnx_mr *mr = lnx_mr_of_fid(fid);
	int ret = 0;

	switch (command) {
	case FI_ENABLE:
	case FI_REFRESH:
		for (unsigned int i = 0; i < mr->domain->count && !ret; i++)
			ret = fi_control(&mr->member[i].fid->fid, command, arg);
		return ret;
	case FI_GET_RAW_MR:
		return fi_control(&mr->member[0].fid->fid, command, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops = WF_FID_OPS(lnx_mr_close, lnx_mr_bind, lnx_mr_control);

static int lnx_mr_find_base(const struct lnx_domain *domain,
	const struct fi_mr_attr *attr, struct lnx_mr **ret_base)
{
	struct wf_mr_own *own;
	struct lnx_mr *base;
	int ret = wf_mr_own_base(domain->wf, attr, &mr_fid_ops, &own);

	*ret_base = NULL;
	if (ret || !own)
		return ret;
	base = wf_container_of(own, struct lnx_mr, own);
	/* Some members do not check this. */
	if (!wf_iov_all_inside(
		    attr->mr_iov, attr->iov_count, base->iov, base->iov_count)) {
		lnx_log(FI_LOG_WARN, FI_LOG_MR,
			"registration refused: not inside base_mr\n");
		return -FI_EINVAL;
	}
	*ret_base = base;
	return 0;
}

static int mr_register_all(
	struct lnx_mr *mr, const struct fi_mr_attr *attr, uint64_t flags)
{
	int ret = 0;

	for (unsigned int i = 0; i < mr->domain->count && !ret; i++)
		ret = wf_lower_region_open(&mr->member[i], &mr->domain->member[i],
			mr->base ? &mr->base->member[i] : NULL, attr, flags);
	if (ret)
		mr_close_members(mr);
	return ret;
}

static int mr_register_with_key(
	struct lnx_mr *mr, const struct fi_mr_attr *attr, uint64_t flags)
{
	struct lnx_domain *domain = mr->domain;
	struct fi_mr_attr copy = *attr;
	int ret = -FI_ENOKEY;

	if (!wf_mr_chooses_key(domain->wf) ||
		!(attr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE)))
		return mr_register_all(mr, attr, flags);
	for (int i = 0; i < KEY_TRIES && ret == -FI_ENOKEY; i++) {
		copy.requested_key = atomic_fetch_add_explicit(&domain->next_key, 1,
					     memory_order_relaxed) &
				     wf_mr_max_key(domain->wf);
		ret = mr_register_all(mr, &copy, flags);
	}
	return ret;
}

int lnx_mr_register(struct wf_domain *wf, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr)
{
	struct lnx_domain *domain = lnx_domain_of(wf);
	struct lnx_mr *mr, *base;
	int ret = lnx_mr_find_base(domain, attr, &base);

	if (ret)
		return ret;
	mr = calloc(1, sizeof(*mr) + attr->iov_count * sizeof(*mr->iov));
	if (!mr)
		return -FI_ENOMEM;
	mr->iov_count = attr->iov_count;
	memcpy(mr->iov, attr->mr_iov, attr->iov_count * sizeof(*mr->iov));
	mr->domain = domain;
	mr->base = base;
	mr->flags = flags;
	ret = mr_register_with_key(mr, attr, flags);
	if (ret) {
		free(mr);
		return ret;
	}
	assert(mr->member[0].fid); /* A link has at least one member. */
	wf_mr_own_init(&mr->own, wf, attr, &mr_fid_ops, mr->member[0].fid->key, NULL);
	if (base)
		atomic_fetch_add_explicit(&base->refs, 1, memory_order_relaxed);
	wf_domain_ref(wf);
	*ret_mr = &mr->own.fid;
	return 0;
}

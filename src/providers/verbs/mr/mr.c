/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/mr/mr.h"

#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/cntr/cntr.h"
#include "objects/region/reg.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/mr/cache.h"
#include "providers/verbs/param.h"
#include "sys/iov.h"

/* Registration: a region is a registration of the device, and has its keys. */

#define REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)

static struct verbs_mr *mr_of(struct fid *fid)
{
	return wf_container_of(fid, struct verbs_mr, own.fid.fid);
}

/* Release the registration. 0 or a negative fi_errno, which is logged. */
static int mr_release(struct verbs_mr *mr)
{
	int err;

	if (mr->kept) {
		verbs_mr_cache_put(verbs_domain_of(mr->own.domain)->cache, mr->kept);
		return 0;
	}
	err = VERBS_IBV(dereg_mr(mr->mr));
	return err ? verbs_failed(FI_LOG_MR, "ibv_dereg_mr", err) : 0;
}

static int verbs_mr_close(struct fid *fid)
{
	struct verbs_mr *mr = mr_of(fid);
	int err = wf_mr_check_subregions(mr->own.domain, &mr->refs);

	if (err)
		return err;
	err = mr_release(mr);
	if (err)
		return err;
	if (mr->base)
		/* release: pairs with the check above when the base is closed. */
		atomic_fetch_sub_explicit(&mr->base->refs, 1, memory_order_release);
	wf_domain_unref(mr->own.domain);
	free(mr);
	return 0;
}

static int verbs_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct verbs_mr *mr = mr_of(fid);

	if (!bfid)
		return -FI_EINVAL;
	if (bfid->fclass == FI_CLASS_EP)
		/* Every endpoint of the domain can access the region. */
		return flags ? -FI_EBADFLAGS : 0;
	if (bfid->fclass == FI_CLASS_CNTR)
		return wf_mr_check_bind(mr->own.domain, mr->flags, NULL,
			wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
	verbs_log(FI_LOG_WARN, FI_LOG_MR,
		"bind refused: a counter or an endpoint binds to a region\n");
	return -FI_EINVAL;
}

static int mr_refresh(const struct verbs_mr *mr, const struct fi_mr_modify *modify)
{
	if (!modify || !modify->attr.mr_iov || !modify->attr.iov_count)
		return -FI_EINVAL;
	verbs_log(FI_LOG_INFO, FI_LOG_MR,
		"refresh refused: the device maps the pages of a region once\n");
	return -FI_ENOSYS;
}

static int verbs_mr_control(struct fid *fid, int command, void *arg)
{
	struct verbs_mr *mr = mr_of(fid);

	switch (command) {
	case FI_ENABLE:
		return 0;
	case FI_REFRESH:
		return mr_refresh(mr, arg);
	case FI_GET_RAW_MR:
		return wf_mr_give_raw(mr->own.domain, mr->own.fid.key,
			(uintptr_t)mr->iov.iov_base, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops =
	WF_FID_OPS(verbs_mr_close, verbs_mr_bind, verbs_mr_control);

/* The device's access bits. Peers get only the access that the application grants; the
 * device requires local write access for memory that is written. */
static int mr_access_of(
	const struct verbs_device *device, const struct fi_mr_attr *attr)
{
	int access = 0;

	if (attr->access & (FI_RECV | FI_READ | FI_REMOTE_WRITE))
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (attr->access & FI_REMOTE_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (attr->access & FI_REMOTE_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if ((attr->access & REMOTE) == REMOTE &&
		device->attr.atomic_cap != IBV_ATOMIC_NONE)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	/* With iWARP the answer to a read is a write by the peer. */
	if (device->iwarp && attr->access & FI_READ)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	if (verbs_params.use_odp && device->odp)
		access |= IBV_ACCESS_ON_DEMAND;
	return access;
}

/* Get a registration for @mr: from the cache, or its own. */
static int mr_acquire(struct verbs_mr *mr, const struct verbs_domain *domain,
	const struct fi_mr_attr *attr)
{
	int access = mr_access_of(domain->device, attr), err;

	if (!domain->cache || !verbs_mr_cache_takes(access))
		return verbs_mr_cache_register(
			domain->cache, domain->pd, attr->mr_iov, access, &mr->mr);
	err = verbs_mr_cache_get(domain->cache, attr->mr_iov, access, &mr->kept);
	if (!err)
		mr->mr = mr->kept->mr;
	return err;
}

/* Find the region that contains the new one; NULL if @attr asks for none. 0 or a
 * negative fi_errno. */
static int verbs_mr_find_base(const struct wf_domain *domain,
	const struct fi_mr_attr *attr, struct verbs_mr **ret_base)
{
	struct wf_mr_own *own;
	struct verbs_mr *base;
	int err = wf_mr_own_base(domain, attr, &mr_fid_ops, &own);

	if (err)
		return err;
	base = own ? wf_container_of(own, struct verbs_mr, own) : NULL;
	if (base && !wf_iov_all_inside(attr->mr_iov, attr->iov_count, &base->iov, 1)) {
		verbs_log(FI_LOG_WARN, FI_LOG_MR,
			"registration refused: not inside base_mr\n");
		return -FI_EINVAL;
	}
	*ret_base = base;
	return 0;
}

static void verbs_mr_fill(struct verbs_mr *mr, struct wf_domain *domain,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	wf_mr_own_init(&mr->own, domain, attr, &mr_fid_ops,
		attr->access & REMOTE ? mr->mr->rkey : FI_KEY_NOTAVAIL,
		verbs_desc(mr->mr->lkey));
	mr->flags = flags;
	mr->iov = attr->mr_iov[0];
	atomic_init(&mr->refs, 0);
}

int verbs_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	struct verbs_mr *mr, *base;
	int err = verbs_mr_find_base(domain, attr, &base);

	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	err = mr_acquire(mr, verbs_domain_of(domain), attr);
	if (err) {
		free(mr);
		return err;
	}
	verbs_mr_fill(mr, domain, attr, flags);
	mr->base = base;
	if (base)
		atomic_fetch_add_explicit(&base->refs, 1, memory_order_relaxed);
	wf_domain_ref(domain);
	*ret_mr = &mr->own.fid;
	return 0;
}

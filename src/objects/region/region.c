/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/cntr/cntr.h"
#include "objects/region/attr.h"
#include "objects/mr/map.h"
#include "objects/region/reg.h"
#include "sys/iov.h"

/*
 * Registration for providers that access memory with the CPU: no memory is pinned, a
 * region is a record of the access that peers have. Its descriptor is a pointer to the
 * region; transfers need no descriptor.
 *
 * A region without remote access has no key. If the domain has FI_MR_ENDPOINT, or
 * FI_MR_RMA_EVENT and the region FI_RMA_EVENT, peers can access the region only after
 * FI_ENABLE.
 */

static const uint64_t REMOTE = FI_REMOTE_READ | FI_REMOTE_WRITE;

static struct wf_mr *region_mr_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct wf_mr, fid.fid);
}

static int region_mr_close(struct fid *fid)
{
	struct wf_mr *mr = region_mr_of_fid(fid);
	struct wf_domain *domain = mr->domain;
	int err = wf_mr_check_subregions(domain, &mr->refs);

	if (err)
		return err;
	if (mr->fid.key != FI_KEY_NOTAVAIL)
		wf_mr_map_remove(&domain->mr_map, mr);
	if (mr->cntr) {
		wf_counted_unbind(domain, mr->cntr);
		atomic_fetch_sub_explicit(&mr->cntr->refs, 1, memory_order_release);
	}
	if (mr->base_mr)
		atomic_fetch_sub_explicit(&mr->base_mr->refs, 1, memory_order_release);
	free(mr->iov);
	free(mr);
	wf_domain_unref(domain);
	return 0;
}

static int region_bind_cntr(struct wf_mr *mr, struct wf_cntr *cntr, uint64_t flags)
{
	int err = wf_mr_check_bind(mr->domain, mr->flags, mr->cntr, cntr, flags);

	if (!err)
		err = wf_counted_bind(mr->domain, cntr);
	if (err)
		return err;
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
	/* Peers may be writing to the region already. */
	wf_mr_map_change(&mr->domain->mr_map, mr, cntr);
	return 0;
}

static int region_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_mr *mr = region_mr_of_fid(fid);
	const struct fi_provider *prov = mr->domain->prov->fi;

	if (!bfid)
		return -FI_EINVAL;
	if (mr->deferred && mr->enabled) {
		FI_WARN(prov, FI_LOG_MR, "bind refused: the region is enabled\n");
		return -FI_EOPBADSTATE;
	}
	switch (bfid->fclass) {
	case FI_CLASS_CNTR:
		return region_bind_cntr(
			mr, wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
	case FI_CLASS_EP:
	case FI_CLASS_SEP:
	case FI_CLASS_TX_CTX:
	case FI_CLASS_RX_CTX:
		/* Every endpoint of the domain reaches the region. */
		return flags ? -FI_EBADFLAGS : 0;
	default:
		FI_WARN(prov, FI_LOG_MR,
			"bind refused: a counter or an endpoint binds to a region\n");
		return -FI_EINVAL;
	}
}

static int region_mr_enable(struct wf_mr *mr)
{
	wf_mr_map_enable(&mr->domain->mr_map, mr);
	return 0;
}

/* The CPU sees every change of the mapping, so FI_REFRESH only checks its arguments.
 * @modify comes from the inline function fi_mr_refresh, which sets only the fields read
 * below. */
static int region_mr_refresh(struct wf_mr *mr, const struct fi_mr_modify *modify)
{
	if (!modify || !modify->attr.mr_iov || !modify->attr.iov_count)
		return -FI_EINVAL;
	if (modify->flags)
		return -FI_EBADFLAGS;
	if (!wf_iov_all_inside(modify->attr.mr_iov, modify->attr.iov_count, mr->iov,
		    mr->iov_count)) {
		FI_WARN(mr->domain->prov->fi, FI_LOG_MR,
			"refresh refused: the range is not part of the region\n");
		return -FI_EINVAL;
	}
	/* Peers may have mapped the memory that was there before. */
	wf_mr_map_change(&mr->domain->mr_map, mr, NULL);
	return 0;
}

int wf_mr_give_raw(const struct wf_domain *domain, uint64_t key, uint64_t base,
	const struct fi_mr_raw_attr *raw)
{
	size_t size = wf_mr_key_size(domain), capacity;

	if (!raw || !raw->key_size || raw->flags)
		return -FI_EINVAL;
	capacity = *raw->key_size;
	*raw->key_size = size;
	if (capacity < size)
		return -FI_ETOOSMALL;
	if (!raw->raw_key || key == FI_KEY_NOTAVAIL)
		return -FI_EINVAL;
	/* The low bytes of the key: all supported machines are little-endian. */
	memcpy(raw->raw_key, &key, size);
	if (raw->base_addr)
		*raw->base_addr = base;
	return 0;
}

int wf_mr_map_raw(struct wf_domain *domain, const struct fi_mr_map_raw *map)
{
	uint64_t key = 0;

	if (!map || !map->raw_key || !map->key || map->flags)
		return -FI_EINVAL;
	if (!map->key_size || map->key_size > sizeof(key)) {
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"raw key of %zu bytes, up to %zu possible\n", map->key_size,
			sizeof(key));
		return -FI_EINVAL;
	}
	memcpy(&key, map->raw_key, map->key_size);
	*map->key = key;
	return 0;
}

static int region_mr_control(struct fid *fid, int command, void *arg)
{
	struct wf_mr *mr = region_mr_of_fid(fid);

	switch (command) {
	case FI_ENABLE:
		return region_mr_enable(mr);
	case FI_REFRESH:
		return region_mr_refresh(mr, arg);
	case FI_GET_RAW_MR:
		return wf_mr_give_raw(mr->domain, mr->fid.key, mr->base, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops =
	WF_FID_OPS(region_mr_close, region_mr_bind, region_mr_control);

void wf_mr_hide(struct fid_mr *fid)
{
	if (fid->fid.ops == &mr_fid_ops)
		region_mr_of_fid(&fid->fid)->no_events = true;
}

/* The region that contains the new sub-region; NULL if @attr asks for none. */
static int region_find_base(const struct wf_domain *domain,
	const struct fi_mr_attr *attr, struct wf_mr **ret_base)
{
	struct wf_mr *base = NULL;

	if (attr->base_mr) {
		if (attr->base_mr->fid.fclass != FI_CLASS_MR)
			return -FI_EINVAL;
		base = wf_container_of(attr->base_mr, struct wf_mr, fid);
		if (base->domain != domain ||
			!wf_iov_all_inside(attr->mr_iov, attr->iov_count, base->iov,
				base->iov_count)) {
			FI_WARN(domain->prov->fi, FI_LOG_MR,
				"registration refused: not inside base_mr\n");
			return -FI_EINVAL;
		}
	}
	*ret_base = base;
	return 0;
}

static int region_fill(struct wf_mr *mr, struct wf_domain *domain,
	const struct fi_mr_attr *attr, uint64_t flags)
{
	size_t size = attr->iov_count * sizeof(*mr->iov);
	int mode = domain->info->domain_attr->mr_mode;

	assert(size);
	mr->iov = malloc(size);
	if (!mr->iov)
		return -FI_ENOMEM;
	memcpy(mr->iov, attr->mr_iov, size);
	mr->iov_count = attr->iov_count;
	for (size_t i = 0; i < mr->iov_count; i++)
		mr->len += mr->iov[i].iov_len;
	mr->domain = domain;
	mr->access = attr->access;
	mr->flags = flags;
	mr->base = wf_mr_by_address(domain) ? (uintptr_t)mr->iov[0].iov_base : 0;
	mr->deferred = mode & FI_MR_ENDPOINT ||
		       (flags & FI_RMA_EVENT && mode & FI_MR_RMA_EVENT);
	mr->enabled = !mr->deferred;
	atomic_init(&mr->refs, 0);
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = attr->access & REMOTE ? attr->requested_key : FI_KEY_NOTAVAIL;
	return 0;
}

/* @choose: the map chooses the key. */
static int region_insert(struct wf_domain *domain, struct wf_mr *mr, bool choose)
{
	int err;

	if (!(mr->access & REMOTE))
		return 0;
	err = wf_mr_map_insert(&domain->mr_map, mr, choose, wf_mr_max_key(domain));
	if (err)
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"registration refused: key 0x%llx is in use\n",
			(unsigned long long)mr->fid.key);
	return err;
}

static int region_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, bool choose, struct fid_mr **ret_mr)
{
	struct wf_mr *mr, *base;
	int err = region_find_base(domain, attr, &base);

	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	err = region_fill(mr, domain, attr, flags);
	if (err)
		goto err_free;
	err = region_insert(domain, mr, choose);
	if (err)
		goto err_iov;
	if (base)
		atomic_fetch_add_explicit(&base->refs, 1, memory_order_relaxed);
	mr->base_mr = base;
	wf_domain_ref(domain);
	*ret_mr = &mr->fid;
	return 0;

err_iov:
	free(mr->iov);
err_free:
	free(mr);
	return err;
}

int wf_mr_register(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	return region_register(domain, attr, flags, wf_mr_chooses_key(domain), ret_mr);
}

int wf_mr_register_as(struct wf_domain *domain, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **ret_mr)
{
	return region_register(domain, attr, flags, false, ret_mr);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/av/internal.h"
#include "objects/av/set_internal.h"

/* Opening and closing a set: checks of the attributes, and the first members. */

static void set_open_set_free(struct wf_av_set *set)
{
	free(set->member);
	free(set->in);
	free(set);
}

static int set_open_set_close(struct fid *fid)
{
	struct wf_av_set *set = wf_container_of(fid, struct wf_av_set, fid.fid);

	/* acquire: pairs with the release in wf_av_set_unref. */
	if (atomic_load_explicit(&set->refs, memory_order_acquire)) {
		WF_AV_REFUSED(set->av->domain, "AV set: close: a group has joined\n");
		return -FI_EBUSY;
	}
	wf_lock(&set->av->lock);
	wf_list_remove(&set->link);
	wf_unlock(&set->av->lock);
	wf_av_unref(set->av);
	set_open_set_free(set);
	return 0;
}

static struct fi_ops set_fid_ops =
	WF_FID_OPS(set_open_set_close, wf_absent_bind, wf_absent_control);

static const struct {
	uint64_t flag;
	enum fi_collective_op coll;
	enum fi_op op;
	enum fi_datatype datatype;
} collectives[] = {
	{ FI_BARRIER_SET, FI_BARRIER, FI_NOOP, FI_VOID },
	{ FI_BROADCAST_SET, FI_BROADCAST, FI_NOOP, FI_UINT8 },
	{ FI_ALLTOALL_SET, FI_ALLTOALL, FI_NOOP, FI_UINT8 },
	{ FI_ALLREDUCE_SET, FI_ALLREDUCE, FI_SUM, FI_UINT64 },
	{ FI_ALLGATHER_SET, FI_ALLGATHER, FI_NOOP, FI_UINT8 },
	{ FI_REDUCE_SCATTER_SET, FI_REDUCE_SCATTER, FI_SUM, FI_UINT64 },
	{ FI_REDUCE_SET, FI_REDUCE, FI_SUM, FI_UINT64 },
	{ FI_SCATTER_SET, FI_SCATTER, FI_NOOP, FI_UINT8 },
	{ FI_GATHER_SET, FI_GATHER, FI_NOOP, FI_UINT8 },
};

/* Programs exist that do not initialise flags, comm_key and comm_key_size. The last two
 * are ignored; flags are 0 if one of them has no meaning here. */
static uint64_t set_open_known_flags(const struct wf_av *av, uint64_t flags)
{
	uint64_t known = FI_UNIVERSE | FI_PEER;

	for (size_t i = 0; i < WF_ARRAY_SIZE(collectives); i++)
		known |= collectives[i].flag;
	if (!(flags & ~known))
		return flags;
	FI_INFO(av->domain->prov->fi, FI_LOG_AV,
		"AV set: flags %#llx are ignored: some of them are unknown\n",
		(unsigned long long)flags);
	return 0;
}

/* FI_PEER and FI_ALLREDUCE_SET are one bit: sets are imported into imported AVs, which
 * have no other sets for collectives. */
static bool set_open_is_import(const struct wf_av *av, uint64_t flags)
{
	return av->peer && flags & FI_PEER;
}

/* The domain must offer the collectives that the flags ask for (AVS-007). */
static int set_open_check_collectives(struct wf_av *av, uint64_t flags)
{
	if (set_open_is_import(av, flags))
		return 0;
	for (size_t i = 0; i < WF_ARRAY_SIZE(collectives); i++) {
		struct fi_collective_attr attr = {
			.op = collectives[i].op,
			.datatype = collectives[i].datatype,
		};

		if (!(flags & collectives[i].flag))
			continue;
		if (fi_query_collective(
			    &av->domain->fid, collectives[i].coll, &attr, 0)) {
			WF_AV_REFUSED(av->domain,
				"AV set: collective %d is not offered\n",
				(int)collectives[i].coll);
			return -FI_ENOSYS;
		}
	}
	return 0;
}

static int set_open_check_range(
	const struct wf_av *av, const struct fi_av_set_attr *attr, uint64_t flags)
{
	bool start = attr->start_addr != FI_ADDR_NOTAVAIL;
	bool end = attr->end_addr != FI_ADDR_NOTAVAIL;

	if (flags & FI_UNIVERSE || set_open_is_import(av, flags))
		return 0;
	if (start == end &&
		(!start || (attr->stride && attr->start_addr <= attr->end_addr)))
		return 0;
	WF_AV_REFUSED(av->domain,
		"AV set: start %llu, end %llu, stride %llu; possible: start to end by "
		"a stride of 1 or more, or neither start nor end\n",
		(unsigned long long)attr->start_addr,
		(unsigned long long)attr->end_addr, (unsigned long long)attr->stride);
	return -FI_EINVAL;
}

static int set_open_fill(struct wf_av_set *set, const struct fi_av_set_attr *attr)
{
	uint64_t limit = wf_av_set_address_limit(set->av), end = limit, step = 1;
	fi_addr_t addr = 0;
	int ret = 0;

	if (!(set->flags & FI_UNIVERSE)) {
		/* FI_ADDR_NOTAVAIL is beyond any limit and leaves the set empty. */
		addr = attr->start_addr;
		step = WF_MAX(attr->stride, (uint64_t)1);
		end = attr->end_addr < limit ? attr->end_addr + 1 : limit;
	}
	for (; !ret && addr < end; addr += step) {
		if (wf_av_set_is_address(set->av, addr, limit))
			ret = wf_av_set_append(set, addr);
		if (end - addr <= step)
			break;
	}
	/* More members than attr->count allows (AVS-004). */
	return ret && set->count == set->limit ? -FI_EINVAL : ret;
}

static int set_open_import(
	struct wf_av_set *set, const struct fi_peer_av_set_context *context)
{
	struct fid_peer_av_set *peer;

	/* The public header declares av_set as a struct that is never defined. */
	peer = context && context->size >= sizeof(*context)
		       ? (struct fid_peer_av_set *)(void *)context->av_set
		       : NULL;
	if (!peer || !peer->owner_ops ||
		peer->owner_ops->size < sizeof(*peer->owner_ops) ||
		!peer->owner_ops->members) {
		WF_AV_REFUSED(set->av->domain,
			"AV set: FI_PEER: context %p is no struct "
			"fi_peer_av_set_context with a set\n",
			(const void *)context);
		return -FI_EINVAL;
	}
	set->peer = peer;
	return 0;
}

int wf_av_set_open(struct fid_av *fid, struct fi_av_set_attr *attr,
	struct fid_av_set **ret_set, void *context)
{
	struct wf_av *av = wf_av_of(fid);
	struct wf_av_set *set;
	uint64_t flags;
	int ret;

	if (!av->domain->prov->av_sets) {
		WF_AV_REFUSED(av->domain, "AV set: no collectives, so no AV sets\n");
		/* Without AV sets FI_PEER is an unknown flag (P-07). */
		return attr && attr->flags & FI_PEER ? -FI_EINVAL : -FI_ENOSYS;
	}
	if (!attr || !ret_set)
		return -FI_EINVAL;
	flags = set_open_known_flags(av, attr->flags);
	ret = set_open_check_collectives(av, flags);
	if (!ret)
		ret = set_open_check_range(av, attr, flags);
	if (ret)
		return ret;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	set->flags = flags;
	set->limit = attr->count ? attr->count : SIZE_MAX;
	ret = set_open_is_import(av, flags) ? set_open_import(set, context)
					    : set_open_fill(set, attr);
	if (ret) {
		set_open_set_free(set);
		return ret;
	}
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = set->peer ? (void *)set->peer : context;
	set->fid.fid.ops = &set_fid_ops;
	set->fid.ops = set->peer ? &wf_av_set_imported_ops : &wf_av_set_ops;
	wf_av_ref(av);
	wf_lock(&av->lock);
	wf_list_push(&av->sets, &set->link);
	wf_unlock(&av->lock);
	*ret_set = &set->fid;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/absent.h"
#include "objects/av_internal.h"
#include "objects/av_set.h"
#include "sys/bitmap.h"

/* Membership. The AV's lock is held. */

static bool is_member(const struct wf_av_set *set, fi_addr_t addr)
{
	return addr / 64 < set->in_words && wf_bit_test(set->in, addr);
}

static int reserve_members(struct wf_av_set *set, size_t count)
{
	size_t room = WF_MAX(set->room, (size_t)16);
	fi_addr_t *member;

	if (count > set->limit)
		return -FI_ENOMEM;
	if (count <= set->room)
		return 0;
	while (room < count)
		room *= 2;
	member = realloc(set->member, room * sizeof(*member));
	if (!member)
		return -FI_ENOMEM;
	set->member = member;
	set->room = room;
	return 0;
}

static int reserve_bit(struct wf_av_set *set, fi_addr_t addr)
{
	size_t words = WF_MAX(set->in_words, (size_t)1);
	uint64_t *in;

	if (addr / 64 < set->in_words)
		return 0;
	while (addr / 64 >= words)
		words *= 2;
	in = realloc(set->in, words * sizeof(*in));
	if (!in)
		return -FI_ENOMEM;
	memset(in + set->in_words, 0, (words - set->in_words) * sizeof(*in));
	set->in = in;
	set->in_words = words;
	return 0;
}

static int append(struct wf_av_set *set, fi_addr_t addr)
{
	int ret = reserve_members(set, set->count + 1);

	if (!ret)
		ret = reserve_bit(set, addr);
	if (ret)
		return ret;
	wf_bit_set(set->in, addr);
	set->member[set->count++] = addr;
	return 0;
}

/* Take away the members after the first @count again. */
static void cut(struct wf_av_set *set, size_t count)
{
	while (set->count > count)
		wf_bit_clear(set->in, set->member[--set->count]);
}

/* Drop the members whose being in @other equals @drop, keeping the order. */
static void filter(struct wf_av_set *set, const struct wf_av_set *other, bool drop)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		fi_addr_t addr = set->member[i];

		if (is_member(other, addr) == drop)
			wf_bit_clear(set->in, addr);
		else
			set->member[kept++] = addr;
	}
	set->count = kept;
}

/* Calls. */

static int check_sets(const struct wf_av_set *dst, const struct wf_av_set *src)
{
	if (dst->av == src->av && !src->peer)
		return 0;
	WF_AV_REFUSED(dst->av->domain, "AV set: the sets are of two AVs\n");
	return -FI_EINVAL;
}

static int set_union(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = check_sets(set, src);
	size_t before;

	if (ret)
		return ret;
	wf_lock(&set->av->lock);
	before = set->count;
	for (size_t i = 0; !ret && i < src->count; i++)
		if (!is_member(set, src->member[i]))
			ret = append(set, src->member[i]);
	if (ret)
		cut(set, before);
	wf_unlock(&set->av->lock);
	return ret;
}

static int set_intersect(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = check_sets(set, src);

	if (ret || set == src)
		return ret;
	wf_lock(&set->av->lock);
	filter(set, src, false);
	wf_unlock(&set->av->lock);
	return 0;
}

static int set_diff(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = check_sets(set, src);

	if (ret)
		return ret;
	wf_lock(&set->av->lock);
	if (set == src)
		cut(set, 0);
	else
		filter(set, src, true);
	wf_unlock(&set->av->lock);
	return 0;
}

/* Addresses that there may be: of an imported AV, what its owner says. */
static uint64_t address_limit(const struct wf_av *av)
{
	struct fi_av_attr attr = { 0 };

	if (!av->peer)
		return wf_av_table_capacity(&av->table);
	if (av->peer->owner_ops->query(av->peer, &attr))
		return 0;
	return WF_MIN(attr.count, (size_t)1 << WF_AV_MAX_BITS);
}

static bool is_address(struct wf_av *av, fi_addr_t addr, uint64_t limit)
{
	return addr < limit && (av->peer || wf_av_addr(av, addr));
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct wf_av_set *set = wf_av_set_of(fid);
	uint64_t limit = address_limit(set->av);
	int ret = -FI_EINVAL;

	wf_lock(&set->av->lock);
	if (is_address(set->av, addr, limit) && !is_member(set, addr))
		ret = append(set, addr);
	wf_unlock(&set->av->lock);
	if (ret)
		WF_AV_REFUSED(set->av->domain,
			"AV set: insert %llu: %s (possible: an address of the AV, not "
			"yet a member, up to %zu members)\n",
			(unsigned long long)addr, fi_strerror(-ret), set->limit);
	return ret;
}

static int set_remove(struct fid_av_set *fid, fi_addr_t addr)
{
	struct wf_av_set *set = wf_av_set_of(fid);
	int ret = -FI_EINVAL;
	size_t i = 0;

	wf_lock(&set->av->lock);
	if (is_member(set, addr)) {
		while (set->member[i] != addr)
			i++;
		set->count--;
		memmove(set->member + i, set->member + i + 1,
			(set->count - i) * sizeof(*set->member));
		wf_bit_clear(set->in, addr);
		ret = 0;
	}
	wf_unlock(&set->av->lock);
	if (ret)
		WF_AV_REFUSED(set->av->domain, "AV set: remove %llu: no member\n",
			(unsigned long long)addr);
	return ret;
}

/* Joining is a local affair: the address says which set is meant. */
static int set_addr(struct fid_av_set *fid, fi_addr_t *coll_addr)
{
	if (!coll_addr)
		return -FI_EINVAL;
	*coll_addr = (uintptr_t)wf_av_set_of(fid);
	return 0;
}

int wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count)
{
	int ret = 0;

	if (set->peer)
		return set->peer->owner_ops->members(set->peer, addr, count);
	if (!count || (!addr && *count))
		return -FI_EINVAL;
	wf_lock(&set->av->lock);
	if (*count < set->count)
		ret = -FI_ETOOSMALL;
	else if (set->count)
		memcpy(addr, set->member, set->count * sizeof(*addr));
	*count = set->count;
	wf_unlock(&set->av->lock);
	return ret;
}

static struct fi_ops_av_set set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

/* Of an imported set the members are the owner's. */

static int no_combining(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return -FI_ENOSYS;
}

static int no_changing(struct fid_av_set *set, fi_addr_t addr)
{
	return -FI_ENOSYS;
}

static struct fi_ops_av_set imported_set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = no_combining,
	.intersect = no_combining,
	.diff = no_combining,
	.insert = no_changing,
	.remove = no_changing,
	.addr = set_addr,
};

/* Export. */

static int owner_members(struct fid_peer_av_set *peer, fi_addr_t *addr, size_t *count)
{
	return wf_av_set_members(peer->fid.context, addr, count);
}

static struct fi_ops_av_set_owner owner_ops = {
	.size = sizeof(struct fi_ops_av_set_owner),
	.members = owner_members,
};

int wf_av_set_export(struct wf_av_set *set, struct fid_peer_av_set *ret)
{
	if (set->peer)
		return -FI_EINVAL;
	ret->fid.fclass = FI_CLASS_PEER_AV_SET;
	ret->fid.context = set;
	ret->fid.ops = &wf_absent_fid;
	ret->owner_ops = &owner_ops;
	return 0;
}

/* Opening and closing. */

static void set_free(struct wf_av_set *set)
{
	free(set->member);
	free(set->in);
	free(set);
}

static int set_close(struct fid *fid)
{
	struct wf_av_set *set = wf_container_of(fid, struct wf_av_set, fid.fid);

	/* acquire: pairs with the release in wf_av_set_unref. */
	if (atomic_load_explicit(&set->refs, memory_order_acquire)) {
		WF_AV_REFUSED(set->av->domain, "AV set: close: a group has joined\n");
		return -FI_EBUSY;
	}
	wf_av_unref(set->av);
	set_free(set);
	return 0;
}

static struct fi_ops set_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = wf_absent_bind,
	.control = wf_absent_control,
	.ops_open = wf_absent_ops_open,
	.tostr = wf_absent_tostr,
	.ops_set = wf_absent_ops_set,
};

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

/* What the domain is asked to serve it must serve (AVS-007). */
static int check_collectives(struct wf_av *av, uint64_t flags)
{
	flags &= ~(FI_UNIVERSE | FI_PEER);
	for (size_t i = 0; i < WF_ARRAY_SIZE(collectives); i++) {
		struct fi_collective_attr attr = {
			.op = collectives[i].op,
			.datatype = collectives[i].datatype,
		};

		if (!(flags & collectives[i].flag))
			continue;
		flags &= ~collectives[i].flag;
		if (fi_query_collective(
			    &av->domain->fid, collectives[i].coll, &attr, 0)) {
			WF_AV_REFUSED(av->domain,
				"AV set: collective %d is not offered\n",
				(int)collectives[i].coll);
			return -FI_ENOSYS;
		}
	}
	if (!flags)
		return 0;
	WF_AV_REFUSED(
		av->domain, "AV set: unknown flags %#llx\n", (unsigned long long)flags);
	return -FI_EINVAL;
}

static int check_range(const struct wf_av *av, const struct fi_av_set_attr *attr)
{
	bool start = attr->start_addr != FI_ADDR_NOTAVAIL;
	bool end = attr->end_addr != FI_ADDR_NOTAVAIL;

	if (attr->comm_key_size || attr->comm_key) {
		WF_AV_REFUSED(av->domain, "AV set: communication keys are not used\n");
		return -FI_EINVAL;
	}
	if (attr->flags & (FI_UNIVERSE | FI_PEER))
		return 0;
	if (start == end && (start ? attr->stride && attr->start_addr <= attr->end_addr
				   : !attr->stride))
		return 0;
	WF_AV_REFUSED(av->domain,
		"AV set: start %llu, end %llu, stride %llu; possible: start to end by "
		"a stride of 1 or more, or neither of the three\n",
		(unsigned long long)attr->start_addr,
		(unsigned long long)attr->end_addr, (unsigned long long)attr->stride);
	return -FI_EINVAL;
}

static int fill(struct wf_av_set *set, const struct fi_av_set_attr *attr)
{
	uint64_t limit = address_limit(set->av), end = limit, step = 1;
	fi_addr_t addr = 0;
	int ret = 0;

	if (!(attr->flags & FI_UNIVERSE)) {
		/* FI_ADDR_NOTAVAIL is beyond any limit, and so leaves it empty. */
		addr = attr->start_addr;
		step = attr->stride;
		end = attr->end_addr < limit ? attr->end_addr + 1 : limit;
	}
	for (; !ret && addr < end; addr += step) {
		if (is_address(set->av, addr, limit))
			ret = append(set, addr);
		if (end - addr <= step)
			break;
	}
	/* More than the application said there would be (AVS-004). */
	return ret && set->count == set->limit ? -FI_EINVAL : ret;
}

static int import(struct wf_av_set *set, const struct fi_peer_av_set_context *context)
{
	struct fid_peer_av_set *peer;

	/* The header's type is a tag that nothing defines. */
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
	int ret;

	if (!av->domain->prov->av_sets) {
		WF_AV_REFUSED(av->domain, "AV set: no collectives, so no AV sets\n");
		return -FI_ENOSYS;
	}
	if (!attr || !ret_set)
		return -FI_EINVAL;
	ret = check_collectives(av, attr->flags);
	if (!ret)
		ret = check_range(av, attr);
	if (ret)
		return ret;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	set->flags = attr->flags;
	set->limit = attr->count ? attr->count : SIZE_MAX;
	ret = attr->flags & FI_PEER ? import(set, context) : fill(set, attr);
	if (ret) {
		set_free(set);
		return ret;
	}
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = set->peer ? (void *)set->peer : context;
	set->fid.fid.ops = &set_fid_ops;
	set->fid.ops = set->peer ? &imported_set_ops : &set_ops;
	wf_av_ref(av);
	*ret_set = &set->fid;
	return 0;
}

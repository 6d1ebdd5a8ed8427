/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/av/internal.h"
#include "objects/av/set_internal.h"
#include "sys/bitmap.h"

/* Membership. The AV's lock is held. */

static bool set_is_member(const struct wf_av_set *set, fi_addr_t addr)
{
	return addr / 64 < set->in_words && wf_bit_test(set->in, addr);
}

static int set_reserve_members(struct wf_av_set *set, size_t count)
{
	size_t capacity = WF_MAX(set->capacity, (size_t)16);
	fi_addr_t *member;

	if (count > set->limit)
		return -FI_ENOMEM;
	if (count <= set->capacity)
		return 0;
	while (capacity < count)
		capacity *= 2;
	member = realloc(set->member, capacity * sizeof(*member));
	if (!member)
		return -FI_ENOMEM;
	set->member = member;
	set->capacity = capacity;
	return 0;
}

static int set_reserve_bit(struct wf_av_set *set, fi_addr_t addr)
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

int wf_av_set_append(struct wf_av_set *set, fi_addr_t addr)
{
	int ret = set_reserve_members(set, set->count + 1);

	if (!ret)
		ret = set_reserve_bit(set, addr);
	if (ret)
		return ret;
	wf_bit_set(set->in, addr);
	set->member[set->count++] = addr;
	return 0;
}

/* Remove the members after the first @count. */
static void set_cut(struct wf_av_set *set, size_t count)
{
	while (set->count > count)
		wf_bit_clear(set->in, set->member[--set->count]);
}

/* Remove the members that are in @other if @drop, otherwise those that are not; keep
 * the order. */
static void set_filter(struct wf_av_set *set, const struct wf_av_set *other, bool drop)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++) {
		fi_addr_t addr = set->member[i];

		if (set_is_member(other, addr) == drop)
			wf_bit_clear(set->in, addr);
		else
			set->member[kept++] = addr;
	}
	set->count = kept;
}

/* Calls. */

static int set_check(const struct wf_av_set *dst, const struct wf_av_set *src)
{
	if (dst->av == src->av && !src->peer)
		return 0;
	WF_AV_REFUSED(dst->av->domain, "AV set: the sets are of two AVs\n");
	return -FI_EINVAL;
}

static int set_union(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = set_check(set, src);
	size_t before;

	if (ret)
		return ret;
	wf_lock(&set->av->lock);
	before = set->count;
	for (size_t i = 0; !ret && i < src->count; i++)
		if (!set_is_member(set, src->member[i]))
			ret = wf_av_set_append(set, src->member[i]);
	if (ret)
		set_cut(set, before);
	wf_unlock(&set->av->lock);
	return ret;
}

static int set_intersect(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = set_check(set, src);

	if (ret || set == src)
		return ret;
	wf_lock(&set->av->lock);
	set_filter(set, src, false);
	wf_unlock(&set->av->lock);
	return 0;
}

static int set_diff(struct fid_av_set *fid, const struct fid_av_set *src_fid)
{
	struct wf_av_set *set = wf_av_set_of(fid), *src = wf_av_set_of(src_fid);
	int ret = set_check(set, src);

	if (ret)
		return ret;
	wf_lock(&set->av->lock);
	if (set == src)
		set_cut(set, 0);
	else
		set_filter(set, src, true);
	wf_unlock(&set->av->lock);
	return 0;
}

uint64_t wf_av_set_address_limit(const struct wf_av *av)
{
	struct fi_av_attr attr = { 0 };

	if (!av->peer)
		return wf_av_table_capacity(&av->table);
	if (av->peer->owner_ops->query(av->peer, &attr))
		return 0;
	return WF_MIN(attr.count, (size_t)1 << WF_AV_MAX_BITS);
}

bool wf_av_set_is_address(struct wf_av *av, fi_addr_t addr, uint64_t limit)
{
	return addr < limit && (av->peer || wf_av_addr(av, addr));
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct wf_av_set *set = wf_av_set_of(fid);
	uint64_t limit = wf_av_set_address_limit(set->av);
	int ret = -FI_EINVAL;

	wf_lock(&set->av->lock);
	if (wf_av_set_is_address(set->av, addr, limit) && !set_is_member(set, addr))
		ret = wf_av_set_append(set, addr);
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
	if (set_is_member(set, addr)) {
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

/* The address is only used by fi_join_collective in this process: the set's pointer. */
static int set_addr(struct fid_av_set *fid, fi_addr_t *coll_addr)
{
	if (!coll_addr)
		return -FI_EINVAL;
	*coll_addr = (uintptr_t)wf_av_set_of(fid);
	return 0;
}

/* The AV's lock is held. */
static struct wf_av_set *set_find_open(const struct wf_av *av, uintptr_t at)
{
	wf_list_foreach(link, &av->sets)
	{
		struct wf_av_set *set = wf_list_entry(link, struct wf_av_set, link);

		if ((uintptr_t)set == at)
			return set;
	}
	return NULL;
}

int wf_av_set_covers(
	struct wf_av *av, fi_addr_t coll_addr, const fi_addr_t *addr, size_t count)
{
	const struct wf_av_set *set;
	int ret = 0;

	wf_lock(&av->lock);
	set = set_find_open(av, coll_addr);
	if (!set)
		ret = -FI_EINVAL;
	for (size_t i = 0; i < count && !ret; i++)
		if (!set_is_member(set, addr[i]))
			ret = -FI_EINVAL;
	wf_unlock(&av->lock);
	return ret;
}

struct wf_av_set *wf_av_set_open_on(struct wf_av *av, const struct fid_av_set *fid)
{
	struct wf_av_set *set;

	wf_lock(&av->lock);
	set = set_find_open(av, (uintptr_t)wf_av_set_of(fid));
	wf_unlock(&av->lock);
	return set && !set->peer ? set : NULL;
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

struct fi_ops_av_set wf_av_set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

/* An imported set cannot be changed: its members are the owner's. */

static int set_no_combining(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return -FI_ENOSYS;
}

static int set_no_changing(struct fid_av_set *set, fi_addr_t addr)
{
	return -FI_ENOSYS;
}

struct fi_ops_av_set wf_av_set_imported_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_no_combining,
	.intersect = set_no_combining,
	.diff = set_no_combining,
	.insert = set_no_changing,
	.remove = set_no_changing,
	.addr = set_addr,
};

/* Export. */

static int set_owner_members(
	struct fid_peer_av_set *peer, fi_addr_t *addr, size_t *count)
{
	return wf_av_set_members(peer->fid.context, addr, count);
}

static struct fi_ops_av_set_owner owner_ops = {
	.size = sizeof(struct fi_ops_av_set_owner),
	.members = set_owner_members,
};

int wf_av_set_export(struct wf_av_set *set, struct fid_peer_av_set *ret)
{
	if (set->peer)
		return -FI_EINVAL;
	ret->fid.fclass = FI_CLASS_PEER_AV_SET;
	ret->fid.context = set;
	ret->fid.ops = &wf_absent_fid;
	ret->owner_ops = &owner_ops;
	wf_av_set_ref(set);
	return 0;
}

void wf_av_set_unexport(struct fid_peer_av_set *peer)
{
	wf_av_set_unref(peer->fid.context);
}

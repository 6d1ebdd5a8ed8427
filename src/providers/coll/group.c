/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/av/set.h"
#include "providers/coll/control.h"
#include "providers/coll/exec.h"
#include "providers/coll/join.h"
#include "sys/calls.h"
#include "sys/pause.h"

/*
 * Groups: finding them and their members, opening and closing.
 *
 * The address of a group for the application is its id, and above it the number of the
 * endpoint's join, so that the address of a closed group is not that of a later one.
 */

static uint32_t group_id_of(fi_addr_t addr)
{
	return addr & (COLL_GROUPS_MAX - 1);
}

struct coll_group *coll_group_at(const struct coll_ep *ep, fi_addr_t addr)
{
	struct coll_group *group = ep->ids ? ep->ids[group_id_of(addr)] : NULL;

	return group && group->mc.fi_addr == addr ? group : NULL;
}

struct coll_group *coll_group_by_secret(const struct coll_ep *ep, uint64_t secret)
{
	struct coll_group *group =
		ep->ids ? ep->ids[coll_secret_id(secret, ep->id_mask)] : NULL;

	return group && group->secret == secret ? group : NULL;
}

static int group_by_addr(const void *a, const void *b, void *arg)
{
	const struct coll_member *member = arg;
	fi_addr_t x = member[*(const uint32_t *)a].addr;
	fi_addr_t y = member[*(const uint32_t *)b].addr;

	return (x > y) - (x < y);
}

uint32_t coll_group_rank(const struct coll_group *group, fi_addr_t addr)
{
	uint32_t low = 0, high = group->members;

	if (!group->by_addr)
		return addr < group->members ? (uint32_t)addr : group->members;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t rank = group->by_addr[middle];

		if (group->member[rank].addr == addr)
			return rank;
		if (group->member[rank].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return group->members;
}

/* Order the ranks by address, unless each rank equals its address. False: no memory. */
static bool group_index_members(struct coll_group *group)
{
	uint32_t same = 0;

	while (same < group->members && group->member[same].addr == same)
		same++;
	if (same == group->members)
		return true;
	group->by_addr = calloc(group->members, sizeof(*group->by_addr));
	if (!group->by_addr)
		return false;
	for (uint32_t i = 0; i < group->members; i++)
		group->by_addr[i] = i;
	qsort_r(group->by_addr, group->members, sizeof(*group->by_addr), group_by_addr,
		group->member);
	return true;
}

static int coll_group_refuse(int err, const char *why)
{
	coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "join refused: %s\n", why);
	return err;
}

static int group_read_members(struct coll_group *group, struct wf_av_set *set)
{
	size_t count = 0, capacity;
	fi_addr_t *addr;
	int ret = wf_av_set_members(set, NULL, &count);

	if (ret && ret != -FI_ETOOSMALL)
		return ret;
	if (!count)
		return coll_group_refuse(-FI_EINVAL, "the AV set is empty");
	if (count > COLL_MEMBERS_MAX)
		return coll_group_refuse(
			-FI_EINVAL, "the AV set has more than 2^20 members");
	addr = calloc(count, sizeof(*addr));
	group->member = calloc(count, sizeof(*group->member));
	capacity = count;
	ret = addr && group->member ? wf_av_set_members(set, addr, &capacity)
				    : -FI_ENOMEM;
	if (!ret && capacity != count)
		ret = -FI_EAGAIN; /* it was changed meanwhile */
	for (size_t i = 0; !ret && i < count; i++)
		group->member[i].addr = addr[i];
	group->members = (uint32_t)count;
	free(addr);
	return ret;
}

static int group_find_self(struct coll_group *group)
{
	struct coll_ep *ep = group->ep;
	struct fid_peer_av *av = ep->ep.av->peer;
	fi_addr_t self = av->owner_ops->ep_addr(av, ep->owner);

	if (!group_index_members(group))
		return -FI_ENOMEM;
	group->rank = self == FI_ADDR_NOTAVAIL ? group->members
					       : coll_group_rank(group, self);
	if (group->rank == group->members)
		return coll_group_refuse(-FI_EINVAL,
			"this endpoint is no member: its address is not in the AV set");
	return 0;
}

static int group_open_ids(struct coll_ep *ep)
{
	if (ep->ids)
		return 0;
	if (wf_sys_getrandom(&ep->id_mask, sizeof(ep->id_mask), 0) < 0)
		return -errno;
	ep->ids = calloc(COLL_GROUPS_MAX, sizeof(struct coll_group *));
	return ep->ids ? 0 : -FI_ENOMEM;
}

/* Give the group an id, in ascending order, so that an id is reused late, and a
 * secret. */
static int group_take_id(struct coll_group *group)
{
	struct coll_ep *ep = group->ep;
	int ret = group_open_ids(ep);
	uint64_t random;

	if (!ret && wf_sys_getrandom(&random, sizeof(random), 0) < 0)
		ret = -errno;
	if (ret)
		return ret;
	for (uint32_t i = 1; i < COLL_GROUPS_MAX; i++) {
		uint32_t id = (ep->last_id + i) % COLL_GROUPS_MAX;

		/* In messages 0 means no id. */
		if (!id || ep->ids[id])
			continue;
		ep->last_id = id;
		ep->ids[id] = group;
		group->id = (uint16_t)id;
		group->secret = coll_secret(random, id, ep->id_mask);
		group->mc.fi_addr = ++ep->joins << COLL_ID_BITS | id;
		return 0;
	}
	return coll_group_refuse(-FI_EAGAIN, "too many groups are open");
}

static void group_free(struct coll_group *group)
{
	free(group->member);
	free(group->by_addr);
	free(group->node_maps);
	free(group);
}

static bool group_is_reported_elsewhere(const struct coll_group *group)
{
	const struct coll_ep *ep = group->ep;

	return ep->reporting == group && !pthread_equal(ep->reporter, pthread_self());
}

/* Detach what outlives the group, which ends by itself. */
static void group_detach(struct coll_group *group)
{
	bool is_busy = group->state == COLL_JOINING || group->in_flight;

	if (is_busy)
		coll_group_fail(group, -FI_ECANCELED);
	coll_exec_detach(group);
	coll_group_leave_node(group);
	coll_control_forget(group);
	wf_list_remove(&group->joined_link);
	wf_list_remove(&group->join_link);
	wf_list_remove(&group->link);
	group->ep->ids[group->id] = NULL;
}

static int group_close(struct fid *fid)
{
	struct coll_group *group = wf_container_of(fid, struct coll_group, mc.fid);
	struct coll_ep *ep = group->ep;

	wf_lock(&ep->ep.lock);
	for (unsigned int round = 0; group_is_reported_elsewhere(group); round++) {
		wf_unlock(&ep->ep.lock);
		wf_pause(round);
		wf_lock(&ep->ep.lock);
	}
	group_detach(group);
	coll_ep_unlock(ep);
	group_free(group);
	/* release: the accesses to the endpoint happen before its fi_close. */
	atomic_fetch_sub_explicit(&ep->ep.refs, 1, memory_order_release);
	return 0;
}

static struct fi_ops group_ops =
	WF_FID_OPS(group_close, wf_absent_bind, wf_absent_control);

static struct coll_group *coll_group_new(
	struct coll_ep *ep, const struct fi_peer_mc_context *context)
{
	struct coll_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->mc.fid.fclass = FI_CLASS_MC;
	group->mc.fid.context = context->context;
	group->mc.fid.ops = &group_ops;
	group->ep = ep;
	group->main_mc = context->mc;
	group->joined = context->joined;
	group->join_context = context->context;
	group->operations = COLL_FIRST_OPERATION;
	wf_list_init(&group->link);
	wf_list_init(&group->ops);
	wf_list_init(&group->node_ops);
	wf_list_init(&group->node_link);
	wf_list_init(&group->join_link);
	wf_list_init(&group->joined_link);
	return group;
}

static int group_check_join(const struct fi_collective_addr *addr, uint64_t flags,
	const struct fi_peer_mc_context *context)
{
	if ((flags & ~FI_COMPLETION) != (FI_COLLECTIVE | FI_PEER))
		return coll_group_refuse(-FI_EINVAL,
			"the flags have to be FI_COLLECTIVE and FI_PEER: only a main "
			"provider joins");
	if (!context || context->size < sizeof(*context) || !context->mc)
		return coll_group_refuse(
			-FI_EINVAL, "the context is no struct fi_peer_mc_context");
	if (!addr || !addr->set || !wf_av_set_of(addr->set)->peer)
		return coll_group_refuse(-FI_EINVAL, "no imported AV set is given");
	return 0;
}

static int group_begin(struct coll_group *group)
{
	struct coll_ep *ep = group->ep;
	int ret;

	wf_lock(&ep->ep.lock);
	ret = group_take_id(group);
	if (!ret) {
		wf_list_push(&ep->groups, &group->link);
		coll_join_start(group);
	}
	coll_ep_unlock(ep);
	return ret;
}

int coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context)
{
	const struct fi_collective_addr *where = addr;
	struct coll_ep *ep = coll_ep_of(wf);
	struct coll_group *group;
	int ret = group_check_join(where, flags, context);

	if (ret)
		return ret;
	group = coll_group_new(ep, context);
	if (!group)
		return -FI_ENOMEM;
	ret = group_read_members(group, wf_av_set_of(where->set));
	if (!ret)
		ret = group_find_self(group);
	if (!ret)
		ret = group_begin(group);
	if (ret) {
		group_free(group);
		return ret;
	}
	atomic_fetch_add_explicit(&wf->refs, 1, memory_order_relaxed);
	*ret_mc = &group->mc;
	return 0;
}

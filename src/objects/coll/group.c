/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/coll/internal.h"

/*
 * Groups: joining, their addresses, leaving.
 *
 * The address of a group is a number by which calls find it: the index of its slot in
 * coll->group, and a serial number, which differs from that of earlier groups in the
 * slot, so that a stale address finds no group.
 */

#define SLOT_MASK   ((fi_addr_t)WF_COLL_GROUPS_MAX - 1)
#define SERIAL_STEP ((fi_addr_t)WF_COLL_GROUPS_MAX)
/* Set in each address of a group, and in no address of an AV, which are small. */
#define GROUP_BIT ((fi_addr_t)1 << 62)

struct wf_coll_group *wf_coll_find(const struct wf_coll *coll, fi_addr_t addr)
{
	/* acquire: pairs with enter. */
	struct wf_coll_group *group = atomic_load_explicit(
		&coll->group[addr & SLOT_MASK], memory_order_acquire);

	return group && group->fid.fi_addr == addr ? group : NULL;
}

static int coll_group_refuse(const struct wf_ep *ep, int err, const char *why)
{
	wf_coll_log(ep, FI_LOG_WARN, "fi_join_collective: %s\n", why);
	return err;
}

static struct wf_coll_group *group_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_coll_group, fid.fid);
}

/* Give @group a free slot and an address. -FI_ENOSPC, logged. coll->lock is held. */
static int group_enter(struct wf_coll *coll, struct wf_coll_group *group)
{
	static atomic_uint_fast64_t serial;
	uint32_t slot = coll->next;

	for (uint32_t left = WF_COLL_GROUPS_MAX; left; left--, slot++) {
		slot &= SLOT_MASK;
		if (atomic_load_explicit(&coll->group[slot], memory_order_relaxed))
			continue;
		group->fid.fi_addr =
			GROUP_BIT |
			((atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) *
				 SERIAL_STEP) &
				(GROUP_BIT - 1)) |
			slot;
		coll->next = slot + 1;
		/* release: the group is whole before calls find it. */
		atomic_store_explicit(&coll->group[slot], group, memory_order_release);
		return 0;
	}
	return coll_group_refuse(coll->ep, -FI_ENOSPC, "too many groups");
}

static void group_leave(struct wf_coll_group *group)
{
	struct wf_coll *coll = group->coll;

	atomic_store_explicit(&coll->group[group->fid.fi_addr & SLOT_MASK], NULL,
		memory_order_relaxed);
}

static int group_compare(const void *left, const void *right)
{
	fi_addr_t a = *(const fi_addr_t *)left, b = *(const fi_addr_t *)right;

	return (a > b) - (a < b);
}

/* Copy the members of the set as they are now. */
static int group_copy_members(struct wf_coll_group *group)
{
	size_t count = 0;
	fi_addr_t *member;
	int ret = wf_av_set_members(group->set, NULL, &count);

	while (ret == -FI_ETOOSMALL) {
		member = realloc(group->member, count * sizeof(*member));
		if (!member)
			return -FI_ENOMEM;
		group->member = member;
		ret = wf_av_set_members(group->set, member, &count);
	}
	if (ret)
		return ret;
	if (!count)
		return coll_group_refuse(
			group->coll->ep, -FI_EINVAL, "the set is empty");
	group->member_count = count;
	qsort(group->member, count, sizeof(*group->member), group_compare);
	return 0;
}

static bool group_has_members(
	const struct wf_coll_group *parent, const struct wf_coll_group *group)
{
	for (size_t i = 0; i < group->member_count; i++)
		if (!bsearch(&group->member[i], parent->member, parent->member_count,
			    sizeof(*parent->member), group_compare))
			return false;
	return true;
}

/* @coll_addr is the address of a set of the AV or of a group, which has to contain all
 * members of @group, or FI_ADDR_NOTAVAIL. 0 or -FI_EINVAL, logged. */
static int group_check_parent(const struct wf_coll_group *group, fi_addr_t coll_addr)
{
	struct wf_ep *ep = group->coll->ep;
	const struct wf_coll_group *parent;

	if (coll_addr == FI_ADDR_NOTAVAIL)
		return 0;
	parent = wf_coll_find(group->coll, coll_addr);
	if (parent ? group_has_members(parent, group)
		   : !wf_av_set_covers(
			     ep->av, coll_addr, group->member, group->member_count))
		return 0;
	return coll_group_refuse(ep, -FI_EINVAL,
		"the address is of no set or group that has all members");
}

void wf_coll_joined(struct wf_coll_group *group, int err)
{
	struct wf_ep *ep = group->coll->ep;
	struct wf_eq *eq = wf_ep_eq(ep);
	struct fi_eq_entry event = { &group->fid.fid, group->fid.fid.context, 0 };
	struct fi_eq_err_entry failure = {
		.fid = &group->fid.fid,
		.context = group->fid.fid.context,
		.err = -err,
		.prov_errno = -err,
	};
	ssize_t ret;

	/* release: pairs with the calls on the group. */
	atomic_store_explicit(&group->state, err ? WF_COLL_FAILED : WF_COLL_JOINED,
		memory_order_release);
	atomic_fetch_sub(&group->coll->joining, 1);
	if (err)
		ret = wf_eq_write_err(eq, &failure);
	else
		ret = wf_eq_write(eq, FI_JOIN_COMPLETE, &event, sizeof(event));
	if (ret < 0)
		FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
			"the end of a join is lost: %s\n", fi_strerror((int)-ret));
}

/* fi_peer_mc_context.joined of the first engine: goes on with the offload engine. */
static void group_base_joined(void *context, int err)
{
	struct wf_coll_group *group = context;

	wf_coll_wake(group->coll);
	if (err || group->coll->port_count <= WF_COLL_OFFLOAD)
		wf_coll_joined(group, err);
	else
		wf_coll_boot_start(group);
}

int wf_coll_join_engine(struct wf_coll_group *group, unsigned int i,
	struct fi_ops_coll_bootstrap *boot, void (*joined)(void *context, int err))
{
	const struct wf_coll_port *port = &group->coll->port[i];
	struct wf_coll_engine_group *at = &group->at[i];
	struct fi_peer_av_set_context set_context = {
		.size = sizeof(set_context),
		.av_set = (struct fi_peer_av_set *)(void *)&at->peer_set,
	};
	struct fi_peer_mc_context context = {
		.size = sizeof(context),
		.mc = &group->fid,
		.bootstrap = boot,
		.joined = joined,
		.context = group,
	};
	struct fi_av_set_attr attr = {
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL,
		.flags = FI_PEER,
	};
	int ret = wf_av_set_export(group->set, &at->peer_set);

	if (ret)
		return ret;
	ret = fi_av_set(port->av, &attr, &at->set, &set_context);
	if (ret)
		goto err_export;
	ret = fi_join_collective(
		port->ep, FI_ADDR_NOTAVAIL, at->set, FI_PEER, &at->mc, &context);
	if (ret)
		goto err_set;
	return 0;

err_set:
	at->mc = NULL;
	(void)fi_close(&at->set->fid);
err_export:
	wf_av_set_unexport(&at->peer_set);
	return ret;
}

static void group_leave_engine(struct wf_coll_engine_group *at)
{
	if (!at->mc)
		return;
	(void)fi_close(&at->mc->fid);
	(void)fi_close(&at->set->fid);
	wf_av_set_unexport(&at->peer_set);
}

/* Let the readers of @eq run the endpoint while joins are under way. */
static int group_watch_eq(struct wf_coll *coll, struct wf_eq *eq)
{
	struct wf_progress *item = &coll->join_timer.progress;
	int ret;

	if (coll->eq == eq)
		return 0;
	ret = wf_eq_progress_add(eq, item);
	if (ret)
		return ret;
	if (coll->eq)
		wf_eq_progress_del(coll->eq, item);
	coll->eq = eq;
	return 0;
}

static int group_mc_close(struct fid *fid)
{
	struct wf_coll_group *group = group_of(fid);
	struct wf_coll *coll = group->coll;
	struct wf_ep *ep = coll->ep;

	/* The first engine's group is closed first: its joined() may start the join of
	 * the offload engine. An engine does not call joined() of a closed group. */
	wf_coll_boot_halt(group);
	for (unsigned int i = 0; i < WF_COLL_ENGINES_MAX; i++)
		group_leave_engine(&group->at[i]);
	wf_coll_boot_stop(group);
	wf_coll_left_engine(coll);
	if (atomic_load_explicit(&group->state, memory_order_relaxed) ==
		WF_COLL_JOINING)
		atomic_fetch_sub(&coll->joining, 1);
	wf_coll_wake(coll);
	group_leave(group);
	wf_av_set_unref(group->set);
	free(group->member);
	free(group);
	/* release: pairs with the close of the endpoint. */
	atomic_fetch_sub_explicit(&ep->refs, 1, memory_order_release);
	return 0;
}

static struct fi_ops mc_fid_ops =
	WF_FID_OPS(group_mc_close, wf_absent_bind, wf_absent_control);

static int coll_group_new(struct wf_ep *ep, const struct fi_collective_addr *addr,
	void *context, struct wf_coll_group **ret_group)
{
	struct wf_av_set *set = wf_av_set_open_on(ep->av, addr->set);
	struct wf_coll_group *group;
	int ret;

	if (!set)
		return coll_group_refuse(
			ep, -FI_EINVAL, "the set is not one of the endpoint's AV");
	group = calloc(1, sizeof(*group));
	if (!group)
		return -FI_ENOMEM;
	group->fid.fid.fclass = FI_CLASS_MC;
	group->fid.fid.context = context;
	group->fid.fid.ops = &mc_fid_ops;
	group->coll = ep->coll;
	group->set = set;
	atomic_init(&group->state, WF_COLL_JOINING);
	wf_av_set_ref(set);
	ret = group_copy_members(group);
	if (!ret)
		ret = group_check_parent(group, addr->coll_addr);
	if (!ret) {
		*ret_group = group;
		return 0;
	}
	wf_av_set_unref(set);
	free(group->member);
	free(group);
	return ret;
}

static int group_enter_watched(
	struct wf_coll *coll, struct wf_coll_group *group, struct wf_eq *eq)
{
	int ret;

	pthread_mutex_lock(&coll->lock);
	ret = group_watch_eq(coll, eq);
	if (!ret)
		ret = group_enter(coll, group);
	pthread_mutex_unlock(&coll->lock);
	return ret;
}

int wf_coll_join(struct wf_ep *ep, const struct fi_collective_addr *addr,
	uint64_t flags, struct fid_mc **ret_mc, void *context)
{
	struct wf_coll *coll = ep->coll;
	struct wf_eq *eq = wf_ep_eq(ep);
	struct wf_coll_group *group = NULL;
	int ret;

	if (!addr || !addr->set || !ret_mc)
		return -FI_EINVAL;
	if (flags)
		return coll_group_refuse(ep, -FI_EBADFLAGS, "no flags are possible");
	if (!eq)
		return coll_group_refuse(
			ep, -FI_ENOEQ, "the endpoint has no event queue");
	ret = coll_group_new(ep, addr, context, &group);
	if (ret)
		return ret;
	ret = group_enter_watched(coll, group, eq);
	if (ret)
		goto err_free;
	atomic_fetch_add(&coll->joining, 1);
	atomic_store(&coll->is_used, true);
	atomic_fetch_add_explicit(&ep->refs, 1, memory_order_relaxed);
	/* The event names the group, so the caller must know it first. */
	*ret_mc = &group->fid;
	ret = wf_coll_join_engine(group, WF_COLL_BASE, NULL, group_base_joined);
	wf_coll_left_engine(coll);
	if (ret)
		goto err_leave;
	wf_coll_boot_base(group);
	wf_coll_wake(coll);
	return 0;

err_leave:
	*ret_mc = NULL;
	(void)coll_group_refuse(ep, ret, fi_strerror(-ret));
	atomic_fetch_sub_explicit(&ep->refs, 1, memory_order_release);
	atomic_fetch_sub(&coll->joining, 1);
	group_leave(group);
err_free:
	wf_av_set_unref(group->set);
	free(group->member);
	free(group);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/fabric.h"
#include "objects/poll/poll.h"
#include "objects/poll/ready.h"
#include "objects/wait/set.h"
#include "sys/cancel.h"
#include "sys/clock.h"

/*
 * A member has no wait object of its own: its signals wake the set's sleepers. fi_wait
 * asks every member before it sleeps, so that it returns at once if an entry was queued
 * before the call, or the reader left one.
 */

bool wf_wait_set_try(struct wf_wait_set *set, uint64_t *ret_ticket)
{
	struct wf_ready ready;
	struct wf_wait *member;
	bool idle = true;

	*ret_ticket = wf_wait_arm(&set->wait);
	(void)pthread_mutex_lock(&set->lock);
	wf_list_foreach(link, &set->members)
	{
		member = wf_list_entry(link, struct wf_wait, link);
		if (wf_ready_of(member->owner, &ready))
			idle &= wf_ready_try(member->owner, &ready);
	}
	(void)pthread_mutex_unlock(&set->lock);
	return idle;
}

static int wait_set_wait(struct fid_wait *fid, int timeout_ms)
{
	struct wf_wait_set *set = wf_wait_set_of(fid);
	uint64_t deadline_ns = wf_deadline_ns(timeout_ms), ticket;
	int cancel_state = wf_cancel_off(), ret = 0;

	while (!ret && wf_wait_set_try(set, &ticket)) {
		if (wf_expired(deadline_ns)) {
			ret = -FI_ETIMEDOUT;
			continue;
		}
		wf_cancel_set(cancel_state);
		(void)wf_wait_sleep(&set->wait, ticket, deadline_ns);
		(void)wf_cancel_off();
	}
	wf_cancel_set(cancel_state);
	return ret;
}

static int wait_set_close(struct fid *fid)
{
	struct wf_wait_set *set = wf_container_of(fid, struct wf_wait_set, fid.fid);
	struct wf_fabric *fabric = set->fabric;
	/* acquire: pairs with wf_wait_done of the last member. */
	int refs = atomic_load_explicit(&set->refs, memory_order_acquire);

	if (refs) {
		FI_INFO(fabric->prov->fi, FI_LOG_FABRIC,
			"wait set not closed: %d objects use it\n", refs);
		return -FI_EBUSY;
	}
	wf_wait_done(&set->wait);
	(void)pthread_mutex_destroy(&set->lock);
	free(set);
	atomic_fetch_sub_explicit(&fabric->refs, 1, memory_order_release);
	return 0;
}

static int wait_set_control(struct fid *fid, int command, void *arg)
{
	struct wf_wait_set *set = wf_container_of(fid, struct wf_wait_set, fid.fid);

	return wf_wait_control(&set->wait, command, arg);
}

static struct fi_ops wait_set_fid_ops =
	WF_FID_OPS(wait_set_close, wf_absent_bind, wait_set_control);

static struct fi_ops_wait wait_set_ops = {
	.size = sizeof(struct fi_ops_wait),
	.wait = wait_set_wait,
};

static int wait_set_check_attr(
	const struct wf_fabric *fabric, const struct fi_wait_attr *attr)
{
	if (!attr)
		return -FI_EINVAL;
	switch (attr->wait_obj) {
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_MUTEX_COND:
	case FI_WAIT_POLLFD:
	case FI_WAIT_YIELD:
		if (!attr->flags)
			return 0;
		break;
	default:
		break;
	}
	FI_WARN(fabric->prov->fi, FI_LOG_FABRIC,
		"wait set refused: wait object %d, flags 0x%llx, no flags possible\n",
		attr->wait_obj, (unsigned long long)attr->flags);
	return -FI_EINVAL;
}

int wf_wait_set_open(
	struct fid_fabric *fid, struct fi_wait_attr *attr, struct fid_wait **ret_wait)
{
	struct wf_fabric *fabric = wf_fabric_of(fid);
	struct wf_wait_set *set;
	int err;

	if (!ret_wait)
		return -FI_EINVAL;
	err = wait_set_check_attr(fabric, attr);
	if (err)
		return err;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	err = wf_wait_init(&set->wait, attr->wait_obj, NULL);
	if (err) {
		free(set);
		return err;
	}
	set->fid.fid.fclass = FI_CLASS_WAIT;
	set->fid.fid.ops = &wait_set_fid_ops;
	set->fid.ops = &wait_set_ops;
	set->fabric = fabric;
	(void)pthread_mutex_init(&set->lock, NULL);
	wf_list_init(&set->members);
	atomic_init(&set->refs, 0);
	atomic_fetch_add_explicit(&fabric->refs, 1, memory_order_relaxed);
	*ret_wait = &set->fid;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/poll/poll.h"
#include "objects/poll/ready.h"

/* A CQ or counter in a poll set, which counts as a user: fi_close returns -FI_EBUSY. */
struct member {
	struct wf_list link;
	struct fid *fid;
	struct wf_ready ready;
	uint64_t value, err; /* of a counter, as of the last fi_poll */
};

struct poll_set {
	struct fid_poll fid;
	struct wf_domain *domain;
	pthread_mutex_t lock;   /* guards @members; taken before the members' locks */
	struct wf_list members; /* struct member of each CQ and counter */
};

static struct poll_set *poll_set_poll_of(struct fid_poll *fid)
{
	return wf_container_of(fid, struct poll_set, fid);
}

static atomic_int *poll_set_refs_of(struct fid *fid)
{
	return fid->fclass == FI_CLASS_CQ
		       ? &wf_container_of(fid, struct wf_cq, fid.fid)->refs
		       : &wf_container_of(fid, struct wf_cntr, fid.fid)->refs;
}

static bool poll_set_cntr_moved(struct member *member)
{
	struct wf_cntr *cntr = wf_container_of(member->fid, struct wf_cntr, fid.fid);
	/* acquire: an application that sees the count sees the data that it counts. */
	uint64_t value = atomic_load_explicit(&cntr->value, memory_order_acquire);
	uint64_t err = atomic_load_explicit(&cntr->err, memory_order_acquire);
	bool moved = value != member->value || err != member->err;

	member->value = value;
	member->err = err;
	return moved;
}

static bool poll_set_has_events(struct member *member)
{
	wf_progress_list_run(member->ready.progress);
	return member->fid->fclass == FI_CLASS_CNTR
		       ? poll_set_cntr_moved(member)
		       : member->ready.readable(member->fid);
}

/* Reported members move to the end of the list, so that a short @context array reports
 * all of them in the end. */
static int poll_set_poll_poll(struct fid_poll *fid, void **context, int count)
{
	struct poll_set *set = poll_set_poll_of(fid);
	struct wf_list reported;
	struct member *member;
	int n = 0;

	if (count < 0 || (count && !context))
		return -FI_EINVAL;
	wf_list_init(&reported);
	(void)pthread_mutex_lock(&set->lock);
	wf_list_foreach_safe(link, &set->members)
	{
		member = wf_list_entry(link, struct member, link);
		if (n == count)
			break;
		if (!poll_set_has_events(member))
			continue;
		context[n++] = member->fid->context;
		wf_list_remove(link);
		wf_list_push(&reported, link);
	}
	while (!wf_list_empty(&reported))
		wf_list_push(&set->members, wf_list_pop(&reported));
	(void)pthread_mutex_unlock(&set->lock);
	return n;
}

static int poll_set_refused(const struct poll_set *set, const char *why)
{
	FI_WARN(set->domain->prov->fi, FI_LOG_DOMAIN, "poll set: refused: %s\n", why);
	return -FI_EINVAL;
}

/* @lock is held. */
static struct member *poll_set_find(struct poll_set *set, const struct fid *fid)
{
	wf_list_foreach(link, &set->members)
	{
		if (wf_list_entry(link, struct member, link)->fid == fid)
			return wf_list_entry(link, struct member, link);
	}
	return NULL;
}

static struct member *poll_set_new_member(struct fid *fid, const struct wf_ready *ready)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->fid = fid;
	member->ready = *ready;
	if (fid->fclass == FI_CLASS_CNTR)
		(void)poll_set_cntr_moved(member);
	return member;
}

static int poll_set_poll_add(
	struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct poll_set *set = poll_set_poll_of(fid);
	struct wf_ready ready;
	struct member *member;

	if (flags)
		return poll_set_refused(set, "flags must be 0");
	if (!event_fid || event_fid->fclass == FI_CLASS_EQ ||
		!wf_ready_of(event_fid, &ready))
		return poll_set_refused(
			set, "completion queues and counters can be added");
	member = poll_set_new_member(event_fid, &ready);
	if (!member)
		return -FI_ENOMEM;
	(void)pthread_mutex_lock(&set->lock);
	if (!poll_set_find(set, event_fid)) {
		wf_list_push(&set->members, &member->link);
		atomic_fetch_add_explicit(
			poll_set_refs_of(event_fid), 1, memory_order_relaxed);
		member = NULL;
	}
	(void)pthread_mutex_unlock(&set->lock);
	free(member);
	return 0;
}

/* @lock is held. */
static void poll_set_drop(struct member *member)
{
	wf_list_remove(&member->link);
	atomic_fetch_sub_explicit(
		poll_set_refs_of(member->fid), 1, memory_order_release);
	free(member);
}

static int poll_set_poll_del(
	struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct poll_set *set = poll_set_poll_of(fid);
	struct member *member;

	if (flags)
		return poll_set_refused(set, "flags must be 0");
	(void)pthread_mutex_lock(&set->lock);
	member = poll_set_find(set, event_fid);
	if (member)
		poll_set_drop(member);
	(void)pthread_mutex_unlock(&set->lock);
	return member ? 0 : poll_set_refused(set, "the object is not in the set");
}

static int poll_set_poll_close(struct fid *fid)
{
	struct poll_set *set = wf_container_of(fid, struct poll_set, fid.fid);
	struct wf_domain *domain = set->domain;
	bool busy;

	(void)pthread_mutex_lock(&set->lock);
	busy = !wf_list_empty(&set->members);
	(void)pthread_mutex_unlock(&set->lock);
	if (busy) {
		FI_INFO(domain->prov->fi, FI_LOG_DOMAIN,
			"poll set not closed: it has members\n");
		return -FI_EBUSY;
	}
	(void)pthread_mutex_destroy(&set->lock);
	free(set);
	wf_domain_unref(domain);
	return 0;
}

static struct fi_ops poll_fid_ops =
	WF_FID_OPS(poll_set_poll_close, wf_absent_bind, wf_absent_control);

static struct fi_ops_poll poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_set_poll_poll,
	.poll_add = poll_set_poll_add,
	.poll_del = poll_set_poll_del,
};

int wf_poll_open(
	struct fid_domain *fid, struct fi_poll_attr *attr, struct fid_poll **ret_poll)
{
	struct wf_domain *domain = wf_domain_of(fid);
	struct poll_set *set;

	if (!attr || !ret_poll)
		return -FI_EINVAL;
	if (attr->flags) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"poll set refused: flags 0x%llx asked for, none possible\n",
			(unsigned long long)attr->flags);
		return -FI_EINVAL;
	}
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->fid.fid.fclass = FI_CLASS_POLL;
	set->fid.fid.ops = &poll_fid_ops;
	set->fid.ops = &poll_ops;
	set->domain = domain;
	(void)pthread_mutex_init(&set->lock, NULL);
	wf_list_init(&set->members);
	wf_domain_ref(domain);
	*ret_poll = &set->fid;
	return 0;
}

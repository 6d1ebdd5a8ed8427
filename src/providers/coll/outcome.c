/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/endpoint.h"
#include "providers/coll/control.h"
#include "providers/coll/exec.h"
#include "providers/coll/group.h"
#include "providers/coll/join.h"

/* The end of a join, its report to the main provider, and failures of groups. */

static void outcome_open_or_fail(struct coll_group *group, int err)
{
	group->err = err;
	group->state = err ? COLL_FAILED : COLL_OPEN;
	wf_list_remove(&group->join_link);
	wf_list_push(&group->ep->joined, &group->joined_link);
	group->ep->has_ended_joins = true;
}

void coll_group_joined(struct coll_group *group, int err)
{
	if (err)
		coll_group_fail(group, err);
	else
		outcome_open_or_fail(group, 0);
}

static void outcome_fail_ops(struct wf_list *ops, int err)
{
	wf_list_foreach_safe(link, ops)
		coll_exec_fail(wf_list_entry(link, struct coll_op, link), err);
}

void coll_group_leave_node(struct coll_group *group)
{
	if (group->node)
		coll_node_close(group->node);
	group->node = NULL;
	group->has_node = false;
	wf_list_remove(&group->node_link);
}

void coll_group_fail(struct coll_group *group, int err)
{
	bool joins = group->state == COLL_JOINING;

	if (group->state == COLL_FAILED)
		return;
	coll_log(FI_LOG_INFO, FI_LOG_EP_CTRL, "group %u of %u members: %s: %s\n",
		group->id, group->members, joins ? "not joined" : "failed",
		fi_strerror(-err));
	group->state = COLL_FAILED;
	group->err = err;
	coll_control_abort(group, err);
	if (joins) {
		coll_join_stop(group);
		outcome_open_or_fail(group, err);
		return;
	}
	coll_group_leave_node(group);
	outcome_fail_ops(&group->ops, err);
}

static void outcome_write_event(struct coll_ep *ep, struct fid_mc *mc, void *context)
{
	struct fi_eq_entry entry = { .fid = &mc->fid, .context = context };
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	ssize_t ret =
		eq ? fi_eq_write(&eq->fid, FI_JOIN_COMPLETE, &entry, sizeof(entry), 0)
		   : -FI_ENOEQ;

	if (ret < 0)
		coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "FI_JOIN_COMPLETE is lost: %s\n",
			fi_strerror((int)-ret));
}

/* Tell the main provider that a join has ended. The lock is released meanwhile, and
 * @group may be freed afterwards. */
static void outcome_report(struct coll_ep *ep, struct coll_group *group)
{
	void (*joined)(void *, int) = group->joined;
	void *context = group->join_context;
	struct fid_mc *mc = group->main_mc;
	int err = group->err;

	ep->reporting = group;
	ep->reporter = pthread_self();
	wf_unlock(&ep->ep.lock);
	if (joined)
		joined(context, err);
	else if (!err)
		outcome_write_event(ep, mc, context);
	wf_lock(&ep->ep.lock);
	ep->reporting = NULL;
}

void coll_report_joined(struct coll_ep *ep)
{
	struct wf_list *link;

	/* relaxed: if this thread does not load the new value, run() does. */
	if (!atomic_load_explicit(&ep->has_joined, memory_order_relaxed))
		return;
	wf_lock(&ep->ep.lock);
	/* The thread that is reporting, perhaps this one, continues with the list. */
	while (!ep->reporting && (link = wf_list_pop(&ep->joined)))
		outcome_report(ep, wf_list_entry(link, struct coll_group, joined_link));
	coll_ep_unlock(ep);
}

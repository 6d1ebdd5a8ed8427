/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/wait.h"

#include "objects/cq/cq.h"
#include "objects/eq/eq.h"
#include "objects/eq/queue.h"

/* The wait object of a queue of this library; NULL: @queue is of another library. */
static struct wf_wait *wait_own(struct fid *queue)
{
	struct wf_cq *cq = wf_container_of(queue, struct wf_cq, fid.fid);
	struct wf_eq *eq = wf_container_of(queue, struct wf_eq, fid.fid);

	if (queue->fclass == FI_CLASS_CQ && wf_cq_is_ours(&cq->fid))
		return &cq->wait;
	if (queue->fclass == FI_CLASS_EQ && wf_eq_is_ours(&eq->fid))
		return &eq->wait;
	return NULL;
}

static int wait_add_own(
	struct wf_lower_wait *lower, struct wf_wait *wait, struct wf_fds *to)
{
	struct wf_fds *from = wf_wait_fds(wait);

	return from ? wf_fds_follow(&lower->link, from, to) : -FI_ENODATA;
}

int wf_lower_wait_add(
	struct wf_lower_wait *lower, struct fid *queue, struct wf_fds *fds)
{
	struct wf_wait *wait = wait_own(queue);
	int ret;

	if (wait)
		return wait_add_own(lower, wait, fds);
	if (lower->fds)
		return 0;
	ret = fi_control(queue, FI_GETWAIT, &lower->fd);
	if (!ret)
		ret = wf_fds_add(fds, lower->fd);
	if (!ret)
		lower->fds = fds;
	return ret;
}

void wf_lower_wait_del(struct wf_lower_wait *lower)
{
	wf_fds_unfollow(&lower->link);
	if (lower->fds)
		wf_fds_del(lower->fds, lower->fd);
	lower->fds = NULL;
}

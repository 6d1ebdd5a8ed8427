/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/progress.h"

int wf_lower_ep_watch(struct wf_lower_ep *below, struct wf_fds *fds)
{
	if (!below->has_fd)
		return 0;
	return wf_lower_wait_add(&below->wait, &below->cq->fid, fds);
}

bool wf_lower_ep_may_sleep(const struct wf_lower_ep *below)
{
	struct fid *fid = &below->cq->fid;

	return !below->has_fd || !fi_trywait(below->domain->fabric, &fid, 1);
}

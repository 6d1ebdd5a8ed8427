/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/progress.h"

#include <errno.h>
#include <sys/epoll.h>

int wf_lower_ep_watch(const struct wf_lower_ep *below, int epfd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd, ret;

	if (!below->has_fd)
		return 0;
	ret = fi_control(&below->cq->fid, FI_GETWAIT, &fd);
	if (ret)
		return ret;
	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

bool wf_lower_ep_may_sleep(const struct wf_lower_ep *below)
{
	struct fid *fid = &below->cq->fid;

	return !below->has_fd || !fi_trywait(below->domain->fabric, &fid, 1);
}

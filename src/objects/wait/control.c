/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/wait/set.h"

/* The application's access to a wait object: FI_GETWAIT and FI_GETWAITOBJ. */

static int control_get_wait(struct wf_wait *wait, void *arg)
{
	struct fi_mutex_cond *pair = arg;

	switch (wait->obj) {
	case FI_WAIT_FD:
		*(int *)arg = wait->fds.epfd;
		return 0;
	case FI_WAIT_POLLFD:
		return wf_fds_list(&wait->fds, arg);
	case FI_WAIT_MUTEX_COND:
		pair->mutex = &wait->mutex;
		pair->cond = &wait->cond;
		return 0;
	case FI_WAIT_SET:
		return control_get_wait(&wait->set->wait, arg);
	default:
		return -FI_ENODATA;
	}
}

int wf_wait_control(struct wf_wait *wait, int command, void *arg)
{
	if (command != FI_GETWAIT && command != FI_GETWAITOBJ)
		return -FI_ENOSYS;
	if (!arg)
		return -FI_EINVAL;
	if (command == FI_GETWAIT)
		return control_get_wait(wait, arg);
	*(enum fi_wait_obj *)arg = wait->obj;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/wait/set.h"

/* The application's access to a wait object: FI_GETWAIT and FI_GETWAITOBJ. */

/* @mutex is held. */
static int get_pollfds(struct wf_wait *wait, struct fi_wait_pollfd *ret)
{
	size_t capacity = ret->nfds;

	ret->change_index = wait->change_index;
	ret->nfds = wait->fd_count + 1;
	if (capacity < ret->nfds)
		return -FI_ETOOSMALL;
	if (!ret->fd)
		return -FI_EINVAL;
	ret->fd[0] = (struct pollfd){ .fd = wait->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < wait->fd_count; i++)
		ret->fd[i + 1] =
			(struct pollfd){ .fd = wait->fds[i].fd, .events = POLLIN };
	return 0;
}

static int get_wait(struct wf_wait *wait, void *arg)
{
	struct fi_mutex_cond *pair = arg;
	int err;

	switch (wait->obj) {
	case FI_WAIT_FD:
		*(int *)arg = wait->epfd;
		return 0;
	case FI_WAIT_POLLFD:
		(void)pthread_mutex_lock(&wait->mutex);
		err = get_pollfds(wait, arg);
		(void)pthread_mutex_unlock(&wait->mutex);
		return err;
	case FI_WAIT_MUTEX_COND:
		pair->mutex = &wait->mutex;
		pair->cond = &wait->cond;
		return 0;
	case FI_WAIT_SET:
		return get_wait(&wait->set->wait, arg);
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
		return get_wait(wait, arg);
	*(enum fi_wait_obj *)arg = wait->obj;
	return 0;
}

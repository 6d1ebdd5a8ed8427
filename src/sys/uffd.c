/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/calls.h"

/*
 * Pages are registered for faults of write protection, and none is ever protected: so
 * there are no faults, only events. That needs no privilege (UFFD_USER_MODE_ONLY, Linux
 * 5.11), and works with shared memory since Linux 5.19.
 */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

enum { EVENTS = 16 };

struct wf_uffd {
	int fd;                         /* the userfaultfd */
	int stop;                       /* an eventfd that ends the thread */
	struct wf_mem_changes *changes; /* the log of changes */
	pthread_t thread;               /* reads events and writes the log */
};

static bool uffd_range_of(const struct uffd_msg *msg, struct wf_mem_range *ret_range)
{
	switch (msg->event) {
	case UFFD_EVENT_UNMAP:
	case UFFD_EVENT_REMOVE:
		*ret_range = (struct wf_mem_range){
			.start = (uintptr_t)msg->arg.remove.start,
			.end = (uintptr_t)msg->arg.remove.end,
		};
		return true;
	case UFFD_EVENT_REMAP:
		*ret_range = (struct wf_mem_range){
			.start = (uintptr_t)msg->arg.remap.from,
			.end = (uintptr_t)(msg->arg.remap.from + msg->arg.remap.len),
		};
		return true;
	default:
		return false;
	}
}

/* Read events and add their ranges to the log. Reading an event lets the thread that
 * caused it continue; the lock is held until the range is added, so that the thread
 * finds the range in the log. */
static void uffd_take_events(struct wf_uffd *uffd)
{
	struct uffd_msg msgs[EVENTS];
	struct wf_mem_range range;
	ssize_t size;

	(void)pthread_mutex_lock(&uffd->changes->lock);
	size = wf_sys_read(uffd->fd, msgs, sizeof(msgs));
	for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(msgs[0]); i++)
		if (uffd_range_of(&msgs[i], &range))
			wf_mem_changes_add_locked(uffd->changes, range);
	(void)pthread_mutex_unlock(&uffd->changes->lock);
}

/* The thread. It never allocates or frees memory: a thread within malloc or free may be
 * waiting for this thread to read its event. */
static void *uffd_run(void *arg)
{
	struct wf_uffd *uffd = arg;
	struct pollfd fds[] = {
		{ .fd = uffd->fd, .events = POLLIN },
		{ .fd = uffd->stop, .events = POLLIN },
	};

	while (!fds[1].revents) {
		if (wf_sys_poll(fds, 2, -1) > 0 && fds[0].revents)
			uffd_take_events(uffd);
	}
	return NULL;
}

static int uffd_start_thread(struct wf_uffd *uffd)
{
	sigset_t all, before;
	int err;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&uffd->thread, NULL, uffd_run, uffd);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static int uffd_open_fd(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
			    UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	int err, fd = (int)syscall(
			 SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, UFFDIO_API, &api))
		return fd;
	err = -errno;
	(void)wf_sys_close(fd);
	return err;
}

int wf_uffd_open(struct wf_mem_changes *changes, struct wf_uffd **ret_uffd)
{
	struct wf_uffd *uffd = malloc(sizeof(*uffd));
	int err;

	if (!uffd)
		return -ENOMEM;
	uffd->changes = changes;
	uffd->fd = uffd_open_fd();
	if (uffd->fd < 0) {
		err = uffd->fd;
		goto err_free;
	}
	uffd->stop = eventfd(0, EFD_CLOEXEC);
	if (uffd->stop < 0) {
		err = -errno;
		goto err_close;
	}
	err = uffd_start_thread(uffd);
	if (err)
		goto err_stop;
	*ret_uffd = uffd;
	return 0;

err_stop:
	(void)wf_sys_close(uffd->stop);
err_close:
	(void)wf_sys_close(uffd->fd);
err_free:
	free(uffd);
	return err;
}

void wf_uffd_close(struct wf_uffd *uffd)
{
	const uint64_t one = 1;

	if (!uffd)
		return;
	/* Cannot fail: the counter is 0. */
	if (wf_sys_write(uffd->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		(void)wf_sys_join(uffd->thread);
	(void)wf_sys_close(uffd->stop);
	/* The kernel wakes the threads that wait for their events to be read. */
	(void)wf_sys_close(uffd->fd);
	free(uffd);
}

int wf_uffd_watch(struct wf_uffd *uffd, const void *addr, size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = (uintptr_t)addr & ~(page - 1);
	const uintptr_t end = ((uintptr_t)addr + len + page - 1) & ~(page - 1);
	struct uffdio_register range = {
		.range = { .start = start, .len = end - start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(uffd->fd, UFFDIO_REGISTER, &range) ? -errno : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/wait/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <rdma/fi_errno.h>

#include "sys/calls.h"
#include "sys/fds.h"

struct wf_fd {
	int fd;
	/* wf_fds_add calls without a del: one endpoint may feed several members of a
	 * wait set. */
	unsigned int uses;
};

void wf_fds_init(struct wf_fds *fds)
{
	*fds = (struct wf_fds){ .epfd = -1 };
	(void)pthread_mutex_init(&fds->lock, NULL);
	wf_list_init(&fds->followed);
}

void wf_fds_done(struct wf_fds *fds)
{
	if (fds->epfd >= 0)
		wf_fds_close(fds->epfd);
	free(fds->fds);
	(void)pthread_mutex_destroy(&fds->lock);
}

/* @lock is held, here and below. */
static int fds_watch(const struct wf_fds *fds, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fds->epfd < 0)
		return 0;
	return epoll_ctl(fds->epfd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void fds_unwatch(const struct wf_fds *fds, int fd)
{
	if (fds->epfd >= 0)
		(void)epoll_ctl(fds->epfd, EPOLL_CTL_DEL, fd, NULL);
}

static int fds_open_set(struct wf_fds *fds)
{
	int ret = 0;

	fds->epfd = wf_epoll();
	if (fds->epfd < 0)
		return -errno;
	for (size_t i = 0; i < fds->count && !ret; i++)
		ret = fds_watch(fds, fds->fds[i].fd);
	if (!ret)
		return 0;
	wf_fds_close(fds->epfd);
	fds->epfd = -1;
	return ret;
}

int wf_fds_open(struct wf_fds *fds)
{
	int ret = 0;

	(void)pthread_mutex_lock(&fds->lock);
	if (fds->epfd < 0)
		ret = fds_open_set(fds);
	if (!ret)
		ret = fds->epfd;
	(void)pthread_mutex_unlock(&fds->lock);
	return ret;
}

static struct wf_fd *fds_find(struct wf_fds *fds, int fd)
{
	for (size_t i = 0; i < fds->count; i++) {
		if (fds->fds[i].fd == fd)
			return &fds->fds[i];
	}
	return NULL;
}

static bool fds_make_space(struct wf_fds *fds)
{
	size_t capacity = fds->capacity ? 2 * fds->capacity : 4;
	struct wf_fd *more;

	if (fds->count < fds->capacity)
		return true;
	more = realloc(fds->fds, capacity * sizeof(*more));
	if (!more)
		return false;
	fds->fds = more;
	fds->capacity = capacity;
	return true;
}

/* Take @fd back from the followers before @end. */
static void fds_tell_del(struct wf_fds *fds, int fd, const struct wf_list *end)
{
	for (struct wf_list *at = fds->followed.next; at != end; at = at->next)
		wf_fds_del(wf_list_entry(at, struct wf_fds_link, link)->to, fd);
}

/* Give @fd to all followers, or to none. */
static int fds_tell_add(struct wf_fds *fds, int fd)
{
	int ret;

	wf_list_foreach(at, &fds->followed)
	{
		ret = wf_fds_add(wf_list_entry(at, struct wf_fds_link, link)->to, fd);
		if (ret) {
			fds_tell_del(fds, fd, at);
			return ret;
		}
	}
	return 0;
}

static int fds_add(struct wf_fds *fds, int fd)
{
	struct wf_fd *known = fds_find(fds, fd);
	int ret;

	if (known) {
		known->uses++;
		return 0;
	}
	if (!fds_make_space(fds))
		return -FI_ENOMEM;
	ret = fds_watch(fds, fd);
	if (ret)
		return ret;
	ret = fds_tell_add(fds, fd);
	if (ret) {
		fds_unwatch(fds, fd);
		return ret;
	}
	fds->fds[fds->count++] = (struct wf_fd){ .fd = fd, .uses = 1 };
	fds->change_index++;
	return 0;
}

int wf_fds_add(struct wf_fds *fds, int fd)
{
	int ret;

	(void)pthread_mutex_lock(&fds->lock);
	ret = fds_add(fds, fd);
	(void)pthread_mutex_unlock(&fds->lock);
	return ret;
}

static void fds_del(struct wf_fds *fds, int fd)
{
	struct wf_fd *known = fds_find(fds, fd);

	if (!known || --known->uses)
		return;
	fds_tell_del(fds, fd, &fds->followed);
	fds_unwatch(fds, fd);
	*known = fds->fds[--fds->count];
	fds->change_index++;
}

void wf_fds_del(struct wf_fds *fds, int fd)
{
	(void)pthread_mutex_lock(&fds->lock);
	fds_del(fds, fd);
	(void)pthread_mutex_unlock(&fds->lock);
}

/* Take the first @count descriptors of @from back from @to. */
static void fds_take_back(const struct wf_fds *from, struct wf_fds *to, size_t count)
{
	while (count--)
		wf_fds_del(to, from->fds[count].fd);
}

static int fds_hand_over(const struct wf_fds *from, struct wf_fds *to)
{
	int ret;

	for (size_t i = 0; i < from->count; i++) {
		ret = wf_fds_add(to, from->fds[i].fd);
		if (ret) {
			fds_take_back(from, to, i);
			return ret;
		}
	}
	return 0;
}

int wf_fds_follow(struct wf_fds_link *link, struct wf_fds *from, struct wf_fds *to)
{
	int ret;

	if (link->from)
		return 0;
	*link = (struct wf_fds_link){ .from = from, .to = to };
	(void)pthread_mutex_lock(&from->lock);
	ret = fds_hand_over(from, to);
	if (!ret)
		wf_list_push(&from->followed, &link->link);
	(void)pthread_mutex_unlock(&from->lock);
	if (ret)
		link->from = NULL;
	return ret;
}

void wf_fds_unfollow(struct wf_fds_link *link)
{
	struct wf_fds *from = link->from;

	if (!from)
		return;
	(void)pthread_mutex_lock(&from->lock);
	wf_list_remove(&link->link);
	fds_take_back(from, link->to, from->count);
	(void)pthread_mutex_unlock(&from->lock);
	link->from = NULL;
}

static int fds_list(const struct wf_fds *fds, struct fi_wait_pollfd *ret)
{
	size_t capacity = ret->nfds;

	ret->change_index = fds->change_index;
	ret->nfds = fds->count;
	if (capacity < ret->nfds)
		return -FI_ETOOSMALL;
	if (!ret->fd)
		return -FI_EINVAL;
	for (size_t i = 0; i < fds->count; i++)
		ret->fd[i] = (struct pollfd){ .fd = fds->fds[i].fd, .events = POLLIN };
	return 0;
}

int wf_fds_list(struct wf_fds *fds, struct fi_wait_pollfd *ret)
{
	int err;

	(void)pthread_mutex_lock(&fds->lock);
	err = fds_list(fds, ret);
	(void)pthread_mutex_unlock(&fds->lock);
	return err;
}

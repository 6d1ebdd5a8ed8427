/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sys/bitmap.h"
#include "sys/calls.h"
#include "sys/fds.h"
#include "sys/forks.h"

/* Descriptors that forked children close or replace. */

/* A set of descriptors. */
struct fd_bits {
	uint64_t *at; /* one bit for each descriptor */
	size_t words;
	size_t count; /* number of bits that are set */
};

/* Guards the sets. Held while a process forks, so that the child finds them
 * consistent. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fd_bits owned;  /* a forked child closes these */
static struct fd_bits epolls; /* epoll descriptors, which a forked child replaces */

static void fds_own_before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void fds_own_in_parent(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/* Let @fd be an empty epoll set. The one that the child inherited is that of its
 * parent, which would miss events of what the child removes from it. */
static void fds_own_replace_epoll(int fd)
{
	int own = epoll_create1(EPOLL_CLOEXEC);

	if (own < 0) {
		(void)wf_sys_close(fd);
		return;
	}
	(void)dup3(own, fd, O_CLOEXEC);
	(void)wf_sys_close(own);
}

static void fds_own_for_each(const struct fd_bits *bits, void (*call)(int fd))
{
	for (size_t i = 0; i < bits->words; i++) {
		for (uint64_t left = bits->at[i]; left; left &= left - 1)
			call((int)(i * 64) + __builtin_ctzll(left));
	}
}

static void fds_own_close_fd(int fd)
{
	(void)wf_sys_close(fd);
}

static void fds_own_in_child(void)
{
	fds_own_for_each(&owned, fds_own_close_fd);
	if (owned.words)
		memset(owned.at, 0, owned.words * sizeof(*owned.at));
	owned.count = 0;
	fds_own_for_each(&epolls, fds_own_replace_epoll);
	(void)pthread_mutex_unlock(&lock);
}

int wf_fds_watch_forks(void)
{
	return pthread_atfork(fds_own_before_fork, fds_own_in_parent, fds_own_in_child);
}

/* @lock is held. */
static bool fds_own_make_space(struct fd_bits *bits, size_t fd)
{
	size_t count = bits->words ? bits->words : 4;
	uint64_t *grown;

	if (fd / 64 < bits->words)
		return true;
	while (fd / 64 >= count)
		count *= 2;
	grown = realloc(bits->at, count * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + bits->words, 0, (count - bits->words) * sizeof(*grown));
	bits->at = grown;
	bits->words = count;
	return true;
}

static int fds_own_add(struct fd_bits *bits, int fd)
{
	int err = -wf_forks_count();

	(void)pthread_mutex_lock(&lock);
	if (!err && !fds_own_make_space(bits, (size_t)fd))
		err = ENOMEM;
	if (!err && !wf_bit_test(bits->at, (size_t)fd)) {
		wf_bit_set(bits->at, (size_t)fd);
		bits->count++;
	}
	(void)pthread_mutex_unlock(&lock);
	return -err;
}

/* @lock is held. */
static void fds_own_drop(struct fd_bits *bits, size_t fd)
{
	if (fd / 64 >= bits->words || !wf_bit_test(bits->at, fd))
		return;
	wf_bit_clear(bits->at, fd);
	if (--bits->count)
		return;
	free(bits->at);
	*bits = (struct fd_bits){ .at = NULL };
}

int wf_fds_own(int fd)
{
	return fds_own_add(&owned, fd);
}

/* The bits are cleared first: another thread may get the same number as soon as @fd is
 * closed. */
void wf_fds_close(int fd)
{
	(void)pthread_mutex_lock(&lock);
	fds_own_drop(&owned, (size_t)fd);
	fds_own_drop(&epolls, (size_t)fd);
	(void)pthread_mutex_unlock(&lock);
	(void)wf_sys_close(fd);
}

int wf_epoll(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC), err;

	if (wf_fds_is_short(fd))
		fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -1;
	err = fds_own_add(&epolls, fd);
	if (!err)
		return fd;
	(void)wf_sys_close(fd);
	errno = -err;
	return -1;
}

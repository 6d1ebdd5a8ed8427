/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PARAMS_INTERPOSE_H
#define TESTS_PARAMS_INTERPOSE_H

/* Calls that the library makes, counted in one process. The program's
 * functions come before those of the C library. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "sys/compiler.h"

/* Of the thread that asks. */
static _Thread_local unsigned long interposed_sleeps;

static struct {
	/* A thread of the library makes calls as well. */
	_Atomic unsigned long sends; /* calls that send */
	_Atomic size_t recv_max;   /* most bytes that one call asks for in one buffer */
	_Atomic bool from_watched; /* Something was sent out of the watched bytes. */
	const uint8_t *watched, *watched_end;
} interposed;

static inline void interpose_watch(const void *from, size_t len)
{
	interposed.watched = from;
	interposed.watched_end = interposed.watched + len;
}

static inline void interpose_sent(const void *from)
{
	const uint8_t *at = from;

	if (at >= interposed.watched && at < interposed.watched_end)
		interposed.from_watched = true;
}

WF_EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");

	interposed.sends++;
	interpose_sent(buf);
	return next(fd, buf, len, flags);
}

WF_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*next)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");

	interposed.sends++;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		interpose_sent(msg->msg_iov[i].iov_base);
	return next(fd, msg, flags);
}

WF_EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t (*next)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");

	if (len > interposed.recv_max)
		interposed.recv_max = len;
	return next(fd, buf, len, flags);
}

WF_EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	int (*next)(const struct timespec *, struct timespec *) =
		dlsym(RTLD_NEXT, "nanosleep");

	interposed_sleeps++;
	return next(time, left);
}

#endif

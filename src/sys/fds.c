/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/fds.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* The limit of the number of descriptors. */

enum {
	/* Bounded because some programs close all descriptors below the limit, one by
	 * one. */
	LIMIT_MAX = 1 << 20,
	/* This fraction of the limit is kept free for the application. */
	SPARE_SHARE = 16,
};

static atomic_bool raised;

static bool fds_raise_limit(void)
{
	struct rlimit limit;
	rlim_t wanted;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	wanted = limit.rlim_max < LIMIT_MAX ? limit.rlim_max : LIMIT_MAX;
	if (wanted <= limit.rlim_cur)
		return false;
	limit.rlim_cur = wanted;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

bool wf_fds_more(void)
{
	int err = errno;
	/* relaxed: it publishes no other data. */
	bool more = !atomic_exchange_explicit(&raised, true, memory_order_relaxed) &&
		    fds_raise_limit();

	errno = err;
	return more;
}

void wf_fds_note(int fd)
{
	struct rlimit limit;

	if (!atomic_load_explicit(&raised, memory_order_relaxed) &&
		!getrlimit(RLIMIT_NOFILE, &limit) &&
		(rlim_t)fd >= limit.rlim_cur - limit.rlim_cur / SPARE_SHARE)
		(void)wf_fds_more();
}

/* @fd was just opened, or errno is set. True: try again, with the limit raised. */
bool wf_fds_is_short(int fd)
{
	if (fd < 0)
		return errno == EMFILE && wf_fds_more();
	wf_fds_note(fd);
	return false;
}

int wf_socket(int domain, int type, int protocol)
{
	int fd = socket(domain, type, protocol);

	return wf_fds_is_short(fd) ? socket(domain, type, protocol) : fd;
}

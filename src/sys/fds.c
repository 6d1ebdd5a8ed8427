/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/bitmap.h"

enum {
	/* Some programs close all descriptors that there may be, one by one. */
	LIMIT_MAX = 1 << 20,
	/* One in so many descriptors of the limit is kept free. */
	SPARE_PART = 16,
};

/* ---- how many ---- */

static atomic_bool raised;

static bool raise_limit(void)
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
		    raise_limit();

	errno = err;
	return more;
}

void wf_fds_note(int fd)
{
	struct rlimit limit;

	if (!atomic_load_explicit(&raised, memory_order_relaxed) &&
		!getrlimit(RLIMIT_NOFILE, &limit) &&
		(rlim_t)fd >= limit.rlim_cur - limit.rlim_cur / SPARE_PART)
		(void)wf_fds_more();
}

int wf_socket(int domain, int type, int protocol)
{
	int fd = socket(domain, type, protocol);

	if (fd >= 0)
		wf_fds_note(fd);
	else if (errno == EMFILE && wf_fds_more())
		fd = socket(domain, type, protocol);
	return fd;
}

/* ---- none left ---- */

int wf_fds_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool wf_fds_refuse(int listener, int *spare)
{
	int fd;

	if (*spare < 0)
		*spare = wf_fds_spare();
	if (*spare < 0)
		return false;
	(void)close(*spare);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		(void)close(fd);
	*spare = wf_fds_spare();
	return fd >= 0;
}

/* ---- those that children close ---- */

/* Guards the bits. Held while a process forks, so that the child finds them consistent.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *bits; /* one bit for each descriptor; set: a forked child closes it */
static size_t words;
static size_t owned;  /* number of bits that are set */
static bool watching; /* the handlers are registered */

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	(void)pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	for (size_t i = 0; i < words; i++) {
		for (; bits[i]; bits[i] &= bits[i] - 1)
			(void)close((int)(i * 64) + __builtin_ctzll(bits[i]));
	}
	owned = 0;
	(void)pthread_mutex_unlock(&lock);
}

/* @lock is held. */
static bool make_space(size_t fd)
{
	size_t count = words ? words : 4;
	uint64_t *grown;

	if (fd / 64 < words)
		return true;
	while (fd / 64 >= count)
		count *= 2;
	grown = realloc(bits, count * sizeof(*bits));
	if (!grown)
		return false;
	memset(grown + words, 0, (count - words) * sizeof(*grown));
	bits = grown;
	words = count;
	return true;
}

int wf_fds_own(int fd)
{
	int err = 0;

	(void)pthread_mutex_lock(&lock);
	if (!watching)
		err = pthread_atfork(before_fork, in_parent, in_child);
	watching = !err;
	if (!err && !make_space((size_t)fd))
		err = ENOMEM;
	if (!err && !wf_bit_test(bits, (size_t)fd)) {
		wf_bit_set(bits, (size_t)fd);
		owned++;
	}
	(void)pthread_mutex_unlock(&lock);
	return -err;
}

/* @lock is held. */
static void disown(size_t fd)
{
	if (fd / 64 >= words || !wf_bit_test(bits, fd))
		return;
	wf_bit_clear(bits, fd);
	if (--owned)
		return;
	free(bits);
	bits = NULL;
	words = 0;
}

/* The bit is cleared first: another thread may get the same number as soon as @fd is
 * closed. */
void wf_fds_close(int fd)
{
	(void)pthread_mutex_lock(&lock);
	disown((size_t)fd);
	(void)pthread_mutex_unlock(&lock);
	(void)close(fd);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/bitmap.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Descriptors that forked children close. */

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
			(void)wf_sys_close((int)(i * 64) + __builtin_ctzll(bits[i]));
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
	(void)wf_sys_close(fd);
}

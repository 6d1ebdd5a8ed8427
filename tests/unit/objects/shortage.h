/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_SHORTAGE_H
#define TESTS_UNIT_OBJECTS_SHORTAGE_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <rdma/fabric.h>

#include "sys/forks.h"

/*
 * Memory and descriptors that run out: of the calls of this thread that shortage_calls in
 * meson.build names, as many as shortage_left says succeed, and those after them fail.
 */

#define SHORTAGE_NONE UINT32_MAX

static _Thread_local unsigned int shortage_left = SHORTAGE_NONE;
/* Only one call fails; those after it succeed. */
static _Thread_local _Bool shortage_is_short;

static inline _Bool shortage_allows(void)
{
	if (shortage_left == SHORTAGE_NONE)
		return 1;
	if (!shortage_left) {
		if (shortage_is_short)
			shortage_left = SHORTAGE_NONE;
		errno = ENOMEM;
		return 0;
	}
	shortage_left--;
	return 1;
}

/* A function whose calls in the library are calls of __wrap_NAME. */
#define SHORTAGE_OF(type, name, none, params, args)                                    \
	type __real_##name params;                                                     \
	__attribute__((visibility("default"))) type __wrap_##name params;              \
	type __wrap_##name params                                                      \
	{                                                                              \
		return shortage_allows() ? __real_##name args : (none);                \
	}

SHORTAGE_OF(void *, malloc, NULL, (size_t len), (len))
SHORTAGE_OF(void *, calloc, NULL, (size_t count, size_t len), (count, len))
SHORTAGE_OF(void *, realloc, NULL, (void *old, size_t len), (old, len))
SHORTAGE_OF(void *, aligned_alloc, NULL, (size_t align, size_t len), (align, len))
SHORTAGE_OF(int, posix_memalign, ENOMEM, (void **ret, size_t align, size_t len),
	(ret, align, len))
SHORTAGE_OF(char *, strdup, NULL, (const char *text), (text))
SHORTAGE_OF(struct fi_info *, fi_dupinfo, NULL, (const struct fi_info *info), (info))
SHORTAGE_OF(int, eventfd, -1, (unsigned int count, int flags), (count, flags))
SHORTAGE_OF(int, epoll_create1, -1, (int flags), (flags))
SHORTAGE_OF(int, pthread_create, ENOMEM,
	(pthread_t * id, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
	(id, attr, run, arg))
SHORTAGE_OF(int, wf_fork_hook_add, -FI_ENOMEM,
	(struct wf_fork_hook * hook, void (*in_child)(struct wf_fork_hook *)),
	(hook, in_child))

/*
 * Have every call that @step makes run out of memory once, the first one first: @step
 * returns -FI_ENOMEM each time, until it returns 0. The result is the number of failures.
 */
static inline unsigned int shortage_each(ssize_t (*step)(void *arg), void *arg)
{
	unsigned int failures = 0;
	ssize_t ret;

	for (;; failures++) {
		shortage_left = failures;
		ret = step(arg);
		shortage_left = SHORTAGE_NONE;
		if (!ret)
			return failures;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_true(failures < 100);
	}
}

/* The same for a shortage that is over after one call, which @step must not have got
 * along without. @step may be called again after it succeeded. */
static inline unsigned int shortage_each_short(ssize_t (*step)(void *arg), void *arg)
{
	unsigned int failures;

	shortage_is_short = 1;
	failures = shortage_each(step, arg);
	shortage_is_short = 0;
	return failures;
}

#endif

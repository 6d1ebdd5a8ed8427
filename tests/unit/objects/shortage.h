/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_SHORTAGE_H
#define TESTS_UNIT_OBJECTS_SHORTAGE_H

#include <limits.h>
#include <sys/types.h>

#include <rdma/fabric.h>

#include "../refuse.h"
#include "sys/forks.h"

/* A step that runs out of memory, descriptors or threads at each of its calls. Linked with
 * shortage_link_args. */

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))
REFUSE_CALL(int, "wf_fork_hook_add", wf_fork_hook_add, -FI_ENOMEM,
	(struct wf_fork_hook * hook, void (*in_child)(struct wf_fork_hook *)),
	(hook, in_child))

/* Do what @statement says without a shortage, then go on with it. */
#define PREPARE(statement)                                                             \
	do {                                                                           \
		refuse.paused = true;                                                  \
		statement;                                                             \
		refuse.paused = false;                                                 \
	} while (0)

/* From now on nothing is left, until refuse_end. */
static inline void shortage_begin(void)
{
	refuse_from("resources", 1, UINT_MAX, ENOMEM);
}

static inline unsigned int shortage_count(
	ssize_t (*step)(void *arg), void *arg, unsigned int how_many)
{
	unsigned int failures = 0;
	ssize_t ret;

	for (;; failures++) {
		refuse_from("resources", failures + 1, how_many, ENOMEM);
		ret = step(arg);
		(void)refuse_end();
		if (!ret)
			return failures;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_true(failures < 100);
	}
}

/*
 * Have every call that @step makes run out of memory once, the first one first, and those
 * behind it: @step returns -FI_ENOMEM each time, until it returns 0. The result is the
 * number of failures.
 */
static inline unsigned int shortage_each(ssize_t (*step)(void *arg), void *arg)
{
	return shortage_count(step, arg, UINT_MAX);
}

/* The same for a shortage that is over after one call, which @step must not have got
 * along without. @step may be called again after it succeeded. */
static inline unsigned int shortage_each_short(ssize_t (*step)(void *arg), void *arg)
{
	return shortage_count(step, arg, 1);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SYS_CHILD_H
#define TESTS_UNIT_SYS_CHILD_H

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* @body, which returns 0, in a process of its own. */
static inline void in_a_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#endif

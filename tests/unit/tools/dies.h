/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TOOLS_DIES_H
#define TESTS_UNIT_TOOLS_DIES_H

#include <sys/wait.h>
#include <unistd.h>

/* @run ends its process with @status, having said @text on the standard error. */
static __attribute__((unused)) void dies(
	int status, const char *text, void (*run)(void *arg), void *arg)
{
	char said[1024] = "";
	size_t len = 0;
	int fd[2], ret;
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(fd), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)dup2(fd[1], STDERR_FILENO);
		run(arg);
		_exit(99);
	}
	(void)close(fd[1]);
	while ((n = read(fd[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(fd[0]);
	assert_int_equal(waitpid(child, &ret, 0), child);
	assert_string_equal(said, text);
	assert_true(WIFEXITED(ret));
	assert_int_equal(WEXITSTATUS(ret), status);
}

#endif

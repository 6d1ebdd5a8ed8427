/* SPDX-License-Identifier: BSD-2-Clause */
/* Does unlocking.c notice a mutex that is not held, and only that? */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizer.h"

#if defined(__GLIBC__) && !SANITIZED
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int unlocks_in_child(int count)
{
	pid_t pid;
	int status;

	(void)pthread_mutex_lock(&mutex);
	pid = fork();
	if (!pid) {
		(void)!freopen("/dev/null", "w", stdout);
		for (int i = 0; i < count; i++)
			(void)pthread_mutex_unlock(&mutex);
		_exit(0);
	}
	(void)pthread_mutex_unlock(&mutex);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}
#endif

int main(void)
{
#if defined(__GLIBC__) && !SANITIZED
	bool ok = !unlocks_in_child(1) && unlocks_in_child(2) == SIGABRT;

	printf("%sok 1 - a mutex that is not held\n1..1\n", ok ? "" : "not ");
	return !ok;
#else
	printf("ok 1 - a mutex that is not held # SKIP no check here\n1..1\n");
	return 0;
#endif
}

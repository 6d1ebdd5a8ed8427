/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child that was forked while another thread of its parent was inside the library,
 * with a lock of it held, leaves through exit().
 *
 * The lock is that of the parameters: fi_getparams holds it while it asks for each
 * variable's value, and getenv is this program's own here, which lets the thread wait
 * until the fork is done.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "../time_limits.h"

#define TIME_LIMIT_MS limit_ms(20000) /* how long an event may take to come */

static const char wanted[] = "FI_LOG_INTERVAL"; /* a variable that fi_getparams reads */
static _Thread_local bool slow;
static atomic_bool inside, go_on;
static char api_failed; /* what the thread returns the address of */

/* In front of the C library's, although the program is built with hidden symbols. */
__attribute__((visibility("default"))) char *getenv(const char *name)
{
	size_t len = strlen(name);

	if (slow && !strcmp(name, wanted)) {
		atomic_store(&inside, true);
		while (!atomic_load(&go_on))
			(void)poll(NULL, 0, 1);
	}
	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, name, len) && (*entry)[len] == '=')
			return *entry + len + 1;
	}
	return NULL;
}

static void *read_params(void *arg)
{
	struct fi_param *params;
	int count;

	slow = true;
	if (fi_getparams(&params, &count))
		return arg;
	fi_freeparams(params);
	return NULL;
}

/* The child's exit status; -1 when it has to be killed. */
static int wait_for(pid_t pid)
{
	int status;

	for (int i = 0; i < TIME_LIMIT_MS / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		(void)poll(NULL, 0, 10);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return -1;
}

int main(void)
{
	struct fi_info *info;
	pthread_t thread;
	void *failed;
	int status;
	pid_t pid;

	/* Starts the library. */
	if (fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, NULL, &info))
		return 2;
	fi_freeinfo(info);
	if (pthread_create(&thread, NULL, read_params, &api_failed))
		return 2;
	for (int i = 0; i < TIME_LIMIT_MS && !atomic_load(&inside); i++)
		(void)poll(NULL, 0, 1);
	if (!atomic_load(&inside)) {
		printf("not ok 1 - fi_getparams did not ask for %s\n1..1\n", wanted);
		return 1;
	}
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(42);
	status = pid < 0 ? -1 : wait_for(pid);
	atomic_store(&go_on, true);
	if (pthread_join(thread, &failed) || failed)
		return 2;
	printf("%s 1 - a forked child leaves through exit\n1..1\n",
		status == 42 ? "ok" : "not ok");
	return status != 42;
}

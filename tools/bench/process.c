/* SPDX-License-Identifier: BSD-2-Clause */
#include "process.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. */
static _Noreturn void process_become(
	const struct fb_process *p, int output, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	cpu_set_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(FB_EXIT_FAILED);
	dup2(null, STDIN_FILENO);
	dup2(output >= 0 ? output : null, STDOUT_FILENO);
	if (p->silent)
		dup2(null, STDERR_FILENO);
	if (p->core >= 0) {
		CPU_ZERO(&set);
		CPU_SET((size_t)p->core, &set);
		(void)sched_setaffinity(0, sizeof(set), &set);
	}
	for (char *const *env = p->env; env && *env; env++)
		putenv(*env);
	/* An alarm outlives the call of exec. */
	alarm(p->limit_s);
	execvp(p->argv[0], p->argv);
	fb_say("%s: %s", p->argv[0], strerror(errno));
	_exit(127);
}

pid_t fb_process_start(const struct fb_process *p, FILE **ret_output)
{
	int fd[2] = { -1, -1 };
	pid_t parent = getpid(), child;

	if (ret_output && pipe2(fd, O_CLOEXEC))
		fb_die(FB_EXIT_FAILED, "pipe: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child < 0)
		fb_die(FB_EXIT_FAILED, "fork: %s", strerror(errno));
	if (!child)
		process_become(p, fd[1], parent);
	if (!ret_output)
		return child;
	close(fd[1]);
	*ret_output = fdopen(fd[0], "r");
	if (!*ret_output)
		fb_die(FB_EXIT_FAILED, "pipe: %s", strerror(errno));
	return child;
}

int fb_process_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fb_die(FB_EXIT_FAILED, "waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

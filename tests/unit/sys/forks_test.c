/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "../refuse.h"
#include "child.h"
#include "sys/compiler.h"
#include "sys/fds.h"
#include "sys/forks.h"

/* What forked children do, and when no process is forked. The first test comes first,
 * because handlers are registered once. */

static unsigned int nth_handler;

static void never_called(struct wf_fork_hook *hook)
{
	abort();
}

static int without_handlers(void)
{
	struct wf_fork_hook hook = { .in_child = NULL };
	int next = refuse_next_fd(), fd = dup(0);

	refuse_one("pthread_atfork", nth_handler, ENOMEM);
	if (wf_fork_hook_add(&hook, never_called) != -ENOMEM || !refuse_end())
		return 1;
	/* It is not in the list. */
	if (hook.in_child)
		return 2;
	wf_fork_hook_remove(&hook);
	/* The first answer stays. */
	if (wf_forks_count() != -ENOMEM || wf_fds_own(fd) != -ENOMEM)
		return 3;
	(void)close(fd);
	errno = 0;
	if (wf_epoll() != -1 || errno != ENOMEM)
		return 4;
	return refuse_next_fd() == next ? 0 : 5;
}

static void no_handlers_of_forks(void **state)
{
	for (nth_handler = 1; nth_handler <= 2; nth_handler++)
		in_a_child(without_handlers);
}

/* Without a set of its own, a child has none: that of its parent is closed. */
static void no_epoll_in_a_child(void **state)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = wf_epoll(), next, status, pair[2];
	pid_t pid;

	assert_true(fd >= 0);
	refuse_one("epoll_create1", 1, EMFILE);
	pid = fork();
	if (!pid) {
		if (!refuse_end())
			_exit(1);
		_exit(fcntl(fd, F_GETFD) == -1 && refuse_next_fd() == fd ? 0 : 2);
	}
	assert_false(refuse_end());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* With one, it has the same number, is empty, and nothing is left open. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &event), 0);
	next = refuse_next_fd();
	pid = fork();
	if (!pid && epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &event))
		_exit(3);
	if (!pid)
		_exit(fcntl(fd, F_GETFD) == FD_CLOEXEC && refuse_next_fd() == next ? 0
										   : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(
		epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &event) ? errno : 0, EEXIST);
	(void)close(pair[0]);
	(void)close(pair[1]);
	wf_fds_close(fd);
}

/* A child closes those that are owned, also after some were closed. */
static void what_a_child_closes(void **state)
{
	static const int numbers[] = { 30, 31, 63, 64, 255, 256, 700 };
	int status;
	pid_t pid;

	for (size_t i = 0; i < WF_ARRAY_SIZE(numbers); i++) {
		assert_int_equal(fcntl(0, F_DUPFD_CLOEXEC, numbers[i]), numbers[i]);
		assert_int_equal(wf_fds_own(numbers[i]), 0);
	}
	wf_fds_close(31);
	wf_fds_close(256);
	assert_int_equal(fcntl(0, F_DUPFD_CLOEXEC, 31), 31);
	pid = fork();
	if (!pid) {
		for (size_t i = 0; i < WF_ARRAY_SIZE(numbers); i++)
			if ((fcntl(numbers[i], F_GETFD) >= 0) != (numbers[i] == 31))
				_exit((int)i + 1);
		/* They are not its own: what gets the number stays open in its child. */
		if (dup2(0, 64) != 64)
			_exit(10);
		pid = fork();
		if (!pid)
			_exit(fcntl(64, F_GETFD) >= 0 ? 0 : 1);
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(11);
		_exit(wf_fds_own(64) ? 12 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(31);
	for (size_t i = 0; i < WF_ARRAY_SIZE(numbers); i++)
		if (numbers[i] != 31 && numbers[i] != 256)
			wf_fds_close(numbers[i]);
}

static struct wf_fork_hook first, second;
static int order;

static void note_first(struct wf_fork_hook *hook)
{
	order = hook == &first && !order ? 1 : -1;
}

static void note_second(struct wf_fork_hook *hook)
{
	order = hook == &second && order == 1 ? 2 : -1;
}

static int exit_of_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(wf_fork_depth * 10 + (unsigned int)order);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void hooks_of_forks(void **state)
{
	assert_int_equal(wf_fork_hook_add(&first, note_first), 0);
	assert_int_equal(wf_fork_hook_add(&second, note_second), 0);
	assert_int_equal(exit_of_child(), 12);
	assert_int_equal(order, 0);
	assert_int_equal(wf_fork_depth, 0);
	wf_fork_hook_remove(&second);
	wf_fork_hook_remove(&second);
	assert_int_equal(exit_of_child(), 11);
	wf_fork_hook_remove(&first);
	assert_null(first.in_child);
	assert_int_equal(exit_of_child(), 10);
	assert_int_equal(wf_fork_hook_add(&first, note_first), 0);
	assert_int_equal(exit_of_child(), 11);
	wf_fork_hook_remove(&first);
}

static atomic_int forking, allowed;

static void *fork_once(void *arg)
{
	int status, *ret = arg;
	pid_t pid;

	atomic_store(&forking, 1);
	pid = fork();
	if (!pid)
		_exit(atomic_load(&allowed));
	*ret = waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
	return NULL;
}

/* No process is forked before the last of two threads has ended its work. */
static void forks_are_deferred(void **state)
{
	pthread_t thread;
	int ret = -1;

	wf_fork_defer();
	wf_fork_defer();
	assert_int_equal(pthread_create(&thread, NULL, fork_once, &ret), 0);
	while (!atomic_load(&forking))
		(void)sched_yield();
	for (int i = 0; i < 2; i++) {
		/* Time for a fork that does not wait. */
		(void)poll(NULL, 0, 2);
		atomic_store(&allowed, i + 1);
		wf_fork_allow();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ret, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_handlers_of_forks),
		cmocka_unit_test(no_epoll_in_a_child),
		cmocka_unit_test(what_a_child_closes),
		cmocka_unit_test(hooks_of_forks),
		cmocka_unit_test(forks_are_deferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

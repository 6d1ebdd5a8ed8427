/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../readable.h"
#include "../../time_limits.h"
#include "sys/fds.h"
#include "unit.h"

#define LIMIT_MS limit_ms(20000) /* how long an event may take to come */

/* A child that lives until it is killed, and has begun. */
static pid_t start_child(void)
{
	int begun[2];
	pid_t pid;

	assert_int_equal(pipe(begun), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		(void)!write(begun[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_true(is_readable(begun[0], LIMIT_MS));
	close(begun[0]);
	close(begun[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The end of a socket is reported while a child lives. */
static void children_close_what_is_owned(void **state)
{
	int owned[2], other[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, owned), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(wf_fds_own(owned[0]), 0);
	pid = start_child();
	wf_fds_close(owned[0]);
	close(other[0]);
	assert_true(is_readable(owned[1], 0));
	assert_false(is_readable(other[1], 0));
	end_child(pid);
	close(owned[1]);
	close(other[1]);
}

/* What gets the number of one that was closed is not taken for it. */
static void numbers_are_used_again(void **state)
{
	int pair[2], fd = fcntl(0, F_DUPFD_CLOEXEC, 700);
	pid_t pid;

	(void)state;
	assert_int_equal(fd, 700);
	assert_int_equal(wf_fds_own(fd), 0);
	wf_fds_close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(dup2(pair[0], fd), fd);
	close(pair[0]);
	pid = start_child();
	close(fd);
	assert_false(is_readable(pair[1], 0));
	end_child(pid);
	assert_true(is_readable(pair[1], LIMIT_MS));
	close(pair[1]);
}

static int listener_of(struct sockaddr_un *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* The kernel finds a name. */
	assert_int_equal(bind(fd, (struct sockaddr *)addr, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* Soft limits in this process are its own affair: in a child. */
static int run_out(void)
{
	struct rlimit limit;
	int fd, last = -1;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max < 256)
		return 77;
	limit.rlim_cur = 64;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	while ((fd = dup(0)) >= 0)
		last = fd;
	if (last != 63)
		return 2;
	/* Raised, with what asks for one. */
	if (wf_socket(AF_UNIX, SOCK_STREAM, 0) != 64)
		return 3;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 256)
		return 4;
	/* Once. */
	limit.rlim_cur = 65;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 5;
	return wf_socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || wf_fds_more() ? 6 : 0;
}

static void limit_is_raised_once(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(run_out());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: the hard limit of descriptors is below 256\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* One that waits is sent away, and the spare descriptor is there for the next one. */
static void refused_with_a_spare_one(void **state)
{
	struct sockaddr_un addr;
	int listener = listener_of(&addr), spare = -1;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char byte;

	(void)state;
	assert_false(wf_fds_refuse(listener, &spare));
	assert_true(spare >= 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&addr, sizeof(sa_family_t) + 6), 0);
	assert_true(is_readable(listener, 0));
	assert_true(wf_fds_refuse(listener, &spare));
	assert_true(spare >= 0);
	assert_false(is_readable(listener, 0));
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
	close(spare);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_close_what_is_owned),
		cmocka_unit_test(numbers_are_used_again),
		cmocka_unit_test(limit_is_raised_once),
		cmocka_unit_test(refused_with_a_spare_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

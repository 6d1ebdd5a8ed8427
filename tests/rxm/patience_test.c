/* SPDX-License-Identifier: BSD-2-Clause */
/* How long operations of tcp;ofi_rxm wait for a peer: one that does not answer, and one
 * whose host refuses connections. Each case is a process of its own, because parameters
 * are read once. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../time_limits.h"
#include "env.h"

enum { LIMIT_MS = 10000, DEFAULT_REFUSED_MS = 2000 };

/* A port of this host, to which nothing listens yet. */
static int bound_socket(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (void *)addr, len), 0);
	assert_int_equal(getsockname(fd, (void *)addr, &len), 0);
	return fd;
}

static void send_one(struct rdm_end *env, const struct sockaddr_in *addr)
{
	static const uint8_t buf[8];
	fi_addr_t to;

	assert_int_equal(fi_av_insert(env->av, addr, 1, &to, 0, NULL), 1);
	assert_int_equal(fi_send(env->ep, buf, sizeof(buf), NULL, to, env), 0);
}

/* One step of the endpoint: the error of an operation, or 0. */
static int step(struct rdm_end *env)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_entry entry;
	ssize_t n = fi_cq_read(env->cq, &entry, 1);

	if (n == -FI_EAGAIN)
		return 0;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(env->cq, &err, 0), 1);
	return err.err;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The error of the operation; 0: none came within @ms. */
static int await_error(struct rdm_end *env, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	int err = 0;

	while (!err && now_ms() < end)
		err = step(env);
	return err;
}

/* The kernel takes the connection, and nothing answers: the thread that sleeps until the
 * operation ends is woken by the time limit alone. */
static void a_silent_peer(void)
{
	struct fi_info *info = loopback_info("tcp;ofi_rxm", FI_MSG, 0);
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in addr;
	struct rdm_end env;
	int fd = bound_socket(&addr);

	assert_int_equal(listen(fd, 8), 0);
	info->domain_attr->progress = FI_PROGRESS_MANUAL;
	rdm_end_open(&env, info, 0, FI_WAIT_FD);
	send_one(&env, &addr);
	assert_int_equal(
		fi_cq_sread(env.cq, &entry, 1, NULL, limit_ms(LIMIT_MS)), -FI_EAVAIL);
	assert_int_equal(step(&env), FI_ETIMEDOUT);
	rdm_end_close(&env);
	close(fd);
}

static void a_late_peer(void)
{
	struct sockaddr_in addr;
	struct rdm_end env;
	int fd = bound_socket(&addr), got = -1;
	uint64_t end;

	setup(&env);
	send_one(&env, &addr);
	assert_int_equal(await_error(&env, DEFAULT_REFUSED_MS + 500), 0);
	assert_int_equal(listen(fd, 8), 0);
	end = now_ms() + (uint64_t)limit_ms(LIMIT_MS);
	while (got < 0 && now_ms() < end) {
		assert_int_equal(step(&env), 0);
		got = accept(fd, NULL, NULL);
	}
	assert_true(got >= 0);
	close(got);
	close(fd);
	_exit(0); /* the send waits on */
}

static void in_child(void (*body)(void), const char *name, const char *value)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		(void)setenv(name, value, 1);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_a_silent_peer_is_given_up(void **state)
{
	(void)state;
	in_child(a_silent_peer, "FI_OFI_RXM_CONNECT_TIMEOUT", "200");
}

static void test_a_refusing_host_is_asked_for_longer(void **state)
{
	(void)state;
	in_child(a_late_peer, "FI_OFI_RXM_REFUSED_TIMEOUT", "3600000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_silent_peer_is_given_up),
		cmocka_unit_test(test_a_refusing_host_is_asked_for_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

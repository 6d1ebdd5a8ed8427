/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_EXCHANGE_FIXTURE_H
#define TESTS_UNIT_TCP_EXCHANGE_FIXTURE_H

/*
 * For tests of the exchange that begins a connection: the test is the other end, with a
 * socket of its own, and moves the clock instead of waiting for a limit.
 */
#include "conn_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <time.h>

#include "../refuse.h"
#include "sys/clock.h"

enum { INSTANCE = 0x1234 };

/* The clock stands still while a test does not move it. */
static uint64_t clock_ahead_ns;

__attribute__((visibility("default"))) int __wrap_clock_gettime(
	clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	static struct timespec start;

	if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)
		return __real_clock_gettime(id, ts);
	if (!start.tv_sec)
		(void)__real_clock_gettime(CLOCK_MONOTONIC, &start);
	*ts = start;
	ts->tv_sec += (time_t)(clock_ahead_ns / 1000000000);
	return 0;
}

static inline void seconds_pass(unsigned int seconds)
{
	clock_ahead_ns += seconds * UINT64_C(1000000000);
}

/* ---- the test's socket ---- */

static int other = -1; /* -1: none */

/* The test's endpoint does what it can do now. */
static void step(void);

static inline void close_other(void)
{
	if (other >= 0)
		close(other);
	other = -1;
}

static inline void wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

/* A socket that listens at @host and, if that is not 0, @port; -1: that is in use. */
static inline int listen_at(in_addr_t host, in_port_t port, struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(host)
	};
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)ret, sizeof(*ret)) || listen(fd, 8)) {
		assert_int_not_equal(port, 0);
		close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

static inline void accept_other(int listener)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	while (!poll(&pfd, 1, 0))
		step();
	other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(other >= 0);
}

static inline void put(const void *data, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	assert_int_equal(__real_sendmsg(other, &msg, MSG_NOSIGNAL), len);
}

/* @ext NULL: of an old peer. */
static inline void put_message(enum tcp_cm_type type, const struct tcp_cm_ext *ext,
	const void *data, size_t len)
{
	uint8_t buf[TCP_CM_MAX];

	put(buf, tcp_cm_encode(buf, type, ext, data, len));
}

/* The message that the endpoint has sent, which must be of this type with @len bytes of
 * data. */
static inline struct tcp_cm_msg get_message(
	enum tcp_cm_type type, void *data, size_t data_len)
{
	struct tcp_cm_msg msg;
	uint8_t buf[TCP_CM_MAX];
	size_t len = 0;
	int need;

	while ((need = tcp_cm_decode(buf, len, &msg)) > 0) {
		ssize_t n = recv(other, buf + len, (size_t)need - len, MSG_DONTWAIT);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			step();
			continue;
		}
		assert_true(n > 0);
		len += (size_t)n;
	}
	assert_int_equal(need, 0);
	assert_int_equal(msg.type, type);
	assert_int_equal(msg.data_len, data_len);
	if (data_len)
		memcpy(data, buf + TCP_CM_HDR, data_len);
	return msg;
}

/* The endpoint has closed the connection. */
static inline void get_end(void)
{
	struct pollfd pfd = { .fd = other, .events = POLLIN };
	uint8_t byte;

	while (!poll(&pfd, 1, 0))
		step();
	assert_true(recv(other, &byte, 1, MSG_DONTWAIT) <= 0);
	close_other();
}

#endif

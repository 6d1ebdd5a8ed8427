/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "providers/tcp/cm/cm.h"
#include "providers/tcp/cm/listen.h"
#include "sys/compiler.h"
#include "sys/fds.h"

struct fi_provider tcp_fi = { .name = "tcp" };

static const struct tcp_netconf any = { .nodelay = -1, .keepalive_ms = 60000 };

static union wf_sockaddr host(const char *text)
{
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host(text, &sa), 0);
	return sa;
}

static void wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	assert_int_equal(poll(&pfd, 1, -1), 1);
}

static int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static int accept_one(struct tcp_listener *listener, union wf_sockaddr *ret_peer)
{
	int fd;

	wait_for(listener->fd, POLLIN);
	assert_int_equal(tcp_listener_accept(listener, &any, 0, &fd, ret_peer), 0);
	return fd;
}

static union wf_sockaddr local_name(int fd)
{
	union wf_sockaddr name;
	socklen_t len = sizeof(name);

	assert_int_equal(getsockname(fd, &name.sa, &len), 0);
	return name;
}

/* The whole way between two of ours, over real sockets. */
static void exchange_over(const char *address)
{
	struct tcp_sock_debt debt;
	const struct tcp_cm_own own = { .features = TCP_HAVE_PROBE, .instance = 1 };
	union wf_sockaddr addr = host(address), peer, name;
	struct tcp_listener listener;
	struct tcp_cm here, there;
	int from, to, ret;

	assert_int_equal(tcp_listen(&listener, &addr, &any), 0);
	assert_int_not_equal(wf_sockaddr_port(&listener.name), 0);
	assert_int_equal(
		tcp_listener_accept(&listener, &any, 0, &to, &peer), -FI_EAGAIN);
	assert_int_equal(tcp_connect(&addr, &listener.name, &any, 0, &from), 0);
	tcp_cm_start_active(&here, from, &own, "hello", 5);
	to = accept_one(&listener, &peer);
	name = local_name(from);
	assert_true(wf_sockaddr_equal(&peer, &name));
	assert_true(wf_sockaddr_same_host(&peer, &addr));
	tcp_cm_start_passive(&there, to, &own);
	assert_true(fcntl(to, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(to, F_GETFD) & FD_CLOEXEC);

	wait_for(from, POLLOUT);
	assert_int_equal(tcp_cm_progress(&here), 0);
	wait_for(to, POLLIN);
	assert_int_equal(tcp_cm_progress(&there), 1);
	assert_int_equal(tcp_cm_accept(&there, own.features, "hi", 2), 1);
	wait_for(from, POLLIN);
	ret = tcp_cm_progress(&here);
	assert_int_equal(ret, 1);
	assert_int_equal(here.peer.have, TCP_HAVE_PROBE);
	assert_memory_equal(tcp_cm_data(&here), "hi", 2);

	assert_int_equal(get_int(from, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(get_int(to, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(get_int(to, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(get_int(to, IPPROTO_TCP, TCP_KEEPIDLE), 30);
	/* A peer that does not read for a long time is alive all the same. */
	assert_int_equal(get_int(to, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
	assert_false(tcp_sock_owes(from, &debt));
	close(from);
	close(to);
	tcp_listener_close(&listener);
	assert_int_equal(listener.fd, -1);
	tcp_listener_close(&listener);
}

static void connects_over_ipv4(void **state)
{
	exchange_over("127.0.0.1");
}

static void connects_over_ipv6(void **state)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	union wf_sockaddr addr = host("::1");
	bool none = fd < 0 || bind(fd, &addr.sa, sizeof(addr.in6));

	if (fd >= 0)
		close(fd);
	if (none)
		skip();
	exchange_over("::1");
}

static void nobody_listens(void **state)
{
	const struct tcp_cm_own own = { .instance = 1 };
	union wf_sockaddr addr = host("127.0.0.1"), gone;
	struct tcp_listener listener;
	struct tcp_cm cm;
	int fd, ret;

	assert_int_equal(tcp_listen(&listener, &addr, &any), 0);
	gone = listener.name;
	tcp_listener_close(&listener);
	/* Over loopback the error may come at once. */
	ret = tcp_connect(NULL, &gone, &any, 0, &fd);
	if (!ret) {
		tcp_cm_start_active(&cm, fd, &own, NULL, 0);
		wait_for(fd, POLLOUT);
		ret = tcp_cm_progress(&cm);
		assert_int_equal(cm.state, TCP_CM_FAILED);
		close(fd);
	}
	assert_int_equal(ret, -FI_ECONNREFUSED);
}

static void families_must_agree(void **state)
{
	union wf_sockaddr v4 = host("127.0.0.1"), v6 = host("::1");
	int fd;

	wf_sockaddr_set_port(&v6, 9);
	assert_int_equal(tcp_connect(&v4, &v6, &any, 0, &fd), -EAFNOSUPPORT);
}

/* Find free ports, next to each other; another process may take one at any moment, so
 * try until it works. */
static bool find_range(struct tcp_netconf *conf, struct tcp_listener held[2])
{
	union wf_sockaddr addr = host("127.0.0.1");

	for (int i = 0; i < 1000; i++) {
		/* Other runs of this test begin elsewhere. */
		int low = 21000 + (getpid() + i) % 1000 * 10;

		conf->port_low = low;
		conf->port_high = low + 1;
		if (tcp_listen(&held[0], &addr, conf))
			continue;
		if (!tcp_listen(&held[1], &addr, conf))
			return true;
		tcp_listener_close(&held[0]);
	}
	return false;
}

static void listens_within_the_range(void **state)
{
	struct tcp_netconf conf = any;
	union wf_sockaddr addr = host("127.0.0.1");
	struct tcp_listener held[2], third;

	assert_true(find_range(&conf, held));
	assert_int_equal(wf_sockaddr_port(&held[0].name), conf.port_low);
	assert_int_equal(wf_sockaddr_port(&held[1].name), conf.port_high);
	/* All are taken. */
	assert_int_equal(tcp_listen(&third, &addr, &conf), -EADDRINUSE);
	/* A port that was asked for is not looked for elsewhere. */
	wf_sockaddr_set_port(&addr, (uint16_t)conf.port_low);
	assert_int_equal(tcp_listen(&third, &addr, &conf), -EADDRINUSE);
	tcp_listener_close(&held[0]);
	assert_int_equal(tcp_listen(&third, &addr, &conf), 0);
	tcp_listener_close(&third);
	tcp_listener_close(&held[1]);
}

/* One of two ports is listened at, so that all connections share the other one: to
 * different ends they may, and the second to the same end goes beyond the range. */
static void connects_from_the_range(void **state)
{
	static const int target_of[] = { 0, 1, 0 };
	struct tcp_netconf conf = any;
	union wf_sockaddr addr = host("127.0.0.1"), peer, name;
	struct tcp_listener held[2], target[2];
	int fd[3], to[3];

	for (int i = 0; i < 2; i++)
		assert_int_equal(tcp_listen(&target[i], &addr, &any), 0);
	assert_true(find_range(&conf, held));
	tcp_listener_close(&held[0]);
	for (int i = 0; i < 3; i++) {
		struct tcp_listener *listener = &target[target_of[i]];

		assert_int_equal(
			tcp_connect(&addr, &listener->name, &conf, 0, &fd[i]), 0);
		wait_for(fd[i], POLLOUT);
		to[i] = accept_one(listener, &peer);
		name = local_name(fd[i]);
		if (i < 2)
			assert_int_equal(wf_sockaddr_port(&name), conf.port_low);
		else
			assert_true(wf_sockaddr_port(&name) < conf.port_low ||
				    wf_sockaddr_port(&name) > conf.port_high);
	}
	for (int i = 0; i < 3; i++) {
		close(fd[i]);
		close(to[i]);
	}
	tcp_listener_close(&held[1]);
	tcp_listener_close(&target[0]);
	tcp_listener_close(&target[1]);
}

/* When the process has no descriptor left, the connecting peer is refused, and the
 * listener does not stay readable for ever. */
static void refuses_when_no_descriptor_is_left(void **state)
{
	union wf_sockaddr addr = host("127.0.0.1"), peer;
	struct tcp_listener listener;
	struct rlimit limit, none;
	struct pollfd pfd;
	char byte;
	int fd, to, accepted;

	/* From now on the limit is what it is. */
	(void)wf_fds_more();
	assert_int_equal(tcp_listen(&listener, &addr, &any), 0);
	assert_int_equal(tcp_connect(NULL, &listener.name, &any, 0, &fd), 0);
	wait_for(listener.fd, POLLIN);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	/* Everything below the highest descriptor is in use, save the spare one. */
	for (to = dup(0); to >= 0 && to < fd; to = dup(0))
		;
	none.rlim_cur = (rlim_t)to + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(
		tcp_listener_accept(&listener, &any, 0, &accepted, &peer), -FI_EAGAIN);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	close(to);

	pfd = (struct pollfd){ .fd = listener.fd, .events = POLLIN };
	assert_int_equal(poll(&pfd, 1, 0), 0);
	wait_for(fd, POLLIN);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	assert_true(listener.reserve >= 0);
	close(fd);
	tcp_listener_close(&listener);
}

static void bulk_data_may_be_delayed(void **state)
{
	struct tcp_netconf conf = any;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	tcp_sock_setup(fd, AF_INET, &conf, FI_TC_BULK_DATA);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 0);
	conf.nodelay = 0;
	tcp_sock_setup(fd, AF_INET, &conf, FI_TC_LOW_LATENCY);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 0);
	conf.nodelay = 1;
	tcp_sock_setup(fd, AF_INET, &conf, FI_TC_BULK_DATA);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	tcp_sock_setup(fd, AF_INET, &conf, fi_tc_dscp_set(10));
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_TOS), 40);
	close(fd);
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd < 0)
		return;
	tcp_sock_setup(fd, AF_INET6, &conf, fi_tc_dscp_set(10));
	assert_int_equal(get_int(fd, IPPROTO_IPV6, IPV6_TCLASS), 40);
	close(fd);
}

static void probes_of_silent_peers(void **state)
{
	static const struct {
		int keepalive_ms, idle, interval;
	} rows[] = {
		{ 1, 1, 1 },
		{ 2000, 1, 1 },
		{ 7999, 3, 1 },
		{ 16000, 8, 2 },
		{ 60000, 30, 7 },
		/* The most that the kernel takes. */
		{ 65536000, 32767, 8192 },
		{ INT_MAX, 32767, 32767 },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct tcp_netconf conf = { .nodelay = 0,
			.keepalive_ms = rows[i].keepalive_ms };
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		tcp_sock_setup(fd, AF_INET, &conf, 0);
		assert_int_equal(get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), rows[i].idle);
		assert_int_equal(
			get_int(fd, IPPROTO_TCP, TCP_KEEPINTVL), rows[i].interval);
		assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
		assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 0);
		assert_int_equal(get_int(fd, IPPROTO_IP, IP_TOS), 0);
		close(fd);
	}
}

static void no_probes_of_silent_peers(void **state)
{
	const struct tcp_netconf conf = { .nodelay = 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0), idle;

	(void)state;
	idle = get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE);
	tcp_sock_setup(fd, AF_INET, &conf, 0);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle);
	close(fd);
}

static bool set_algorithm(int fd, const char *name)
{
	return !setsockopt(
		fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

static void expect_algorithm(int fd, const char *want)
{
	char name[16] = { 0 };
	socklen_t len = sizeof(name);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	assert_string_equal(name, want);
}

/* Both ends are on this machine: no pacing, from before the connection was made, and a
 * queue that fits into the cache. A socket that has no other end is left alone. */
static void one_machine_is_no_network(void **state)
{
	enum { KERNEL_DOUBLES = 2 };
	union wf_sockaddr addr = host("127.0.0.1"), peer;
	char system_algorithm[16] = { 0 };
	socklen_t len = sizeof(system_algorithm);
	struct tcp_listener listener;
	int from, to, lone = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_true(lone >= 0);
	assert_int_equal(
		getsockopt(lone, IPPROTO_TCP, TCP_CONGESTION, system_algorithm, &len),
		0);
	assert_false(tcp_sock_connected(lone));
	expect_algorithm(lone, system_algorithm);
	tcp_sock_before_connect(lone,
		&(union wf_sockaddr){ .in = { .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(0xc0000201) } });
	expect_algorithm(lone, system_algorithm);
	/* It is unknown which host will connect. */
	tcp_sock_before_listen(lone, &(union wf_sockaddr){ .sa.sa_family = AF_INET });
	expect_algorithm(lone, system_algorithm);

	tcp_sock_before_connect(lone, &addr);
	expect_algorithm(lone, "reno");
	assert_int_equal(tcp_listen(&listener, &addr, &any), 0);
	expect_algorithm(listener.fd, "reno");
	assert_int_equal(tcp_connect(NULL, &listener.name, &any, 0, &from), 0);
	expect_algorithm(from, "reno");
	to = accept_one(&listener, &peer);
	expect_algorithm(from, "reno");
	expect_algorithm(to, "reno");
	/* As after a listener that did not know who would connect. */
	if (set_algorithm(from, "cubic")) {
		assert_true(tcp_sock_connected(from));
		expect_algorithm(from, "reno");
	}
	assert_true(tcp_sock_connected(from));
	assert_true(tcp_sock_connected(to));
	assert_true(get_int(to, SOL_SOCKET, SO_RCVBUF) <= KERNEL_DOUBLES * (448 << 10));
	tcp_sock_cork(from, true);
	assert_int_equal(get_int(from, IPPROTO_TCP, TCP_CORK), 1);
	tcp_sock_cork(from, false);
	assert_int_equal(get_int(from, IPPROTO_TCP, TCP_CORK), 0);
	close(lone);
	close(from);
	close(to);
	tcp_listener_close(&listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects_over_ipv4),
		cmocka_unit_test(connects_over_ipv6),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(families_must_agree),
		cmocka_unit_test(listens_within_the_range),
		cmocka_unit_test(connects_from_the_range),
		cmocka_unit_test(refuses_when_no_descriptor_is_left),
		cmocka_unit_test(bulk_data_may_be_delayed),
		cmocka_unit_test(probes_of_silent_peers),
		cmocka_unit_test(no_probes_of_silent_peers),
		cmocka_unit_test(one_machine_is_no_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

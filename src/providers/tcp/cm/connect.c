/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <unistd.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/log.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Sockets that connect. */

static int connect_new_socket(
	int family, const struct tcp_netconf *conf, uint32_t tclass)
{
	int fd = wf_socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		tcp_sock_setup(fd, family, conf, tclass);
	return fd;
}

/* Start to connect. 0: connecting or connected; else a negative errno. */
static int connect_start(int fd, const union wf_sockaddr *dest)
{
	tcp_sock_before_connect(fd, dest);
	if (!wf_sys_connect(fd, &dest->sa, (socklen_t)wf_sockaddr_len(dest)) ||
		errno == EINPROGRESS || errno == EINTR)
		return 0;
	/* EINVAL is the kernel's error for a blackhole route. */
	return errno == EINVAL ? -EHOSTUNREACH : -errno;
}

int tcp_bound_socket(const union wf_sockaddr *local, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd)
{
	int on = 1, err, fd = connect_new_socket(local->sa.sa_family, conf, tclass);
	uint16_t port = wf_sockaddr_port(local);

	if (fd < 0)
		return -errno;
	/* Several connections may share a port if their other ends differ: the kernel
	 * chooses a free port when it knows the other end. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!port)
		(void)setsockopt(
			fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if ((port || !wf_sockaddr_is_wildcard(local)) &&
		bind(fd, &local->sa, (socklen_t)wf_sockaddr_len(local))) {
		err = -errno;
		wf_sys_close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

/* Connect from @port; 0: the kernel's choice. */
static int connect_from(const union wf_sockaddr *local, uint16_t port,
	const union wf_sockaddr *dest, const struct tcp_netconf *conf, uint32_t tclass,
	int *ret_fd)
{
	union wf_sockaddr name = *local;
	int fd = -1, err;

	wf_sockaddr_set_port(&name, port);
	err = tcp_bound_socket(&name, conf, tclass, &fd);
	if (err)
		return err;
	err = connect_start(fd, dest);
	if (err) {
		wf_sys_close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static bool connect_port_taken(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL || err == -EACCES;
}

/* Try each port of the range once, beginning with another one each time. */
static int connect_in_range(const union wf_sockaddr *local,
	const union wf_sockaddr *dest, const struct tcp_netconf *conf, uint32_t tclass,
	int *ret_fd)
{
	static atomic_uint next_port;
	unsigned int count = (unsigned int)(conf->port_high - conf->port_low) + 1;
	/* relaxed: any number will do. */
	unsigned int first =
		atomic_fetch_add_explicit(&next_port, 1, memory_order_relaxed);
	int err = -EADDRINUSE;

	for (unsigned int i = 0; i < count && connect_port_taken(err); i++) {
		unsigned int port =
			(unsigned int)conf->port_low + (first % count + i) % count;

		err = connect_from(local, (uint16_t)port, dest, conf, tclass, ret_fd);
	}
	return err;
}

static int connect_failed(
	const union wf_sockaddr *from, const union wf_sockaddr *dest, int err)
{
	char text[2][WF_SOCKADDR_STRLEN];

	FI_LOG_SPARSE(&tcp_fi, FI_LOG_INFO, FI_LOG_EP_CTRL,
		"cannot connect from %s to %s: %s\n",
		wf_sockaddr_uri(from, text[0], sizeof(text[0])),
		wf_sockaddr_uri(dest, text[1], sizeof(text[1])), fi_strerror(-err));
	return err;
}

int tcp_connect(const union wf_sockaddr *local, const union wf_sockaddr *dest,
	const struct tcp_netconf *conf, uint32_t tclass, int *ret_fd)
{
	union wf_sockaddr from = local ? *local : wf_sockaddr_any(dest->sa.sa_family);
	uint16_t port = wf_sockaddr_port(&from);
	char text[WF_SOCKADDR_STRLEN];
	int err;

	if (from.sa.sa_family != dest->sa.sa_family) {
		err = -EAFNOSUPPORT;
		goto err_log;
	}
	if (conf->port_low && !port) {
		err = connect_in_range(&from, dest, conf, tclass, ret_fd);
		if (!connect_port_taken(err)) {
			if (err)
				goto err_log;
			return 0;
		}
		FI_LOG_SPARSE(&tcp_fi, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"no port from %d to %d is free to connect to %s, the system "
			"chooses one\n",
			conf->port_low, conf->port_high,
			wf_sockaddr_uri(dest, text, sizeof(text)));
	}
	err = connect_from(&from, port, dest, conf, tclass, ret_fd);
	if (!err)
		return 0;

err_log:
	return connect_failed(&from, dest, err);
}

int tcp_connect_bound(int fd, const union wf_sockaddr *dest)
{
	union wf_sockaddr from = { 0 };
	socklen_t len = sizeof(from);
	int err = connect_start(fd, dest);

	if (!err)
		return 0;
	(void)getsockname(fd, &from.sa, &len);
	return connect_failed(&from, dest, err);
}

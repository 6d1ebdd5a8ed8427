/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <unistd.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/log.h"
#include "sys/calls.h"
#include "sys/compiler.h"
#include "sys/fds.h"
#include "sys/forks.h"

/* Listening sockets. */

enum { TRIES_MAX = 64 };

static int tcp_listen_at(const union wf_sockaddr *addr, uint16_t port, int *ret_fd)
{
	union wf_sockaddr name = *addr;
	int on = 1, err;
	int fd = wf_socket(
		addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	wf_sockaddr_set_port(&name, port);
	tcp_sock_before_listen(fd, addr);
	/* The port can be used while old connections from it are in TIME_WAIT. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* With SO_REUSEADDR two sockets may bind to a port; listen() fails for the
	 * second one. */
	if (bind(fd, &name.sa, (socklen_t)wf_sockaddr_len(&name)) ||
		listen(fd, TCP_LISTEN_BACKLOG)) {
		err = -errno;
		wf_sys_close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static int listen_in_range(
	const union wf_sockaddr *addr, const struct tcp_netconf *conf, int *ret_fd)
{
	int err = -EADDRINUSE;

	for (int port = conf->port_low; port <= conf->port_high; port++) {
		err = tcp_listen_at(addr, (uint16_t)port, ret_fd);
		if (err != -EADDRINUSE && err != -EACCES)
			break;
	}
	return err;
}

int tcp_listen(struct tcp_listener *listener, const union wf_sockaddr *addr,
	const struct tcp_netconf *conf)
{
	struct tcp_listener new = { .reserve = wf_fds_spare() };
	socklen_t len = sizeof(new.name);
	char text[WF_SOCKADDR_STRLEN];
	uint16_t port = wf_sockaddr_port(addr);
	int err;

	if (new.reserve < 0) {
		err = -errno;
		goto err_log;
	}
	err = port || !conf->port_low ? tcp_listen_at(addr, port, &new.fd)
				      : listen_in_range(addr, conf, &new.fd);
	if (err)
		goto err_reserve;
	if (getsockname(new.fd, &new.name.sa, &len)) {
		err = -errno;
		goto err_fd;
	}
	/* A forked child would keep it open, and never answer a peer that connects. */
	(void)wf_fds_own(new.fd);
	new.fork_depth = wf_fork_depth;
	*listener = new;
	return 0;

err_fd:
	wf_sys_close(new.fd);
err_reserve:
	wf_sys_close(new.reserve);
err_log:
	if (!port && conf->port_low)
		tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"cannot listen at %s, ports %d to %d: %s\n",
			wf_sockaddr_uri(addr, text, sizeof(text)), conf->port_low,
			conf->port_high, fi_strerror(-err));
	else
		tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "cannot listen at %s: %s\n",
			wf_sockaddr_uri(addr, text, sizeof(text)), fi_strerror(-err));
	return err;
}

void tcp_listener_close(struct tcp_listener *listener)
{
	/* In a forked child the number may be another file's. */
	if (listener->fd >= 0 && !wf_is_forked_since(listener->fork_depth))
		wf_fds_close(listener->fd);
	if (listener->reserve >= 0)
		wf_sys_close(listener->reserve);
	listener->fd = listener->reserve = -1;
}

bool tcp_listener_lend(struct tcp_listener *listener)
{
	if (listener->reserve < 0)
		return false;
	wf_sys_close(listener->reserve);
	listener->reserve = -1;
	return true;
}

void tcp_listener_take_back(struct tcp_listener *listener)
{
	if (listener->fd >= 0 && listener->reserve < 0)
		listener->reserve = wf_fds_spare();
}

static bool listen_refuse_one(struct tcp_listener *listener)
{
	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"no file descriptor is left: connections are being refused\n");
	return wf_fds_refuse(listener->fd, &listener->reserve);
}

static bool listen_descriptor_freed(struct tcp_listener *listener)
{
	return listener->free_descriptor && listener->free_descriptor(listener);
}

int tcp_listener_accept(struct tcp_listener *listener, const struct tcp_netconf *conf,
	uint32_t tclass, int *ret_fd, union wf_sockaddr *ret_peer)
{
	/* A limit, so that a flood of connections which are refused does not keep the
	 * thread in this loop. */
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		union wf_sockaddr peer = { 0 };
		socklen_t len = sizeof(peer);
		int fd = wf_sys_accept4(
			listener->fd, &peer.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			tcp_sock_setup(fd, peer.sa.sa_family, conf, tclass);
			*ret_fd = fd;
			*ret_peer = peer;
			return 0;
		}
		switch (errno) {
		case EAGAIN:
			return -FI_EAGAIN;
		case EMFILE:
		case ENFILE:
			if (!listen_descriptor_freed(listener) && !wf_fds_more() &&
				!listen_refuse_one(listener))
				return -FI_EAGAIN;
			break;
		case EBADF:
		case EINVAL:
		case ENOTSOCK:
		case EOPNOTSUPP:
			return -errno;
		case ENOBUFS:
		case ENOMEM:
			return -FI_EAGAIN;
		default:
			/* An error of that connection, before it was accepted. */
			break;
		}
	}
	return -FI_EAGAIN;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/log.h"
#include "sys/compiler.h"

/* Options of connected sockets, and what the kernel knows about the peer. */

static void sockopt_set_int(int fd, int level, int name, int value)
{
	/* Failure is ignored: the kernel's default will do. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static void sockopt_set_tclass(int fd, int family, uint32_t tclass)
{
	int tos = fi_tc_dscp_get(tclass) << 2;

	if (!(tclass & FI_TC_DSCP))
		return;
	if (family == AF_INET6)
		sockopt_set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	else
		sockopt_set_int(fd, IPPROTO_IP, IP_TOS, tos);
}

/* Send the first keep-alive probe after half of the time, and four more in the other
 * half. */
static void sockopt_set_keepalive(int fd, int keepalive_ms)
{
	enum { PROBES = 4 };
	int seconds = WF_MAX(keepalive_ms / 1000, 2);

	if (!keepalive_ms)
		return;
	sockopt_set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, WF_MIN(seconds / 2, 32767));
	sockopt_set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
		WF_MIN(WF_MAX(seconds / 2 / PROBES, 1), 32767));
	sockopt_set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	sockopt_set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void tcp_sock_setup(int fd, int family, const struct tcp_netconf *conf, uint32_t tclass)
{
	bool nodelay = conf->nodelay < 0 ? tclass != FI_TC_BULK_DATA : conf->nodelay;

	if (nodelay)
		sockopt_set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	sockopt_set_keepalive(fd, conf->keepalive_ms);
	sockopt_set_tclass(fd, family, tclass);
}

/*
 * Is the peer within this machine? There no segment is lost and there is no latency to
 * hide. A queue longer than the cache slows both ends down, and so do the timers of an
 * algorithm that paces segments, as BBR does. Reno is in every kernel, and every
 * process may choose it.
 */

static bool sockopt_is_on_this_host(int fd, const union wf_sockaddr *peer)
{
	union wf_sockaddr own = { 0 };
	socklen_t len = sizeof(own);

	if (wf_sockaddr_is_loopback(peer))
		return true;
	return !getsockname(fd, &own.sa, &len) &&
	       own.sa.sa_family == peer->sa.sa_family &&
	       wf_sockaddr_same_host(&own, peer);
}

static void sockopt_set_algorithm(int fd)
{
	static const char name[] = "reno";

	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name));
}

void tcp_sock_before_connect(int fd, const union wf_sockaddr *dest)
{
	if (sockopt_is_on_this_host(fd, dest))
		sockopt_set_algorithm(fd);
}

void tcp_sock_before_listen(int fd, const union wf_sockaddr *addr)
{
	if (wf_sockaddr_is_loopback(addr))
		sockopt_set_algorithm(fd);
}

bool tcp_sock_is_within_host(int fd)
{
	union wf_sockaddr peer = { 0 };
	socklen_t len = sizeof(peer);

	return !getpeername(fd, &peer.sa, &len) && sockopt_is_on_this_host(fd, &peer);
}

bool tcp_sock_connected(int fd)
{
	enum { SAME_HOST_RCVBUF = 448 << 10 }; /* the kernel doubles it */

	if (!tcp_sock_is_within_host(fd))
		return false;
	sockopt_set_int(fd, SOL_SOCKET, SO_RCVBUF, SAME_HOST_RCVBUF);
	sockopt_set_algorithm(fd);
	return true;
}

void tcp_sock_cork(int fd, bool on)
{
	sockopt_set_int(fd, IPPROTO_TCP, TCP_CORK, on);
}

bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int bytes = 0, unsent = 0;

	if (ioctl(fd, SIOCOUTQ, &bytes) || bytes <= 0)
		return false;
	(void)ioctl(fd, SIOCOUTQNSD, &unsent);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) || len < sizeof(info))
		return false;
	*ret = (struct tcp_sock_debt){
		.unacked = info.tcpi_unacked,
		.probes = info.tcpi_probes,
		.silent_ms = info.tcpi_last_ack_recv,
		.retries = info.tcpi_retransmits,
		.unsent = unsent > 0,
	};
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "providers/tcp/listen.h"
#include "providers/tcp/log.h"
#include "sys/compiler.h"

/* Options of connected sockets, and what the kernel knows of the other end. */

static void set_int(int fd, int level, int name, int value)
{
	/* Wishes: where the kernel refuses one, its default is right as well. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static void set_tclass(int fd, int family, uint32_t tclass)
{
	int tos = fi_tc_dscp_get(tclass) << 2;

	if (!(tclass & FI_TC_DSCP))
		return;
	if (family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	else
		set_int(fd, IPPROTO_IP, IP_TOS, tos);
}

/* The first probe after half of the time, four more until the end of it. */
static void set_keepalive(int fd, int keepalive_ms)
{
	enum { PROBES = 4 };
	int seconds = WF_MAX(keepalive_ms / 1000, 2);

	if (!keepalive_ms)
		return;
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, WF_MIN(seconds / 2, 32767));
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
		WF_MIN(WF_MAX(seconds / 2 / PROBES, 1), 32767));
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void tcp_sock_setup(int fd, int family, const struct tcp_netconf *conf, uint32_t tclass)
{
	bool nodelay = conf->nodelay < 0 ? tclass != FI_TC_BULK_DATA : conf->nodelay;

	if (nodelay)
		set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_keepalive(fd, conf->keepalive_ms);
	set_tclass(fd, family, tclass);
}

bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int bytes = 0;

	if (ioctl(fd, SIOCOUTQ, &bytes) || bytes <= 0)
		return false;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) || len < sizeof(info))
		return false;
	*ret = (struct tcp_sock_debt){
		.unacked = info.tcpi_unacked,
		.probes = info.tcpi_probes,
		.silent_ms = info.tcpi_last_ack_recv,
	};
	return true;
}

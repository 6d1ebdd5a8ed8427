/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/route.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sys/calls.h"
#include "sys/compiler.h"

/* Connecting a datagram socket makes the kernel choose route and source address. The
 * socket, or a negative errno. */
static int route_connected(const union wf_sockaddr *dest)
{
	union wf_sockaddr to = *dest;
	int fd, err;

	if (!wf_sockaddr_len(dest))
		return -EAFNOSUPPORT;
	/* Port 0 is refused by connect() for some families and means nothing here. */
	if (!wf_sockaddr_port(&to))
		wf_sockaddr_set_port(&to, 9);
	fd = socket(dest->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!wf_sys_connect(fd, &to.sa, (socklen_t)wf_sockaddr_len(&to)))
		return fd;
	err = errno;
	(void)wf_sys_close(fd);
	return -err;
}

int wf_route_source(const union wf_sockaddr *dest, union wf_sockaddr *ret_source)
{
	CLEANUP(wf_close) int fd = route_connected(dest);
	union wf_sockaddr from;
	socklen_t len = sizeof(from);

	if (fd < 0)
		return fd;
	if (getsockname(fd, &from.sa, &len))
		return -errno;
	if (wf_sockaddr_read(&from, len, &from))
		return -EAFNOSUPPORT;
	wf_sockaddr_set_port(&from, 0);
	*ret_source = from;
	return 0;
}

int wf_route_mtu(const union wf_sockaddr *dest, size_t *ret_mtu)
{
	CLEANUP(wf_close) int fd = route_connected(dest);
	socklen_t len = sizeof(int);
	int mtu, ret;

	if (fd < 0)
		return fd;
	ret = dest->sa.sa_family == AF_INET6
		      ? getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &len)
		      : getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len);
	if (ret)
		return -errno;
	*ret_mtu = (size_t)mtu;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/route.h"

#include <errno.h>
#include <sys/socket.h>

#include "sys/compiler.h"

/* Connecting a datagram socket makes the kernel choose route and source address. */
int wf_route_source(const union wf_sockaddr *dest, union wf_sockaddr *ret_source)
{
	CLEANUP(wf_close) int fd = -1;
	union wf_sockaddr to = *dest, from;
	socklen_t len = sizeof(from);

	if (!wf_sockaddr_len(dest))
		return -EAFNOSUPPORT;
	/* Port 0 is refused by connect() for some families and means nothing here. */
	if (!wf_sockaddr_port(&to))
		wf_sockaddr_set_port(&to, 9);
	fd = socket(dest->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, &to.sa, (socklen_t)wf_sockaddr_len(&to)) ||
		getsockname(fd, &from.sa, &len))
		return -errno;
	if (wf_sockaddr_read(&from, len, &from))
		return -EAFNOSUPPORT;
	wf_sockaddr_set_port(&from, 0);
	*ret_source = from;
	return 0;
}

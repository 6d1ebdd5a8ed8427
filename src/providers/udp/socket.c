/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "providers/udp/udp.h"
#include "sys/calls.h"
#include "sys/netif.h"

/* The sockets, their options and local addresses. */

enum { BUFFER_SIZE = 4 << 20 };

static void socket_set_int(int fd, int level, int name, int value)
{
	/* An option is a wish: if the kernel refuses it, its default will do. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* Large enough for UDP_QUEUE_SIZE small datagrams in a row. A process without
 * CAP_NET_ADMIN gets at most the system's limit (net.core.rmem_max, wmem_max). */
static void socket_set_buffers(int fd)
{
	socket_set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_SIZE);
	socket_set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_SIZE);
	socket_set_int(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_SIZE);
	socket_set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_SIZE);
}

int udp_socket(int family, int *ret_fd)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	socket_set_buffers(fd);
	/* Receive only the datagrams of groups that this socket itself joined. */
	if (family == AF_INET6) {
		socket_set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		socket_set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
	} else {
		socket_set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	}
	*ret_fd = fd;
	return 0;
}

unsigned int udp_ifindex(const struct udp_ep *ep)
{
	const struct wf_netaddr *addr;
	struct wf_netifs *ifs;
	unsigned int index = 0;

	if (wf_sockaddr_is_wildcard(&ep->name) || wf_netifs_list(&ifs))
		return 0;
	addr = wf_netifs_find(ifs, &ep->name);
	if (addr)
		index = wf_netaddr_link(ifs, addr)->index;
	(void)wf_netifs_free(ifs);
	return index;
}

/* Multicast datagrams leave through the interface of the source address. */
static int socket_set_multicast_if(const struct udp_ep *ep, int fd)
{
	unsigned int index = udp_ifindex(ep);
	struct ip_mreqn req = { .imr_ifindex = (int)index };

	if (!index)
		return 0;
	if (ep->name.sa.sa_family == AF_INET6)
		return setsockopt(
			fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof(index));
	req.imr_address = ep->name.in.sin_addr;
	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &req, sizeof(req));
}

static void socket_set_tclass(const struct udp_ep *ep, int fd)
{
	uint32_t tclass = ep->ep.info->tx_attr->tclass;
	int tos = fi_tc_dscp_get(tclass) << 2;

	if (!(tclass & FI_TC_DSCP))
		return;
	if (ep->name.sa.sa_family == AF_INET6)
		socket_set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	else
		socket_set_int(fd, IPPROTO_IP, IP_TOS, tos);
}

int udp_bind(struct udp_ep *ep)
{
	char text[WF_SOCKADDR_STRLEN];
	union wf_sockaddr name = ep->name;
	socklen_t len = sizeof(name);
	int fd = -1, ret;

	if (ep->fd >= 0)
		return 0;
	ret = udp_socket(name.sa.sa_family, &fd);
	if (ret)
		goto err_log;
	if (bind(fd, &name.sa, (socklen_t)wf_sockaddr_len(&name)) ||
		getsockname(fd, &name.sa, &len) ||
		(ep->ep.caps & FI_MULTICAST && socket_set_multicast_if(ep, fd))) {
		ret = -errno;
		wf_sys_close(fd);
		goto err_log;
	}
	socket_set_tclass(ep, fd);
	ep->name = name;
	ep->fd = fd;
	return 0;

err_log:
	udp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "no socket at %s: %s\n",
		wf_sockaddr_uri(&ep->name, text, sizeof(text)), fi_strerror(-ret));
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "objects/absent/absent.h"
#include "providers/udp/udp.h"
#include "sys/calls.h"

/*
 * Multicast groups. Linux hands a group's datagrams only to a socket that is bound to
 * the group's address or to the wildcard address. So a member that receives opens a
 * socket of its own, bound to the group. If the endpoint's socket is bound to the
 * wildcard address and the group's port, that socket joins the group instead, and a
 * control message tells which datagrams were sent to the group.
 *
 * A group's fi_addr_t is its index in the endpoint's table; it is valid only together
 * with FI_MULTICAST.
 */

struct udp_mc {
	struct fid_mc fid;
	struct udp_ep *ep;
	union wf_sockaddr addr;
	int fd;      /* The group's own receiving socket, or -1. */
	bool shared; /* The group receives through the endpoint's socket. */
};

enum { GROUPS_AT_FIRST = 4 };

static int multicast_refuse(const char *why)
{
	udp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "fi_join: %s\n", why);
	return -FI_EINVAL;
}

static int multicast_set_membership(const struct udp_mc *mc, int fd, bool join)
{
	unsigned int index = udp_ifindex(mc->ep);
	struct ip_mreqn in = {
		.imr_multiaddr = mc->addr.in.sin_addr,
		.imr_ifindex = (int)index,
	};
	struct ipv6_mreq in6 = {
		.ipv6mr_multiaddr = mc->addr.in6.sin6_addr,
		.ipv6mr_interface = index ? index : mc->addr.in6.sin6_scope_id,
	};
	int ret;

	if (mc->addr.sa.sa_family == AF_INET6)
		ret = setsockopt(fd, IPPROTO_IPV6,
			join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &in6, sizeof(in6));
	else
		ret = setsockopt(fd, IPPROTO_IP,
			join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &in, sizeof(in));
	return ret ? -errno : 0;
}

static void multicast_set_pktinfo(const struct udp_ep *ep, int on)
{
	if (ep->name.sa.sa_family == AF_INET6)
		(void)setsockopt(
			ep->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	else
		(void)setsockopt(ep->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
}

/* Join with the endpoint's socket. ep.lock held. */
static int multicast_share_socket(struct udp_mc *mc)
{
	int ret = multicast_set_membership(mc, mc->ep->fd, true);

	if (ret)
		return ret;
	mc->shared = true;
	if (!mc->ep->pktinfo++)
		multicast_set_pktinfo(mc->ep, 1);
	return 0;
}

static int multicast_open_socket(struct udp_mc *mc)
{
	union wf_sockaddr local = mc->addr;
	int one = 1, fd, ret;

	ret = udp_socket(local.sa.sa_family, &fd);
	if (ret)
		return ret;
	/* Groups of interface or link scope need the interface; others ignore it. */
	if (local.sa.sa_family == AF_INET6 && !local.in6.sin6_scope_id)
		local.in6.sin6_scope_id = udp_ifindex(mc->ep);
	/* Each member on this host gets a copy of each datagram. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		bind(fd, &local.sa, (socklen_t)wf_sockaddr_len(&local)))
		ret = -errno;
	else
		ret = multicast_set_membership(mc, fd, true);
	if (ret) {
		wf_sys_close(fd);
		return ret;
	}
	mc->fd = fd;
	return 0;
}

/* Add the group's socket to those that progress receives from. ep.lock held. */
static int multicast_add_socket(struct udp_ep *ep, int fd)
{
	struct udp_sock *socks =
		realloc(ep->socks, (ep->sock_count + 1) * sizeof(*socks));

	if (!socks)
		return -FI_ENOMEM;
	ep->socks = socks;
	socks[ep->sock_count++] =
		(struct udp_sock){ fd, FI_MSG | FI_RECV | FI_MULTICAST };
	if (ep->watched) {
		udp_unwatch(ep);
		udp_watch(ep);
	}
	return 0;
}

/* Close nothing, but stop progress and sleepers from using the socket. ep.lock held. */
static void multicast_remove_socket(struct udp_ep *ep, int fd)
{
	unsigned int i = 0;

	udp_unwatch(ep);
	while (ep->socks[i].fd != fd)
		i++;
	ep->socks[i] = ep->socks[--ep->sock_count];
	if (ep->epfd >= 0 && ep->rx_head != ep->rx_tail)
		udp_watch(ep);
}

/* Receive the group's datagrams, through the endpoint's socket or a new one. ep.lock
 * held. */
static int multicast_start_receiving(struct udp_mc *mc)
{
	struct udp_ep *ep = mc->ep;
	int ret;

	if (wf_sockaddr_is_wildcard(&ep->name) &&
		wf_sockaddr_port(&ep->name) == wf_sockaddr_port(&mc->addr))
		return multicast_share_socket(mc);
	ret = multicast_open_socket(mc);
	if (ret)
		return ret;
	ret = multicast_add_socket(ep, mc->fd);
	if (ret) {
		wf_sys_close(mc->fd);
		mc->fd = -1;
	}
	return ret;
}

/* Undo multicast_start_receiving(). ep.lock held. */
static void multicast_stop_receiving(struct udp_mc *mc)
{
	if (mc->shared) {
		(void)multicast_set_membership(mc, mc->ep->fd, false);
		if (!--mc->ep->pktinfo)
			multicast_set_pktinfo(mc->ep, 0);
	}
	if (mc->fd >= 0) {
		multicast_remove_socket(mc->ep, mc->fd);
		wf_sys_close(mc->fd);
	}
}

/* Store the group in a free entry of ep->groups, whose index becomes the group's
 * fi_addr_t. ep.lock held. */
static int multicast_enter(struct udp_ep *ep, struct udp_mc *mc)
{
	unsigned int i = 0, capacity = ep->group_capacity;
	struct udp_mc **groups;

	while (i < capacity && ep->groups[i])
		i++;
	if (i == capacity) {
		capacity = capacity ? capacity * 2 : GROUPS_AT_FIRST;
		groups = realloc(ep->groups, capacity * sizeof(struct udp_mc *));
		if (!groups)
			return -FI_ENOMEM;
		for (unsigned int j = i; j < capacity; j++)
			groups[j] = NULL;
		ep->groups = groups;
		ep->group_capacity = capacity;
	}
	ep->groups[i] = mc;
	mc->fid.fi_addr = i;
	return 0;
}

bool udp_group_addr(struct udp_ep *ep, fi_addr_t addr, union wf_sockaddr *ret)
{
	const struct udp_mc *mc = NULL;

	wf_lock(&ep->ep.lock);
	if (addr < ep->group_capacity)
		mc = ep->groups[addr];
	if (mc)
		*ret = mc->addr;
	wf_unlock(&ep->ep.lock);
	return mc;
}

static int multicast_mc_close(struct fid *fid)
{
	struct udp_mc *mc = wf_container_of(fid, struct udp_mc, fid.fid);
	struct udp_ep *ep = mc->ep;

	wf_lock(&ep->ep.lock);
	multicast_stop_receiving(mc);
	ep->groups[mc->fid.fi_addr] = NULL;
	wf_unlock(&ep->ep.lock);
	free(mc);
	/* release: fi_close of the endpoint frees it when it reads that no reference is
	 * left. */
	atomic_fetch_sub_explicit(&ep->ep.refs, 1, memory_order_release);
	return 0;
}

static struct fi_ops mc_fid_ops =
	WF_FID_OPS(multicast_mc_close, wf_absent_bind, wf_absent_control);

/* The directions that @flags ask for, or all that the endpoint has if there are
 * none. */
static int multicast_check_flags(const struct udp_ep *ep, uint64_t flags, uint64_t *ret)
{
	const uint64_t directions = FI_SEND | FI_RECV;

	if (flags & ~directions) {
		(void)multicast_refuse("flags may be FI_SEND and FI_RECV");
		return -FI_EBADFLAGS;
	}
	if (!(ep->ep.caps & FI_MULTICAST))
		return multicast_refuse("the endpoint was opened without FI_MULTICAST");
	if (flags & ~ep->ep.caps)
		return multicast_refuse("a direction that the endpoint does not have");
	*ret = flags ? flags : ep->ep.caps & directions;
	return 0;
}

static int multicast_check_addr(
	const struct udp_ep *ep, const void *addr, union wf_sockaddr *ret)
{
	int family = ep->name.sa.sa_family;
	/* The call has no address length; the endpoint's address format decides it. */
	size_t len = family == AF_INET6 ? sizeof(ret->in6) : sizeof(ret->in);

	if (wf_sockaddr_read(addr, addr ? len : 0, ret) || ret->sa.sa_family != family)
		return multicast_refuse("not an address in the endpoint's format");
	if (!wf_sockaddr_is_multicast(ret))
		return multicast_refuse("not the address of a group");
	if (!wf_sockaddr_port(ret))
		return multicast_refuse("a group needs a port");
	return 0;
}

int udp_join(struct wf_ep *wf, const void *addr, uint64_t flags, struct fid_mc **ret_mc,
	void *context)
{
	struct udp_ep *ep = udp_ep_of(wf);
	struct fi_eq_entry event = { .context = context };
	struct wf_eq *eq = wf_ep_eq(wf);
	union wf_sockaddr group;
	struct udp_mc *mc;
	ssize_t ret;

	ret = multicast_check_flags(ep, flags, &flags);
	if (!ret)
		ret = multicast_check_addr(ep, addr, &group);
	if (ret)
		return (int)ret;
	if (!eq) {
		(void)multicast_refuse(
			"an EQ must be bound to the endpoint or its domain");
		return -FI_ENOEQ;
	}
	mc = malloc(sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	*mc = (struct udp_mc){
		.fid.fid = { FI_CLASS_MC, context, &mc_fid_ops },
		.ep = ep,
		.addr = group,
		.fd = -1,
	};

	wf_lock(&wf->lock);
	ret = multicast_enter(ep, mc);
	if (!ret && flags & FI_RECV) {
		ret = multicast_start_receiving(mc);
		if (ret)
			ep->groups[mc->fid.fi_addr] = NULL;
	}
	wf_unlock(&wf->lock);
	if (ret)
		goto err_free;

	atomic_fetch_add_explicit(&wf->refs, 1, memory_order_relaxed);
	event.fid = &mc->fid.fid;
	/* The event names the fid, so the application must have it first. */
	*ret_mc = &mc->fid;
	ret = wf_eq_write(eq, FI_JOIN_COMPLETE, &event, sizeof(event));
	if (ret < 0) {
		*ret_mc = NULL;
		(void)multicast_mc_close(&mc->fid.fid);
		return (int)ret;
	}
	return 0;

err_free:
	udp_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "fi_join: %s\n", fi_strerror((int)-ret));
	free(mc);
	return (int)ret;
}

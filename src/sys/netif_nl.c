/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/netif.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <string.h>

#include "sys/compiler.h"

/* Interfaces through libnl: two dumps, and the kind of every link by its name. */

static int netif_nl_error_of(int nl_error)
{
	return nl_error == -NLE_NOMEM ? -ENOMEM : -EIO;
}

static int netif_nl_add_link(struct wf_netif_table *table, struct rtnl_link *from)
{
	struct wf_netif *link = wf_netif_table_link(table);
	unsigned int flags = rtnl_link_get_flags(from);
	const char *name = rtnl_link_get_name(from);

	if (!link)
		return -ENOMEM;
	(void)snprintf(link->name, sizeof(link->name), "%s", name ? name : "");
	link->index = (unsigned int)rtnl_link_get_ifindex(from);
	link->master = (unsigned int)rtnl_link_get_master(from);
	link->kind =
		wf_netif_kind_of(rtnl_link_get_type(from), rtnl_link_get_arptype(from));
	link->up = (flags & IFF_UP) && (flags & IFF_RUNNING);
	wf_netif_read_device(link);
	return 0;
}

static int netif_nl_add_addr(struct wf_netif_table *table, struct rtnl_addr *from)
{
	struct nl_addr *local = rtnl_addr_get_local(from);
	int family = rtnl_addr_get_family(from);
	unsigned int flags = rtnl_addr_get_flags(from), at;
	struct wf_netaddr *addr;
	union wf_sockaddr sa;

	/* An address that is still being checked for duplicates cannot be bound. */
	if (!local || (family != AF_INET && family != AF_INET6) ||
		(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) &&
			!(flags & IFA_F_OPTIMISTIC)) ||
		!wf_netif_table_find(
			table, (unsigned int)rtnl_addr_get_ifindex(from), &at))
		return 0;
	sa = wf_sockaddr_any(family);
	if (family == AF_INET && nl_addr_get_len(local) == sizeof(sa.in.sin_addr))
		memcpy(&sa.in.sin_addr, nl_addr_get_binary_addr(local),
			sizeof(sa.in.sin_addr));
	else if (family == AF_INET6 &&
		 nl_addr_get_len(local) == sizeof(sa.in6.sin6_addr))
		memcpy(&sa.in6.sin6_addr, nl_addr_get_binary_addr(local),
			sizeof(sa.in6.sin6_addr));
	else
		return 0;
	if (family == AF_INET6 && wf_sockaddr_is_linklocal(&sa))
		sa.in6.sin6_scope_id = table->links[at].index;
	addr = wf_netif_table_addr(table);
	if (!addr)
		return -ENOMEM;
	addr->addr = sa;
	addr->prefix = (unsigned int)WF_MAX(rtnl_addr_get_prefixlen(from), 0);
	addr->link = at;
	addr->deprecated = flags & IFA_F_DEPRECATED;
	return 0;
}

int wf_netif_scan(struct wf_netif_table *table)
{
	struct nl_cache *links = NULL, *addrs = NULL;
	struct nl_sock *sock = nl_socket_alloc();
	int err;

	if (!sock)
		return -ENOMEM;
	err = nl_connect(sock, NETLINK_ROUTE);
	if (!err)
		err = rtnl_link_alloc_cache(sock, AF_UNSPEC, &links);
	if (!err)
		err = rtnl_addr_alloc_cache(sock, &addrs);
	if (err) {
		err = netif_nl_error_of(err);
		goto out;
	}
	for (struct nl_object *it = nl_cache_get_first(links); it && !err;
		it = nl_cache_get_next(it))
		err = netif_nl_add_link(table, (struct rtnl_link *)it);
	for (struct nl_object *it = nl_cache_get_first(addrs); it && !err;
		it = nl_cache_get_next(it))
		err = netif_nl_add_addr(table, (struct rtnl_addr *)it);
out:
	nl_cache_free(addrs);
	nl_cache_free(links);
	nl_socket_free(sock);
	return err;
}

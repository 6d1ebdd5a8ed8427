/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/netif.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/cancel.h"
#include "sys/compiler.h"

static const struct {
	const char *kernel_name;
	enum wf_netif_kind kind;
} kinds[] = {
	{ "bond", WF_NETIF_BOND },
	{ "bridge", WF_NETIF_BRIDGE },
	{ "dummy", WF_NETIF_DUMMY },
	{ "ipoib", WF_NETIF_INFINIBAND },
	{ "ipvlan", WF_NETIF_MACVLAN },
	{ "macvlan", WF_NETIF_MACVLAN },
	{ "openvswitch", WF_NETIF_BRIDGE },
	{ "team", WF_NETIF_BOND },
	{ "tun", WF_NETIF_TUN },
	{ "veth", WF_NETIF_VETH },
	{ "vlan", WF_NETIF_VLAN },
};

/* Rank by kind, the lowest first; a bridge ranks by the links that belong to it. */
static const int ranks[] = {
	[WF_NETIF_ETHERNET] = 0,
	[WF_NETIF_INFINIBAND] = 0,
	[WF_NETIF_BOND] = 0,
	[WF_NETIF_VLAN] = 0,
	[WF_NETIF_MACVLAN] = 0,
	[WF_NETIF_VETH] = 1,
	[WF_NETIF_DUMMY] = 2,
	[WF_NETIF_TUN] = 2,
	[WF_NETIF_VIRTUAL] = 2,
	[WF_NETIF_BRIDGE] = 3,
	[WF_NETIF_LOOPBACK] = 4,
};

enum wf_netif_kind wf_netif_kind_of(const char *kernel_name, unsigned int arp_type)
{
	if (arp_type == ARPHRD_LOOPBACK)
		return WF_NETIF_LOOPBACK;
	if (!kernel_name)
		return arp_type == ARPHRD_INFINIBAND ? WF_NETIF_INFINIBAND
						     : WF_NETIF_ETHERNET;
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].kernel_name, kernel_name))
			return kinds[i].kind;
	return WF_NETIF_VIRTUAL;
}

/* One line of a sysfs attribute, blanks at the end cut off; empty if unreadable.
 * @dir may be "." or "device". */
static void netif_read_attr(
	const char *name, const char *dir, const char *attr, char *buf, size_t len)
{
	CLEANUP(wf_close) int fd = -1;
	char path[96];
	ssize_t got;

	*buf = '\0';
	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/%s/%s", name, dir, attr);
	fd = wf_sys_open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : wf_sys_read(fd, buf, len - 1);
	if (got <= 0)
		return;
	buf[got] = '\0';
	buf[strcspn(buf, "\r\n")] = '\0';
}

static void netif_read_link(const char *name, const char *entry, char *buf, size_t len)
{
	char path[96];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s%s", name, entry);
	got = readlink(path, buf, len - 1);
	buf[got < 0 ? 0 : got] = '\0';
}

void wf_netif_read_device(struct wf_netif *link)
{
	char path[512], speed[32];
	long long mbps;

	if (link->kind == WF_NETIF_LOOPBACK)
		return;
	if (link->kind == WF_NETIF_ETHERNET || link->kind == WF_NETIF_INFINIBAND) {
		netif_read_link(link->name, "", path, sizeof(path));
		link->hardware = *path && !strstr(path, "/virtual/");
		if (!link->hardware && link->kind == WF_NETIF_ETHERNET && *path)
			link->kind = WF_NETIF_VIRTUAL;
	}
	/* veth, tun and bridges report a meaningless constant. */
	if (ranks[link->kind] || !link->up)
		return;
	netif_read_attr(link->name, ".", "speed", speed, sizeof(speed));
	mbps = strtoll(speed, NULL, 10);
	/* -1 and UINT32_MAX both stand for unknown. */
	if (mbps > 0 && mbps < UINT32_MAX)
		link->speed_bps = (uint64_t)mbps * 1000000;
}

static void *netif_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 8;

	if (count < *capacity)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*capacity = more;
	return array;
}

struct wf_netif *wf_netif_table_link(struct wf_netif_table *table)
{
	struct wf_netif *links = netif_grow(
		table->links, table->link_count, &table->link_capacity, sizeof(*links));

	if (!links)
		return NULL;
	table->links = links;
	return memset(&links[table->link_count++], 0, sizeof(*links));
}

struct wf_netaddr *wf_netif_table_addr(struct wf_netif_table *table)
{
	struct wf_netaddr *addrs = netif_grow(
		table->addrs, table->addr_count, &table->addr_capacity, sizeof(*addrs));

	if (!addrs)
		return NULL;
	table->addrs = addrs;
	return memset(&addrs[table->addr_count++], 0, sizeof(*addrs));
}

static void netif_table_done(struct wf_netif_table *table)
{
	free(table->links);
	free(table->addrs);
	memset(table, 0, sizeof(*table));
}

bool wf_netif_table_find(
	const struct wf_netif_table *table, unsigned int index, unsigned int *ret_link)
{
	for (size_t i = 0; i < table->link_count; i++) {
		if (table->links[i].index != index)
			continue;
		*ret_link = (unsigned int)i;
		return true;
	}
	return false;
}

/* A bridge with a real port carries the addresses of that port. */
static void netif_mark_uplinks(const struct wf_netif_table *table)
{
	for (size_t i = 0; i < table->link_count; i++) {
		const struct wf_netif *port = &table->links[i];
		unsigned int at;

		if (!port->master || ranks[port->kind] ||
			!wf_netif_table_find(table, port->master, &at) ||
			table->links[at].kind != WF_NETIF_BRIDGE)
			continue;
		table->links[at].uplinked = true;
		table->links[at].speed_bps =
			WF_MAX(table->links[at].speed_bps, port->speed_bps);
	}
}

static int netif_rank_of(const struct wf_netif *link)
{
	return link->uplinked ? 0 : ranks[link->kind];
}

/* How far the address reaches, the farthest first. Each host has loopback addresses,
 * and a link-local one for most links, whether another host is on that link or not. */
static int netif_scope_rank(const struct wf_netaddr *addr)
{
	if (wf_sockaddr_is_loopback(&addr->addr))
		return 2;
	return wf_sockaddr_is_linklocal(&addr->addr) ? 1 : 0;
}

static int netif_family_rank(const struct wf_netaddr *addr)
{
	return (addr->deprecated ? 2 : 0) + (addr->addr.sa.sa_family == AF_INET6);
}

static int netif_compare(const void *left, const void *right, void *arg)
{
	const struct wf_netaddr *a = left, *b = right;
	const struct wf_netif *links = arg;
	const struct wf_netif *la = &links[a->link], *lb = &links[b->link];

	if (netif_scope_rank(a) != netif_scope_rank(b))
		return netif_scope_rank(a) - netif_scope_rank(b);
	if (netif_rank_of(la) != netif_rank_of(lb))
		return netif_rank_of(la) - netif_rank_of(lb);
	if (la->speed_bps != lb->speed_bps)
		return la->speed_bps > lb->speed_bps ? -1 : 1;
	if (la->index != lb->index)
		return la->index < lb->index ? -1 : 1;
	if (netif_family_rank(a) != netif_family_rank(b))
		return netif_family_rank(a) - netif_family_rank(b);
	return a->position < b->position ? -1 : 1;
}

int wf_netifs_new(struct wf_netif_table *table, struct wf_netifs **ret)
{
	struct wf_netifs *ifs = calloc(1, sizeof(*ifs));

	if (!ifs) {
		netif_table_done(table);
		return -ENOMEM;
	}
	netif_mark_uplinks(table);
	for (size_t i = 0; i < table->addr_count; i++)
		table->addrs[i].position = (unsigned int)i;
	if (table->addr_count)
		qsort_r(table->addrs, table->addr_count, sizeof(*table->addrs),
			netif_compare, table->links);
	ifs->links = table->links;
	ifs->link_count = table->link_count;
	ifs->addrs = table->addrs;
	ifs->addr_count = table->addr_count;
	memset(table, 0, sizeof(*table));
	*ret = ifs;
	return 0;
}

int wf_netifs_list(struct wf_netifs **ret)
{
	/* By functions of libraries that are cancellation points. */
	WF_NO_CANCELLATION;
	struct wf_netif_table table = { 0 };
	int err = wf_netif_scan(&table);

	if (err) {
		netif_table_done(&table);
		return err;
	}
	return wf_netifs_new(&table, ret);
}

struct wf_netifs *wf_netifs_free(struct wf_netifs *ifs)
{
	if (!ifs)
		return NULL;
	free(ifs->links);
	free(ifs->addrs);
	free(ifs);
	return NULL;
}

const struct wf_netaddr *wf_netifs_find(
	const struct wf_netifs *ifs, const union wf_sockaddr *addr)
{
	for (size_t i = 0; i < ifs->addr_count; i++)
		if (wf_sockaddr_same_host(&ifs->addrs[i].addr, addr))
			return &ifs->addrs[i];
	return NULL;
}

bool wf_netifs_same_addrs(const struct wf_netifs *a, const struct wf_netifs *b)
{
	if (a->addr_count != b->addr_count)
		return false;
	for (size_t i = 0; i < a->addr_count; i++)
		if (!wf_sockaddr_same_host(&a->addrs[i].addr, &b->addrs[i].addr) ||
			wf_netaddr_link(a, &a->addrs[i])->index !=
				wf_netaddr_link(b, &b->addrs[i])->index)
			return false;
	return true;
}

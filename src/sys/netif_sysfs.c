/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/netif.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"

/*
 * Interfaces without libnl: getifaddrs() lists links and addresses, the driver's name
 * gives the kind, and sysfs the bridge or bond of a link. Addresses that are deprecated
 * or still being checked are not recognised.
 */

/* Drivers that are not named like their kind. */
static const char *netif_sysfs_kind_name(const char *driver)
{
	if (!strcmp(driver, "bonding"))
		return "bond";
	if (!strncmp(driver, "802.1Q", 6))
		return "vlan";
	if (!strncmp(driver, "ib_ipoib", 8))
		return "ipoib";
	return driver;
}

static void netif_sysfs_ask_driver(int fd, struct wf_netif *link, unsigned int arp_type)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq req = { 0 };

	link->kind = wf_netif_kind_of(NULL, arp_type);
	memcpy(req.ifr_name, link->name, sizeof(req.ifr_name));
	req.ifr_data = (void *)&info;
	if (link->kind != WF_NETIF_ETHERNET || ioctl(fd, SIOCETHTOOL, &req))
		return;
	info.driver[sizeof(info.driver) - 1] = '\0';
	link->kind = wf_netif_kind_of(netif_sysfs_kind_name(info.driver), arp_type);
	/* An unknown driver may belong to real hardware: sysfs decides. */
	if (link->kind == WF_NETIF_VIRTUAL)
		link->kind = WF_NETIF_ETHERNET;
}

static void netif_sysfs_ask_master(struct wf_netif *link)
{
	char path[64], target[128];
	const char *slash;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/master", link->name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return;
	target[len] = '\0';
	slash = strrchr(target, '/');
	link->master = if_nametoindex(slash ? slash + 1 : target);
}

static int netif_sysfs_add_link(
	struct wf_netif_table *table, int fd, const struct ifaddrs *ifa)
{
	const struct sockaddr_ll *ll = (const void *)ifa->ifa_addr;
	struct wf_netif *link = wf_netif_table_link(table);

	if (!link)
		return -ENOMEM;
	(void)snprintf(link->name, sizeof(link->name), "%s", ifa->ifa_name);
	link->index = (unsigned int)ll->sll_ifindex;
	link->up = (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING);
	netif_sysfs_ask_driver(fd, link, ll->sll_hatype);
	netif_sysfs_ask_master(link);
	wf_netif_read_device(link);
	return 0;
}

static unsigned int netif_sysfs_prefix_of(const struct sockaddr *netmask, int family)
{
	const uint8_t *bytes =
		family == AF_INET6
			? (const void *)&(
				  (const struct sockaddr_in6 *)(const void *)netmask)
				  ->sin6_addr
			: (const void *)&(
				  (const struct sockaddr_in *)(const void *)netmask)
				  ->sin_addr;
	unsigned int width = family == AF_INET6 ? 128 : 32, bits = 0;

	while (bits < width && bytes[bits / 8] & 0x80 >> bits % 8)
		bits++;
	return bits;
}

static int netif_sysfs_add_addr(struct wf_netif_table *table, const struct ifaddrs *ifa)
{
	union wf_sockaddr sa;
	struct wf_netaddr *addr;
	unsigned int at;

	if (wf_sockaddr_read(ifa->ifa_addr, sizeof(sa), &sa) || !ifa->ifa_netmask)
		return 0;
	for (at = 0; at < table->link_count; at++)
		if (!strcmp(table->links[at].name, ifa->ifa_name))
			break;
	/* A label such as eth0:1 is the address of eth0. */
	if (at == table->link_count &&
		!wf_netif_table_find(table, if_nametoindex(ifa->ifa_name), &at))
		return 0;
	addr = wf_netif_table_addr(table);
	if (!addr)
		return -ENOMEM;
	addr->addr = sa;
	addr->prefix = netif_sysfs_prefix_of(ifa->ifa_netmask, sa.sa.sa_family);
	addr->link = at;
	return 0;
}

int wf_netif_scan(struct wf_netif_table *table)
{
	CLEANUP(wf_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifaddrs *list = NULL;
	int err = 0;

	if (fd < 0 || getifaddrs(&list))
		return -errno;
	for (struct ifaddrs *it = list; it && !err; it = it->ifa_next)
		if (it->ifa_addr && it->ifa_addr->sa_family == AF_PACKET)
			err = netif_sysfs_add_link(table, fd, it);
	for (struct ifaddrs *it = list; it && !err; it = it->ifa_next)
		if (it->ifa_addr && it->ifa_addr->sa_family != AF_PACKET)
			err = netif_sysfs_add_addr(table, it);
	freeifaddrs(list);
	return err;
}

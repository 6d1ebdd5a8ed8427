/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The implementation that this build does not use is compiled in this file under
 * another name, so that both are tested to return the same for this machine. */
#define wf_netif_scan sysfs_scan
#include "sys/netif_sysfs.c"
#undef wf_netif_scan
int wf_netif_scan(struct wf_netif_table *table);

struct fake {
	const char *name;
	enum wf_netif_kind kind;
	uint64_t speed;
	unsigned int master; /* 1-based place in the list, as index */
	const char *addrs[3];
};

static struct wf_netifs *build(const struct fake *fakes, size_t count)
{
	struct wf_netif_table table = { 0 };
	struct wf_netifs *ifs;

	for (size_t i = 0; i < count; i++) {
		struct wf_netif *link = wf_netif_table_link(&table);

		assert_non_null(link);
		(void)snprintf(link->name, sizeof(link->name), "%s", fakes[i].name);
		link->index = (unsigned int)i + 1;
		link->kind = fakes[i].kind;
		link->speed_bps = fakes[i].speed;
		link->master = fakes[i].master;
		link->up = true;
		for (size_t a = 0; a < 3 && fakes[i].addrs[a]; a++) {
			struct wf_netaddr *addr = wf_netif_table_addr(&table);

			assert_non_null(addr);
			assert_int_equal(
				wf_sockaddr_from_host(fakes[i].addrs[a], &addr->addr),
				0);
			addr->prefix = 24;
			addr->link = (unsigned int)i;
		}
	}
	assert_int_equal(wf_netifs_new(&table, &ifs), 0);
	return ifs;
}

static void assert_order(const struct wf_netifs *ifs, const char *const *want)
{
	char text[WF_SOCKADDR_STRLEN];

	for (size_t i = 0; i < ifs->addr_count; i++)
		assert_string_equal(
			wf_sockaddr_host(&ifs->addrs[i].addr, text, sizeof(text)),
			want[i]);
	assert_null(want[ifs->addr_count]);
}

/* GI-050 */
static void best_interface_first(void **state)
{
	static const struct fake fakes[] = {
		{ "lo", WF_NETIF_LOOPBACK, 0, 0, { "127.0.0.1", "::1" } },
		{ "docker0", WF_NETIF_BRIDGE, 10000000000, 0, { "172.17.0.1" } },
		{ "eth0", WF_NETIF_ETHERNET, 1000000000, 0,
			{ "fe80::1%3", "fd00::1", "10.0.0.1" } },
		{ "tun0", WF_NETIF_TUN, 0, 0, { "10.8.0.1" } },
		{ "ib0", WF_NETIF_INFINIBAND, 200000000000, 0, { "10.1.0.1" } },
		{ "veth0", WF_NETIF_VETH, 0, 0, { "10.2.0.1" } },
		{ "eth1", WF_NETIF_ETHERNET, 0, 0, { "10.3.0.1" } },
		{ "dummy0", WF_NETIF_DUMMY, 0, 0, { "10.4.0.1" } },
	};
	static const char *const want[] = { "10.1.0.1", "10.0.0.1", "fd00::1",
		"10.3.0.1", "10.2.0.1", "10.8.0.1", "10.4.0.1", "172.17.0.1",
		"fe80::1%3", "127.0.0.1", "::1", NULL };
	struct wf_netifs *ifs = build(fakes, WF_ARRAY_SIZE(fakes));

	assert_order(ifs, want);
	assert_null(wf_netifs_free(ifs));
}

/* GI-050. A link that only has the address that each link gets may lead nowhere, as one
 * for the maintenance of the host does. */
static void link_local_addresses_come_behind(void **state)
{
	static const struct fake fakes[] = {
		{ "lo", WF_NETIF_LOOPBACK, 0, 0, { "10.99.0.1", "127.0.0.1" } },
		{ "ib0", WF_NETIF_INFINIBAND, 200000000000, 0, { "fe80::2%2" } },
		{ "usb0", WF_NETIF_ETHERNET, 0, 0, { "169.254.0.2" } },
		{ "eth0", WF_NETIF_ETHERNET, 1000000000, 0,
			{ "fe80::4%4", "fd00::4" } },
		{ "veth0", WF_NETIF_VETH, 0, 0, { "fe80::5%5" } },
		{ "veth1", WF_NETIF_VETH, 0, 0, { "192.168.7.1", "192.168.7.0" } },
	};
	static const char *const want[] = { "fd00::4", "192.168.7.1", "192.168.7.0",
		"10.99.0.1", "fe80::2%2", "fe80::4%4", "169.254.0.2", "fe80::5%5",
		"127.0.0.1", NULL };
	struct wf_netifs *ifs = build(fakes, WF_ARRAY_SIZE(fakes));

	assert_order(ifs, want);
	assert_null(wf_netifs_free(ifs));
}

/* A host whose address sits on a bridge over its only card. */
static void bridge_over_hardware_ranks_as_hardware(void **state)
{
	static const struct fake fakes[] = {
		{ "lo", WF_NETIF_LOOPBACK, 0, 0, { "127.0.0.1" } },
		{ "br0", WF_NETIF_BRIDGE, 0, 0, { "10.0.0.1" } },
		{ "eth0", WF_NETIF_ETHERNET, 25000000000, 2, { NULL } },
		{ "eth1", WF_NETIF_ETHERNET, 1000000000, 0, { "10.9.0.1" } },
		{ "docker0", WF_NETIF_BRIDGE, 0, 0, { "172.17.0.1" } },
		{ "veth1", WF_NETIF_VETH, 0, 5, { NULL } },
	};
	static const char *const want[] = { "10.0.0.1", "10.9.0.1", "172.17.0.1",
		"127.0.0.1", NULL };
	struct wf_netifs *ifs = build(fakes, WF_ARRAY_SIZE(fakes));

	assert_order(ifs, want);
	assert_true(ifs->links[1].uplinked);
	assert_false(ifs->links[4].uplinked);
	assert_null(wf_netifs_free(ifs));
}

static void deprecated_addresses_come_last_of_their_link(void **state)
{
	static const struct fake fakes[] = {
		{ "eth0", WF_NETIF_ETHERNET, 0, 0,
			{ "fd00::1", "fd00::2", "10.0.0.1" } },
	};
	static const char *const want[] = { "10.0.0.1", "fd00::2", "fd00::1", NULL };
	struct wf_netifs *ifs = build(fakes, 1);
	struct wf_netif_table again = { 0 };

	/* Ranked again, with the kernel's answer for one of them. */
	again.links = ifs->links;
	again.link_count = ifs->link_count;
	again.addrs = ifs->addrs;
	again.addr_count = ifs->addr_count;
	for (size_t i = 0; i < again.addr_count; i++)
		if (again.addrs[i].addr.sa.sa_family == AF_INET6 &&
			again.addrs[i].addr.in6.sin6_addr.s6_addr[15] == 1)
			again.addrs[i].deprecated = true;
	free(ifs);
	assert_int_equal(wf_netifs_new(&again, &ifs), 0);
	assert_order(ifs, want);
	assert_null(wf_netifs_free(ifs));
}

static void kinds_by_name(void **state)
{
	assert_int_equal(wf_netif_kind_of(NULL, ARPHRD_ETHER), WF_NETIF_ETHERNET);
	assert_int_equal(wf_netif_kind_of(NULL, ARPHRD_LOOPBACK), WF_NETIF_LOOPBACK);
	assert_int_equal(
		wf_netif_kind_of(NULL, ARPHRD_INFINIBAND), WF_NETIF_INFINIBAND);
	assert_int_equal(wf_netif_kind_of("veth", ARPHRD_ETHER), WF_NETIF_VETH);
	assert_int_equal(wf_netif_kind_of("bridge", ARPHRD_ETHER), WF_NETIF_BRIDGE);
	assert_int_equal(wf_netif_kind_of("tun", ARPHRD_NONE), WF_NETIF_TUN);
	assert_int_equal(wf_netif_kind_of("wireguard", ARPHRD_NONE), WF_NETIF_VIRTUAL);
}

static void this_host_has_a_loopback(void **state)
{
	const struct wf_netaddr *at;
	struct wf_netifs *ifs;
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host("127.0.0.1", &sa), 0);
	assert_int_equal(wf_netifs_list(&ifs), 0);
	at = wf_netifs_find(ifs, &sa);
	if (!at)
		skip();
	assert_int_equal(wf_netaddr_link(ifs, at)->kind, WF_NETIF_LOOPBACK);
	assert_int_equal(at->prefix, 8);
	assert_int_equal(wf_sockaddr_from_host("203.0.113.99", &sa), 0);
	assert_null(wf_netifs_find(ifs, &sa));
	assert_null(wf_netifs_free(ifs));
}

static struct wf_netifs *with_address(const char *host)
{
	const struct fake fakes[] = {
		{ "lo", WF_NETIF_LOOPBACK, 0, 0, { "127.0.0.1" } },
		{ "eth0", WF_NETIF_ETHERNET, 0, 0, { host, "10.0.0.2" } },
	};

	return build(fakes, WF_ARRAY_SIZE(fakes));
}

static void other_addresses_are_seen(void **state)
{
	struct wf_netifs *ifs = with_address("10.0.0.1");
	struct wf_netifs *same = with_address("10.0.0.1");
	struct wf_netifs *other = with_address("10.0.0.3");
	struct wf_netifs *fewer = with_address(NULL);

	assert_true(wf_netifs_same_addrs(ifs, same));
	assert_false(wf_netifs_same_addrs(ifs, other));
	assert_false(wf_netifs_same_addrs(ifs, fewer));
	assert_false(wf_netifs_same_addrs(fewer, ifs));
	(void)wf_netifs_free(ifs);
	(void)wf_netifs_free(same);
	(void)wf_netifs_free(other);
	(void)wf_netifs_free(fewer);
	assert_null(wf_netifs_free(NULL));
}

static const struct wf_netif *link_of(const struct wf_netifs *ifs, const char *name)
{
	for (size_t i = 0; i < ifs->link_count; i++)
		if (!strcmp(ifs->links[i].name, name))
			return &ifs->links[i];
	fail_msg("%s is missing", name);
	return NULL;
}

static void both_sources_agree(void **state)
{
	struct wf_netif_table a = { 0 }, b = { 0 };
	struct wf_netifs *one, *other;

	assert_int_equal(wf_netif_scan(&a), 0);
	assert_int_equal(sysfs_scan(&b), 0);
	assert_int_equal(wf_netifs_new(&a, &one), 0);
	assert_int_equal(wf_netifs_new(&b, &other), 0);
	assert_int_equal(one->link_count, other->link_count);
	for (size_t i = 0; i < one->link_count; i++) {
		const struct wf_netif *link = &one->links[i];
		const struct wf_netif *twin = link_of(other, link->name);

		assert_int_equal(link->index, twin->index);
		assert_int_equal(link->up, twin->up);
		assert_int_equal(link->hardware, twin->hardware);
		assert_int_equal(link->kind, twin->kind);
		assert_int_equal(link->master, twin->master);
		assert_true(link->speed_bps == twin->speed_bps);
	}
	for (size_t i = 0; i < one->addr_count && i < other->addr_count; i++) {
		const struct wf_netaddr *twin =
			wf_netifs_find(other, &one->addrs[i].addr);

		assert_non_null(twin);
		assert_int_equal(twin->prefix, one->addrs[i].prefix);
	}
	assert_null(wf_netifs_free(one));
	assert_null(wf_netifs_free(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_interface_first),
		cmocka_unit_test(link_local_addresses_come_behind),
		cmocka_unit_test(bridge_over_hardware_ranks_as_hardware),
		cmocka_unit_test(deprecated_addresses_come_last_of_their_link),
		cmocka_unit_test(kinds_by_name),
		cmocka_unit_test(this_host_has_a_loopback),
		cmocka_unit_test(other_addresses_are_seen),
		cmocka_unit_test(both_sources_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_fake.h"

#include <netdb.h>

#include "sys/netif.h"
#include "sys/route.h"

/*
 * Discovery on a host that the test makes up: the functions below stand in for the
 * kernel's lists, its routes and the name service.
 */
struct fake_addr {
	const char *link, *host;
	unsigned int prefix;
};

static const struct fake_link {
	const char *name;
	enum wf_netif_kind kind;
	bool up, hardware;
	uint64_t speed;
} fake_links[] = {
	{ "lo", WF_NETIF_LOOPBACK, true, false, 0 },
	{ "tst0", WF_NETIF_ETHERNET, true, true, 10000000000 },
	{ "tst1", WF_NETIF_ETHERNET, true, true, 100000000000 },
	{ "br-tst", WF_NETIF_BRIDGE, true, false, 0 },
	{ "tst2", WF_NETIF_ETHERNET, false, true, 0 },
};

static const struct fake_addr fake_addrs[] = {
	{ "lo", "127.0.0.1", 8 },
	{ "lo", "::1", 128 },
	{ "tst0", "192.0.2.10", 24 },
	{ "tst0", "fe80::10%2", 64 },
	{ "tst0", "2001:db8::10", 64 },
	{ "tst1", "198.51.100.10", 24 },
	{ "br-tst", "172.17.0.1", 16 },
	{ "tst2", "203.0.113.10", 24 },
};

static unsigned int lookups;
static bool no_links;

int wf_netif_scan(struct wf_netif_table *table)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(fake_links) && !no_links; i++) {
		struct wf_netif *link = wf_netif_table_link(table);

		assert_non_null(link);
		(void)snprintf(
			link->name, sizeof(link->name), "%s", fake_links[i].name);
		link->index = (unsigned int)i + 1;
		link->kind = fake_links[i].kind;
		link->up = fake_links[i].up;
		link->hardware = fake_links[i].hardware;
		link->speed_bps = fake_links[i].speed;
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(fake_addrs) && !no_links; i++) {
		struct wf_netaddr *addr = wf_netif_table_addr(table);

		assert_non_null(addr);
		assert_int_equal(
			wf_sockaddr_from_host(fake_addrs[i].host, &addr->addr), 0);
		addr->prefix = fake_addrs[i].prefix;
		while (strcmp(table->links[addr->link].name, fake_addrs[i].link))
			addr->link++;
	}
	return 0;
}

/* All routes use tst0, except those to this host. */
int wf_route_source(const union wf_sockaddr *dest, union wf_sockaddr *ret_source)
{
	bool v6 = dest->sa.sa_family == AF_INET6;

	if (wf_sockaddr_is_linklocal(dest) && !dest->in6.sin6_scope_id)
		return -EINVAL;
	return wf_sockaddr_from_host(wf_sockaddr_is_loopback(dest)
					     ? v6 ? "::1" : "127.0.0.1"
				     : wf_sockaddr_is_linklocal(dest) ? "fe80::10%2"
				     : v6                             ? "2001:db8::10"
								      : "192.0.2.10",
		ret_source);
}

/* Knows "twin", an IPv6 and an IPv4 host, and the service "echo". */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *ask,
	struct addrinfo **ret_list)
{
	static union wf_sockaddr sa[2];
	static struct addrinfo list[2];
	uint16_t port = 0;

	lookups++;
	if (node && (ask->ai_flags & AI_NUMERICHOST || strcmp(node, "twin")) &&
		wf_sockaddr_from_host(node, &sa[0]))
		return EAI_NONAME;
	if (service && wf_sockaddr_parse_port(service, &port)) {
		if (strcmp(service, "echo"))
			return EAI_SERVICE;
		port = 7;
	}
	(void)wf_sockaddr_from_host("2001:db8::99", &sa[0]);
	(void)wf_sockaddr_from_host("192.0.2.99", &sa[1]);
	memset(list, 0, sizeof(list));
	for (size_t i = 0; i < 2; i++) {
		wf_sockaddr_set_port(&sa[i], port);
		list[i].ai_addr = &sa[i].sa;
		list[i].ai_addrlen = (socklen_t)wf_sockaddr_len(&sa[i]);
	}
	list[0].ai_next = &list[1];
	*ret_list = ask->ai_family == AF_INET ? &list[1] : &list[0];
	if (ask->ai_family == AF_INET6)
		list[0].ai_next = NULL;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
}

static const struct wf_prov *prov_used;

/* One line per entry: "<type> <format> <source> <destination> <fabric> <domain>". */
static char listing[8192];

static const char *addr_text(const void *addr, size_t len)
{
	static char texts[2][WF_SOCKADDR_STRLEN + 8];
	static unsigned int next;
	char host[WF_SOCKADDR_STRLEN], *text = texts[next++ % 2];
	union wf_sockaddr sa;

	if (!addr)
		return "-";
	assert_int_equal(wf_sockaddr_read(addr, len, &sa), 0);
	assert_int_equal(len, wf_sockaddr_len(&sa));
	(void)snprintf(text, sizeof(texts[0]), "%s|%u",
		wf_sockaddr_host(&sa, host, sizeof(host)), wf_sockaddr_port(&sa));
	return text;
}

static const char *ask(uint32_t version, const char *node, const char *service,
	uint64_t flags, struct fi_info *hints, int want)
{
	static const char *const types[] = { "?", "msg", "dgram", "rdm" };
	struct fi_info *const marker = (struct fi_info *)(uintptr_t)1;
	struct fi_info *list = marker;
	char line[256];

	fake_log[0] = listing[0] = '\0';
	lookups = 0;
	assert_int_equal(
		wf_ip_getinfo(prov_used, version, node, service, flags, hints, &list),
		want);
	if (want) {
		assert_ptr_equal(list, marker);
		return fake_log;
	}
	for (struct fi_info *it = list; it; it = it->next) {
		assert_int_equal(it->addr_format == FI_SOCKADDR_IN ? 2 : 10,
			*(uint16_t *)(it->src_addr ? it->src_addr : it->dest_addr));
		(void)snprintf(line, sizeof(line), "%s %s %s %s %s\n",
			types[it->ep_attr->type],
			addr_text(it->src_addr, it->src_addrlen),
			addr_text(it->dest_addr, it->dest_addrlen),
			it->fabric_attr->name, it->domain_attr->name);
		strcat(listing, line);
	}
	fi_freeinfo(list);
	return listing;
}

/* Datagrams only, so that the log holds what a test is about. */
static const struct fi_info *const dgram_templates[] = { &dgram_in, &dgram_in6, NULL };
static struct wf_prov dgram_prov;

static int use_dgram(void **state)
{
	dgram_prov = fake_prov;
	dgram_prov.templates = dgram_templates;
	prov_used = &dgram_prov;
	fake_iface = NULL;
	return 0;
}

static int use_all(void **state)
{
	prov_used = &fake_prov;
	fake_iface = NULL;
	return 0;
}

static struct fi_info *hints_of(enum fi_ep_type type)
{
	struct fi_info *hints = fake_hints();

	hints->ep_attr->type = type;
	return hints;
}

#define LATEST FI_VERSION(2, 6)

/* GI-001 GI-043 GI-050 GI-060: the fastest first, loopback last, IPv4 before IPv6 */
static void every_interface(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 198.51.100.10|0 - 198.51.100.0/24 tst1\n"
		"dgram 192.0.2.10|0 - 192.0.2.0/24 tst0\n"
		"dgram 2001:db8::10|0 - 2001:db8::/64 tst0\n"
		"dgram 172.17.0.1|0 - 172.17.0.0/16 br-tst\n"
		"dgram fe80::10%2|0 - fe80::/64 tst0\n"
		"dgram 127.0.0.1|0 - 127.0.0.1/32 lo\n"
		"dgram ::1|0 - ::1/128 lo\n");
	assert_int_equal(lookups, 0);
	hints->addr_format = FI_SOCKADDR_IN6;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 2001:db8::10|0 - 2001:db8::/64 tst0\n"
		"dgram fe80::10%2|0 - fe80::/64 tst0\n"
		"dgram ::1|0 - ::1/128 lo\n");
	fi_freeinfo(hints);
}

/* One type after the other, in the order of the templates. */
static void every_type(void **state)
{
	const char *got = ask(LATEST, NULL, NULL, 0, NULL, 0);

	assert_memory_equal(got, "rdm 198.51.100.10|0 ", 20);
	assert_non_null(strstr(got, "rdm ::1|0 - ::1/128 lo\nmsg 198.51.100.10|0 "));
	assert_non_null(strstr(got, "msg 127.0.0.1|0 - 127.0.0.1/32 lo\ndgram 198."));
	assert_null(strstr(got, "msg ::1"));
	assert_null(strstr(got, "203.0.113"));
}

/* GI-037: addresses come and go, with the flag and without it. */
static void each_call_looks(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	no_links = true;
	(void)ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA);
	no_links = false;
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "192.0.2.10"));
	no_links = true;
	(void)ask(LATEST, NULL, NULL, FI_RESCAN, hints, -FI_ENODATA);
	no_links = false;
	fi_freeinfo(hints);
}

/* CAP-015 */
static void reach_by_interface(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM), *list = NULL;

	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	for (struct fi_info *it = list; it; it = it->next) {
		uint64_t want = strcmp(it->domain_attr->name, "lo")
					? FI_LOCAL_COMM | FI_REMOTE_COMM
					: FI_LOCAL_COMM;

		assert_true((it->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)) == want);
		assert_true(it->domain_attr->caps == want);
	}
	fi_freeinfo(list);
	hints->caps = FI_MSG | FI_REMOTE_COMM;
	assert_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), " lo"));
	/* Two addresses and two templates, one line. */
	assert_string_equal(fake_log,
		"refused: caps: asked FI_REMOTE_COMM, possible FI_LOCAL_COMM "
		"(FI_EP_DGRAM, lo)\n");
	hints->caps = FI_MSG | FI_LOCAL_COMM;
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), " lo"));
	hints->caps = 0;
	hints->domain_attr->caps = FI_REMOTE_COMM;
	assert_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), " lo"));
	fi_freeinfo(hints);
}

/* Open MPI asks for both; FI_<PROVIDER>_IFACE=lo has always been enough for it. */
static void a_chosen_loopback_reaches_all(void **state)
{
	const uint64_t both = FI_LOCAL_COMM | FI_REMOTE_COMM;
	struct fi_info *hints = hints_of(FI_EP_DGRAM), *list = NULL;

	fake_iface = "lo";
	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	for (struct fi_info *it = list; it; it = it->next)
		assert_true((it->caps & both) == FI_LOCAL_COMM);
	fi_freeinfo(list);
	list = NULL;
	hints->caps = FI_MSG | both;
	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	for (struct fi_info *it = list; it; it = it->next) {
		assert_string_equal(it->domain_attr->name, "lo");
		assert_true((it->caps & both) == both);
	}
	fi_freeinfo(list);
	/* Another one was chosen. */
	fake_iface = "tst1";
	(void)ask(LATEST, "127.0.0.1", NULL, FI_SOURCE, hints, -FI_ENODATA);
	fi_freeinfo(hints);
}

/* GI-044 */
static void names_choose(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	hints->domain_attr->name = strdup("BR-TST");
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 172.17.0.1|0 - 172.17.0.0/16 br-tst\n");
	free(hints->domain_attr->name);
	hints->domain_attr->name = NULL;
	hints->fabric_attr->name = strdup("2001:DB8::/64");
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 2001:db8::10|0 - 2001:db8::/64 tst0\n");
	free(hints->fabric_attr->name);
	hints->fabric_attr->name = NULL;
	hints->domain_attr->name = strdup("tst");
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: domain_attr.name: asked tst, possible tst1, tst0, br-tst, lo "
		"(FI_EP_DGRAM, tst1, tst0, br-tst, lo)\n");
	fi_freeinfo(hints);
}

/* GI-027 GI-025 */
static void source_is_local(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	assert_string_equal(ask(LATEST, "192.0.2.10", "5000", FI_SOURCE, hints, 0),
		"dgram 192.0.2.10|5000 - 192.0.2.0/24 tst0\n");
	assert_string_equal(ask(LATEST, "127.5.6.7", NULL, FI_SOURCE, hints, 0),
		"dgram 127.5.6.7|0 - 127.0.0.1/32 lo\n");
	/* An address on a link that is down is ours all the same. */
	assert_string_equal(ask(LATEST, "203.0.113.10", "1", FI_SOURCE, hints, 0),
		"dgram 203.0.113.10|1 - 203.0.113.0/24 tst2\n");
	/* An address of another host: binding will fail. */
	assert_string_equal(ask(LATEST, "192.0.2.66", "1", FI_SOURCE, hints, 0),
		"dgram 192.0.2.66|1 - FAKE-IP fake\n");
	assert_string_equal(ask(LATEST, NULL, "5000", FI_SOURCE, hints, 0),
		"dgram 0.0.0.0|5000 - FAKE-IP fake\ndgram ::|5000 - FAKE-IP fake\n");
	assert_int_equal(lookups, 0);
	fi_freeinfo(hints);
}

/* GI-028 */
static void source_of_nothing(void **state)
{
	assert_string_equal(ask(LATEST, NULL, NULL, FI_SOURCE, NULL, -FI_EINVAL),
		"refused: flags: asked FI_SOURCE alone, possible with a node or a "
		"service (FI_EP_RDM)\n");
}

/* GI-026 GI-031 */
static void node_is_remote(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	assert_string_equal(ask(LATEST, "192.0.2.99", "5000", 0, hints, 0),
		"dgram 192.0.2.10|0 192.0.2.99|5000 192.0.2.0/24 tst0\n");
	assert_string_equal(ask(LATEST, "127.0.0.1", "5000", 0, hints, 0),
		"dgram 127.0.0.1|0 127.0.0.1|5000 127.0.0.1/32 lo\n");
	assert_string_equal(ask(LATEST, "fe80::7%2", "5000", 0, hints, 0),
		"dgram fe80::10%2|0 fe80::7%2|5000 fe80::/64 tst0\n");
	/* No route is no error. */
	assert_string_equal(ask(LATEST, "fe80::7", "5000", 0, hints, 0),
		"dgram - fe80::7|5000 FAKE-IP fake\n");
	assert_string_equal(ask(LATEST, NULL, "5000", 0, hints, 0),
		"dgram 127.0.0.1|0 127.0.0.1|5000 127.0.0.1/32 lo\n"
		"dgram ::1|0 ::1|5000 ::1/128 lo\n");
	fi_freeinfo(hints);
}

static void set_addr(void **addr, size_t *len, const char *host, uint16_t port)
{
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host(host, &sa), 0);
	wf_sockaddr_set_port(&sa, port);
	free(*addr);
	*len = wf_sockaddr_len(&sa);
	*addr = malloc(*len);
	assert_non_null(*addr);
	memcpy(*addr, &sa, *len);
}

/* GI-025 GI-027 GI-029 */
static void addresses_in_hints(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	set_addr(&hints->src_addr, &hints->src_addrlen, "198.51.100.10", 11);
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 198.51.100.10|11 - 198.51.100.0/24 tst1\n");
	set_addr(&hints->dest_addr, &hints->dest_addrlen, "198.51.100.77", 22);
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 198.51.100.10|11 198.51.100.77|22 198.51.100.0/24 tst1\n");
	assert_string_equal(ask(LATEST, "192.0.2.99", "33", 0, hints, 0),
		"dgram 198.51.100.10|11 192.0.2.99|33 198.51.100.0/24 tst1\n");
	assert_string_equal(ask(LATEST, "192.0.2.10", "33", FI_SOURCE, hints, 0),
		"dgram 192.0.2.10|33 198.51.100.77|22 192.0.2.0/24 tst0\n");
	free(hints->src_addr);
	hints->src_addr = NULL;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 192.0.2.10|0 198.51.100.77|22 192.0.2.0/24 tst0\n");
	/* Of a host's addresses only those of the other side's family. */
	set_addr(&hints->src_addr, &hints->src_addrlen, "2001:db8::10", 44);
	assert_string_equal(ask(LATEST, "twin", "33", 0, hints, 0),
		"dgram 2001:db8::10|44 2001:db8::99|33 2001:db8::/64 tst0\n");
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: src_addr: asked another family, possible the family of "
		"dest_addr (FI_EP_DGRAM)\n");
	fi_freeinfo(hints);
}

/* GI-030 */
static void broken_addresses_in_hints(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	set_addr(&hints->src_addr, &hints->src_addrlen, "198.51.100.10", 11);
	hints->src_addrlen = 0;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_EINVAL),
		"refused: src_addr: asked 0 bytes of another kind, possible struct "
		"sockaddr_in, sockaddr_in6 (FI_EP_DGRAM)\n");
	hints->src_addrlen = 15;
	(void)ask(LATEST, NULL, NULL, 0, hints, -FI_EINVAL);
	hints->src_addrlen = 16;
	*(uint16_t *)hints->src_addr = 1;
	(void)ask(LATEST, NULL, NULL, 0, hints, -FI_EINVAL);
	/* Ignored, so not looked at. */
	(void)ask(LATEST, "127.0.0.1", NULL, FI_SOURCE, hints, 0);
	fi_freeinfo(hints);
}

/* GI-032 GI-061 */
static void text_addresses(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	assert_string_equal(
		ask(LATEST, "fi_sockaddr_in://192.0.2.99:80", NULL, 0, hints, 0),
		"dgram 192.0.2.10|0 192.0.2.99|80 192.0.2.0/24 tst0\n");
	assert_string_equal(ask(LATEST, "fi_sockaddr_in6://[2001:db8::10]:80?a=b", NULL,
				    FI_SOURCE, hints, 0),
		"dgram 2001:db8::10|80 - 2001:db8::/64 tst0\n");
	assert_string_equal(
		ask(LATEST, "fi_sockaddr_in6://:80", NULL, FI_SOURCE, hints, 0),
		"dgram ::|80 - FAKE-IP fake\n");
	assert_int_equal(lookups, 0);
	assert_string_equal(
		ask(LATEST, "fi_sockaddr_in://twin:echo", NULL, 0, hints, 0),
		"dgram 192.0.2.10|0 192.0.2.99|7 192.0.2.0/24 tst0\n");
	assert_string_equal(ask(LATEST, "fi_sockaddr_in://192.0.2.99:80", "80", 0,
				    hints, -FI_EINVAL),
		"refused: service: asked 80, possible none, as node is an address with "
		"a service of its own (FI_EP_DGRAM)\n");
	assert_string_equal(ask(LATEST, "fi_shm://x", NULL, 0, hints, -FI_ENODATA),
		"refused: node: asked fi_shm://x, possible fi_sockaddr://, "
		"fi_sockaddr_ip://, fi_sockaddr_in://, fi_sockaddr_in6:// "
		"(FI_EP_DGRAM)\n");
	assert_string_equal(ask(LATEST, "fi_sockaddr_in6://192.0.2.99", NULL, 0, hints,
				    -FI_ENODATA),
		"refused: node: asked 192.0.2.99, possible IPv6 addresses "
		"(FI_EP_DGRAM)\n");
	(void)ask(LATEST, "fi_sockaddr_in6://[::1", NULL, 0, hints, -FI_ENODATA);
	hints->addr_format = FI_SOCKADDR_IN6;
	(void)ask(LATEST, "fi_sockaddr_in://192.0.2.99", NULL, 0, hints, -FI_ENODATA);
	fi_freeinfo(hints);
}

/* GI-033: look-ups are for names only */
static void names_are_looked_up(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	assert_string_equal(ask(LATEST, "twin", "80", 0, hints, 0),
		"dgram 2001:db8::10|0 2001:db8::99|80 2001:db8::/64 tst0\n"
		"dgram 192.0.2.10|0 192.0.2.99|80 192.0.2.0/24 tst0\n");
	assert_int_equal(lookups, 1);
	assert_string_equal(
		ask(LATEST, "twin", NULL, FI_NUMERICHOST, hints, -FI_ENODATA),
		"refused: node: asked twin, possible what resolves without a look-up: "
		"Name or service not known (FI_EP_DGRAM)\n");
	assert_string_equal(ask(LATEST, "nobody", "80", 0, hints, -FI_ENODATA),
		"refused: node: asked nobody:80, possible what resolves: Name or "
		"service not known (FI_EP_DGRAM)\n");
	assert_string_equal(ask(LATEST, "192.0.2.99", "99999", 0, hints, -FI_ENODATA),
		"refused: service: asked 99999, possible 0 to 65535, or a name "
		"(FI_EP_DGRAM)\n");
	assert_int_equal(lookups, 0);
	hints->addr_format = FI_SOCKADDR_IN;
	assert_string_equal(ask(LATEST, "twin", "echo", 0, hints, 0),
		"dgram 192.0.2.10|0 192.0.2.99|7 192.0.2.0/24 tst0\n");
	assert_non_null(strstr(ask(LATEST, "2001:db8::1", "1", 0, hints, -FI_ENODATA),
		"refused: node: asked 2001:db8::1, possible IPv4 addresses "
		"(FI_EP_DGRAM)\n"));
	fi_freeinfo(hints);
}

/* Where hints insist on an interface, its addresses take the place of others. */
static void names_with_addresses(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	hints->domain_attr->name = strdup("tst1");
	assert_string_equal(ask(LATEST, NULL, "5000", FI_SOURCE, hints, 0),
		"dgram 198.51.100.10|5000 - 198.51.100.0/24 tst1\n");
	assert_string_equal(ask(LATEST, "192.0.2.99", "80", 0, hints, 0),
		"dgram 198.51.100.10|0 192.0.2.99|80 198.51.100.0/24 tst1\n");
	/* It has no address from which that could be reached. */
	assert_string_equal(ask(LATEST, "127.0.0.1", "80", 0, hints, -FI_ENODATA),
		"refused: domain_attr.name: asked tst1, possible lo (FI_EP_DGRAM, "
		"lo)\n");
	assert_string_equal(
		ask(LATEST, "192.0.2.10", "80", FI_SOURCE, hints, -FI_ENODATA),
		"refused: domain_attr.name: asked tst1, possible tst0 (FI_EP_DGRAM, "
		"tst0)\n");
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("fake");
	assert_string_equal(ask(LATEST, NULL, "5000", FI_SOURCE, hints, 0),
		"dgram 0.0.0.0|5000 - FAKE-IP fake\ndgram ::|5000 - FAKE-IP fake\n");
	fi_freeinfo(hints);
}

static void interface_parameter(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	fake_iface = "tst1";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 198.51.100.10|0 - 198.51.100.0/24 tst1\n");
	assert_string_equal(ask(LATEST, "192.0.2.99", "80", 0, hints, 0),
		"dgram 198.51.100.10|0 192.0.2.99|80 198.51.100.0/24 tst1\n");
	assert_string_equal(ask(LATEST, NULL, "5000", FI_SOURCE, hints, 0),
		"dgram 198.51.100.10|5000 - 198.51.100.0/24 tst1\n");
	/* Down: the only one allowed has nothing to offer. */
	fake_iface = "tst2";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: interface: asked tst2, possible none: none that is up has an "
		"address that fits (FI_EP_DGRAM)\n");
	fake_iface = "tst9";
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "tst0"));
	assert_string_equal(fake_log,
		"FI_FAKE_IFACE is \"tst9\": possible lo, tst0, tst1, br-tst, tst2; "
		"all are used; did you mean tst0?\n");
	fake_iface = NULL;
	fi_freeinfo(hints);
}

static void interface_lists(void **state)
{
	static const char two[] = "dgram 198.51.100.10|0 - 198.51.100.0/24 tst1\n"
				  "dgram 172.17.0.1|0 - 172.17.0.0/16 br-tst\n";
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	/* In the order of the system, whatever the list's; one that is not there is
	 * there on another host. */
	fake_iface = "br-tst,tst1";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0), two);
	fake_iface = ", br-tst ,tst1,tst7";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0), two);
	assert_string_equal(fake_log, "");
	fake_iface = "^tst0,lo,tst7";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0), two);
	assert_string_equal(fake_log, "");
	assert_string_equal(ask(LATEST, "192.0.2.99", "80", 0, hints, 0),
		"dgram 198.51.100.10|0 192.0.2.99|80 198.51.100.0/24 tst1\n"
		"dgram 172.17.0.1|0 192.0.2.99|80 172.17.0.0/16 br-tst\n");
	fake_iface = "^tst0,tst1,br-tst,lo";
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: interface: asked ^tst0,tst1,br-tst,lo, possible none: none "
		"that is up has an address that fits (FI_EP_DGRAM)\n");
	fake_iface = "^";
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "tst0"));
	fake_iface = "tst8,tst9";
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "tst0"));
	assert_non_null(strstr(fake_log, "\"tst8,tst9\": possible lo, tst0"));
	/* The loopback is not named. */
	hints->caps = FI_MSG | FI_REMOTE_COMM;
	fake_iface = "^tst0";
	assert_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "127.0.0.1"));
	fake_iface = "tst1,lo";
	assert_non_null(strstr(ask(LATEST, NULL, NULL, 0, hints, 0), "127.0.0.1"));
	fake_iface = NULL;
	fi_freeinfo(hints);
}

/* GI-052 GI-053 GI-054 */
static void open_objects(void **state)
{
	struct fi_fabric_attr attr = { .name = (char *)"192.0.2.0/24" };
	struct fid_fabric *fabric = NULL, other_fabric;
	struct wf_open_domain domain = { .name = "tst0" }, second = domain;
	struct fid_domain first_fid, second_fid, foreign;
	struct fi_info *hints = hints_of(FI_EP_DGRAM), *list = NULL;

	assert_int_equal(wf_fabric_new(prov_used, &attr, NULL, &fabric, NULL), 0);
	domain.fid = &first_fid;
	second.fid = &second_fid;
	domain.fabric = second.fabric = wf_fabric_of(fabric);
	wf_open_domain_add(&domain);
	wf_open_domain_add(&second);
	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	for (struct fi_info *it = list; it; it = it->next) {
		bool here = !strcmp(it->fabric_attr->name, "192.0.2.0/24");

		assert_ptr_equal(it->fabric_attr->fabric, here ? fabric : NULL);
		assert_ptr_equal(it->domain_attr->domain, here ? &first_fid : NULL);
	}
	fi_freeinfo(list);
	hints->fabric_attr->fabric = fabric;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, 0),
		"dgram 192.0.2.10|0 - 192.0.2.0/24 tst0\n");
	hints->fabric_attr->fabric = &other_fabric;
	(void)ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA);
	/* Not the first of its name, but one of them. */
	hints->fabric_attr->fabric = NULL;
	hints->domain_attr->domain = &second_fid;
	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	assert_ptr_equal(list->domain_attr->domain, &second_fid);
	assert_null(list->next);
	fi_freeinfo(list);
	/* Another provider's is not looked into. */
	hints->domain_attr->domain = &foreign;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: domain_attr.domain: asked an open domain, possible the open "
		"ones of tst1, the open ones of tst0, the open ones of br-tst, the "
		"open "
		"ones of lo (FI_EP_DGRAM, tst1, tst0, br-tst, lo)\n");
	hints->domain_attr->domain = NULL;
	wf_open_domain_remove(&domain);
	wf_open_domain_remove(&second);
	assert_int_equal(fi_close(&fabric->fid), 0);
	fi_freeinfo(hints);
}

/* Programs take a provider with NIC attributes for one that drives the adapter, and
 * read what the system does not tell of every interface. */
static void no_nics(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM), *list = NULL;

	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 0, hints, &list), 0);
	for (struct fi_info *it = list; it; it = it->next)
		assert_null(it->nic);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

/* The same reason for the same type of endpoint is logged once. */
static void one_line_per_reason(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM);

	hints->tx_attr->size = 65;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, hints, -FI_ENODATA),
		"refused: ep_attr.type: asked FI_EP_DGRAM, possible FI_EP_RDM "
		"(FI_EP_RDM)\n"
		"refused: ep_attr.type: asked FI_EP_DGRAM, possible FI_EP_MSG "
		"(FI_EP_MSG)\n"
		"refused: tx_attr.size: asked 65, possible 64 (FI_EP_DGRAM)\n");
	fi_freeinfo(hints);
}

/* Layers of other libraries ask with flags of their own, and their core appends the
 * provider's name to a name that is there already. */
static void answers_to_other_libraries(void **state)
{
	struct fi_info *hints = hints_of(FI_EP_DGRAM), *list = NULL;

	assert_int_equal(
		wf_ip_getinfo(prov_used, LATEST, NULL, NULL, 1ULL << 59, hints, &list),
		0);
	for (struct fi_info *it = list; it; it = it->next)
		assert_null(it->fabric_attr->prov_name);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

static void no_interface(void **state)
{
	no_links = true;
	assert_string_equal(ask(LATEST, NULL, NULL, 0, NULL, -FI_ENODATA),
		"refused: interface: asked any, possible none: none that is up has an "
		"address that fits (FI_EP_RDM)\n");
	no_links = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_interface, use_dgram),
		cmocka_unit_test_setup(every_type, use_all),
		cmocka_unit_test_setup(each_call_looks, use_dgram),
		cmocka_unit_test_setup(reach_by_interface, use_dgram),
		cmocka_unit_test_setup(a_chosen_loopback_reaches_all, use_dgram),
		cmocka_unit_test_setup(names_choose, use_dgram),
		cmocka_unit_test_setup(source_is_local, use_dgram),
		cmocka_unit_test_setup(source_of_nothing, use_all),
		cmocka_unit_test_setup(node_is_remote, use_dgram),
		cmocka_unit_test_setup(addresses_in_hints, use_dgram),
		cmocka_unit_test_setup(broken_addresses_in_hints, use_dgram),
		cmocka_unit_test_setup(text_addresses, use_dgram),
		cmocka_unit_test_setup(names_are_looked_up, use_dgram),
		cmocka_unit_test_setup(names_with_addresses, use_dgram),
		cmocka_unit_test_setup(interface_parameter, use_dgram),
		cmocka_unit_test_setup(interface_lists, use_dgram),
		cmocka_unit_test_setup(open_objects, use_dgram),
		cmocka_unit_test_setup(no_nics, use_dgram),
		cmocka_unit_test_setup(one_line_per_reason, use_all),
		cmocka_unit_test_setup(answers_to_other_libraries, use_dgram),
		cmocka_unit_test_setup(no_interface, use_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

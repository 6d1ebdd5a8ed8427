/* SPDX-License-Identifier: BSD-2-Clause */
/* Node, service and addresses given to fi_getinfo. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "suites.h"

enum { PORT = 7471 };

static struct fi_info *lookup(const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints)
{
	struct fi_info *info;

	CHECK_OK(fi_getinfo(cf_target.version, node, service, flags, hints, &info));
	CHECK(info);
	return info;
}

static int lookup_error(const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints)
{
	struct fi_info *info = NULL;
	int ret = fi_getinfo(cf_target.version, node, service, flags, hints, &info);

	if (!ret)
		fi_freeinfo(info);
	else
		CHECK(!info);
	return ret;
}

/* Of this host: the loopback, or what was named. */
static bool is_loopback(const void *addr)
{
	const struct sockaddr_in6 *in6 = addr;
	const struct sockaddr_in *in = addr;

	if (cf_target.node)
		return in->sin_family == AF_INET &&
		       in->sin_addr.s_addr == inet_addr(cf_target.node);
	if (in->sin_family == AF_INET)
		return in->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
	return in6->sin6_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Hints for a target that speaks IP; the cases below are about IP addresses. */
static struct fi_info *ip_hints(void)
{
	struct fi_info *hints = cf_hints();
	struct sockaddr_in6 unused;
	struct fi_info *info;

	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	(void)cf_ip_addr(info, &unused, 0);
	fi_freeinfo(info);
	return hints;
}

static void source_names_the_local_side(void)
{
	struct fi_info *hints = ip_hints(), *info;

	info = lookup(cf_loopback(), "7471", FI_SOURCE, hints);
	CHECK(info->src_addr && info->src_addrlen);
	CHECK(is_loopback(info->src_addr));
	CHECK_EQ(cf_ip_port(info->src_addr), PORT);
	CHECK(!info->dest_addr && !info->dest_addrlen);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void node_names_the_remote_side(void)
{
	struct fi_info *hints = ip_hints(), *info;

	info = lookup(cf_loopback(), "7471", 0, hints);
	CHECK(info->dest_addr && info->dest_addrlen);
	CHECK(is_loopback(info->dest_addr));
	CHECK_EQ(cf_ip_port(info->dest_addr), PORT);
	/* The source that routes there is the loopback itself. */
	CHECK(info->src_addr && is_loopback(info->src_addr));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void node_alone_and_service_alone(void)
{
	struct fi_info *hints = ip_hints(), *info;

	info = lookup(cf_loopback(), NULL, FI_SOURCE, hints);
	CHECK(is_loopback(info->src_addr));
	CHECK_EQ(cf_ip_port(info->src_addr), 0);
	fi_freeinfo(info);
	info = lookup(NULL, "7471", FI_SOURCE, hints);
	CHECK(info->src_addr);
	CHECK_EQ(cf_ip_port(info->src_addr), PORT);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void source_needs_node_or_service(void)
{
	struct fi_info *hints = ip_hints();

	CHECK_EQ(lookup_error(NULL, NULL, FI_SOURCE, hints), -FI_ENODATA);
	fi_freeinfo(hints);
}

/* Give @hints an address of their own, as applications do. */
static void set_addr(void **addr, size_t *len, uint16_t port)
{
	struct fi_info format = { .addr_format = cf_target.addr_format
							 ? cf_target.addr_format
							 : FI_SOCKADDR_IN };

	*addr = malloc(sizeof(struct sockaddr_in6));
	CHECK(*addr);
	*len = cf_ip_addr(&format, *addr, port);
}

static void hints_addresses_are_used(void)
{
	struct fi_info *hints = ip_hints(), *info;

	set_addr(&hints->src_addr, &hints->src_addrlen, PORT);
	set_addr(&hints->dest_addr, &hints->dest_addrlen, PORT + 1);
	info = lookup(NULL, NULL, 0, hints);
	CHECK(info->src_addr && info->dest_addr);
	CHECK(is_loopback(info->src_addr) && is_loopback(info->dest_addr));
	CHECK_EQ(cf_ip_port(info->src_addr), PORT);
	CHECK_EQ(cf_ip_port(info->dest_addr), PORT + 1);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void node_overrides_hints_addresses(void)
{
	struct fi_info *hints = ip_hints(), *info;

	set_addr(&hints->src_addr, &hints->src_addrlen, PORT);
	set_addr(&hints->dest_addr, &hints->dest_addrlen, PORT + 1);
	info = lookup(cf_loopback(), "7473", 0, hints);
	CHECK(info->dest_addr);
	CHECK_EQ(cf_ip_port(info->dest_addr), 7473);
	fi_freeinfo(info);
	info = lookup(cf_loopback(), "7473", FI_SOURCE, hints);
	CHECK(info->src_addr && info->dest_addr);
	CHECK_EQ(cf_ip_port(info->src_addr), 7473);
	CHECK_EQ(cf_ip_port(info->dest_addr), PORT + 1);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void numeric_host_is_not_looked_up(void)
{
	struct fi_info *hints = ip_hints(), *info;

	info = lookup(cf_loopback(), NULL, FI_SOURCE | FI_NUMERICHOST, hints);
	CHECK(is_loopback(info->src_addr));
	fi_freeinfo(info);
	CHECK_EQ(lookup_error("localhost", NULL, FI_SOURCE | FI_NUMERICHOST, hints),
		-FI_ENODATA);
	fi_freeinfo(hints);
}

static void bad_node_is_enodata(void)
{
	struct fi_info *hints = ip_hints();

	CHECK_EQ(lookup_error("999.1.1.1", NULL, FI_NUMERICHOST, hints), -FI_ENODATA);
	CHECK_EQ(lookup_error("", "no-such-service-name", FI_SOURCE, hints),
		-FI_ENODATA);
	CHECK_EQ(lookup_error("fi_sockaddr_in://[::1", NULL, 0, hints), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void address_text_as_node(void)
{
	struct fi_info *hints = ip_hints(), *info;
	char node[64];

	snprintf(node, sizeof(node),
		cf_target.addr_format == FI_SOCKADDR_IN6 ? "fi_sockaddr_in6://[%s]:7471"
							 : "fi_sockaddr_in://%s:7471",
		cf_loopback());
	info = lookup(node, NULL, 0, hints);
	CHECK(info->dest_addr && is_loopback(info->dest_addr));
	CHECK_EQ(cf_ip_port(info->dest_addr), PORT);
	fi_freeinfo(info);
	CHECK_EQ(lookup_error(node, "7471", 0, hints), -FI_ENODATA);
	info = lookup(node, NULL, FI_SOURCE, hints);
	CHECK(info->src_addr && is_loopback(info->src_addr));
	CHECK_EQ(cf_ip_port(info->src_addr), PORT);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void formats_are_concrete_and_filter(void)
{
	static const struct {
		uint32_t format;
		uint32_t since;
		bool in, in6;
	} rows[] = {
		{ FI_FORMAT_UNSPEC, FI_VERSION(1, 0), true, true },
		{ FI_SOCKADDR, FI_VERSION(1, 0), true, true },
		{ FI_SOCKADDR_IP, FI_VERSION(2, 0), true, true },
		{ FI_SOCKADDR_IN, FI_VERSION(1, 0), true, false },
		{ FI_SOCKADDR_IN6, FI_VERSION(1, 0), false, true },
	};
	struct fi_info *hints = ip_hints();

	for (size_t i = 0; i < CF_COUNT(rows); i++) {
		struct fi_info *info;

		if (cf_target.version < rows[i].since)
			continue;
		hints->addr_format = rows[i].format;
		info = lookup(NULL, NULL, 0, hints);
		for (struct fi_info *cur = info; cur; cur = cur->next) {
			bool in = cur->addr_format == FI_SOCKADDR_IN;

			CHECK(in || cur->addr_format == FI_SOCKADDR_IN6);
			CHECK(in ? rows[i].in : rows[i].in6);
			if (!cur->src_addr)
				continue;
			CHECK_EQ(((struct sockaddr *)cur->src_addr)->sa_family,
				in ? AF_INET : AF_INET6);
			CHECK_EQ(cur->src_addrlen, in ? sizeof(struct sockaddr_in)
						      : sizeof(struct sockaddr_in6));
		}
		fi_freeinfo(info);
	}
	hints->addr_format = FI_ADDR_GNI;
	CHECK_EQ(lookup_error(NULL, NULL, 0, hints), -FI_ENODATA);
	fi_freeinfo(hints);
}

/* GI-025: a name from fi_getname, in whatever form. */
static void a_peer_s_name_comes_back(void)
{
	struct fi_info *hints = cf_hints(), *info;
	uint8_t junk[3] = { 1, 2, 3 };
	struct cf_env env;
	struct fid_ep *ep;
	char name[256];
	size_t len = sizeof(name);

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	ep = env.side[1].ep;
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	hints->addr_format = env.info->addr_format;
	hints->dest_addr = malloc(len);
	CHECK(hints->dest_addr);
	memcpy(hints->dest_addr, name, len);
	hints->dest_addrlen = len;
	info = lookup(NULL, NULL, 0, hints);
	for (const struct fi_info *cur = info; cur; cur = cur->next) {
		CHECK(cur->dest_addr && cur->dest_addr != hints->dest_addr);
		CHECK_EQ(cur->dest_addrlen, len);
		CHECK(!memcmp(cur->dest_addr, name, len));
	}
	fi_freeinfo(info);
	memcpy(hints->dest_addr, junk, sizeof(junk));
	hints->dest_addrlen = sizeof(junk);
	CHECK_EQ(lookup_error(NULL, NULL, 0, hints), -FI_ENODATA);
	fi_freeinfo(hints);
	cf_close(&env);
}

CF_SUITE(info_resolve, CF_CASE(source_names_the_local_side, "GI-027", 0),
	CF_CASE(node_names_the_remote_side, "GI-026 GI-031", 0),
	CF_CASE(node_alone_and_service_alone, "GI-025", 0),
	CF_CASE(source_needs_node_or_service, "GI-028", 0),
	CF_CASE(hints_addresses_are_used, "GI-025 GI-030", 0),
	CF_CASE(a_peer_s_name_comes_back, "GI-025", FI_MSG),
	CF_CASE(node_overrides_hints_addresses, "GI-027 GI-029", 0),
	CF_CASE(numeric_host_is_not_looked_up, "GI-033", 0),
	CF_CASE(bad_node_is_enodata, "GI-002", 0),
	CF_CASE(address_text_as_node, "GI-032 GI-061", 0),
	CF_CASE(formats_are_concrete_and_filter, "GI-058 GI-059 GI-060", 0));

/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/addr.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "objects/info/call.h"
#include "sys/addrstr.h"
#include "sys/calls.h"

/* A node and service to resolve; addr_split_text() has split a text address. */
struct query {
	const char *node, *service; /* NULL: not given */
	int family;
	int socktype; /* socket type, on which the port of a service name may depend */
	bool passive, numeric;
	char node_text[WF_ADDRSTR_NODE_MAX], service_text[WF_ADDRSTR_SERVICE_MAX];
};

uint32_t wf_info_format_of(const union wf_sockaddr *sa)
{
	return sa->sa.sa_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

static int addr_family_of(uint32_t format)
{
	if (format == FI_SOCKADDR_IN)
		return AF_INET;
	return format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_UNSPEC;
}

static void addr_add(struct wf_info_addrs *addrs, const union wf_sockaddr *sa)
{
	if (addrs->count == WF_INFO_ADDRS_MAX)
		return;
	for (size_t i = 0; i < addrs->count; i++)
		if (wf_sockaddr_equal(&addrs->addr[i], sa))
			return;
	addrs->addr[addrs->count++] = *sa;
}

static int addr_refuse_node(
	struct wf_info_reason *why, const char *node, const char *possible)
{
	why->field = "node";
	(void)wf_info_deny_text(why, node, "%s", possible);
	return -FI_ENODATA;
}

/* Split a node that is a text address, "fi_sockaddr_in://host:port", into node and
 * service. */
static int addr_split_text(struct query *query, struct wf_info_reason *why)
{
	const char *node = query->node;
	struct wf_addrstr str;
	int family;

	if (wf_info_lone_node(query->service, why))
		return -FI_EINVAL;
	if (wf_addrstr_parse(node, &str) ||
		wf_addrstr_copy(
			&str.node, query->node_text, sizeof(query->node_text)) ||
		wf_addrstr_copy(
			&str.service, query->service_text, sizeof(query->service_text)))
		return addr_refuse_node(
			why, node, "format://node:service, IPv6 in brackets");
	if (wf_addrstr_family(&str, &family))
		return addr_refuse_node(why, node,
			"fi_sockaddr://, fi_sockaddr_ip://, fi_sockaddr_in://, "
			"fi_sockaddr_in6://");
	if (family != AF_UNSPEC && query->family != AF_UNSPEC &&
		family != query->family)
		return addr_refuse_node(why, node,
			query->family == AF_INET ? "IPv4 addresses" : "IPv6 addresses");
	if (family != AF_UNSPEC)
		query->family = family;
	query->node = *query->node_text ? query->node_text : NULL;
	query->service = *query->service_text ? query->service_text : NULL;
	return 0;
}

static void addr_add_open(
	const struct query *query, int family, uint16_t port, struct wf_info_addrs *ret)
{
	union wf_sockaddr sa = wf_sockaddr_any(family);

	if (query->family != AF_UNSPEC && query->family != family)
		return;
	if (!query->passive)
		(void)wf_sockaddr_from_host(
			family == AF_INET ? "127.0.0.1" : "::1", &sa);
	wf_sockaddr_set_port(&sa, port);
	addr_add(ret, &sa);
}

/* Resolve a node and service that are numbers or not given, without asking the system
 * for names. 1: one of them is a name. */
static int addr_resolve_numbers(const struct query *query, struct wf_info_addrs *ret,
	struct wf_info_reason *why)
{
	union wf_sockaddr sa;
	uint16_t port = 0;

	if (query->service && wf_sockaddr_parse_port(query->service, &port)) {
		if (strspn(query->service, "0123456789") != strlen(query->service))
			return 1;
		why->field = "service";
		(void)wf_info_deny_text(why, query->service, "0 to 65535, or a name");
		return -FI_ENODATA;
	}
	if (!query->node) {
		addr_add_open(query, AF_INET, port, ret);
		addr_add_open(query, AF_INET6, port, ret);
		return 0;
	}
	if (wf_sockaddr_from_host(query->node, &sa))
		return 1;
	if (query->family != AF_UNSPEC && query->family != sa.sa.sa_family)
		return addr_refuse_node(why, query->node,
			query->family == AF_INET ? "IPv4 addresses" : "IPv6 addresses");
	wf_sockaddr_set_port(&sa, port);
	addr_add(ret, &sa);
	return 0;
}

static int addr_resolve_names(const struct query *query, struct wf_info_addrs *ret,
	struct wf_info_reason *why)
{
	struct addrinfo ask = {
		.ai_family = query->family,
		.ai_socktype = query->socktype,
		.ai_flags = (query->passive ? AI_PASSIVE : 0) |
			    (query->numeric ? AI_NUMERICHOST : 0),
	};
	struct addrinfo *list = NULL;
	union wf_sockaddr sa;
	char text[160];
	int err = wf_sys_getaddrinfo(query->node, query->service, &ask, &list);

	if (err == EAI_MEMORY)
		return -FI_ENOMEM;
	if (err) {
		why->field = query->node ? "node" : "service";
		(void)snprintf(text, sizeof(text), "%s%s%s",
			query->node ? query->node : "", query->service ? ":" : "",
			query->service ? query->service : "");
		(void)wf_info_deny_text(why, text, "what resolves%s: %s",
			query->numeric ? " without a look-up" : "", gai_strerror(err));
		return -FI_ENODATA;
	}
	for (struct addrinfo *it = list; it; it = it->ai_next)
		if (!wf_sockaddr_read(it->ai_addr, it->ai_addrlen, &sa))
			addr_add(ret, &sa);
	freeaddrinfo(list);
	return 0;
}

int wf_info_lookup(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_addrs *ret, struct wf_info_reason *why)
{
	struct query query = {
		.node = node,
		.service = service,
		.family = addr_family_of(ctx->hint.info->addr_format),
		.socktype =
			ctx->tmpl.ep->type == FI_EP_DGRAM ? SOCK_DGRAM : SOCK_STREAM,
		.passive = flags & FI_SOURCE,
		.numeric = flags & FI_NUMERICHOST,
	};
	int err;

	ret->count = 0;
	if (node && wf_addrstr_is(node)) {
		err = addr_split_text(&query, why);
		if (err)
			return err;
	}
	err = addr_resolve_numbers(&query, ret, why);
	return err > 0 ? addr_resolve_names(&query, ret, why) : err;
}

int wf_info_hint_addr(const char *field, const void *addr, size_t len,
	struct wf_info_addrs *ret, struct wf_info_reason *why)
{
	char text[48];

	if (wf_sockaddr_read(addr, len, &ret->addr[0])) {
		why->field = field;
		(void)snprintf(text, sizeof(text), "%zu bytes of another kind", len);
		(void)wf_info_deny_text(why, text, "struct sockaddr_in, sockaddr_in6");
		return -FI_EINVAL;
	}
	ret->count = 1;
	return 0;
}

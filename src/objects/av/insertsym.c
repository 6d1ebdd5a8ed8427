/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/av/internal.h"
#include "sys/addrstr.h"
#include "sys/calls.h"

/*
 * Insertion by node and service. A series of nodes counts up from the first: numeric
 * addresses as numbers, host names by the number that their first label (or the whole
 * name) ends in, keeping its leading zeros: n08, n09, n10; rack1.example,
 * rack2.example.
 */

/* The most digits in a host name's number: numbers that are counted up from it still
 * fit in 64 bits. */
enum { MAX_DIGITS = 18 };

struct node_series {
	int family;              /* AF_INET or AF_INET6 */
	bool numeric;            /* the first node is an address, not a host name */
	union wf_sockaddr first; /* if numeric: the first address */
	const char *name;  /* otherwise: the first host name, the caller's memory */
	size_t prefix_len; /* characters of @name before the number */
	int digits;        /* of the number; 0: the name has none */
	uint64_t number;   /* of the first host name */
};

static int insertsym_resolve(
	const char *node, const char *service, int family, union wf_sockaddr *ret)
{
	const struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_DGRAM, /* one answer for each address */
	};
	struct addrinfo *list;
	int err = wf_sys_getaddrinfo(node, service, &hints, &list);

	if (err)
		return err == EAI_MEMORY  ? -FI_ENOMEM
		       : err == EAI_AGAIN ? -FI_EAGAIN
					  : -FI_ENODATA;
	err = wf_sockaddr_read(list->ai_addr, list->ai_addrlen, ret);
	freeaddrinfo(list);
	return err ? -FI_ENODATA : 0;
}

/* Resolve a node in any form that fi_getinfo takes: fi_sockaddr_in://host:port too, if
 * @service is NULL. */
static int insertsym_resolve_any(
	const char *node, const char *service, int family, union wf_sockaddr *ret)
{
	char host[WF_ADDRSTR_NODE_MAX], port[WF_ADDRSTR_SERVICE_MAX];
	struct wf_addrstr str;
	int text_family;

	if (!node || !wf_addrstr_is(node))
		return insertsym_resolve(node, service, family, ret);
	if (service || wf_addrstr_parse(node, &str) ||
		wf_addrstr_family(&str, &text_family) ||
		wf_addrstr_copy(&str.node, host, sizeof(host)) ||
		wf_addrstr_copy(&str.service, port, sizeof(port)) || !*host)
		return -FI_EINVAL;
	if (text_family != AF_UNSPEC && text_family != family)
		return -FI_EINVAL;
	return insertsym_resolve(host, *port ? port : NULL, family, ret);
}

static int insertsym_check_family(const struct wf_av *av)
{
	if (av->table.format->family)
		return 0;
	WF_AV_REFUSED(av->domain, "insert by name: not with addresses of %s\n",
		av->table.format->name);
	return -FI_ENOSYS;
}

int wf_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
	fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct wf_av *av = wf_av_of(fid);
	struct wf_av_insertion ins;
	union wf_sockaddr sa;
	const void *addr = &sa;
	int ret;

	ret = insertsym_check_family(av);
	if (!ret)
		ret = wf_av_insertion_begin(&ins, av, 1, fi_addr, flags, context);
	if (ret)
		return ret;
	ret = node || service ? insertsym_resolve_any(
					node, service, av->table.format->family, &sa)
			      : -FI_EINVAL;
	if (ret) {
		WF_AV_REFUSED(av->domain,
			"insertsvc: node \"%s\", service \"%s\": %s\n",
			node ? node : "", service ? service : "", fi_strerror(-ret));
		if (fi_addr)
			*fi_addr = FI_ADDR_NOTAVAIL;
		return ret;
	}
	wf_av_insertion_add(&ins, &addr, 1);
	return wf_av_insertion_end(&ins);
}

/* Add @n to the big-endian number in @bytes; false when the sum does not fit. */
static bool insertsym_add_to(uint8_t *bytes, size_t len, uint64_t n)
{
	while (len-- && n) {
		n += bytes[len];
		bytes[len] = (uint8_t)n;
		n >>= 8;
	}
	return !n;
}

static bool insertsym_nth_numeric(
	const struct node_series *s, uint64_t n, union wf_sockaddr *ret)
{
	*ret = s->first;
	return s->family == AF_INET ? insertsym_add_to((uint8_t *)&ret->in.sin_addr,
					      sizeof(ret->in.sin_addr), n)
				    : insertsym_add_to((uint8_t *)&ret->in6.sin6_addr,
					      sizeof(ret->in6.sin6_addr), n);
}

static int insertsym_nth_named(
	const struct node_series *s, uint64_t n, union wf_sockaddr *ret)
{
	char name[WF_ADDRSTR_NODE_MAX];
	const char *rest = s->name + s->prefix_len + s->digits;
	int len;

	if (!s->digits)
		return insertsym_resolve(s->name, NULL, s->family, ret);
	len = snprintf(name, sizeof(name), "%.*s%0*llu%s", (int)s->prefix_len, s->name,
		s->digits, (unsigned long long)(s->number + n), rest);
	if (len < 0 || (size_t)len >= sizeof(name))
		return -FI_ENODATA;
	return insertsym_resolve(name, NULL, s->family, ret);
}

static int insertsym_nth_node(
	const struct node_series *s, uint64_t n, union wf_sockaddr *ret)
{
	if (s->numeric)
		return insertsym_nth_numeric(s, n, ret) ? 0 : -FI_EINVAL;
	return insertsym_nth_named(s, n, ret);
}

/* The number of digits at the end of the first @len characters. */
static int insertsym_digits_before(const char *text, size_t len)
{
	int digits = 0;

	while ((size_t)digits < len && isdigit((unsigned char)text[len - 1 - digits]))
		digits++;
	return digits;
}

static int insertsym_parse_name(struct node_series *s, const char *node)
{
	size_t end = strlen(node);
	char number[MAX_DIGITS + 1];

	if (end >= WF_ADDRSTR_NODE_MAX)
		return -FI_EINVAL;
	s->name = node;
	s->digits = insertsym_digits_before(node, end);
	if (!s->digits) {
		end = strcspn(node, ".");
		s->digits = insertsym_digits_before(node, end);
	}
	if (s->digits > MAX_DIGITS)
		return -FI_EINVAL;
	s->prefix_len = end - (size_t)s->digits;
	(void)snprintf(number, sizeof(number), "%.*s", s->digits, node + s->prefix_len);
	s->number = strtoull(number, NULL, 10);
	return 0;
}

static int insertsym_parse_nodes(
	struct node_series *s, int family, const char *node, size_t nodecnt)
{
	union wf_sockaddr last;

	*s = (struct node_series){ .family = family };
	if (!node)
		return -FI_EINVAL;
	s->numeric = !wf_sockaddr_from_host(node, &s->first);
	if (s->numeric)
		return s->first.sa.sa_family == family &&
				       insertsym_nth_numeric(
					       s, nodecnt ? nodecnt - 1 : 0, &last)
			       ? 0
			       : -FI_EINVAL;
	if (insertsym_parse_name(s, node))
		return -FI_EINVAL;
	return nodecnt > 1 && !s->digits ? -FI_EINVAL : 0;
}

static int insertsym_parse_services(
	const char *service, int family, size_t svccnt, uint16_t *ret_port)
{
	union wf_sockaddr sa;
	uint16_t port;

	if (!service)
		return -FI_EINVAL;
	if (wf_sockaddr_parse_port(service, &port)) {
		if (insertsym_resolve(NULL, service, family, &sa))
			return -FI_EINVAL;
		port = wf_sockaddr_port(&sa);
	}
	if (svccnt && svccnt - 1 > (size_t)(UINT16_MAX - port))
		return -FI_EINVAL;
	*ret_port = port;
	return 0;
}

/* Insert a node with each service: the service varies fastest (AV-026). */
static void insertsym_insert_node(struct wf_av_insertion *ins,
	const union wf_sockaddr *node, uint16_t port, size_t svccnt)
{
	union wf_sockaddr sa[WF_AV_BATCH];
	const void *addr[WF_AV_BATCH];
	size_t n = 0;

	for (size_t i = 0; i < svccnt; i++) {
		addr[n] = NULL;
		if (node) {
			sa[n] = *node;
			wf_sockaddr_set_port(&sa[n], (uint16_t)(port + i));
			addr[n] = &sa[n];
		}
		if (++n < WF_AV_BATCH && i + 1 < svccnt)
			continue;
		wf_av_insertion_add(ins, addr, n);
		n = 0;
	}
}

int wf_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt,
	const char *service, size_t svccnt, fi_addr_t *fi_addr, uint64_t flags,
	void *context)
{
	struct wf_av *av = wf_av_of(fid);
	struct wf_av_insertion ins;
	struct node_series nodes;
	union wf_sockaddr sa;
	uint16_t port;
	size_t count;
	int family, ret;

	ret = insertsym_check_family(av);
	if (ret)
		return ret;
	family = av->table.format->family;
	if (__builtin_mul_overflow(nodecnt, svccnt, &count) ||
		insertsym_parse_nodes(&nodes, family, node, nodecnt) ||
		insertsym_parse_services(service, family, svccnt, &port)) {
		WF_AV_REFUSED(av->domain,
			"insertsym: %zu nodes from \"%s\", %zu services from \"%s\": "
			"no such range\n",
			nodecnt, node ? node : "", svccnt, service ? service : "");
		return -FI_EINVAL;
	}
	ret = wf_av_insertion_begin(&ins, av, count, fi_addr, flags, context);
	if (ret)
		return ret;
	for (size_t i = 0; count && i < nodecnt; i++) {
		ret = insertsym_nth_node(&nodes, i, &sa);
		insertsym_insert_node(&ins, ret ? NULL : &sa, port, svccnt);
	}
	return wf_av_insertion_end(&ins);
}

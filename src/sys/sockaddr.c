/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/sockaddr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wf_sockaddr_read(const void *addr, size_t len, union wf_sockaddr *ret)
{
	union wf_sockaddr sa = { 0 };
	size_t need;

	if (!addr || len < sizeof(sa.sa.sa_family))
		return -EINVAL;
	memcpy(&sa.sa.sa_family, addr, sizeof(sa.sa.sa_family));
	need = wf_sockaddr_len(&sa);
	if (!need)
		return -EAFNOSUPPORT;
	if (len < need)
		return -EINVAL;
	memcpy(&sa, addr, need);
	if (sa.sa.sa_family == AF_INET)
		memset(sa.in.sin_zero, 0, sizeof(sa.in.sin_zero));
	*ret = sa;
	return 0;
}

size_t wf_sockaddr_len(const union wf_sockaddr *sa)
{
	switch (sa->sa.sa_family) {
	case AF_INET:
		return sizeof(sa->in);
	case AF_INET6:
		return sizeof(sa->in6);
	default:
		return 0;
	}
}

bool wf_sockaddr_is_linklocal(const union wf_sockaddr *sa)
{
	if (sa->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LINKLOCAL(&sa->in6.sin6_addr) ||
		       IN6_IS_ADDR_MC_LINKLOCAL(&sa->in6.sin6_addr);
	return sa->sa.sa_family == AF_INET &&
	       (ntohl(sa->in.sin_addr.s_addr) & 0xffff0000) == 0xa9fe0000;
}

/* The kernel reports a scope for link scope only; a stray value elsewhere means
 * nothing. */
static uint32_t sockaddr_scope_of(const union wf_sockaddr *sa)
{
	return wf_sockaddr_is_linklocal(sa) ? sa->in6.sin6_scope_id : 0;
}

bool wf_sockaddr_same_host(const union wf_sockaddr *a, const union wf_sockaddr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	if (a->sa.sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
		       sockaddr_scope_of(a) == sockaddr_scope_of(b);
	return false;
}

bool wf_sockaddr_equal(const union wf_sockaddr *a, const union wf_sockaddr *b)
{
	return wf_sockaddr_same_host(a, b) &&
	       wf_sockaddr_port(a) == wf_sockaddr_port(b);
}

/* Finaliser of a 64-bit mixing hash: every input bit reaches every output bit. */
static uint64_t sockaddr_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t wf_sockaddr_hash(const union wf_sockaddr *sa)
{
	uint64_t half[2];

	if (sa->sa.sa_family == AF_INET)
		return sockaddr_mix(
			(uint64_t)sa->in.sin_addr.s_addr << 16 | sa->in.sin_port);
	if (sa->sa.sa_family != AF_INET6)
		return 0;
	memcpy(half, &sa->in6.sin6_addr, sizeof(half));
	return sockaddr_mix(sockaddr_mix(half[0]) + half[1]) ^
	       sockaddr_mix((uint64_t)sockaddr_scope_of(sa) << 16 | sa->in6.sin6_port);
}

bool wf_sockaddr_is_wildcard(const union wf_sockaddr *sa)
{
	if (sa->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&sa->in6.sin6_addr);
	return sa->sa.sa_family == AF_INET &&
	       sa->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

bool wf_sockaddr_is_loopback(const union wf_sockaddr *sa)
{
	if (sa->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&sa->in6.sin6_addr);
	return sa->sa.sa_family == AF_INET &&
	       ntohl(sa->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool wf_sockaddr_is_multicast(const union wf_sockaddr *sa)
{
	if (sa->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&sa->in6.sin6_addr);
	return sa->sa.sa_family == AF_INET &&
	       IN_MULTICAST(ntohl(sa->in.sin_addr.s_addr));
}

uint16_t wf_sockaddr_port(const union wf_sockaddr *sa)
{
	if (sa->sa.sa_family == AF_INET)
		return ntohs(sa->in.sin_port);
	return sa->sa.sa_family == AF_INET6 ? ntohs(sa->in6.sin6_port) : 0;
}

void wf_sockaddr_set_port(union wf_sockaddr *sa, uint16_t port)
{
	if (sa->sa.sa_family == AF_INET)
		sa->in.sin_port = htons(port);
	else if (sa->sa.sa_family == AF_INET6)
		sa->in6.sin6_port = htons(port);
}

union wf_sockaddr wf_sockaddr_any(int family)
{
	union wf_sockaddr sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa.sa_family = family;
	return sa;
}

static int sockaddr_parse_number(
	const char *text, unsigned long max, unsigned long *ret)
{
	unsigned long value;

	/* strtoul takes blanks, signs and more digits than a number may have. */
	if (!*text || strlen(text) > 10 || strspn(text, "0123456789") != strlen(text))
		return -EINVAL;
	value = strtoul(text, NULL, 10);
	if (value > max)
		return -EINVAL;
	*ret = value;
	return 0;
}

int wf_sockaddr_parse_port(const char *text, uint16_t *ret)
{
	unsigned long port;
	int err = sockaddr_parse_number(text, UINT16_MAX, &port);

	if (!err)
		*ret = (uint16_t)port;
	return err;
}

static int sockaddr_parse_scope(const char *text, uint32_t *ret)
{
	unsigned long scope;

	if (sockaddr_parse_number(text, UINT32_MAX, &scope))
		scope = strlen(text) < IF_NAMESIZE ? if_nametoindex(text) : 0;
	if (!scope)
		return -EINVAL;
	*ret = (uint32_t)scope;
	return 0;
}

int wf_sockaddr_from_host(const char *host, union wf_sockaddr *ret)
{
	union wf_sockaddr sa = wf_sockaddr_any(AF_INET);
	const char *percent = strchr(host, '%');
	size_t len = percent ? (size_t)(percent - host) : strlen(host);
	char text[INET6_ADDRSTRLEN];

	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, host, len);
	text[len] = '\0';
	if (!percent && inet_pton(AF_INET, text, &sa.in.sin_addr) == 1)
		goto out;
	sa = wf_sockaddr_any(AF_INET6);
	if (inet_pton(AF_INET6, text, &sa.in6.sin6_addr) != 1)
		return -EINVAL;
	if (percent && sockaddr_parse_scope(percent + 1, &sa.in6.sin6_scope_id))
		return -EINVAL;
out:
	*ret = sa;
	return 0;
}

char *wf_sockaddr_host(const union wf_sockaddr *sa, char *buf, size_t len)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (sa->sa.sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &sa->in.sin_addr, text, sizeof(text));
	else if (sa->sa.sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &sa->in6.sin6_addr, text, sizeof(text));
	if (sa->sa.sa_family == AF_INET6 && sa->in6.sin6_scope_id)
		(void)snprintf(buf, len, "%s%%%u", text, sa->in6.sin6_scope_id);
	else
		(void)snprintf(buf, len, "%s", text);
	return buf;
}

char *wf_sockaddr_uri(const union wf_sockaddr *sa, char *buf, size_t len)
{
	char host[WF_SOCKADDR_STRLEN];
	bool v6 = sa->sa.sa_family == AF_INET6;

	(void)snprintf(buf, len,
		v6 ? "fi_sockaddr_in6://[%s]:%u" : "fi_sockaddr_in://%s:%u",
		wf_sockaddr_host(sa, host, sizeof(host)), wf_sockaddr_port(sa));
	return buf;
}

char *wf_sockaddr_network(
	const union wf_sockaddr *sa, unsigned int prefix, char *buf, size_t len)
{
	union wf_sockaddr net = *sa;
	bool v6 = sa->sa.sa_family == AF_INET6;
	uint8_t *bytes = v6 ? net.in6.sin6_addr.s6_addr : (uint8_t *)&net.in.sin_addr;
	unsigned int width = v6 ? 128 : 32;
	char host[WF_SOCKADDR_STRLEN];

	if (prefix > width)
		prefix = width;
	for (unsigned int bit = prefix; bit < width; bit++)
		bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	if (v6)
		net.in6.sin6_scope_id = 0;
	(void)snprintf(
		buf, len, "%s/%u", wf_sockaddr_host(&net, host, sizeof(host)), prefix);
	return buf;
}

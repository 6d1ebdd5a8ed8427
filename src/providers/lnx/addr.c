/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/hex.h"
#include "sys/addrstr.h"
#include "sys/compiler.h"

/* Addresses in the formats of applications, to and from struct lnx_name. */

static_assert(LNX_ADDR_MAX == WF_ADDRSTR_MAX, "text of the longest kind fits");

static bool addr_is_ip(uint32_t format)
{
	return format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

bool lnx_addr_format(const struct lnx_link *link, uint32_t asked, uint32_t *ret_format)
{
	bool any_ip = asked == FI_SOCKADDR || asked == FI_SOCKADDR_IP;

	*ret_format = asked;
	if (asked == FI_FORMAT_UNSPEC || asked == FI_ADDR_STR)
		return true;
	for (unsigned int i = 0; i < link->count; i++) {
		uint32_t has = link->member[i].info->addr_format;

		if (!addr_is_ip(has) || !(any_ip || has == asked))
			continue;
		*ret_format = has;
		return true;
	}
	return false;
}

/* Let @ret have @addr for each member whose addresses are in @format. */
static bool addr_over_members(const struct lnx_link *link, uint32_t format,
	const void *addr, size_t len, struct lnx_name *ret)
{
	ret->count = 0;
	for (unsigned int i = 0; i < link->count; i++) {
		const struct lnx_member *member = &link->member[i];

		if (member->info->addr_format != format)
			continue;
		ret->link[ret->count++] = (struct lnx_name_link){
			.provider = member->provider,
			.len = (uint16_t)len,
			.format = format,
			.locality = member->locality,
			.addr = addr,
		};
	}
	return ret->count > 0;
}

static bool addr_read_sockaddr(const struct lnx_link *link, uint32_t format,
	const void *addr, size_t len, struct lnx_addr *ret)
{
	union wf_sockaddr sa;
	uint32_t found;

	if (wf_sockaddr_read(addr, len, &sa))
		return false;
	found = sa.sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	if (addr_is_ip(format) && found != format)
		return false;
	memcpy(ret->bytes, &sa, wf_sockaddr_len(&sa));
	return addr_over_members(
		link, found, ret->bytes, wf_sockaddr_len(&sa), &ret->name);
}

static bool addr_read_name(const void *addr, size_t len, struct lnx_addr *ret)
{
	size_t used = lnx_name_len(addr, len);

	if (!used)
		return false;
	memset(ret->bytes, 0, sizeof(ret->bytes));
	memcpy(ret->bytes, addr, used);
	return lnx_name_unpack(ret->bytes, &ret->name);
}

static bool addr_read_uri(
	const struct lnx_link *link, const struct wf_addrstr *str, struct lnx_addr *ret)
{
	char host[WF_ADDRSTR_NODE_MAX], port[WF_ADDRSTR_SERVICE_MAX];
	union wf_sockaddr sa;
	uint16_t number;

	if (wf_addrstr_copy(&str->node, host, sizeof(host)) ||
		wf_addrstr_copy(&str->service, port, sizeof(port)) ||
		wf_sockaddr_from_host(host, &sa) ||
		wf_sockaddr_parse_port(port, &number))
		return false;
	wf_sockaddr_set_port(&sa, number);
	return addr_read_sockaddr(link, FI_FORMAT_UNSPEC, &sa, sizeof(sa), ret);
}

static bool addr_read_text(
	const struct lnx_link *link, const char *text, size_t len, struct lnx_addr *ret)
{
	uint8_t bytes[LNX_NAME_LEN];
	struct wf_addrstr str;
	int family;

	if (!memchr(text, '\0', WF_MIN(len, (size_t)LNX_ADDR_MAX)))
		return false;
	if (lnx_hex_is(text))
		return addr_read_name(bytes, lnx_hex_read(text, bytes), ret);
	if (wf_addrstr_is(text) && !wf_addrstr_parse(text, &str) &&
		!wf_addrstr_family(&str, &family))
		return addr_read_uri(link, &str, ret);
	return *text &&
	       addr_over_members(link, FI_ADDR_STR, text, strlen(text) + 1, &ret->name);
}

bool lnx_addr_read(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_addr *ret)
{
	switch (format) {
	case FI_FORMAT_UNSPEC:
		return addr_read_name(addr, len, ret);
	case FI_ADDR_STR:
		return addr_read_text(link, addr, len, ret);
	default:
		return addr_read_sockaddr(link, format, addr, len, ret);
	}
}

size_t lnx_addr_write(uint32_t format, const struct lnx_name *name, void *buf)
{
	if (format == FI_FORMAT_UNSPEC)
		return lnx_name_pack(name, buf);
	if (format == FI_ADDR_STR)
		return lnx_hex_write(name, buf);
	for (unsigned int i = 0; i < name->count; i++) {
		if (name->link[i].format != format || name->link[i].len > LNX_ADDR_MAX)
			continue;
		memcpy(buf, name->link[i].addr, name->link[i].len);
		return name->link[i].len;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "providers/lnx/addr.h"
#include "sys/addrstr.h"
#include "sys/compiler.h"

/* Addresses in the formats of applications, to and from struct lnx_name. */

#define TEXT_PREFIX "fi_lnx://"
static const size_t prefix_len = sizeof(TEXT_PREFIX) - 1;
static const char digits[] = "0123456789abcdef";

static_assert(LNX_ADDR_MAX == WF_ADDRSTR_MAX, "text of the longest kind fits");

static bool is_ip(uint32_t format)
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

		if (!is_ip(has) || !(any_ip || has == asked))
			continue;
		*ret_format = has;
		return true;
	}
	return false;
}

/* ---- reading ---- */

/* @addr over each member of @format: it is one place to all of them. */
static bool over_members(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_name *ret)
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

static bool read_sockaddr(const struct lnx_link *link, uint32_t format,
	const void *addr, size_t len, struct lnx_addr *ret)
{
	union wf_sockaddr sa;
	uint32_t found;

	if (wf_sockaddr_read(addr, len, &sa))
		return false;
	found = sa.sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	if (is_ip(format) && found != format)
		return false;
	memcpy(ret->room, &sa, wf_sockaddr_len(&sa));
	return over_members(link, found, ret->room, wf_sockaddr_len(&sa), &ret->name);
}

static bool read_name(const void *addr, size_t len, struct lnx_addr *ret)
{
	size_t used = lnx_name_len(addr, len);

	if (!used)
		return false;
	memset(ret->room, 0, sizeof(ret->room));
	memcpy(ret->room, addr, used);
	return lnx_name_unpack(ret->room, &ret->name);
}

/* Pairs of digits; nothing else is accepted. */
static bool read_digits(const char *text, struct lnx_addr *ret)
{
	uint8_t bytes[LNX_NAME_LEN];
	size_t len = strlen(text);

	if (len % 2 || len / 2 > sizeof(bytes))
		return false;
	for (size_t i = 0; i < len; i++) {
		const char *digit = memchr(digits, tolower((unsigned char)text[i]), 16);

		if (!digit)
			return false;
		if (i % 2)
			bytes[i / 2] |= (uint8_t)(digit - digits);
		else
			bytes[i / 2] = (uint8_t)((digit - digits) << 4);
	}
	return read_name(bytes, len / 2, ret);
}

static bool read_uri(
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
	return read_sockaddr(link, FI_FORMAT_UNSPEC, &sa, sizeof(sa), ret);
}

static bool read_text(
	const struct lnx_link *link, const char *text, size_t len, struct lnx_addr *ret)
{
	struct wf_addrstr str;
	int family;

	if (!memchr(text, '\0', WF_MIN(len, (size_t)LNX_ADDR_MAX)))
		return false;
	if (!strncmp(text, TEXT_PREFIX, prefix_len))
		return read_digits(text + prefix_len, ret);
	if (wf_addrstr_is(text) && !wf_addrstr_parse(text, &str) &&
		!wf_addrstr_family(&str, &family))
		return read_uri(link, &str, ret);
	return *text &&
	       over_members(link, FI_ADDR_STR, text, strlen(text) + 1, &ret->name);
}

bool lnx_addr_read(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_addr *ret)
{
	switch (format) {
	case FI_FORMAT_UNSPEC:
		return read_name(addr, len, ret);
	case FI_ADDR_STR:
		return read_text(link, addr, len, ret);
	default:
		return read_sockaddr(link, format, addr, len, ret);
	}
}

/* ---- writing ---- */

static size_t write_digits(const struct lnx_name *name, char *buf)
{
	uint8_t packed[LNX_NAME_LEN];
	size_t size = lnx_name_pack(name, packed);

	if (!size || prefix_len + 2 * size >= LNX_ADDR_MAX)
		return 0;
	memcpy(buf, TEXT_PREFIX, prefix_len);
	for (size_t i = 0; i < size; i++) {
		buf[prefix_len + 2 * i] = digits[packed[i] >> 4];
		buf[prefix_len + 2 * i + 1] = digits[packed[i] & 0xf];
	}
	buf[prefix_len + 2 * size] = '\0';
	return prefix_len + 2 * size + 1;
}

size_t lnx_addr_write(uint32_t format, const struct lnx_name *name, void *buf)
{
	if (format == FI_FORMAT_UNSPEC)
		return lnx_name_pack(name, buf);
	if (format == FI_ADDR_STR)
		return write_digits(name, buf);
	for (unsigned int i = 0; i < name->count; i++) {
		if (name->link[i].format != format || name->link[i].len > LNX_ADDR_MAX)
			continue;
		memcpy(buf, name->link[i].addr, name->link[i].len);
		return name->link[i].len;
	}
	return 0;
}

/* ---- in an AV ---- */

/* Text is kept as it is, its format included, which says whose it is. */
static bool text_spell(uint32_t *words, const void *addr)
{
	const char *text = addr;
	size_t len = strnlen(text, LNX_ADDR_MAX);

	if (!len || len == LNX_ADDR_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	memset(words, 0, LNX_ADDR_MAX);
	memcpy(words, text, len);
	return true;
}

static void text_print(const void *addr, char *buf, size_t len)
{
	uint32_t words[LNX_ADDR_MAX / sizeof(uint32_t)];

	(void)snprintf(buf, len, "%s",
		text_spell(words, addr) ? (const char *)addr : "(no address)");
}

static size_t text_len(const void *addr, size_t len)
{
	size_t room = WF_MIN(len, (size_t)LNX_ADDR_MAX), text = strnlen(addr, room);

	return text < room ? text + 1 : 0;
}

static const struct wf_av_format text_format = {
	.name = "FI_ADDR_STR",
	.addr_format = FI_ADDR_STR,
	.addr_len = LNX_ADDR_MAX,
	.key_words = LNX_ADDR_MAX / sizeof(uint32_t),
	.spell = text_spell,
	.print = text_print,
	.len_of = text_len,
};

const struct wf_av_format *lnx_av_format_of(const struct fi_info *info)
{
	switch (info->addr_format) {
	case FI_FORMAT_UNSPEC:
		return &lnx_av_format;
	case FI_ADDR_STR:
		return &text_format;
	default:
		return wf_av_format_of(info);
	}
}

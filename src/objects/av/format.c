/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "objects/av/format.h"
#include "sys/addrstr.h"
#include "sys/compiler.h"
#include "sys/sockaddr.h"

/* A peer's address has a host and a port (AV-020). The spell functions run for every
 * datagram whose source has to be found, so they call no other functions. */

static bool format_in_spell(uint32_t *words, const void *addr)
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));
	if (in.sin_family != AF_INET || !in.sin_addr.s_addr || !in.sin_port)
		return false;
	memset(in.sin_zero, 0, sizeof(in.sin_zero));
	memcpy(words, &in, sizeof(in));
	return true;
}

static bool format_in6_spell(uint32_t *words, const void *addr)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, addr, sizeof(in6));
	if (in6.sin6_family != AF_INET6 || IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr) ||
		!in6.sin6_port)
		return false;
	/* The flow label, and the interface of an address that is not link-local, do
	 * not identify the peer. */
	in6.sin6_flowinfo = 0;
	if (!IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		in6.sin6_scope_id = 0;
	memcpy(words, &in6, sizeof(in6));
	return true;
}

/* fi_av_straddr takes any address of the format, also one with another family. */
static void format_print(const void *addr, size_t addr_len, char *buf, size_t len)
{
	union wf_sockaddr sa;

	if (wf_sockaddr_read(addr, addr_len, &sa))
		(void)snprintf(buf, len, "(no address)");
	else
		(void)wf_sockaddr_uri(&sa, buf, len);
}

static void format_in_print(const void *addr, char *buf, size_t len)
{
	format_print(addr, sizeof(struct sockaddr_in), buf, len);
}

static void format_in6_print(const void *addr, char *buf, size_t len)
{
	sa_family_t family;

	memcpy(&family, addr, sizeof(family));
	format_print(addr,
		family == AF_INET ? sizeof(struct sockaddr_in)
				  : sizeof(struct sockaddr_in6),
		buf, len);
}

static const struct wf_av_format in_format = {
	.name = "FI_SOCKADDR_IN",
	.addr_format = FI_SOCKADDR_IN,
	.addr_len = sizeof(struct sockaddr_in),
	.key_words = 2, /* family, port, address */
	.family = AF_INET,
	.spell = format_in_spell,
	.print = format_in_print,
};

static const struct wf_av_format in6_format = {
	.name = "FI_SOCKADDR_IN6",
	.addr_format = FI_SOCKADDR_IN6,
	.addr_len = sizeof(struct sockaddr_in6),
	.key_words = sizeof(struct sockaddr_in6) / 4,
	.family = AF_INET6,
	.spell = format_in6_spell,
	.print = format_in6_print,
};

/* Names of endpoints on this machine. Bytes after the text's NUL belong to the caller
 * and are not read. */

static_assert(WF_ADDRSTR_MAX == WF_AV_ADDR_WORDS * sizeof(uint32_t), "one slot");
static_assert(WF_ADDRSTR_MAX < WF_AV_TEXT_LEN, "printed whole");

static bool format_str_spell(uint32_t *words, const void *addr)
{
	return wf_addrstr_spell((char *)words, addr, WF_ADDRSTR_MAX);
}

static void format_str_print(const void *addr, char *buf, size_t len)
{
	char name[WF_ADDRSTR_MAX];

	(void)snprintf(buf, len, "%s",
		wf_addrstr_spell(name, addr, sizeof(name)) ? (const char *)addr
							   : "(no address)");
}

static size_t format_str_len(const void *addr, size_t len)
{
	size_t text = strnlen(addr, WF_MIN(len, (size_t)WF_ADDRSTR_MAX));

	return text < WF_MIN(len, (size_t)WF_ADDRSTR_MAX) ? text + 1 : 0;
}

static const struct wf_av_format str_format = {
	.name = "FI_ADDR_STR",
	.addr_format = FI_ADDR_STR,
	.addr_len = WF_ADDRSTR_MAX,
	.key_words = WF_AV_ADDR_WORDS,
	.is_text = true,
	.spell = format_str_spell,
	.print = format_str_print,
	.len_of = format_str_len,
};

static bool format_has_family(const void *addr, size_t len, sa_family_t family)
{
	return addr && len >= sizeof(struct sockaddr) &&
	       ((const struct sockaddr *)addr)->sa_family == family;
}

const struct wf_av_format *wf_av_format_of(const struct fi_info *info)
{
	switch (info->addr_format) {
	case FI_SOCKADDR_IN:
		return &in_format;
	case FI_SOCKADDR_IN6:
		return &in6_format;
	case FI_ADDR_STR:
		return &str_format;
	case FI_SOCKADDR:
	case FI_SOCKADDR_IP:
		/* The family of the endpoint's address, or of its peer's. */
		return format_has_family(info->src_addr, info->src_addrlen, AF_INET6) ||
				       format_has_family(info->dest_addr,
					       info->dest_addrlen, AF_INET6)
			       ? &in6_format
			       : &in_format;
	default:
		return NULL;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "objects/av/av.h"
#include "providers/lnx/name.h"
#include "sys/addrstr.h"
#include "sys/compiler.h"

enum {
	VERSION = 2,
	HEAD = 4,
	KEY = 8,
	ENTRY_MAX = KEY + 2, /* an entry without address and port */
	TEXT_PAD = 32,
	PORT_LEN = 2,
	IN_LEN = 6,
	IN6_LEN = 22,
	OTHER_FORMATS = 0x20,
	SECOND = 0x40,  /* Bit of the format: the port of a second link follows. */
	NUMBERS = 0x80, /* Bit of the format: the address follows in half bytes. */
	NUMBERS_LEN = 16,
};

/* Bytes before the port in both kinds of IP addresses. */
#define PORT_AT offsetof(struct sockaddr_in, sin_port)
static_assert(PORT_AT == offsetof(struct sockaddr_in6, sin6_port), "see PORT_AT");

static const char digits[] = "0123456789:";
static const size_t prefix_len = sizeof(WF_ADDRSTR_LOCAL) - 1;

/* Formats that providers define for themselves are told from those of fi_getinfo(3). */
static uint8_t name_format_byte(uint32_t addr_format)
{
	return (uint8_t)(addr_format < OTHER_FORMATS
				 ? addr_format
				 : OTHER_FORMATS | (addr_format & (OTHER_FORMATS - 1)));
}

/* Length of every packed address with this byte of format; 0: its length is stored. */
static size_t name_fixed_len(uint8_t format)
{
	switch (format) {
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN | SECOND:
		return IN_LEN;
	case FI_SOCKADDR_IN6:
	case FI_SOCKADDR_IN6 | SECOND:
		return IN6_LEN;
	case FI_ADDR_STR | NUMBERS:
		return NUMBERS_LEN;
	default:
		return 0;
	}
}

static size_t name_pack_in(const void *addr, uint8_t *to)
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));
	memcpy(to, &in.sin_port, 2);
	memcpy(to + 2, &in.sin_addr, 4);
	return IN_LEN;
}

static size_t name_pack_in6(const void *addr, uint8_t *to)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, addr, sizeof(in6));
	memcpy(to, &in6.sin6_port, 2);
	memcpy(to + 2, &in6.sin6_addr, 16);
	memcpy(to + 18, &in6.sin6_scope_id, 4);
	return IN6_LEN;
}

/* Is the address "fi_shm://" followed by numbers and colons? */
static bool name_is_numbers(const struct lnx_name_link *link, size_t len)
{
	const char *text = link->addr;

	if (link->format != FI_ADDR_STR || len <= prefix_len ||
		len - prefix_len > (size_t)NUMBERS_LEN * 2 ||
		memcmp(text, WF_ADDRSTR_LOCAL, prefix_len) != 0)
		return false;
	for (size_t i = prefix_len; i < len; i++)
		if (!memchr(digits, text[i], sizeof(digits) - 1))
			return false;
	return true;
}

static size_t name_pack_numbers(const char *text, size_t len, uint8_t *to)
{
	const char *digit;

	for (size_t i = 0; i < len; i++) {
		digit = memchr(digits, text[i], sizeof(digits) - 1);
		to[i / 2] |= (uint8_t)((digit - digits + 1) << i % 2 * 4);
	}
	return NUMBERS_LEN;
}

/* Pack an address whose length is stored; the result has at most LNX_NAME_LEN bytes. */
static size_t name_pack_other(const struct lnx_name_link *link, uint8_t *to)
{
	memcpy(to, link->addr, link->len);
	return link->format == FI_ADDR_STR ? WF_MAX(link->len, (size_t)TEXT_PAD)
					   : link->len;
}

/* The size of an IP address; 0: @link has none. */
static size_t name_sockaddr_size(const struct lnx_name_link *link)
{
	if (link->format == FI_SOCKADDR_IN)
		return sizeof(struct sockaddr_in);
	return link->format == FI_SOCKADDR_IN6 ? sizeof(struct sockaddr_in6) : 0;
}

/* Pack an IP address. Returns the number of bytes; 0: @link has none, or not one of the
 * length of its format. */
static size_t name_pack_ip(const struct lnx_name_link *link, uint8_t *to)
{
	if (!name_sockaddr_size(link) || link->len != name_sockaddr_size(link))
		return 0;
	return link->format == FI_SOCKADDR_IN ? name_pack_in(link->addr, to)
					      : name_pack_in6(link->addr, to);
}

/* Pack the format and the address of @link. Returns the number of bytes; 0: the address
 * has not the length of its format, or too many bytes. */
static size_t name_pack_addr(const struct lnx_name_link *link, uint8_t *to)
{
	size_t text = strnlen(link->addr, link->len), len;

	if (link->len > LNX_NAME_LEN)
		return 0;
	to[0] = name_format_byte(link->format);
	if (name_sockaddr_size(link)) {
		len = name_pack_ip(link, to + 1);
		return len ? 1 + len : 0;
	}
	if (name_is_numbers(link, text)) {
		to[0] |= NUMBERS;
		return 1 + name_pack_numbers((const char *)link->addr + prefix_len,
				   text - prefix_len, to + 1);
	}
	to[1] = (uint8_t)name_pack_other(link, to + 2);
	return 2 + (size_t)to[1];
}

/* Are @a and @b IP addresses of one host, in one format? */
static bool name_same_but_port(
	const struct lnx_name_link *a, const struct lnx_name_link *b)
{
	uint8_t bytes[2][IN6_LEN];
	size_t len = name_pack_ip(a, bytes[0]);

	return len && len == name_pack_ip(b, bytes[1]) &&
	       memcmp(bytes[0] + PORT_LEN, bytes[1] + PORT_LEN, len - PORT_LEN) == 0;
}

/* Can the entry of link @i store the next link, too? */
static bool name_has_second(const struct lnx_name *name, unsigned int i)
{
	const struct lnx_name_link *link = &name->link[i];

	return i + 1 < name->count &&
	       link[1].provider == (link->provider ^ LNX_NAME_PRIVATE) &&
	       link[1].locality == link->locality && name_same_but_port(link, link + 1);
}

/* Pack @link, and the next one if @second. Returns the number of bytes; 0:
 * name_pack_addr failed. */
static size_t name_pack_entry(
	const struct lnx_name_link *link, bool second, uint8_t *to)
{
	uint64_t key = link->locality | (uint64_t)link->provider << 48;
	size_t len = name_pack_addr(link, to + KEY);

	if (!len)
		return 0;
	memcpy(to, &key, sizeof(key));
	len += KEY;
	if (!second)
		return len;
	to[KEY] |= SECOND;
	memcpy(to + len, (const uint8_t *)link[1].addr + PORT_AT, PORT_LEN);
	return len + PORT_LEN;
}

size_t lnx_name_pack(const struct lnx_name *name, void *buf)
{
	/* An entry is written behind the previous ones before the total length is
	 * checked, so there is space for one more. */
	uint8_t bytes[2 * LNX_NAME_LEN + ENTRY_MAX + PORT_LEN] = { 'w', 'x' };
	uint8_t entries = 0;
	size_t used = HEAD, len;
	bool second;

	for (unsigned int i = 0; i < name->count; i += second ? 2 : 1) {
		second = name_has_second(name, i);
		len = name_pack_entry(&name->link[i], second, bytes + used);
		used += len;
		entries++;
		if (!len || used > LNX_NAME_LEN)
			return 0;
	}
	bytes[2] = (uint8_t)(VERSION << 4 | entries);
	bytes[3] = (uint8_t)used;
	memcpy(buf, bytes, LNX_NAME_LEN);
	return used;
}

size_t lnx_name_len(const void *buf, size_t len)
{
	const uint8_t *bytes = buf;

	if (len < HEAD || bytes[0] != 'w' || bytes[1] != 'x' || bytes[3] < HEAD ||
		bytes[3] > LNX_NAME_LEN || bytes[3] > len)
		return 0;
	return bytes[3];
}

static void name_unpack_in(const uint8_t *from, struct lnx_name_link *link)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	memcpy(&in.sin_port, from, 2);
	memcpy(&in.sin_addr, from + 2, 4);
	memcpy(link->buf, &in, sizeof(in));
	link->addr = link->buf;
	link->len = sizeof(in);
}

static void name_unpack_in6(const uint8_t *from, struct lnx_name_link *link)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	memcpy(&in6.sin6_port, from, 2);
	memcpy(&in6.sin6_addr, from + 2, 16);
	memcpy(&in6.sin6_scope_id, from + 18, 4);
	memcpy(link->buf, &in6, sizeof(in6));
	link->addr = link->buf;
	link->len = sizeof(in6);
}

static bool name_unpack_numbers(const uint8_t *from, struct lnx_name_link *link)
{
	char *text = (char *)link->buf + prefix_len;
	size_t len = 0;

	memcpy(link->buf, WF_ADDRSTR_LOCAL, prefix_len);
	for (; len < (size_t)NUMBERS_LEN * 2; len++) {
		unsigned int digit = from[len / 2] >> len % 2 * 4 & 0xf;

		if (!digit)
			break;
		if (digit >= sizeof(digits))
			return false;
		text[len] = digits[digit - 1];
	}
	link->format = FI_ADDR_STR;
	link->addr = link->buf;
	link->len = (uint16_t)(prefix_len + len);
	return true;
}

/* Unpack an address of @len bytes at @from, whose byte of format is @format. */
static bool name_unpack_addr(
	uint8_t format, const uint8_t *from, size_t len, struct lnx_name_link *link)
{
	link->format = format & ~SECOND;
	switch (link->format) {
	case FI_SOCKADDR_IN:
		name_unpack_in(from, link);
		return true;
	case FI_SOCKADDR_IN6:
		name_unpack_in6(from, link);
		return true;
	case FI_ADDR_STR | NUMBERS:
		return name_unpack_numbers(from, link);
	default:
		link->addr = from;
		link->len = (uint16_t)len;
		return true;
	}
}

/* *@second: @first with the port at @port, and of its private endpoint. */
static void name_unpack_second(const uint8_t *port, const struct lnx_name_link *first,
	struct lnx_name_link *second)
{
	*second = *first;
	second->addr = second->buf;
	second->provider ^= LNX_NAME_PRIVATE;
	memcpy((uint8_t *)second->buf + PORT_AT, port, PORT_LEN);
}

/* Unpack the entry at @from, of which @left bytes are readable, to the links behind
 * those of @name. Returns the number of bytes; 0: the entry is invalid. */
static size_t name_unpack_entry(const uint8_t *from, size_t left, struct lnx_name *name)
{
	struct lnx_name_link *link = &name->link[name->count];
	size_t head = KEY + 1, len, port;
	uint64_t key;

	if (left < ENTRY_MAX)
		return 0;
	memcpy(&key, from, sizeof(key));
	port = from[KEY] & SECOND ? PORT_LEN : 0;
	name->count += port ? 2 : 1;
	len = name_fixed_len(from[KEY]);
	if (name->count > LNX_MAX_LINKS || (!len && from[KEY] & (SECOND | NUMBERS)))
		return 0;
	if (!len)
		len = from[head++];
	if (left < head + len + port ||
		!name_unpack_addr(from[KEY], from + head, len, link))
		return 0;
	link->locality = key & UINT64_C(0xffffffffffff);
	link->provider = (uint16_t)(key >> 48);
	if (port)
		name_unpack_second(from + head + len, link, link + 1);
	return head + len + port;
}

bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name)
{
	size_t used = lnx_name_len(buf, LNX_NAME_LEN), at = HEAD, len;
	const uint8_t *bytes = buf;
	unsigned int entries = bytes[2] & 0xf;

	if (!used || bytes[2] >> 4 != VERSION || !entries)
		return false;
	ret_name->count = 0;
	for (unsigned int i = 0; i < entries; i++) {
		len = name_unpack_entry(bytes + at, used - at, ret_name);
		if (!len)
			return false;
		at += len;
	}
	return at == used;
}

static bool name_of_one_kind(
	const struct lnx_name_link *a, const struct lnx_name_link *b)
{
	return a->provider == b->provider &&
	       name_format_byte(a->format) == name_format_byte(b->format);
}

/* Links of one locality are paired first, the k-th of @mine with the k-th of @theirs,
 * then the remaining links of one provider, in the same way. A link that reaches only
 * its locality is never paired with a link of another locality. */
void lnx_name_pair(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, int ret_peer[LNX_MAX_LINKS])
{
	bool taken[LNX_MAX_LINKS] = { false };

	for (unsigned int i = 0; i < LNX_MAX_LINKS; i++)
		ret_peer[i] = -1;
	for (int any_locality = 0; any_locality < 2; any_locality++) {
		for (unsigned int i = 0; i < mine->count; i++) {
			for (unsigned int k = 0; k < theirs->count; k++) {
				bool same = mine->link[i].locality ==
					    theirs->link[k].locality;

				if (ret_peer[i] >= 0 || taken[k] ||
					!name_of_one_kind(
						&mine->link[i], &theirs->link[k]) ||
					!(same || (any_locality && !local[i])))
					continue;
				ret_peer[i] = (int)k;
				taken[k] = true;
			}
		}
	}
}

/* Packing the address again sets all unused bytes to zero. */
static bool lnx_name_spell(uint32_t *words, const void *addr)
{
	struct lnx_name name;

	return lnx_name_unpack(addr, &name) && lnx_name_pack(&name, words);
}

/* Print the address of a link, if its format is known and its length is right. */
static void name_print_link(const struct lnx_name_link *link, char *buf, size_t len)
{
	bool in = link->format == FI_SOCKADDR_IN && link->len == 16;
	bool in6 = link->format == FI_SOCKADDR_IN6 && link->len == 28;

	if ((in || in6) && wf_av_straddr(link->format, link->addr, buf, &len))
		return;
	if (link->format == FI_ADDR_STR)
		(void)snprintf(
			buf, len, "%.*s", (int)link->len, (const char *)link->addr);
	else
		(void)snprintf(buf, len, "%04x:%012llx", link->provider,
			(unsigned long long)link->locality);
}

static void lnx_name_print(const void *addr, char *buf, size_t len)
{
	struct lnx_name name;
	size_t at;

	if (!lnx_name_unpack(addr, &name)) {
		(void)snprintf(buf, len, "(no address)");
		return;
	}
	(void)snprintf(buf, len, "lnx://");
	for (unsigned int i = 0; i < name.count; i++) {
		at = strlen(buf);
		if (len - at < 3)
			return;
		if (i)
			buf[at++] = '+';
		name_print_link(&name.link[i], buf + at, len - at);
	}
}

const struct wf_av_format lnx_av_format = {
	.name = "lnx",
	.addr_format = FI_FORMAT_UNSPEC,
	.addr_len = LNX_NAME_LEN,
	.key_words = LNX_NAME_LEN / 4,
	.spell = lnx_name_spell,
	.print = lnx_name_print,
	.len_of = lnx_name_len,
};

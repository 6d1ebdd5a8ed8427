/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "objects/av/av.h"
#include "providers/lnx/name.h"
#include "sys/addrstr.h"
#include "sys/compiler.h"

enum {
	VERSION = 1,
	HEAD = 4,
	ENTRY = 10,
	TEXT_PAD = 32,
	IN_LEN = 6,
	IN6_LEN = 22,
	NUMBERS = 0x80, /* Bit of the format: the address follows in half bytes. */
	NUMBERS_LEN = 16,
};

static const char digits[] = "0123456789:";
static const size_t prefix_len = sizeof(WF_ADDRSTR_LOCAL) - 1;

static uint8_t format_byte(uint32_t addr_format)
{
	return addr_format & 0x7f;
}

static size_t pack_in(const void *addr, uint8_t *to)
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));
	memcpy(to, &in.sin_port, 2);
	memcpy(to + 2, &in.sin_addr, 4);
	return IN_LEN;
}

static size_t pack_in6(const void *addr, uint8_t *to)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, addr, sizeof(in6));
	memcpy(to, &in6.sin6_port, 2);
	memcpy(to + 2, &in6.sin6_addr, 16);
	memcpy(to + 18, &in6.sin6_scope_id, 4);
	return IN6_LEN;
}

/* Is the address "fi_shm://" followed by numbers and colons? */
static bool is_numbers(const struct lnx_name_link *link, size_t len)
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

static size_t pack_numbers(const char *text, size_t len, uint8_t *to)
{
	const char *digit;

	for (size_t i = 0; i < len; i++) {
		digit = memchr(digits, text[i], sizeof(digits) - 1);
		to[i / 2] |= (uint8_t)((digit - digits + 1) << i % 2 * 4);
	}
	return NUMBERS_LEN;
}

/* Pack one address; the result has at most LNX_NAME_LEN bytes. */
static size_t pack_addr(const struct lnx_name_link *link, uint8_t *to)
{
	if (link->format == FI_SOCKADDR_IN && link->len == sizeof(struct sockaddr_in))
		return pack_in(link->addr, to);
	if (link->format == FI_SOCKADDR_IN6 && link->len == sizeof(struct sockaddr_in6))
		return pack_in6(link->addr, to);
	memcpy(to, link->addr, link->len);
	return link->format == FI_ADDR_STR ? WF_MAX(link->len, (size_t)TEXT_PAD)
					   : link->len;
}

size_t lnx_name_pack(const struct lnx_name *name, void *buf)
{
	/* An address is written behind the previous ones before the total length is
	 * checked, so there is space for one more. */
	uint8_t bytes[2 * LNX_NAME_LEN + ENTRY] = { 'w', 'x',
		(uint8_t)(VERSION << 4 | name->count) };
	size_t used = HEAD, len;

	for (unsigned int i = 0; i < name->count; i++) {
		const struct lnx_name_link *link = &name->link[i];
		uint64_t key = link->locality | (uint64_t)link->provider << 48;

		if (link->len > LNX_NAME_LEN)
			return 0;
		memcpy(bytes + used, &key, sizeof(key));
		bytes[used + 8] = format_byte(link->format);
		len = strnlen(link->addr, link->len);
		if (is_numbers(link, len)) {
			len = pack_numbers((const char *)link->addr + prefix_len,
				len - prefix_len, bytes + used + ENTRY);
			bytes[used + 8] |= NUMBERS;
		} else {
			len = pack_addr(link, bytes + used + ENTRY);
		}
		bytes[used + 9] = (uint8_t)len;
		used += ENTRY + len;
		if (used > LNX_NAME_LEN)
			return 0;
	}
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

static void unpack_in(const uint8_t *from, struct lnx_name_link *link)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	memcpy(&in.sin_port, from, 2);
	memcpy(&in.sin_addr, from + 2, 4);
	memcpy(link->buf, &in, sizeof(in));
	link->addr = link->buf;
	link->len = sizeof(in);
}

static void unpack_in6(const uint8_t *from, struct lnx_name_link *link)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	memcpy(&in6.sin6_port, from, 2);
	memcpy(&in6.sin6_addr, from + 2, 16);
	memcpy(&in6.sin6_scope_id, from + 18, 4);
	memcpy(link->buf, &in6, sizeof(in6));
	link->addr = link->buf;
	link->len = sizeof(in6);
}

static bool unpack_numbers(const uint8_t *from, struct lnx_name_link *link)
{
	char *text = (char *)link->buf + prefix_len;
	size_t len = 0;

	if (link->format != (NUMBERS | FI_ADDR_STR) || link->len != NUMBERS_LEN)
		return false;
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

/* Unpack one address of @len bytes at @from. */
static bool unpack_link(const uint8_t *from, size_t len, struct lnx_name_link *link)
{
	uint64_t key;

	memcpy(&key, from, sizeof(key));
	link->locality = key & UINT64_C(0xffffffffffff);
	link->provider = (uint16_t)(key >> 48);
	link->format = from[8];
	link->addr = from + ENTRY;
	link->len = (uint16_t)(len - ENTRY);
	if (link->format & NUMBERS)
		return unpack_numbers(from + ENTRY, link);
	/* Equal addresses must have equal bytes, so an address has one valid form. */
	if (link->format == FI_SOCKADDR_IN) {
		if (link->len != IN_LEN)
			return false;
		unpack_in(from + ENTRY, link);
	} else if (link->format == FI_SOCKADDR_IN6) {
		if (link->len != IN6_LEN)
			return false;
		unpack_in6(from + ENTRY, link);
	}
	return true;
}

bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name)
{
	size_t used = lnx_name_len(buf, LNX_NAME_LEN), at = HEAD, len;
	const uint8_t *bytes = buf;

	if (!used || bytes[2] >> 4 != VERSION)
		return false;
	ret_name->count = bytes[2] & 0xf;
	if (!ret_name->count || ret_name->count > LNX_MAX_LINKS)
		return false;
	for (unsigned int i = 0; i < ret_name->count; i++) {
		if (used - at < ENTRY)
			return false;
		len = ENTRY + (size_t)bytes[at + 9];
		if (used - at < len)
			return false;
		if (!unpack_link(bytes + at, len, &ret_name->link[i]))
			return false;
		at += len;
	}
	return at == used;
}

static bool of_one_kind(const struct lnx_name_link *a, const struct lnx_name_link *b)
{
	return a->provider == b->provider &&
	       format_byte(a->format) == format_byte(b->format);
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
					!of_one_kind(
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
static bool spell(uint32_t *words, const void *addr)
{
	struct lnx_name name;

	return lnx_name_unpack(addr, &name) && lnx_name_pack(&name, words);
}

/* Print the address of a link, if its format is known and its length is right. */
static void print_link(const struct lnx_name_link *link, char *buf, size_t len)
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

static void print(const void *addr, char *buf, size_t len)
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
		print_link(&name.link[i], buf + at, len - at);
	}
}

const struct wf_av_format lnx_av_format = {
	.name = "lnx",
	.addr_format = FI_FORMAT_UNSPEC,
	.addr_len = LNX_NAME_LEN,
	.key_words = LNX_NAME_LEN / 4,
	.spell = spell,
	.print = print,
	.len_of = lnx_name_len,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "objects/av/av.h"
#include "providers/lnx/name.h"

#define LNX_NAME_MAGIC UINT32_C(0x786e6c77) /* "wlnx" */

enum { LNX_NAME_VERSION = 1 };

struct head {
	uint32_t magic;
	uint8_t version;
	uint8_t count;
	uint16_t used;
};

struct entry {
	uint32_t provider;
	uint16_t format;
	uint16_t len;
	uint32_t place[2];
};
_Static_assert(sizeof(struct head) == 8 && sizeof(struct entry) == 16, "wire layout");

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

bool lnx_name_pack(const struct lnx_name *name, void *buf)
{
	struct head head = { LNX_NAME_MAGIC, LNX_NAME_VERSION, (uint8_t)name->count,
		sizeof(head) };
	uint8_t bytes[LNX_NAME_LEN] = { 0 };

	for (unsigned int i = 0; i < name->count; i++) {
		const struct lnx_name_link *link = &name->link[i];
		struct entry entry = { link->provider, link->format, link->len,
			{ (uint32_t)link->place, (uint32_t)(link->place >> 32) } };

		if (sizeof(entry) + padded(link->len) >
			LNX_NAME_LEN - (size_t)head.used)
			return false;
		memcpy(bytes + head.used, &entry, sizeof(entry));
		head.used += sizeof(entry);
		memcpy(bytes + head.used, link->addr, link->len);
		head.used = (uint16_t)(head.used + padded(link->len));
	}
	memcpy(bytes, &head, sizeof(head));
	memcpy(buf, bytes, sizeof(bytes));
	return true;
}

bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name)
{
	const uint8_t *bytes = buf;
	struct lnx_name name = { .count = 0 };
	size_t at = sizeof(struct head);
	struct head head;
	struct entry entry;

	memcpy(&head, bytes, sizeof(head));
	if (head.magic != LNX_NAME_MAGIC || head.version != LNX_NAME_VERSION ||
		!head.count || head.count > LNX_MAX_LINKS || head.used > LNX_NAME_LEN)
		return false;
	for (; name.count < head.count; name.count++) {
		struct lnx_name_link *link = &name.link[name.count];

		if (head.used < at || head.used - at < sizeof(entry))
			return false;
		memcpy(&entry, bytes + at, sizeof(entry));
		at += sizeof(entry);
		if (padded(entry.len) > head.used - at)
			return false;
		*link = (struct lnx_name_link){
			.provider = entry.provider,
			.format = entry.format,
			.len = entry.len,
			.place = entry.place[0] | (uint64_t)entry.place[1] << 32,
			.addr = bytes + at,
		};
		at += padded(entry.len);
	}
	if (at != head.used)
		return false;
	*ret_name = name;
	return true;
}

static bool of_one_kind(const struct lnx_name_link *a, const struct lnx_name_link *b)
{
	return a->provider == b->provider && a->format == b->format;
}

/* First links of one place, the k-th of this side with the k-th of the other, then what
 * is left of the same provider in the same way. What cannot leave its place is never
 * paired with another. */
void lnx_name_pair(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, int ret_peer[LNX_MAX_LINKS])
{
	bool taken[LNX_MAX_LINKS] = { false };

	for (unsigned int i = 0; i < LNX_MAX_LINKS; i++)
		ret_peer[i] = -1;
	for (int any_place = 0; any_place < 2; any_place++) {
		for (unsigned int i = 0; i < mine->count; i++) {
			for (unsigned int k = 0; k < theirs->count; k++) {
				bool same =
					mine->link[i].place == theirs->link[k].place;

				if (ret_peer[i] >= 0 || taken[k] ||
					!of_one_kind(
						&mine->link[i], &theirs->link[k]) ||
					!(same || (any_place && !local[i])))
					continue;
				ret_peer[i] = (int)k;
				taken[k] = true;
			}
		}
	}
}

static bool spell(uint32_t *words, const void *addr)
{
	struct lnx_name name;
	uint32_t copy[LNX_NAME_LEN / 4];

	memcpy(copy, addr, sizeof(copy));
	/* Packing again makes everything that means nothing zero. */
	return lnx_name_unpack(copy, &name) && lnx_name_pack(&name, words);
}

/* Of a link's address as far as its format is known and its length right. */
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
		(void)snprintf(buf, len, "%08x:%016llx", link->provider,
			(unsigned long long)link->place);
}

static void print(const void *addr, char *buf, size_t len)
{
	uint32_t copy[LNX_NAME_LEN / 4];
	struct lnx_name name;
	size_t at;

	memcpy(copy, addr, sizeof(copy));
	if (!lnx_name_unpack(copy, &name)) {
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
};

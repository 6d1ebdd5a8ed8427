/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_NAME_H
#define LNX_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/av/format.h"

/*
 * The address of an lnx endpoint: those of its links, in the order of the links, each
 * with what tells which link of a peer can reach it. Little-endian, and short, because
 * some applications have no more than FI_NAME_MAX bytes for it:
 *
 *   u8 'w', u8 'x', u8 version and number of links, u8 bytes altogether
 *   per link: u48 locality, u16 provider, u8 address format, u8 bytes that follow
 *
 * IP addresses follow without what is the same in all; "fi_shm://" with numbers and
 * colons behind it, as shared memory has by itself, with half a byte for each of those
 * (format + 0x80); other text is padded. So endpoints with the same links have
 * addresses of one length. Of formats seven bits are told. @provider and @locality are
 * hashes; the latter is of the fabric's name, and for links that do not leave the
 * machine also of the machine and of what part of it they see (locality.h).
 */
enum {
	LNX_NAME_LEN = 240, /* bytes of an address, at most */
	LNX_MAX_LINKS = 8,  /* members of one link of lnx */
};

struct lnx_name_link {
	uint16_t provider; /* hash of the provider's name */
	uint16_t len;      /* bytes at @addr */
	uint32_t format;   /* of @addr, as fi_info.addr_format */
	uint64_t locality; /* 48 bits */
	const void *addr;
	uint32_t buf[12]; /* what @addr may point to */
};

struct lnx_name {
	unsigned int count;
	struct lnx_name_link link[LNX_MAX_LINKS];
};

/* Pack @name into @buf, which has LNX_NAME_LEN bytes; those behind the address are set
 * to zero. Returns the length in bytes; 0: it does not fit. */
size_t lnx_name_pack(const struct lnx_name *name, void *buf);

/* Length in bytes of the address that begins at @buf, which has @len bytes; 0: no
 * address begins there. */
size_t lnx_name_len(const void *buf, size_t len);

/* Unpack the address at @buf, which is as long as lnx_name_len says. False: it is none,
 * and *@ret_name means nothing; else that points into @buf and into itself. */
bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name);

/* Which links of @mine and @theirs meet: ret_peer[i] is the one of @theirs that link i
 * of @mine talks to, or -1. Both sides come to the same result. */
void lnx_name_pair(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, int ret_peer[LNX_MAX_LINKS]);

extern const struct wf_av_format lnx_av_format;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_NAME_H
#define WF_LNX_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/av/format.h"

/*
 * The address of an lnx endpoint, packed: the addresses of its links, in the order of
 * the links, each with the numbers by which a peer finds the link that reaches it.
 * Little-endian, and short, because some applications have no more than FI_NAME_MAX
 * bytes for an address:
 *
 *   u8 'w', u8 'x', u8 version and number of entries, u8 total length
 *   per entry: u48 locality, u16 provider, u8 address format, u8 length of the address
 *              unless the format has but one, the address, and with the flag below
 *              the port of a second link (u16, in the network's order)
 *
 * Lengths are in bytes. An IP address is stored without the bytes that are the same in
 * all of them. The text "fi_shm://" with numbers and colons behind it, which shm
 * chooses by default, is stored as half a byte for each digit and colon, with 0x80
 * added to the format; other text is padded. So endpoints with the same links have
 * addresses of one length. Of a provider's own format five bits are stored. 0x40 added
 * to the format of an IP address stands for a second link behind this one, that of the
 * private endpoint (LNX_NAME_PRIVATE), if it differs by provider and port alone.
 * @provider is a hash of the provider's name; for @locality see locality.h.
 */
enum {
	LNX_NAME_LEN = 240, /* greatest length of an address in bytes */
	LNX_MAX_LINKS = 8,  /* greatest number of members of a link */
	/* A private endpoint (stripe/stripe.h) has the provider hash of its member with
	 * these bits inverted, so that it is never paired with a link of messages. */
	LNX_NAME_PRIVATE = 0x5354,
};

struct lnx_name_link {
	uint16_t provider; /* hash of the provider's name; see LNX_NAME_PRIVATE */
	uint16_t len;      /* length of @addr in bytes */
	uint32_t format;   /* format of @addr, as fi_info.addr_format */
	uint64_t locality; /* of 48 bits; see locality.h */
	const void *addr;
	uint32_t buf[12]; /* memory that @addr may point to */
};

struct lnx_name {
	unsigned int count;
	struct lnx_name_link link[LNX_MAX_LINKS];
};

/* Pack @name into @buf, which has LNX_NAME_LEN bytes; the bytes after the address are
 * set to zero. Returns the length in bytes; 0: the address is too long. */
size_t lnx_name_pack(const struct lnx_name *name, void *buf);

/* Length in bytes of the packed address at the beginning of @buf, which has @len bytes;
 * 0: it contains no such address. */
size_t lnx_name_len(const void *buf, size_t len);

/* Unpack the address at @buf, whose length is lnx_name_len(). False: it is invalid, and
 * *@ret_name is undefined. *@ret_name contains pointers into @buf and into itself. */
bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name);

/* Pair the links of two endpoints: link i of @mine talks to link ret_peer[i] of
 * @theirs, or to none (-1). @local: links of @mine that reach only this machine. Both
 * endpoints get the same pairs. */
void lnx_name_pair(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, int ret_peer[LNX_MAX_LINKS]);

extern const struct wf_av_format lnx_av_format;

#endif

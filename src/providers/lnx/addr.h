/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_ADDR_H
#define LNX_ADDR_H

#include "providers/lnx/links.h"

/*
 * Addresses as applications give and get them, by fi_info.addr_format:
 *
 *   FI_FORMAT_UNSPEC            struct lnx_name, packed: all links of an endpoint
 *   FI_SOCKADDR_IN, _IN6        the address of its members of that format
 *   FI_ADDR_STR                 text: "fi_lnx://" and the packed name in hexadecimal
 *                               digits, "fi_sockaddr_in://host:port" and the like, or
 *                               the name of a member whose addresses are text
 */

/* Bytes of an address in any of these formats, at most; text with its NUL. */
enum { LNX_ADDR_MAX = 256 };

/* An address that was read. */
struct lnx_addr {
	struct lnx_name name; /* points into @parts, or into the given bytes */
	uint8_t parts[LNX_NAME_LEN];
};

/* The format of @link's addresses for hints that ask for @asked: FI_SOCKADDR_IP, say,
 * is that of its first IP member. False: none. */
bool lnx_addr_format(const struct lnx_link *link, uint32_t asked, uint32_t *ret_format);

/* The @len bytes at @addr, as seen from @link. False: no address in @format, or one
 * that no member has the format of. The result points into @addr and into itself. */
bool lnx_addr_read(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_addr *ret);

/* @name in @format at @buf, which has LNX_ADDR_MAX bytes. Returns the length; 0: it
 * does not fit, or the name has no part of that format. */
size_t lnx_addr_write(uint32_t format, const struct lnx_name *name, void *buf);

/* For an AV of addresses in the format of @info. */
const struct wf_av_format *lnx_av_format_of(const struct fi_info *info);

#endif

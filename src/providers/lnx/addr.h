/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_ADDR_H
#define WF_LNX_ADDR_H

#include "providers/lnx/links.h"

/*
 * Addresses that applications pass and get, by fi_info.addr_format:
 *
 *   FI_FORMAT_UNSPEC            struct lnx_name, packed: all links of an endpoint
 *   FI_SOCKADDR_IN, _IN6        the address of its members of that format
 *   FI_ADDR_STR                 text: "fi_lnx://" and the packed name in hexadecimal
 *                               digits, "fi_sockaddr_in://host:port" or another URL, or
 *                               the name of a member whose addresses are text
 */

/* Greatest length of an address in any of these formats, in bytes; that of text
 * includes its NUL. */
enum { LNX_ADDR_MAX = 256 };

/* An address that lnx_addr_read() has parsed. */
struct lnx_addr {
	/* Its addresses are in the buffer @bytes or in the bytes that were parsed. */
	struct lnx_name name;
	uint8_t bytes[LNX_NAME_LEN];
};

/* The format of @link's addresses for hints with the format @asked. FI_SOCKADDR_IP, for
 * example, gives the format of the first IP member. False: no member has a format that
 * fits. */
bool lnx_addr_format(const struct lnx_link *link, uint32_t asked, uint32_t *ret_format);

/* Parse the @len bytes at @addr for the members of @link. False: they are no address in
 * @format, or no member has addresses in it. @ret contains pointers into @addr and into
 * itself. */
bool lnx_addr_read(const struct lnx_link *link, uint32_t format, const void *addr,
	size_t len, struct lnx_addr *ret);

/* Write @name in @format to @buf, which has LNX_ADDR_MAX bytes. Returns the length in
 * bytes; 0: the address is too long, or @name contains no address of that format. */
size_t lnx_addr_write(uint32_t format, const struct lnx_name *name, void *buf);

/* The format of the addresses in an AV that is opened with @info. */
const struct wf_av_format *lnx_av_format_of(const struct fi_info *info);

#endif

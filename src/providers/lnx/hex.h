/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_HEX_H
#define LNX_HEX_H

#include "providers/lnx/addr.h"

/* Addresses of lnx as text: "fi_lnx://" and the packed struct lnx_name in hexadecimal
 * digits. */

/* Does @text, which ends with a NUL, begin as such an address? */
bool lnx_hex_is(const char *text);

/* The bytes that such a text means, in @bytes. Returns their number; 0: what follows
 * the beginning is anything but pairs of digits, or too much. */
size_t lnx_hex_read(const char *text, uint8_t bytes[LNX_NAME_LEN]);

/* The text of @name at @buf, which has LNX_ADDR_MAX bytes. Returns its length with the
 * NUL; 0: it does not fit. */
size_t lnx_hex_write(const struct lnx_name *name, char *buf);

#endif

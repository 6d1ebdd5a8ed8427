/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_HEX_H
#define WF_LNX_HEX_H

#include "providers/lnx/addr.h"

/* Addresses of lnx as text: "fi_lnx://" and the packed struct lnx_name in hexadecimal
 * digits. */

/* Does @text, a string, begin with "fi_lnx://"? */
bool lnx_hex_is(const char *text);

/* Convert such a text to the bytes of a packed name. Returns their number; 0: the text
 * has something else than pairs of digits, or too many of them. */
size_t lnx_hex_read(const char *text, uint8_t bytes[LNX_NAME_LEN]);

/* Write the text of @name to @buf, which has LNX_ADDR_MAX bytes. Returns its length in
 * bytes with the NUL; 0: it is too long. */
size_t lnx_hex_write(const struct lnx_name *name, char *buf);

#endif

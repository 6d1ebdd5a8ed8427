/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/hex.h"

#include <ctype.h>
#include <string.h>

#define TEXT_PREFIX "fi_lnx://"
static const size_t prefix_len = sizeof(TEXT_PREFIX) - 1;
static const char digits[] = "0123456789abcdef";

bool lnx_hex_is(const char *text)
{
	return !strncmp(text, TEXT_PREFIX, prefix_len);
}

size_t lnx_hex_read(const char *text, uint8_t bytes[LNX_NAME_LEN])
{
	const char *hex = text + prefix_len;
	size_t len = strlen(hex);

	if (len % 2 || len / 2 > LNX_NAME_LEN)
		return 0;
	for (size_t i = 0; i < len; i++) {
		int c = tolower((unsigned char)hex[i]);
		const char *digit = memchr(digits, c, sizeof(digits) - 1);

		if (!digit)
			return 0;
		if (i % 2)
			bytes[i / 2] |= (uint8_t)(digit - digits);
		else
			bytes[i / 2] = (uint8_t)((digit - digits) << 4);
	}
	return len / 2;
}

size_t lnx_hex_write(const struct lnx_name *name, char *buf)
{
	uint8_t packed[LNX_NAME_LEN];
	size_t size = lnx_name_pack(name, packed);

	if (!size || prefix_len + 2 * size >= LNX_ADDR_MAX)
		return 0;
	memcpy(buf, TEXT_PREFIX, prefix_len);
	for (size_t i = 0; i < size; i++) {
		buf[prefix_len + 2 * i] = digits[packed[i] >> 4];
		buf[prefix_len + 2 * i + 1] = digits[packed[i] & 0xf];
	}
	buf[prefix_len + 2 * size] = '\0';
	return prefix_len + 2 * size + 1;
}

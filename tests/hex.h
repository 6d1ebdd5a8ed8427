/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HEX_H
#define TESTS_HEX_H

/* The bytes of a protocol, as tests write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct bytes {
	size_t len;
	uint8_t at[1024];
};

/* "03 00 0004": hexadecimal digits, two for each byte; spaces and bars are ignored. */
static inline struct bytes hex(const char *text)
{
	struct bytes bytes = { 0 };
	char pair[3] = { 0 };

	while (*text) {
		if (*text == ' ' || *text == '|') {
			text++;
			continue;
		}
		pair[0] = *text++;
		pair[1] = *text++;
		assert_true(bytes.len < sizeof(bytes.at));
		bytes.at[bytes.len++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return bytes;
}

#endif

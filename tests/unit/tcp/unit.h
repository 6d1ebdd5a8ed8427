/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_UNIT_TCP_UNIT_H
#define WF_TESTS_UNIT_TCP_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "providers/tcp/log.h"

/* Stands in for the provider's own, which would pull in all of it. */
extern struct fi_provider tcp_fi;

struct bytes {
	size_t len;
	uint8_t at[512];
};

/* "03 00 0004": hexadecimal digits, two to the byte; spaces and bars separate. */
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

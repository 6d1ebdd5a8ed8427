/* SPDX-License-Identifier: BSD-2-Clause */
#include "pattern.h"

#include <string.h>

static const char letters[] =
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

enum { PERIOD = sizeof(letters) - 1, STEP = 7 };

static unsigned int pattern_following(unsigned int start)
{
	return (start + STEP) % PERIOD;
}

void pp_pattern_fill(struct pp_pattern *p, char *buf, size_t len)
{
	unsigned int at = p->start;
	size_t i;

	for (i = 0; i < len; i++) {
		buf[i] = letters[at];
		if (++at == PERIOD)
			at = 0;
	}
	p->start = pattern_following(p->start);
}

static long pattern_first_wrong(unsigned int at, const char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (buf[i] != letters[at])
			return (long)i;
		if (++at == PERIOD)
			at = 0;
	}
	return PP_PATTERN_OK;
}

/* The position in the pattern at which a message that begins with @c starts; @expected
 * if the pattern has no such character. */
static unsigned int pattern_start_from(char c, unsigned int expected)
{
	const char *found = c ? strchr(letters, c) : NULL;

	return found ? (unsigned int)(found - letters) : expected;
}

long pp_pattern_check(struct pp_pattern *p, const char *buf, size_t len, bool gaps)
{
	unsigned int start = p->start;

	if (gaps && len)
		start = pattern_start_from(buf[0], start);
	p->start = pattern_following(start);
	return pattern_first_wrong(start, buf, len);
}

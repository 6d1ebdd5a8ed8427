/* SPDX-License-Identifier: BSD-2-Clause */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

enum { WORD_MAX = 64 };

/* Copies the text before @end to @word; @ret_rest is the text behind @end (NULL:
 * none). */
static bool parse_cut(
	const char *text, char end, char word[WORD_MAX], const char **ret_rest)
{
	const char *at = strchr(text, end);
	size_t len = at ? (size_t)(at - text) : strlen(text);

	if (!len || len >= WORD_MAX)
		return false;
	memcpy(word, text, len);
	word[len] = 0;
	*ret_rest = at ? at + 1 : NULL;
	return true;
}

static bool parse_digits(const char *text, uint64_t *ret_number, char **ret_end)
{
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret_number = strtoull(text, ret_end, 10);
	return !errno;
}

bool fb_parse_number(const char *text, uint64_t *ret_number)
{
	char *end;

	return parse_digits(text, ret_number, &end) && !*end;
}

bool fb_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "kmg";
	const char *unit;
	uint64_t bytes;
	char *end;

	if (!parse_digits(text, &bytes, &end))
		return false;
	if (*end) {
		unit = strchr(units, tolower((unsigned char)*end));
		if (!unit || end[1] || bytes > FB_SIZE_MAX)
			return false;
		bytes <<= 10 * (unit - units + 1);
	}
	*ret_bytes = bytes;
	return true;
}

static bool parse_add_size(struct fb_config *c, uint64_t bytes)
{
	if (c->size_count == FB_SIZES_MAX || !bytes || bytes > FB_SIZE_MAX)
		return false;
	c->size[c->size_count++] = bytes;
	return true;
}

static bool parse_add_sizes(struct fb_config *c, const char *text)
{
	uint64_t low, high;
	char word[WORD_MAX];
	const char *rest;

	if (!parse_cut(text, ':', word, &rest) || !fb_parse_bytes(word, &low))
		return false;
	high = low;
	if (rest && (!fb_parse_bytes(rest, &high) || high < low))
		return false;
	for (; low <= high; low *= 2)
		if (!parse_add_size(c, low))
			return false;
	return true;
}

bool fb_parse_sizes(const char *text, struct fb_config *config)
{
	char word[WORD_MAX];

	config->size_count = 0;
	while (text) {
		if (!parse_cut(text, ',', word, &text) ||
			!parse_add_sizes(config, word))
			return false;
	}
	return true;
}

bool fb_parse_seconds(const char *text, uint64_t *ret_ns)
{
	double seconds;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds > 0) || seconds > 86400)
		return false;
	*ret_ns = (uint64_t)(seconds * 1e9);
	return true;
}

static uint64_t parse_bit(enum fb_test test)
{
	return (uint64_t)1 << test;
}

/* All tests that are possible with the other options. */
static uint64_t parse_all_tests(const struct fb_config *c)
{
	uint64_t messages =
		parse_bit(FB_LATENCY) | parse_bit(FB_BANDWIDTH) | parse_bit(FB_RATE);
	uint64_t all = parse_bit(FB_TEST_COUNT) - 1;

	if (c->type == FI_EP_DGRAM)
		return messages;
	if (c->members > 2)
		return all & ~(parse_bit(FB_BARRIER) - 1);
	if (c->sleep)
		return parse_bit(FB_WRITE_LATENCY) - 1;
	if (c->silent)
		return (parse_bit(FB_CONNECT) - 1) & ~(parse_bit(FB_WRITE_LATENCY) - 1);
	if (c->threads > 1)
		all &= ~(parse_bit(FB_CONNECT) | parse_bit(FB_RAMP));
	if (c->type == FI_EP_MSG || c->threads > 1)
		all &= parse_bit(FB_BARRIER) - 1;
	return all;
}

bool fb_parse_tests(const char *text, struct fb_config *config)
{
	char word[WORD_MAX];

	config->tests = 0;
	if (!strcmp(text, "all")) {
		config->tests = parse_all_tests(config);
		config->narrow = true;
		return true;
	}
	while (text) {
		int test = 0;

		if (!parse_cut(text, ',', word, &text))
			return false;
		while (test < FB_TEST_COUNT && strcmp(fb_tests[test].name, word) != 0)
			test++;
		if (test == FB_TEST_COUNT)
			return false;
		config->tests |= (uint64_t)1 << test;
	}
	return true;
}

static bool parse_add_cores(const char *text, struct fb_cores *cores)
{
	char word[WORD_MAX];
	const char *rest;
	uint64_t low, high;

	if (!parse_cut(text, '-', word, &rest) || !fb_parse_number(word, &low))
		return false;
	high = low;
	if (rest && !fb_parse_number(rest, &high))
		return false;
	if (high < low || high >= FB_CORES_MAX)
		return false;
	for (; low <= high && cores->count < FB_CORES_MAX; low++)
		cores->core[cores->count++] = (uint32_t)low;
	return true;
}

static bool parse_side_cores(const char *text, struct fb_cores *cores)
{
	char word[WORD_MAX];

	while (text)
		if (!parse_cut(text, ',', word, &text) || !parse_add_cores(word, cores))
			return false;
	return true;
}

bool fb_parse_cores(const char *text, struct fb_cores cores[2])
{
	char list[1024];
	char *colon;

	cores[0].count = cores[1].count = 0;
	if (strlen(text) >= sizeof(list))
		return false;
	strcpy(list, text);
	colon = strchr(list, ':');
	if (colon)
		*colon = 0;
	return parse_side_cores(list, &cores[0]) &&
	       (!colon || parse_side_cores(colon + 1, &cores[1]));
}

bool fb_parse_yes(const char *text, uint8_t *ret_yes)
{
	*ret_yes = !strcmp(text, "yes");
	return *ret_yes || !strcmp(text, "no");
}

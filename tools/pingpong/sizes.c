/* SPDX-License-Identifier: BSD-2-Clause */
#include "sizes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_POWER = 22 }; /* 4 MiB, and once more by half: 6 MiB */

int pp_size_parse(const char *text, struct pp_size_option *ret_option)
{
	unsigned long long value;
	char *end;

	if (!strcmp(text, "all")) {
		ret_option->choice = PP_SIZES_ALL;
		ret_option->one = 0;
		return 0;
	}
	/* strtoull would take blanks and a sign. */
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value > INT_MAX)
		return -EINVAL;
	ret_option->choice = PP_SIZES_ONE;
	ret_option->one = (size_t)value;
	return 0;
}

static void sizes_add(struct pp_sizes *sizes, size_t size, size_t limit)
{
	if (size <= limit)
		sizes->size[sizes->count++] = size;
}

static void sizes_add_all(struct pp_sizes *sizes, size_t limit)
{
	int power;

	sizes_add(sizes, 0, limit);
	sizes_add(sizes, 1, limit);
	for (power = 1; power <= LARGEST_POWER; power++) {
		sizes_add(sizes, (size_t)1 << power, limit);
		sizes_add(sizes, (size_t)3 << (power - 1), limit);
	}
}

static void sizes_add_usual(struct pp_sizes *sizes, size_t limit)
{
	static const size_t usual[] = { 64, 256, 1024, 4096, 65536, 1048576 };
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		sizes_add(sizes, usual[i], limit);
}

void pp_sizes_fill(
	struct pp_sizes *sizes, const struct pp_size_option *option, size_t limit)
{
	sizes->count = 0;
	switch (option->choice) {
	case PP_SIZES_USUAL:
		sizes_add_usual(sizes, limit);
		break;
	case PP_SIZES_ALL:
		sizes_add_all(sizes, limit);
		break;
	case PP_SIZES_ONE:
		sizes_add(sizes, option->one, limit);
		break;
	}
}

size_t pp_sizes_largest(const struct pp_sizes *sizes)
{
	return sizes->count ? sizes->size[sizes->count - 1] : 0;
}

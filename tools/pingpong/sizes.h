/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_SIZES_H
#define TOOLS_PINGPONG_SIZES_H

#include <stddef.h>

enum pp_size_choice { PP_SIZES_USUAL, PP_SIZES_ALL, PP_SIZES_ONE };

/* The argument of -S. */
struct pp_size_option {
	enum pp_size_choice choice;
	size_t one; /* for PP_SIZES_ONE */
};

enum { PP_SIZES_MAX = 46 };

/* The sizes to run, rising, none above @limit. */
struct pp_sizes {
	size_t count;
	size_t size[PP_SIZES_MAX];
};

/* Parses the argument of -S. Returns 0, or -EINVAL and leaves @ret_option alone. */
int pp_size_parse(const char *text, struct pp_size_option *ret_option);

void pp_sizes_fill(
	struct pp_sizes *sizes, const struct pp_size_option *option, size_t limit);

/* Largest size of the list; 0 when it is empty. */
size_t pp_sizes_largest(const struct pp_sizes *sizes);

#endif

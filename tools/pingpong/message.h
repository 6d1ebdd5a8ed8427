/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_MESSAGE_H
#define TOOLS_PINGPONG_MESSAGE_H

#include <stdbool.h>

/* Messages go to stderr, because scripts parse stdout. */
extern bool pp_debug_wanted;

void pp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pp_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that @what failed with the negative code @error, and returns @error. */
int pp_fail(const char *what, int error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PARSE_H
#define TOOLS_BENCH_PARSE_H

#include "options.h"

/* Parsing of arguments. All return false for an invalid text. */

/* A decimal number. */
bool fb_parse_number(const char *text, uint64_t *ret_number);
/* A number of bytes: k, m and g are 2^10, 2^20 and 2^30. */
bool fb_parse_bytes(const char *text, uint64_t *ret_bytes);
/* Sizes with commas between them; LOW:HIGH are the doubles of LOW up to HIGH. */
bool fb_parse_sizes(const char *text, struct fb_config *config);
/* Seconds, with a fraction or not. */
bool fb_parse_seconds(const char *text, uint64_t *ret_ns);
/* Names of tests with commas between them, or "all": all tests that are possible with
 * the options before. */
bool fb_parse_tests(const char *text, struct fb_config *config);
/* Processors: 0,2-4 of this process, and behind a colon those of the forked peer. */
bool fb_parse_cores(const char *text, struct fb_cores cores[2]);
bool fb_parse_yes(const char *text, uint8_t *ret_yes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_PATTERN_H
#define TOOLS_PINGPONG_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The data that -c sends and expects: digits, small and capital letters, over and over,
 * each message starting a few characters further than the one before. All fi_pingpong
 * programs agree on it. Both directions count from zero when the program starts.
 */
struct pp_pattern {
	unsigned int start; /* where the next message starts */
};

enum { PP_PATTERN_OK = -1 };

/* Writes the next message. */
void pp_pattern_fill(struct pp_pattern *pattern, char *buf, size_t len);

/*
 * Checks the next message. Returns PP_PATTERN_OK or the offset of the first wrong byte.
 * With @gaps, messages may be missing before this one, so that it may start anywhere.
 */
long pp_pattern_check(
	struct pp_pattern *pattern, const char *buf, size_t len, bool gaps);

#endif

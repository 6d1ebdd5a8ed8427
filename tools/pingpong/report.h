/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_REPORT_H
#define TOOLS_PINGPONG_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* Times and counts of one size. */
struct pp_result {
	size_t size;
	uint64_t sent;
	uint64_t acked;
	uint64_t elapsed_ns;
};

enum { PP_TEXT_LEN = 32, PP_ROW_LEN = 256 };

/* 1536 -> "1.5k": binary units, one digit behind the point below 10 if it is not 0. */
void pp_format_bytes(char text[PP_TEXT_LEN], uint64_t bytes);

/* 1500 -> "1k": decimal units, cut off. */
void pp_format_count(char text[PP_TEXT_LEN], uint64_t count);

void pp_format_row(char row[PP_ROW_LEN], const struct pp_result *result);

/* Prints the row, and the header before the first one; nothing if nothing was sent. */
void pp_report(const struct pp_result *result);

#endif

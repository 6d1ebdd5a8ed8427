/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static const char header[] = "bytes   #sent   #ack     total       time     MB/sec"
			     "    usec/xfer   Mxfers/sec";

void pp_format_bytes(char text[PP_TEXT_LEN], uint64_t bytes)
{
	static const char suffixes[] = "gmk";
	uint64_t unit = 1ULL << 30;
	uint64_t tenths;
	int i;

	for (i = 0; i < 3 && bytes < unit; i++)
		unit >>= 10;
	if (i == 3) {
		snprintf(text, PP_TEXT_LEN, "%" PRIu64, bytes);
		return;
	}
	tenths = bytes % unit * 10 / unit;
	if (bytes / unit < 10 && tenths)
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 ".%" PRIu64 "%c", bytes / unit,
			tenths, suffixes[i]);
	else
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 "%c", bytes / unit, suffixes[i]);
}

void pp_format_count(char text[PP_TEXT_LEN], uint64_t count)
{
	if (count >= 1000000000)
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 "b", count / 1000000000);
	else if (count >= 1000000)
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 "m", count / 1000000);
	else if (count >= 1000)
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 "k", count / 1000);
	else
		snprintf(text, PP_TEXT_LEN, "%" PRIu64, count);
}

/* The sign says which number is larger: '+' if more was sent than acknowledged. */
static char report_compare(const struct pp_result *r, uint64_t *ret_shown)
{
	if (r->sent == r->acked) {
		*ret_shown = r->acked;
		return '=';
	}
	if (r->sent > r->acked) {
		*ret_shown = r->sent - r->acked;
		return '+';
	}
	*ret_shown = r->acked - r->sent;
	return '-';
}

void pp_format_row(char row[PP_ROW_LEN], const struct pp_result *r)
{
	char size[PP_TEXT_LEN], sent[PP_TEXT_LEN], acked[PP_TEXT_LEN],
		total[PP_TEXT_LEN];
	uint64_t bytes = 2 * r->sent * r->size; /* both ways */
	uint64_t shown;
	double usec = (double)r->elapsed_ns / 1000.0;
	double usec_per_xfer = usec / (double)(2 * r->sent);
	char sign = report_compare(r, &shown);

	/* A clock that did not move must not print as "inf". */
	if (usec <= 0.0)
		usec = usec_per_xfer = 0.001;
	pp_format_bytes(size, r->size);
	pp_format_count(sent, r->sent);
	pp_format_count(acked, shown);
	pp_format_bytes(total, bytes);
	snprintf(row, PP_ROW_LEN, "%-8s%-8s%c%-8s%-8s%8.2fs%10.2f%11.2f%11.2f", size,
		sent, sign, acked, total, usec / 1e6, (double)bytes / usec,
		usec_per_xfer, 1.0 / usec_per_xfer);
}

void pp_report(const struct pp_result *r)
{
	static bool header_printed;
	char row[PP_ROW_LEN];

	if (!r->sent)
		return;
	if (!header_printed)
		puts(header);
	header_printed = true;
	pp_format_row(row, r);
	puts(row);
	/* A reader of a pipe sees each size when it is done. */
	fflush(stdout);
}

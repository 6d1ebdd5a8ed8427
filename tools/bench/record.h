/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_RECORD_H
#define TOOLS_BENCH_RECORD_H

#include <stdio.h>

#include "run.h"

enum { FB_LABEL_MAX = 256 };

/* A row of the output, as a CSV file has it. Times are those of one message. */
struct fb_record {
	enum fb_test test;
	uint64_t bytes, messages, lost;
	uint64_t first, last; /* of the messages of a ramp; 0: of another test */
	uint32_t threads, window;
	bool failed; /* in a file, a row without times */
	double best_ns, median_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/* The records of one measurement, with its label and configuration. */
struct fb_series {
	char label[FB_LABEL_MAX]; /* provider and library, or what --label says */
	char provider[FB_LABEL_MAX], domain[FB_LABEL_MAX], type[16];
	char version[16], library[FB_LABEL_MAX];
	struct fb_record *record;
	size_t count;
};

struct fb_record fb_record_of(const struct fb_row *row, uint32_t threads);

void fb_series_add(struct fb_series *series, const struct fb_record *record);
void fb_series_done(struct fb_series *series);

/* Millions of bytes, and of messages, in a second at @ns for a message. Both directions
 * of a bidirectional test count. */
double fb_megabytes(const struct fb_record *record, double ns);
double fb_megamessages(const struct fb_record *record, double ns);

/* The figure for a message that takes @ns, in the unit of the test: us, MB/s or
 * millions of messages in a second. */
double fb_shown(const struct fb_record *record, double ns);

/* Do both belong to one curve: the same test, and the same part of a ramp? */
bool fb_record_alike(const struct fb_record *a, const struct fb_record *b);

/* The record of the same test, part and bytes as @like, or NULL. */
const struct fb_record *fb_series_find(
	const struct fb_series *series, const struct fb_record *like);

/* The part of a ramp as FIRST-LAST; of other tests "". */
const char *fb_part_text(const struct fb_record *record, char text[48]);

/* ---- CSV (csv.c) ---- */

void fb_csv_header(FILE *file);
void fb_csv_record(
	FILE *file, const struct fb_series *series, const struct fb_record *record);

/* Reads a file into one series for each label. Returns NULL, or a text that says what
 * is wrong with the file. The caller frees *ret_series and its contents. */
const char *fb_csv_read(FILE *file, struct fb_series **ret_series, size_t *ret_count);

#endif

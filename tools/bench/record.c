/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>

#include "say.h"

static const double ps = 1000;

struct fb_record fb_record_of(const struct fb_row *row, uint32_t threads)
{
	return (struct fb_record){
		.test = row->test,
		.bytes = row->bytes,
		.messages = row->messages,
		.lost = row->lost,
		.first = row->first,
		.last = row->last,
		.threads = threads,
		.window = row->window,
		.failed = row->failed,
		.best_ns = row->best_ns,
		.median_ns = row->median_ns,
		.p50_ns = (double)fb_histogram_at(&row->hist, 0.5) / ps,
		.p90_ns = (double)fb_histogram_at(&row->hist, 0.9) / ps,
		.p99_ns = (double)fb_histogram_at(&row->hist, 0.99) / ps,
		.p999_ns = (double)fb_histogram_at(&row->hist, 0.999) / ps,
		.max_ns = (double)row->hist.max / ps,
	};
}

void fb_series_add(struct fb_series *series, const struct fb_record *record)
{
	struct fb_record *grown =
		realloc(series->record, (series->count + 1) * sizeof(*series->record));

	if (!grown)
		fb_die(FB_EXIT_FAILED, "no memory for another row");
	series->record = grown;
	series->record[series->count++] = *record;
}

void fb_series_done(struct fb_series *series)
{
	free(series->record);
	series->record = NULL;
	series->count = 0;
}

/* Messages that the time of a row is that of. */
static double record_messages(const struct fb_record *record)
{
	switch (record->test) {
	case FB_BIDIRECTIONAL:
	case FB_EXCHANGE:
		return 2;
	case FB_BURST:
		return 2.0 * record->window;
	default:
		return 1;
	}
}

double fb_megabytes(const struct fb_record *record, double ns)
{
	return ns > 0 ? record_messages(record) * (double)record->bytes * 1e3 / ns : 0;
}

double fb_megamessages(const struct fb_record *record, double ns)
{
	return ns > 0 ? record_messages(record) * 1e3 / ns : 0;
}

double fb_shown(const struct fb_record *record, double ns)
{
	switch (fb_tests[record->test].unit) {
	case FB_UNIT_BANDWIDTH:
		return fb_megabytes(record, ns);
	case FB_UNIT_RATE:
		return fb_megamessages(record, ns);
	default:
		return ns / 1000;
	}
}

bool fb_record_alike(const struct fb_record *a, const struct fb_record *b)
{
	return a->test == b->test && a->first == b->first && a->last == b->last;
}

const struct fb_record *fb_series_find(
	const struct fb_series *series, const struct fb_record *like)
{
	for (size_t i = 0; i < series->count; i++)
		if (fb_record_alike(&series->record[i], like) &&
			series->record[i].bytes == like->bytes)
			return &series->record[i];
	return NULL;
}

const char *fb_part_text(const struct fb_record *r, char text[48])
{
	text[0] = 0;
	if (r->last)
		snprintf(text, 48, "%" PRIu64 "-%" PRIu64, r->first, r->last);
	return text;
}

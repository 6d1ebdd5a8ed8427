/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

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
		.threads = threads,
		.window = row->window,
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

static double directions(const struct fb_record *record)
{
	return record->test == FB_BIDIRECTIONAL ? 2 : 1;
}

double fb_megabytes(const struct fb_record *record, double ns)
{
	return ns > 0 ? directions(record) * (double)record->bytes * 1e3 / ns : 0;
}

double fb_megamessages(const struct fb_record *record, double ns)
{
	return ns > 0 ? directions(record) * 1e3 / ns : 0;
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

const struct fb_record *fb_series_find(
	const struct fb_series *series, enum fb_test test, uint64_t bytes)
{
	for (size_t i = 0; i < series->count; i++)
		if (series->record[i].test == test && series->record[i].bytes == bytes)
			return &series->record[i];
	return NULL;
}

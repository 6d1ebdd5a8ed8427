/* SPDX-License-Identifier: BSD-2-Clause */
#include "table.h"

#include <inttypes.h>

static const double us = 1000, ps = 1000;

const char *fb_bytes_text(uint64_t bytes, char text[24])
{
	static const char units[] = { 0, 'k', 'm', 'g' };
	int unit = 0;

	while (unit < 3 && bytes >= 1024 && !(bytes % 1024)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, 24, "%" PRIu64 "%s", bytes, (char[2]){ units[unit] });
	return text;
}

static void table_describe_silence(const struct fb_node *node)
{
	const char *model = node->info->domain_attr->data_progress == FI_PROGRESS_AUTO
				    ? "auto"
				    : "manual";

	printf("# targets make no calls while operations are timed; data progress: "
	       "%s\n",
		model);
}

void fb_table_begin(const struct fb_series *series, const struct fb_node *node)
{
	const struct fb_config *config = node->config;

	printf("# %s, domain %s, endpoints %s, libfabric %s, %s\n", series->provider,
		series->domain, series->type, series->version, series->library);
	printf("# %u processes, threads of each: %u; buffers %s%s%s%s\n",
		config->members, config->threads,
		config->touch || config->verify ? "written and read each time"
						: "not touched",
		config->verify ? ", verified" : "", config->inject ? "; injected" : "",
		config->sleep ? "; blocking reads" : "");
	if (config->silent)
		table_describe_silence(node);
}

void fb_table_test(const struct fb_config *config, enum fb_test test)
{
	const struct fb_test_info *info = &fb_tests[test];

	printf("\n# %s: %s\n", info->name,
		config->silent && test == FB_WRITE_LATENCY
			? "writes, one after the other"
			: info->what);
	switch (info->unit) {
	case FB_UNIT_TIME:
		printf("%8s %12s %9s %9s %9s %9s %9s %10s\n", "bytes", "messages",
			"best us", "median", "p50", "p99", "p99.9", "max");
		break;
	case FB_UNIT_BANDWIDTH:
		printf("%8s %12s %9s %9s %9s %9s %12s\n", "bytes", "messages",
			"best MB/s", "median", "p99", "lost", "median M/s");
		break;
	case FB_UNIT_RATE:
		printf("%8s %12s %9s %9s %9s %9s %12s\n", "bytes", "messages",
			"best M/s", "median", "p99", "lost", "median ns");
		break;
	}
}

static void table_time_row(const struct fb_record *r)
{
	printf(" %9.3f %9.3f", r->best_ns / us, r->median_ns / us);
	if (r->max_ns > 0)
		printf(" %9.3f %9.3f %9.3f %10.3f", r->p50_ns / us, r->p99_ns / us,
			r->p999_ns / us, r->max_ns / us);
	if (r->lost)
		printf("   lost %" PRIu64, r->lost);
}

/* The early messages of a ramp by those of the steady state, whose row is before. */
static void table_early(const struct fb_series *series)
{
	const struct fb_record *r = &series->record[series->count - 1], *steady = r - 1;

	if (r->first == 2 && series->count > 1 && steady->test == FB_RAMP &&
		steady->median_ns > 0)
		printf("  %.2f times those of %" PRIu64 "-%" PRIu64,
			r->median_ns / steady->median_ns, steady->first, steady->last);
}

void fb_table_row(const struct fb_series *series)
{
	const struct fb_record *r = &series->record[series->count - 1];
	char bytes[24], part[48];

	printf("%8s ", fb_bytes_text(r->bytes, bytes));
	if (r->failed) {
		puts(" FAILED: not complete while the target makes no calls");
		fflush(stdout);
		return;
	}
	if (r->last)
		printf("%12s", fb_part_text(r, part));
	else
		printf("%12" PRIu64, r->messages);
	switch (fb_tests[r->test].unit) {
	case FB_UNIT_TIME:
		table_time_row(r);
		table_early(series);
		break;
	case FB_UNIT_BANDWIDTH:
		printf(" %9.1f %9.1f %9.1f %9" PRIu64 " %12.4f",
			fb_megabytes(r, r->best_ns), fb_megabytes(r, r->median_ns),
			fb_megabytes(r, r->p99_ns), r->lost,
			fb_megamessages(r, r->median_ns));
		break;
	case FB_UNIT_RATE:
		printf(" %9.3f %9.3f %9.3f %9" PRIu64 " %12.1f",
			fb_megamessages(r, r->best_ns),
			fb_megamessages(r, r->median_ns), fb_megamessages(r, r->p99_ns),
			r->lost, r->median_ns);
		break;
	}
	putchar('\n');
	fflush(stdout);
}

/* ---- bars ---- */

enum { BARS_MAX = 40, BAR_LEN = 50 };

/* The number of buckets in a bar, so that there are at most BARS_MAX bars. */
static uint32_t table_buckets_of_bar(uint32_t first, uint32_t last)
{
	uint32_t width = 1;

	while ((last - first) / width >= BARS_MAX)
		width *= 2;
	return width;
}

static void table_bar(double from_ns, uint64_t count, uint64_t most)
{
	int len = most ? (int)((count * BAR_LEN + most - 1) / most) : 0;

	printf("%18.3f us %10" PRIu64 " %.*s\n", from_ns / us, count, len,
		"##################################################");
}

/* Times above p99.9 are one line. */
void fb_table_histogram(const struct fb_row *row)
{
	const struct fb_histogram *h = &row->hist;
	uint64_t end = fb_histogram_at(h, 0.999), shown = 0, most = 0;
	uint32_t first = 0, last = 0, width;

	if (!h->total)
		return;
	while (!h->bucket[first])
		first++;
	for (uint32_t i = first; i < FB_HIST_BUCKETS && fb_histogram_low(i) <= end; i++)
		last = i;
	width = table_buckets_of_bar(first, last);
	for (int show = 0; show < 2; show++) {
		for (uint32_t i = first; i <= last; i += width) {
			uint64_t count = 0;

			for (uint32_t j = i; j < i + width && j <= last; j++)
				count += h->bucket[j];
			if (count > most)
				most = count;
			if (!show)
				continue;
			shown += count;
			table_bar((double)fb_histogram_low(i) / ps, count, most);
		}
	}
	if (h->total > shown)
		printf("%18s    %10" PRIu64 " up to %.3f us\n", "more",
			h->total - shown, (double)h->max / ps / us);
}

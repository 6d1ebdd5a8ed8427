/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <inttypes.h>

static void json_text(FILE *file, const char *name, const char *value)
{
	fprintf(file, "  \"%s\": \"", name);
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputs("\",\n", file);
}

void fb_json_begin(FILE *file, const struct fb_series *series)
{
	fputs("{\n", file);
	json_text(file, "label", series->label);
	json_text(file, "provider", series->provider);
	json_text(file, "domain", series->domain);
	json_text(file, "endpoint", series->type);
	json_text(file, "version", series->version);
	json_text(file, "library", series->library);
	fputs("  \"rows\": [", file);
}

static void json_histogram(FILE *file, const struct fb_histogram *h)
{
	const char *comma = "";

	fputs(", \"histogram\": [", file);
	for (uint32_t i = 0; i < FB_HIST_BUCKETS; i++) {
		if (!h->bucket[i])
			continue;
		fprintf(file, "%s[%.3f, %" PRIu64 "]", comma,
			(double)fb_histogram_low(i) / 1000, h->bucket[i]);
		comma = ", ";
	}
	fputs("]", file);
}

void fb_json_row(
	FILE *file, const struct fb_record *r, const struct fb_row *row, bool first)
{
	char part[48];

	fprintf(file,
		"%s\n    {\"test\": \"%s\", \"bytes\": %" PRIu64
		", \"threads\": %" PRIu32 ", \"window\": %" PRIu32
		", \"messages\": %" PRIu64 ", \"lost\": %" PRIu64
		", \"best_ns\": %.1f, \"median_ns\": %.1f, \"p50_ns\": %.1f, "
		"\"p90_ns\": %.1f, \"p99_ns\": %.1f, \"p999_ns\": %.1f, \"max_ns\": "
		"%.1f, "
		"\"megabytes_per_s\": %.3f, \"megamessages_per_s\": %.4f, "
		"\"part\": \"%s\", \"failed\": %s",
		first ? "" : ",", fb_tests[r->test].name, r->bytes, r->threads,
		r->window, r->messages, r->lost, r->best_ns, r->median_ns, r->p50_ns,
		r->p90_ns, r->p99_ns, r->p999_ns, r->max_ns,
		fb_megabytes(r, r->median_ns), fb_megamessages(r, r->median_ns),
		fb_part_text(r, part), r->failed ? "true" : "false");
	json_histogram(file, &row->hist);
	fputs("}", file);
}

void fb_json_end(FILE *file)
{
	fputs("\n  ]\n}\n", file);
}

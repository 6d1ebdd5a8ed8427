/* SPDX-License-Identifier: BSD-2-Clause */
/* One line for each row, after a line with the names of the columns. */
#include "record.h"
#include "say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum column {
	LABEL,
	PROVIDER,
	DOMAIN,
	TYPE,
	VERSION,
	LIBRARY,
	TEST,
	BYTES,
	THREADS,
	WINDOW,
	MESSAGES,
	LOST,
	BEST,
	MEDIAN,
	P50,
	P90,
	P99,
	P999,
	MAX,
	MEGABYTES,
	MEGAMESSAGES,
	PART, /* files of older versions do not have it */
	COLUMNS,
};

static const char *const names[COLUMNS] = {
	[LABEL] = "label",
	[PROVIDER] = "provider",
	[DOMAIN] = "domain",
	[TYPE] = "endpoint",
	[VERSION] = "version",
	[LIBRARY] = "library",
	[TEST] = "test",
	[BYTES] = "bytes",
	[THREADS] = "threads",
	[WINDOW] = "window",
	[MESSAGES] = "messages",
	[LOST] = "lost",
	[BEST] = "best_ns",
	[MEDIAN] = "median_ns",
	[P50] = "p50_ns",
	[P90] = "p90_ns",
	[P99] = "p99_ns",
	[P999] = "p999_ns",
	[MAX] = "max_ns",
	[MEGABYTES] = "megabytes_per_s",
	[MEGAMESSAGES] = "megamessages_per_s",
	[PART] = "part",
};

void fb_csv_header(FILE *file)
{
	for (int i = 0; i < COLUMNS; i++)
		fprintf(file, "%s%s", i ? "," : "", names[i]);
	fputc('\n', file);
}

static void csv_write_text(FILE *file, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		fprintf(file, "%s,", text);
		return;
	}
	fputc('"', file);
	for (; *text; text++)
		fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
	fputs("\",", file);
}

void fb_csv_record(
	FILE *file, const struct fb_series *series, const struct fb_record *record)
{
	char part[48];

	csv_write_text(file, series->label);
	csv_write_text(file, series->provider);
	csv_write_text(file, series->domain);
	csv_write_text(file, series->type);
	csv_write_text(file, series->version);
	csv_write_text(file, series->library);
	fprintf(file,
		"%s,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64
		",%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.3f,%.4f,%s\n",
		fb_tests[record->test].name, record->bytes, record->threads,
		record->window, record->messages, record->lost, record->best_ns,
		record->median_ns, record->p50_ns, record->p90_ns, record->p99_ns,
		record->p999_ns, record->max_ns,
		fb_megabytes(record, record->median_ns),
		fb_megamessages(record, record->median_ns), fb_part_text(record, part));
}

/* ---- reading ---- */

enum { FIELDS_MAX = 64 };

/* A line in fields, which stay in @line. Returns how many, or -1. */
static int csv_split(char *line, char *field[FIELDS_MAX])
{
	char *from = line, *to;
	int n = 0;

	line[strcspn(line, "\r\n")] = 0;
	for (;;) {
		bool quoted = *from == '"';

		if (n == FIELDS_MAX)
			return -1;
		from += quoted;
		field[n++] = to = from;
		while (*from && (quoted || *from != ',')) {
			if (quoted && *from == '"' && *++from != '"') {
				quoted = false;
				continue;
			}
			*to++ = *from++;
		}
		if (!*from) {
			*to = 0;
			return quoted ? -1 : n;
		}
		*to = 0;
		from++;
	}
}

static bool csv_find_columns(char *line, int where[COLUMNS])
{
	char *field[FIELDS_MAX];
	int n = csv_split(line, field);

	for (int i = 0; i < COLUMNS; i++) {
		where[i] = -1;
		for (int j = 0; j < n; j++)
			if (!strcmp(field[j], names[i]))
				where[i] = j;
		if (where[i] < 0 && i != PART)
			return false;
	}
	return true;
}

static bool csv_number(const char *text, double *ret_number)
{
	char *end;

	*ret_number = strtod(text, &end);
	return end != text && !*end && *ret_number >= 0 && *ret_number < 1e18;
}

static bool csv_test_of(const char *name, enum fb_test *ret_test)
{
	for (int test = 0; test < FB_TEST_COUNT; test++)
		if (!strcmp(fb_tests[test].name, name)) {
			*ret_test = test;
			return true;
		}
	return false;
}

/* A part of a ramp, or nothing. */
static bool csv_read_part(const char *text, struct fb_record *record)
{
	char end;

	return !*text || (sscanf(text, "%" SCNu64 "-%" SCNu64 "%c", &record->first,
				  &record->last, &end) == 2 &&
				 record->first && record->first <= record->last);
}

static bool csv_read_record(
	char *field[FIELDS_MAX], const int where[COLUMNS], struct fb_record *ret_record)
{
	double value[COLUMNS] = { 0 };

	for (int i = BYTES; i <= MAX; i++)
		if (!csv_number(field[where[i]], &value[i]))
			return false;
	*ret_record = (struct fb_record){
		.bytes = (uint64_t)value[BYTES],
		.threads = (uint32_t)value[THREADS],
		.window = (uint32_t)value[WINDOW],
		.messages = (uint64_t)value[MESSAGES],
		.lost = (uint64_t)value[LOST],
		.best_ns = value[BEST],
		.median_ns = value[MEDIAN],
		.p50_ns = value[P50],
		.p90_ns = value[P90],
		.p99_ns = value[P99],
		.p999_ns = value[P999],
		.max_ns = value[MAX],
		.failed = !(value[MEDIAN] > 0),
	};
	if (where[PART] >= 0 && !csv_read_part(field[where[PART]], ret_record))
		return false;
	return csv_test_of(field[where[TEST]], &ret_record->test);
}

static void csv_copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static struct fb_series *csv_series_of(struct fb_series **series, size_t *count,
	char *field[FIELDS_MAX], const int where[COLUMNS])
{
	struct fb_series *grown, *last;

	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*series)[i].label, field[where[LABEL]]))
			return &(*series)[i];
	grown = realloc(*series, (*count + 1) * sizeof(**series));
	if (!grown)
		fb_die(FB_EXIT_FAILED, "no memory for another series");
	*series = grown;
	last = &grown[(*count)++];
	memset(last, 0, sizeof(*last));
	csv_copy(last->label, sizeof(last->label), field[where[LABEL]]);
	csv_copy(last->provider, sizeof(last->provider), field[where[PROVIDER]]);
	csv_copy(last->domain, sizeof(last->domain), field[where[DOMAIN]]);
	csv_copy(last->type, sizeof(last->type), field[where[TYPE]]);
	csv_copy(last->version, sizeof(last->version), field[where[VERSION]]);
	csv_copy(last->library, sizeof(last->library), field[where[LIBRARY]]);
	return last;
}

const char *fb_csv_read(FILE *file, struct fb_series **ret_series, size_t *ret_count)
{
	char line[4096], *field[FIELDS_MAX];
	struct fb_record record;
	int where[COLUMNS], n;

	*ret_series = NULL;
	*ret_count = 0;
	if (!fgets(line, sizeof(line), file) || !csv_find_columns(line, where))
		return "it does not begin with the names of fi_bench's columns";
	while (fgets(line, sizeof(line), file)) {
		n = csv_split(line, field);
		for (int i = 0; i < COLUMNS; i++)
			if (n <= where[i])
				return "a line has too few columns";
		if (!csv_read_record(field, where, &record))
			return "a line has a word where a number or a test belongs";
		fb_series_add(
			csv_series_of(ret_series, ret_count, field, where), &record);
	}
	return NULL;
}

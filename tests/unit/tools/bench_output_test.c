/* SPDX-License-Identifier: BSD-2-Clause */
/* What fi_bench makes of known times: figures, and the formats of its outputs, which
 * scripts read, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include "../../../tools/bench/json.h"
#include "../../../tools/bench/say.h"
#include "../../../tools/bench/svg.h"
#include "../../../tools/bench/table.h"

_Noreturn void fb_die(int status, const char *format, ...)
{
	(void)status;
	(void)fprintf(stderr, "ended: %s\n", format);
	abort();
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { TEXT_MAX = 1 << 16 };

static char text[TEXT_MAX];

/* The text of a file that was written, which is closed. */
static const char *text_of(FILE *file)
{
	size_t n;

	rewind(file);
	n = fread(text, 1, TEXT_MAX - 1, file);
	text[n] = 0;
	(void)fclose(file);
	return text;
}

/* Times of 3 decimal digits at most, which doubles and the columns hold. */
static struct fb_record record_of(enum fb_test test, uint64_t bytes)
{
	return (struct fb_record){
		.test = test,
		.bytes = bytes,
		.messages = 320,
		.lost = 2,
		.threads = 3,
		.window = 5,
		.best_ns = 1500.5,
		.median_ns = 2000,
		.p50_ns = 2100,
		.p90_ns = 2200,
		.p99_ns = 2300,
		.p999_ns = 2400,
		.max_ns = 2500,
	};
}

static struct fb_series series_of(const struct fb_record *records, size_t count)
{
	struct fb_series s = { .provider = "tcp;ofi_rxm",
		.domain = "lo",
		.type = "rdm",
		.version = "2.6",
		.library = "/lib/libfabric.so.1",
		.label = "a \"b\", c" };

	for (size_t i = 0; i < count; i++)
		fb_series_add(&s, &records[i]);
	return s;
}

/* ---- figures ---- */

/* 2000 ns for 1000 bytes are 500 MB/s and half a million messages in a second, times
 * the messages that the time is of. */
static void figures_count_all_messages_of_a_time(void **state)
{
	static const struct {
		enum fb_test test;
		double messages;
	} rows[] = { { FB_LATENCY, 1 }, { FB_BANDWIDTH, 1 }, { FB_BIDIRECTIONAL, 2 },
		{ FB_RATE, 1 }, { FB_EXCHANGE, 2 }, { FB_BURST, 10 },
		{ FB_WRITE_LATENCY, 1 }, { FB_READ_BANDWIDTH, 1 }, { FB_ADD_RATE, 1 },
		{ FB_RAMP, 1 }, { FB_ALLREDUCE, 1 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct fb_record r = record_of(rows[i].test, 1000);

		assert_float_equal(
			fb_megabytes(&r, 2000), 500 * rows[i].messages, 1e-9);
		assert_float_equal(
			fb_megamessages(&r, 2000), 0.5 * rows[i].messages, 1e-9);
		assert_true(fb_megabytes(&r, 0) == 0);
		assert_true(fb_megamessages(&r, 0) == 0);
	}
}

static void figures_have_the_unit_of_the_test(void **state)
{
	struct fb_record latency = record_of(FB_LATENCY, 1000);
	struct fb_record bandwidth = record_of(FB_BANDWIDTH, 1000);
	struct fb_record rate = record_of(FB_RATE, 1000);

	(void)state;
	assert_float_equal(fb_shown(&latency, 2000), 2, 1e-9);
	assert_float_equal(fb_shown(&bandwidth, 2000), 500, 1e-9);
	assert_float_equal(fb_shown(&rate, 2000), 0.5, 1e-9);
}

/* The histogram has ps, the record ns; a bucket is at most a hundredth off. */
static void records_have_percentiles_in_ns(void **state)
{
	struct fb_row *row = calloc(1, sizeof(*row));
	struct fb_record r;

	(void)state;
	assert_non_null(row);
	row->test = FB_BURST;
	row->bytes = 8;
	row->messages = 9;
	row->lost = 4;
	row->first = 2;
	row->last = 100;
	row->window = 6;
	row->failed = true;
	row->best_ns = 10;
	row->median_ns = 20;
	for (uint64_t i = 1; i <= 10000; i++)
		fb_histogram_add(&row->hist, i * 1000);
	r = fb_record_of(row, 7);
	assert_int_equal(r.test, FB_BURST);
	assert_int_equal(r.bytes, 8);
	assert_int_equal(r.messages, 9);
	assert_int_equal(r.lost, 4);
	assert_int_equal(r.first, 2);
	assert_int_equal(r.last, 100);
	assert_int_equal(r.window, 6);
	assert_int_equal(r.threads, 7);
	assert_true(r.failed);
	assert_true(r.best_ns == 10 && r.median_ns == 20);
	assert_float_equal(r.p50_ns, 5000, 50);
	assert_float_equal(r.p90_ns, 9000, 90);
	assert_float_equal(r.p99_ns, 9900, 50);
	assert_float_equal(r.p999_ns, 9990, 9);
	assert_true(r.p99_ns < r.p999_ns);
	assert_true(r.max_ns == 10000);
	free(row);
}

static void bytes_have_the_largest_unit_that_divides(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = { { 0, "0" }, { 1, "1" }, { 1023, "1023" }, { 1024, "1k" },
		{ 1025, "1025" }, { 1536, "1536" }, { 3072, "3k" }, { 1 << 20, "1m" },
		{ (1 << 20) + 1024, "1025k" }, { 1 << 30, "1g" },
		{ UINT64_C(1) << 40, "1024g" } };
	char bytes[24];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(fb_bytes_text(rows[i].bytes, bytes), rows[i].text);
}

/* ---- windows and sizes that are not given ---- */

static void windows_are_chosen_by_size(void **state)
{
	static const struct {
		uint64_t bytes;
		uint32_t window;
	} rows[] = { { 0, 64 }, { 1, 64 }, { 256 << 10, 64 }, { 512 << 10, 32 },
		{ 4 << 20, 4 }, { 8 << 20, 4 } };
	struct fb_config c;

	(void)state;
	fb_config_init(&c);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(fb_config_window(&c, rows[i].bytes), rows[i].window);
	assert_int_equal(fb_config_burst(&c), 16);
	c.window = 3;
	assert_int_equal(fb_config_window(&c, 8 << 20), 3);
	assert_int_equal(fb_config_burst(&c), 3);
}

static void sizes_are_those_of_the_test(void **state)
{
	static const struct {
		enum fb_test test;
		uint32_t count;
		uint64_t first, second, last;
	} rows[] = { { FB_LATENCY, 18, 8, 16, 1 << 20 },
		{ FB_BANDWIDTH, 18, 8, 16, 1 << 20 }, { FB_RATE, 3, 8, 64, 512 },
		{ FB_RAMP, 3, 8, 512, 32 << 10 }, { FB_ALLREDUCE, 6, 8, 64, 256 << 10 },
		{ FB_FETCH_ADD, 1, 8, 0, 8 }, { FB_CONNECT, 1, 1, 0, 1 },
		{ FB_BARRIER, 1, 0, 0, 0 } };
	uint64_t sizes[FB_SIZES_MAX];
	struct fb_config c;

	(void)state;
	fb_config_init(&c);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			fb_config_sizes(&c, rows[i].test, sizes), rows[i].count);
		assert_int_equal(sizes[0], rows[i].first);
		if (rows[i].count > 1)
			assert_int_equal(sizes[1], rows[i].second);
		assert_int_equal(sizes[rows[i].count - 1], rows[i].last);
	}
	c.size_count = 2;
	c.size[0] = 5;
	c.size[1] = 3;
	assert_int_equal(fb_config_sizes(&c, FB_LATENCY, sizes), 2);
	assert_int_equal(sizes[1], 3);
	assert_int_equal(fb_config_sizes(&c, FB_COMPARE_SWAP, sizes), 1);
	assert_int_equal(sizes[0], 8);
	assert_int_equal(fb_config_sizes(&c, FB_BARRIER, sizes), 1);
	assert_int_equal(sizes[0], 0);
}

/* ---- CSV ---- */

static const char csv_names[] =
	"label,provider,domain,endpoint,version,library,test,bytes,threads,window,"
	"messages,lost,best_ns,median_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,"
	"megabytes_per_s,megamessages_per_s,part\n";

static void csv_keeps_its_columns(void **state)
{
	struct fb_record r[] = { record_of(FB_BURST, 1024), record_of(FB_RAMP, 8) };
	struct fb_series s;
	FILE *file = tmpfile();
	char wanted[2048];

	(void)state;
	assert_non_null(file);
	r[1].first = 2;
	r[1].last = 100;
	s = series_of(r, 2);
	fb_csv_header(file);
	fb_csv_record(file, &s, &s.record[0]);
	fb_csv_record(file, &s, &s.record[1]);
	(void)snprintf(wanted, sizeof(wanted), "%s%s%s%s%s", csv_names,
		"\"a \"\"b\"\", c\",tcp;ofi_rxm,lo,rdm,2.6,/lib/libfabric.so.1,",
		"burst,1024,3,5,320,2,1500.5,2000.0,2100.0,2200.0,2300.0,2400.0,2500.0,"
		"5120.000,5.0000,\n",
		"\"a \"\"b\"\", c\",tcp;ofi_rxm,lo,rdm,2.6,/lib/libfabric.so.1,",
		"ramp,8,3,5,320,2,1500.5,2000.0,2100.0,2200.0,2300.0,2400.0,2500.0,"
		"4.000,0.5000,2-100\n");
	assert_string_equal(text_of(file), wanted);
	fb_series_done(&s);
}

static void assert_same_record(const struct fb_record *a, const struct fb_record *b)
{
	assert_int_equal(a->test, b->test);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->messages, b->messages);
	assert_int_equal(a->lost, b->lost);
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->last, b->last);
	assert_int_equal(a->threads, b->threads);
	assert_int_equal(a->window, b->window);
	assert_true(a->best_ns == b->best_ns && a->median_ns == b->median_ns);
	assert_true(a->p50_ns == b->p50_ns && a->p90_ns == b->p90_ns);
	assert_true(a->p99_ns == b->p99_ns && a->p999_ns == b->p999_ns);
	assert_true(a->max_ns == b->max_ns);
}

static void csv_is_read_as_it_was_written(void **state)
{
	struct fb_record r[] = { record_of(FB_LATENCY, 8), record_of(FB_RAMP, 64),
		record_of(FB_RATE, 8) };
	FILE *file = tmpfile();
	struct fb_series s, other, *read;
	size_t count;

	(void)state;
	assert_non_null(file);
	r[1].first = 501;
	r[1].last = 1000;
	r[2].best_ns = r[2].median_ns = 0;
	s = series_of(r, 3);
	other = series_of(r, 1);
	(void)strcpy(other.label, "other");
	fb_csv_header(file);
	fb_csv_record(file, &s, &s.record[0]);
	fb_csv_record(file, &other, &other.record[0]);
	fb_csv_record(file, &s, &s.record[1]);
	fb_csv_record(file, &s, &s.record[2]);
	rewind(file);
	assert_null(fb_csv_read(file, &read, &count));
	(void)fclose(file);
	assert_int_equal(count, 2);
	assert_string_equal(read[0].label, s.label);
	assert_string_equal(read[0].provider, s.provider);
	assert_string_equal(read[0].domain, s.domain);
	assert_string_equal(read[0].type, s.type);
	assert_string_equal(read[0].version, s.version);
	assert_string_equal(read[0].library, s.library);
	assert_string_equal(read[1].label, "other");
	assert_int_equal(read[0].count, 3);
	assert_int_equal(read[1].count, 1);
	for (size_t i = 0; i < 3; i++) {
		assert_same_record(&read[0].record[i], &s.record[i]);
		/* Without times: it failed. */
		assert_int_equal(read[0].record[i].failed, i == 2);
	}
	fb_series_done(&s);
	fb_series_done(&other);
	fb_series_done(&read[0]);
	fb_series_done(&read[1]);
	free(read);
}

/* A whole file with one row, of which one column has another text. */
static const char *read_with(const char *column, const char *value)
{
	static const char row[] =
		"l,tcp,lo,rdm,2.6,/lib,latency,8,1,1,10,0,1,2,1,2,3,4,5,8,1,";
	struct fb_series *read = NULL;
	FILE *file = tmpfile();
	const char *at = csv_names, *from = row, *wrong;
	size_t count = 0;

	assert_non_null(file);
	(void)fputs(csv_names, file);
	while (*from || *at) {
		size_t name = strcspn(at, ",\n"), len = strcspn(from, ",");
		bool other = strlen(column) == name && !strncmp(at, column, name);

		(void)fprintf(file, "%.*s%c", other ? (int)strlen(value) : (int)len,
			other ? value : from, at[name]);
		at += name + 1;
		from += len + (from[len] == ',');
	}
	rewind(file);
	wrong = fb_csv_read(file, &read, &count);
	(void)fclose(file);
	for (size_t i = 0; i < count; i++)
		fb_series_done(&read[i]);
	free(read);
	return wrong;
}

static void csv_that_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *column, *good, *bad;
	} rows[] = { { "test", "rate", "rates" }, { "bytes", "0", "x" },
		{ "threads", "9", "-1" }, { "window", "1", "" },
		{ "messages", "1e17", "1e18" }, { "lost", "7", "7x" },
		{ "best_ns", "1.5", "nan" }, { "median_ns", "0", "inf" },
		{ "p50_ns", "0", "-0.5" }, { "p90_ns", "2", "two" },
		{ "p99_ns", "3", "" }, { "p999_ns", "4", "4;5" },
		{ "max_ns", "5", " " }, { "part", "1-1", "2-1" }, { "part", "", "0-5" },
		{ "part", "3-7", "3-" }, { "part", "3-7", "3-7x" } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_null(read_with(rows[i].column, rows[i].good));
		assert_non_null(read_with(rows[i].column, rows[i].bad));
	}
}

static const char *read_text(const char *content)
{
	struct fb_series *read;
	FILE *file = tmpfile();
	const char *wrong;
	size_t count;

	assert_non_null(file);
	(void)fputs(content, file);
	rewind(file);
	wrong = fb_csv_read(file, &read, &count);
	(void)fclose(file);
	assert_int_equal(count, 0);
	return wrong;
}

static void csv_of_other_programs_is_refused(void **state)
{
	char file[1024];

	(void)state;
	assert_non_null(read_text(""));
	assert_non_null(read_text("a,b,c\n1,2,3\n"));
	assert_null(read_text(csv_names));
	/* Files of older versions lack the last column, and no other. */
	(void)snprintf(file, sizeof(file), "%.*s\n",
		(int)(strlen(csv_names) - strlen(",part\n")), csv_names);
	assert_null(read_text(file));
	assert_non_null(read_text(strchr(csv_names, ',') + 1));
	(void)snprintf(file, sizeof(file), "%sl,tcp,lo\n", csv_names);
	assert_non_null(read_text(file));
	(void)snprintf(file, sizeof(file), "%s\"l,tcp,lo\n", csv_names);
	assert_non_null(read_text(file));
}

/* ---- JSON ---- */

static void json_keeps_its_fields(void **state)
{
	static const char wanted[] =
		"{\n  \"label\": \"a \\\"b\\\", c\\u0001\\\\\",\n"
		"  \"provider\": \"tcp;ofi_rxm\",\n  \"domain\": \"lo\",\n"
		"  \"endpoint\": \"rdm\",\n  \"version\": \"2.6\",\n"
		"  \"library\": \"/lib/libfabric.so.1\",\n  \"rows\": [\n"
		"    {\"test\": \"rate\", \"bytes\": 8, \"threads\": 3, \"window\": 5, "
		"\"messages\": 320, \"lost\": 2, \"best_ns\": 1500.5, "
		"\"median_ns\": 2000.0, \"p50_ns\": 2100.0, \"p90_ns\": 2200.0, "
		"\"p99_ns\": 2300.0, \"p999_ns\": 2400.0, \"max_ns\": 2500.0, "
		"\"megabytes_per_s\": 4.000, \"megamessages_per_s\": 0.5000, "
		"\"part\": \"\", \"failed\": false, "
		"\"histogram\": [[0.007, 2], [0.128, 1]]},\n"
		"    {\"test\": \"rate\", \"bytes\": 8, \"threads\": 3, \"window\": 5, "
		"\"messages\": 320, \"lost\": 2, \"best_ns\": 1500.5, "
		"\"median_ns\": 2000.0, \"p50_ns\": 2100.0, \"p90_ns\": 2200.0, "
		"\"p99_ns\": 2300.0, \"p999_ns\": 2400.0, \"max_ns\": 2500.0, "
		"\"megabytes_per_s\": 4.000, \"megamessages_per_s\": 0.5000, "
		"\"part\": \"1-10\", \"failed\": true, \"histogram\": []}\n  ]\n}\n";
	struct fb_row *rows = calloc(2, sizeof(*rows));
	struct fb_record r = record_of(FB_RATE, 8);
	struct fb_series s = series_of(NULL, 0);
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(rows);
	assert_non_null(file);
	(void)strcat(s.label, "\1\\");
	fb_histogram_add(&rows[0].hist, 7);
	fb_histogram_add(&rows[0].hist, 128);
	fb_histogram_add(&rows[0].hist, 7);
	fb_json_begin(file, &s);
	fb_json_row(file, &r, &rows[0], true);
	r.first = 1;
	r.last = 10;
	r.failed = true;
	fb_json_row(file, &r, &rows[1], false);
	fb_json_end(file);
	assert_string_equal(text_of(file), wanted);
	free(rows);
}

/* ---- the table ---- */

static int saved_stdout;
static FILE *caught;

static void catch_stdout(void)
{
	(void)fflush(stdout);
	caught = tmpfile();
	assert_non_null(caught);
	saved_stdout = dup(STDOUT_FILENO);
	assert_int_equal(dup2(fileno(caught), STDOUT_FILENO), STDOUT_FILENO);
}

static const char *caught_stdout(void)
{
	(void)fflush(stdout);
	(void)dup2(saved_stdout, STDOUT_FILENO);
	(void)close(saved_stdout);
	return text_of(caught);
}

static const char *row_text(const struct fb_record *records, size_t count)
{
	struct fb_series s = series_of(records, count);

	catch_stdout();
	fb_table_row(&s);
	fb_series_done(&s);
	return caught_stdout();
}

static const char *heading_text(enum fb_test test, bool silent)
{
	struct fb_config c;

	fb_config_init(&c);
	c.silent = silent;
	catch_stdout();
	fb_table_test(&c, test);
	return caught_stdout();
}

static void table_rows_have_the_units_of_their_heading(void **state)
{
	struct fb_record r[] = { record_of(FB_LATENCY, 8) };

	(void)state;
	r[0].lost = 0;
	assert_string_equal(heading_text(FB_LATENCY, false),
		"\n# latency: messages to and fro, time one way\n"
		"   bytes     messages   best us    median       p50       p99"
		"     p99.9        max\n");
	assert_string_equal(row_text(r, 1),
		"       8          320     1.500     2.000     2.100     2.300"
		"     2.400      2.500\n");
	r[0].lost = 2;
	r[0].max_ns = 0;
	assert_string_equal(
		row_text(r, 1), "       8          320     1.500     2.000   lost 2\n");
	r[0] = record_of(FB_BANDWIDTH, 4096);
	assert_string_equal(heading_text(FB_BANDWIDTH, false),
		"\n# bandwidth: messages in one direction\n"
		"   bytes     messages best MB/s    median       p99      lost"
		"   median M/s\n");
	assert_string_equal(row_text(r, 1),
		"      4k          320    2729.8    2048.0    1780.9         2"
		"       0.5000\n");
	r[0] = record_of(FB_RATE, 8);
	assert_string_equal(heading_text(FB_RATE, false),
		"\n# rate: small messages in one direction\n"
		"   bytes     messages  best M/s    median       p99      lost"
		"    median ns\n");
	assert_string_equal(row_text(r, 1),
		"       8          320     0.666     0.500     0.435         2"
		"       2000.0\n");
	r[0].failed = true;
	assert_string_equal(row_text(r, 1),
		"       8  FAILED: not complete while the target makes no calls\n");
	assert_non_null(strstr(
		heading_text(FB_WRITE_LATENCY, true), "writes, one after the other"));
	assert_non_null(
		strstr(heading_text(FB_WRITE_LATENCY, false), "writes to and fro"));
}

/* The early messages of a ramp are compared with the steady ones, whose row is
 * before. */
static void table_compares_the_parts_of_a_ramp(void **state)
{
	struct fb_record r[] = { record_of(FB_RAMP, 8), record_of(FB_RAMP, 8) };

	(void)state;
	r[0].first = 501;
	r[0].last = 1000;
	r[0].median_ns = 800;
	r[0].lost = r[1].lost = 0;
	assert_string_equal(row_text(r, 1),
		"       8     501-1000     1.500     0.800     2.100     2.300"
		"     2.400      2.500\n");
	r[1].first = 2;
	r[1].last = 100;
	assert_string_equal(row_text(r, 2),
		"       8        2-100     1.500     2.000     2.100     2.300"
		"     2.400      2.500  2.50 times those of 501-1000\n");
}

static void bars_show_how_often_times_occurred(void **state)
{
	struct fb_row *row = calloc(1, sizeof(*row));

	(void)state;
	assert_non_null(row);
	catch_stdout();
	fb_table_histogram(row);
	assert_string_equal(caught_stdout(), "");
	for (int i = 0; i < 1000; i++)
		fb_histogram_add(&row->hist, 100);
	for (int i = 0; i < 500; i++)
		fb_histogram_add(&row->hist, 101);
	fb_histogram_add(&row->hist, 102);
	fb_histogram_add(&row->hist, 7000000);
	catch_stdout();
	fb_table_histogram(row);
	assert_string_equal(caught_stdout(),
		"             0.000 us       1000 "
		"##################################################\n"
		"             0.000 us        500 #########################\n"
		"             0.000 us          1 #\n"
		"              more             1 up to 7.000 us\n");
	free(row);
}

/* ---- the picture ---- */

static const char *picture(const struct fb_record *records, size_t count)
{
	struct fb_series s = series_of(records, count);
	FILE *file = tmpfile();

	assert_non_null(file);
	fb_svg_write(file, &s, 1);
	fb_series_done(&s);
	return text_of(file);
}

static void has(const char *svg, const char *part)
{
	if (!strstr(svg, part))
		fail_msg("'%s' is not in:\n%s", part, svg);
}

/* 1 us of 8 bytes and 4 us of 64: logarithmic axes from 0.8 to 5 us. */
static void curves_are_where_their_times_belong(void **state)
{
	struct fb_record r[] = { record_of(FB_LATENCY, 8), record_of(FB_LATENCY, 64) };
	const char *svg;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		r[i].median_ns = r[i].p50_ns = r[i].p99_ns = i ? 4000 : 1000;
	}
	svg = picture(r, 2);
	has(svg, "points=\"80.0,339.2 680.0,85.8 \"/>\n<circle");
	has(svg, "cx=\"680.0\" cy=\"85.8\" r=\"2.2\"/>");
	has(svg, "width=\"960\" height=\"430\" viewBox=\"0 0 960 430\"");
	has(svg, ">time of a message, us</text>");
	has(svg, ">8</text>");
	has(svg, "x=\"280.0\" y=\"396\" text-anchor=\"middle\">16</text>");
	has(svg, ">64</text>");
	has(svg, "y=\"343.2\" text-anchor=\"end\">1</text>");
	has(svg, "text-anchor=\"end\">5</text>");
	has(svg, ">a \"b\", c</text>");
	has(svg, "<polygon ");
	assert_null(strstr(svg, ">0.5</text>"));
	/* A single size is in the middle, and no band. */
	svg = picture(r, 1);
	has(svg, "points=\"380.0,");
	assert_null(strstr(svg, "<polygon"));
}

/* One panel for each unit that has rows, below each other; what failed has no point. */
static void panels_are_those_of_the_units(void **state)
{
	struct fb_record r[] = { record_of(FB_BANDWIDTH, 8), record_of(FB_RATE, 8),
		record_of(FB_LATENCY, 8) };
	const char *svg;

	(void)state;
	r[2].median_ns = 0;
	svg = picture(r, 3);
	has(svg, "height=\"860\"");
	has(svg, "<text class=\"title\" x=\"80\" y=\"31\">bandwidth, MB/s</text>");
	has(svg, "<text class=\"title\" x=\"80\" y=\"461\">rate, millions of messages");
	assert_null(strstr(svg, "time of a message"));
	assert_null(strstr(svg, ">latency<"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_count_all_messages_of_a_time),
		cmocka_unit_test(figures_have_the_unit_of_the_test),
		cmocka_unit_test(records_have_percentiles_in_ns),
		cmocka_unit_test(bytes_have_the_largest_unit_that_divides),
		cmocka_unit_test(windows_are_chosen_by_size),
		cmocka_unit_test(sizes_are_those_of_the_test),
		cmocka_unit_test(csv_keeps_its_columns),
		cmocka_unit_test(csv_is_read_as_it_was_written),
		cmocka_unit_test(csv_that_is_wrong_is_refused),
		cmocka_unit_test(csv_of_other_programs_is_refused),
		cmocka_unit_test(json_keeps_its_fields),
		cmocka_unit_test(table_rows_have_the_units_of_their_heading),
		cmocka_unit_test(table_compares_the_parts_of_a_ramp),
		cmocka_unit_test(bars_show_how_often_times_occurred),
		cmocka_unit_test(curves_are_where_their_times_belong),
		cmocka_unit_test(panels_are_those_of_the_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

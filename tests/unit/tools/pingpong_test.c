/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of fi_pingpong that compute: size lists, rows, and the data that -c
 * sends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "../../../tools/pingpong/pattern.h"
#include "../../../tools/pingpong/report.h"
#include "../../../tools/pingpong/sizes.h"

static void size_words(void **state)
{
	static const char *const bad[] = { "", "-1", " 1", "+1", "1k", "ALL", "1.5",
		"2147483648", "99999999999999999999" };
	struct pp_size_option option = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(pp_size_parse("all", &option), 0);
	assert_int_equal(option.choice, PP_SIZES_ALL);
	assert_int_equal(pp_size_parse("0", &option), 0);
	assert_int_equal(option.choice, PP_SIZES_ONE);
	assert_int_equal(option.one, 0);
	assert_int_equal(pp_size_parse("4096", &option), 0);
	assert_int_equal(option.one, 4096);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pp_size_parse(bad[i], &option), -EINVAL);
	assert_int_equal(option.one, 4096);
}

static void all_sizes(void **state)
{
	static const size_t first[] = { 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 };
	struct pp_size_option option = { .choice = PP_SIZES_ALL };
	struct pp_sizes sizes;
	size_t i;

	(void)state;
	pp_sizes_fill(&sizes, &option, SIZE_MAX);
	assert_int_equal(sizes.count, 46);
	assert_memory_equal(sizes.size, first, sizeof(first));
	for (i = 1; i < sizes.count; i++)
		assert_true(sizes.size[i] > sizes.size[i - 1]);
	assert_int_equal(pp_sizes_largest(&sizes), 6 << 20);
}

static void sizes_are_limited(void **state)
{
	struct pp_size_option usual = { .choice = PP_SIZES_USUAL };
	struct pp_size_option all = { .choice = PP_SIZES_ALL };
	struct pp_size_option one = { .choice = PP_SIZES_ONE, .one = 1473 };
	struct pp_sizes sizes;

	(void)state;
	pp_sizes_fill(&sizes, &usual, SIZE_MAX);
	assert_int_equal(sizes.count, 6);
	assert_int_equal(pp_sizes_largest(&sizes), 1 << 20);
	pp_sizes_fill(&sizes, &usual, 1472);
	assert_int_equal(sizes.count, 3);
	pp_sizes_fill(&sizes, &all, 1472);
	assert_int_equal(sizes.count, 21);
	assert_int_equal(pp_sizes_largest(&sizes), 1024);
	pp_sizes_fill(&sizes, &one, 1472);
	assert_int_equal(sizes.count, 0);
	assert_int_equal(pp_sizes_largest(&sizes), 0);
	pp_sizes_fill(&sizes, &one, 1473);
	assert_int_equal(sizes.count, 1);
}

static void byte_texts(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = { { 0, "0" }, { 1023, "1023" }, { 1024, "1k" }, { 1100, "1k" },
		{ 1536, "1.5k" }, { 3839, "3.7k" }, { 10239, "9.9k" }, { 10240, "10k" },
		{ 17600, "17k" }, { 1048575, "1023k" }, { 1 << 20, "1m" },
		{ 6 << 20, "6m" }, { 3 << 19, "1.5m" }, { 1ULL << 30, "1g" },
		{ 13ULL << 30, "13g" } };
	char text[PP_TEXT_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pp_format_bytes(text, rows[i].bytes);
		assert_string_equal(text, rows[i].text);
	}
}

static void count_texts(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} rows[] = { { 0, "0" }, { 999, "999" }, { 1000, "1k" }, { 1999, "1k" },
		{ 10240, "10k" }, { 999999, "999k" }, { 1000000, "1m" },
		{ 1048576, "1m" }, { 2500000000, "2b" } };
	char text[PP_TEXT_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pp_format_count(text, rows[i].count);
		assert_string_equal(text, rows[i].text);
	}
}

/* Character for character what the programs in use print. */
static void rows_keep_their_columns(void **state)
{
	struct pp_result r = {
		.size = 64,
		.sent = 2,
		.acked = 2,
		.elapsed_ns = 710000,
	};
	char row[PP_ROW_LEN];

	(void)state;
	pp_format_row(row, &r);
	assert_string_equal(row,
		"64      2       =2       256         0.00s      0.36     177.50"
		"       0.01");
	r = (struct pp_result){ 6 << 20, 1100, 1100, 23480000000 };
	pp_format_row(row, &r);
	assert_string_equal(row,
		"6m      1k      =1k      12g        23.48s    589.49   10672.73"
		"       0.00");
}

static void rows_show_what_is_missing(void **state)
{
	struct pp_result r = {
		.size = 16,
		.sent = 3,
		.acked = 2,
		.elapsed_ns = 219000,
	};
	char row[PP_ROW_LEN];

	(void)state;
	pp_format_row(row, &r);
	assert_string_equal(row,
		"16      3       +1       96          0.00s      0.44      36.50"
		"       0.03");
	r.acked = 5;
	pp_format_row(row, &r);
	assert_memory_equal(row, "16      3       -2       96 ", 28);
}

static void rows_survive_a_stopped_clock(void **state)
{
	struct pp_result r = { .size = 1, .sent = 1, .acked = 1 };
	char row[PP_ROW_LEN];

	(void)state;
	pp_format_row(row, &r);
	assert_null(strstr(row, "inf"));
	assert_null(strstr(row, "nan"));
}

static void pattern_of_the_first_messages(void **state)
{
	struct pp_pattern p = { 0 };
	char buf[70];

	(void)state;
	pp_pattern_fill(&p, buf, 64);
	assert_memory_equal(buf,
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01", 64);
	pp_pattern_fill(&p, buf, 4);
	assert_memory_equal(buf, "789a", 4);
	/* An empty message counts as well. */
	pp_pattern_fill(&p, buf, 0);
	pp_pattern_fill(&p, buf, 3);
	assert_memory_equal(buf, "lmn", 3);
}

static void pattern_finds_wrong_bytes(void **state)
{
	struct pp_pattern tx = { 0 }, rx = { 0 };
	char buf[300];
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		pp_pattern_fill(&tx, buf, sizeof(buf));
		assert_int_equal(
			pp_pattern_check(&rx, buf, sizeof(buf), false), PP_PATTERN_OK);
	}
	pp_pattern_fill(&tx, buf, sizeof(buf));
	buf[217] ^= 1;
	assert_int_equal(pp_pattern_check(&rx, buf, sizeof(buf), false), 217);
}

static void pattern_with_lost_messages(void **state)
{
	struct pp_pattern tx = { 0 }, rx = { 0 };
	char buf[100];

	(void)state;
	pp_pattern_fill(&tx, buf, sizeof(buf));
	pp_pattern_fill(&tx, buf, sizeof(buf));
	assert_int_equal(pp_pattern_check(&rx, buf, sizeof(buf), true), PP_PATTERN_OK);
	/* From there on it is in step again. */
	pp_pattern_fill(&tx, buf, sizeof(buf));
	assert_int_equal(pp_pattern_check(&rx, buf, sizeof(buf), false), PP_PATTERN_OK);
	pp_pattern_fill(&tx, buf, sizeof(buf));
	buf[0] = 0;
	assert_int_equal(pp_pattern_check(&rx, buf, sizeof(buf), true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_words),
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(sizes_are_limited),
		cmocka_unit_test(byte_texts),
		cmocka_unit_test(count_texts),
		cmocka_unit_test(rows_keep_their_columns),
		cmocka_unit_test(rows_show_what_is_missing),
		cmocka_unit_test(rows_survive_a_stopped_clock),
		cmocka_unit_test(pattern_of_the_first_messages),
		cmocka_unit_test(pattern_finds_wrong_bytes),
		cmocka_unit_test(pattern_with_lost_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

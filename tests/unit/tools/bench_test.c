/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of fi_bench that compute: words of its command line, and histograms. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include "../../../tools/bench/histogram.h"
#include "../../../tools/bench/pace.h"
#include "../../../tools/bench/parse.h"
#include "../../../tools/bench/say.h"

static void bytes_have_units(void **state)
{
	static const char *const bad[] = { "", "k", "-1", "1kk", "1.5", "1t", " 1",
		"99999999999999999999" };
	uint64_t bytes;

	(void)state;
	assert_true(fb_parse_bytes("7", &bytes));
	assert_int_equal(bytes, 7);
	assert_true(fb_parse_bytes("3K", &bytes));
	assert_int_equal(bytes, 3072);
	assert_true(fb_parse_bytes("2g", &bytes));
	assert_int_equal(bytes, (uint64_t)2 << 30);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(fb_parse_bytes(bad[i], &bytes));
}

static void sizes_are_listed_and_doubled(void **state)
{
	static const uint64_t wanted[] = { 5, 8, 16, 32, 1024 };
	static const char *const bad[] = { "", ",", "8,", "8:4", "0", "8::16", "x",
		"2048g" };
	struct fb_config config;

	(void)state;
	fb_config_init(&config);
	assert_true(fb_parse_sizes("5,8:40,1k", &config));
	assert_int_equal(config.size_count, 5);
	assert_memory_equal(config.size, wanted, sizeof(wanted));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(fb_parse_sizes(bad[i], &config));
}

static void cores_of_two_sides(void **state)
{
	static struct fb_cores cores[2];

	(void)state;
	assert_true(fb_parse_cores("1,4-6:0", cores));
	assert_int_equal(cores[0].count, 4);
	assert_int_equal(cores[0].core[0], 1);
	assert_int_equal(cores[0].core[3], 6);
	assert_int_equal(cores[1].count, 1);
	assert_int_equal(cores[1].core[0], 0);
	assert_false(fb_parse_cores("6-4", cores));
	assert_false(fb_parse_cores("1:", cores));
	assert_false(fb_parse_cores("99999", cores));
}

static void tests_by_name(void **state)
{
	struct fb_config config;

	(void)state;
	fb_config_init(&config);
	assert_true(fb_parse_tests("rate,barrier", &config));
	assert_int_equal(config.tests, 1 << FB_RATE | 1 << FB_BARRIER);
	assert_false(fb_parse_tests("rate,", &config));
	assert_false(fb_parse_tests("rates", &config));
	assert_true(fb_parse_tests("all", &config));
	assert_int_equal(config.tests, (1 << FB_TEST_COUNT) - 1);
	assert_null(fb_config_check(&config));
	config.type = FI_EP_DGRAM;
	assert_true(fb_parse_tests("all", &config));
	assert_null(fb_config_check(&config));
}

/* All tests of operations on the memory of a target, and none of messages. */
static void tests_of_silent_targets(void **state)
{
	struct fb_config config;

	(void)state;
	fb_config_init(&config);
	config.silent = true;
	assert_true(fb_parse_tests("all", &config));
	assert_int_equal(
		config.tests, (1 << (FB_ADD_RATE + 1)) - (1 << FB_WRITE_LATENCY));
	assert_null(fb_config_check(&config));
	config.threads = 2;
	assert_non_null(fb_config_check(&config));
	config.threads = 1;
	config.inject = true;
	assert_non_null(fb_config_check(&config));
}

/* As it may come from a client. */
static void configurations_are_checked(void **state)
{
	struct fb_config good, bad;

	(void)state;
	fb_config_init(&good);
	good.tests = 1;
	assert_null(fb_config_check(&good));
#define REFUSED(field, value)                                                          \
	do {                                                                           \
		bad = good;                                                            \
		bad.field = (value);                                                   \
		assert_non_null(fb_config_check(&bad));                                \
	} while (0)
	REFUSED(tests, 0);
	REFUSED(tests, UINT64_C(1) << FB_TEST_COUNT);
	REFUSED(size_count, FB_SIZES_MAX + 1);
	REFUSED(size_count, 1);
	REFUSED(type, 77);
	REFUSED(threads, FB_THREADS_MAX + 1);
	REFUSED(window, FB_WINDOW_MAX + 1);
	REFUSED(verify, 2);
	REFUSED(silent, 2);
	REFUSED(progress, FI_PROGRESS_MANUAL + 1);
	REFUSED(silent, 1);
	REFUSED(duration_ns, 0);
	REFUSED(timeout_s, 0);
	bad = good;
	bad.call = FB_CALL_COUNT;
	assert_string_equal(fb_config_check(&bad), "unknown kind of calls or flow");
	bad = good;
	bad.flow = FB_FLOW_COUNT;
	assert_string_equal(fb_config_check(&bad), "unknown kind of calls or flow");
	bad = good;
	bad.threading = FI_THREAD_ENDPOINT + 1;
	assert_string_equal(fb_config_check(&bad), "unknown threading level");
	bad = good;
	memset(bad.provider, 'x', sizeof(bad.provider));
	assert_non_null(fb_config_check(&bad));
}

static void buckets_are_in_order(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < FB_HIST_BUCKETS; i++)
		assert_true(fb_histogram_low(i) > fb_histogram_low(i - 1));
}

/* Every value is counted in a bucket that is less than a hundredth wide. */
static void percentiles_are_close(void **state)
{
	static const uint64_t scales[] = { 1, 1000, 1000000007, UINT64_C(1) << 52 };
	struct fb_histogram *h = calloc(2, sizeof(*h));

	(void)state;
	assert_non_null(h);
	for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++) {
		memset(h, 0, sizeof(*h));
		for (uint64_t i = 1; i <= 1000; i++)
			fb_histogram_add(h, i * scales[s]);
		for (int i = 1; i < 10; i++) {
			double exact = (double)scales[s] * (i * 100 + 1);
			double told = (double)fb_histogram_at(h, i / 10.0);

			assert_true(told > exact * 0.99 && told < exact * 1.01);
		}
		assert_int_equal(fb_histogram_at(h, 1), 1000 * scales[s]);
		assert_int_equal(h->max, 1000 * scales[s]);
	}
	memset(h + 1, 0, sizeof(*h));
	assert_int_equal(fb_histogram_at(h + 1, 0.5), 0);
	fb_histogram_add(h + 1, 3);
	fb_histogram_merge(h + 1, h);
	assert_int_equal(h[1].total, 1001);
	assert_int_equal(fb_histogram_at(h + 1, 0), 3);
	assert_int_equal(h[1].max, h->max);
	free(h);
}

/* ---- paces ---- */

void *fb_alloc(size_t count, size_t size)
{
	void *mem = calloc(count, size);

	assert_non_null(mem);
	return mem;
}

/* A round is quiet if each processor kept nine tenths of its own best pace. */
static void rounds_are_quiet_or_not(void **state)
{
	static const struct fb_cores cores[2] = { { 1, { 0 } }, { 1, { 1 } } };
	static const struct {
		double worst[2];
		bool quiet;
	} rows[] = {
		{ { 50, 100 }, true },
		{ { 54, 109 }, true },
		{ { 56, 100 }, false },
		{ { 50, 111 }, false },
		{ { 200, 200 }, false },
	};
	enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
	struct fb_paces paces;

	(void)state;
	fb_paces_init(&paces, COUNT, cores);
	assert_int_equal(paces.cores, 2);
	paces.best[0] = 50;
	paces.best[1] = 100;
	for (uint32_t i = 0; i < COUNT; i++) {
		paces.worst[2 * i] = rows[i].worst[0];
		paces.worst[2 * i + 1] = rows[i].worst[1];
	}
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(fb_paces_quiet(&paces, i), rows[i].quiet);
	fb_paces_done(&paces);
}

/* Samples belong to their round, and leave the process where it may run. */
static void paces_are_sampled(void **state)
{
	struct fb_cores cores[2] = { { 0 } };
	cpu_set_t before, after;
	struct fb_paces paces;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (uint32_t core = 0; !cores[0].count && core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, &before))
			cores[0] = (struct fb_cores){ 1, { core } };
	fb_paces_init(&paces, 3, cores);
	fb_paces_sample(&paces, 1);
	assert_true(paces.best[0] > 0);
	assert_true(paces.worst[0] == 0);
	assert_true(paces.worst[1] == paces.best[0]);
	assert_true(paces.worst[2] == 0);
	fb_paces_sample(&paces, 1);
	assert_true(paces.worst[1] >= paces.best[0]);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	fb_paces_done(&paces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_quiet_or_not),
		cmocka_unit_test(paces_are_sampled),
		cmocka_unit_test(bytes_have_units),
		cmocka_unit_test(sizes_are_listed_and_doubled),
		cmocka_unit_test(cores_of_two_sides),
		cmocka_unit_test(tests_by_name),
		cmocka_unit_test(tests_of_silent_targets),
		cmocka_unit_test(configurations_are_checked),
		cmocka_unit_test(buckets_are_in_order),
		cmocka_unit_test(percentiles_are_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

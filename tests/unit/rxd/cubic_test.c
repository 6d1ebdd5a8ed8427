/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "providers/rxd/flow/cubic.h"
#include "providers/rxd/flow/delivery.h"
#include "sys/compiler.h"

/* The numbers of RFC 9438 and of the bandwidth that a path delivers, exactly. */

enum { PACKET = 1000, MS = 1000000 };

#define SECOND UINT64_C(1000000000)

/* RFC 6928: ten packets, but no more than 14600 bytes, or two. */
static void windows_at_the_beginning(void **state)
{
	static const struct {
		uint32_t packet;
		uint64_t cwnd;
	} cases[] = { { 1000, 10000 }, { 1460, 14600 }, { 1461, 14600 },
		{ 7300, 14600 }, { 7301, 14602 }, { 65507, 131014 } };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_cubic cc;

		rxd_cubic_init(&cc, cases[i].packet);
		assert_int_equal(cc.cwnd, cases[i].cwnd);
		assert_int_equal(cc.packet, cases[i].packet);
		assert_true(cc.ssthresh == UINT64_MAX);
		/* Larger packets: at least two of them. */
		rxd_cubic_packet(&cc, 10000);
		assert_int_equal(cc.packet, 10000);
		assert_int_equal(cc.cwnd, WF_MAX(cases[i].cwnd, UINT64_C(20000)));
	}
}

/* A loss: the window, the threshold and the maximum, with fast convergence if the last
 * maximum was not reached. */
static void windows_after_a_loss(void **state)
{
	static const struct {
		uint64_t cwnd, w_max, least;
		uint64_t to_cwnd, to_w_max;
	} cases[] = {
		{ 100000, 0, 0, 70000, 100000 },
		{ 100000, 99999, 0, 70000, 100000 },
		{ 100000, 100000, 0, 70000, 100000 },
		{ 100000, 100001, 0, 70000, 85000 },
		{ 2000, 0, 0, 2000, 2000 },
		{ 2858, 0, 0, 2000, 2858 },
		{ 100000, 0, 69999, 70000, 100000 },
		{ 100000, 0, 70001, 70001, 100000 },
		{ 100000, 5, 100000, 100000, 5 },
		{ 100000, 5, 100001, 100000, 5 },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		bool kept = cases[i].cwnd <= cases[i].least;
		struct rxd_cubic cc;

		rxd_cubic_init(&cc, PACKET);
		cc.cwnd = cases[i].cwnd;
		cc.w_max = cases[i].w_max;
		cc.start_ns = 5;
		rxd_cubic_lost(&cc, cases[i].least);
		assert_int_equal(cc.cwnd, cases[i].to_cwnd);
		assert_int_equal(cc.w_max, cases[i].to_w_max);
		assert_true(cc.ssthresh == (kept ? UINT64_MAX : cases[i].to_cwnd));
		assert_int_equal(cc.prior, kept ? 0 : cases[i].cwnd);
		assert_int_equal(cc.start_ns, kept ? 5 : 0);
	}
}

static void a_window_that_collapses(void **state)
{
	struct rxd_cubic cc;

	(void)state;
	rxd_cubic_init(&cc, PACKET);
	cc.cwnd = 100000;
	rxd_cubic_collapsed(&cc);
	assert_int_equal(cc.cwnd, 2 * PACKET);
	assert_int_equal(cc.ssthresh, 70000);
	assert_int_equal(cc.w_max, 100000);
	/* Slow start below the threshold, by what was acknowledged. */
	rxd_cubic_acked(&cc, 67999, MS, SECOND);
	assert_int_equal(cc.cwnd, 69999);
	assert_int_equal(cc.start_ns, 0);
	rxd_cubic_acked(&cc, 1, MS, SECOND);
	assert_int_equal(cc.cwnd, 70000);
	assert_int_equal(cc.start_ns, 0);
	rxd_cubic_acked(&cc, 1, MS, SECOND);
	assert_int_equal(cc.start_ns, SECOND);
}

/* The time until the window is back, for packets that it lost: the cube root. */
static void the_time_until_the_window_is_back(void **state)
{
	static const struct {
		uint64_t packets, ms;
	} cases[] = {
		{ 0, 0 },
		{ 1, 1357 },
		{ 300, 9085 },
		{ 400, 10000 }, /* exactly */
		{ 3200, 20000 },
		{ 1000000, 135720 },
		{ UINT64_C(1) << 31, 1751015 },
		{ UINT64_C(1) << 33, 1751015 },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_cubic cc;

		rxd_cubic_init(&cc, PACKET);
		cc.ssthresh = cc.cwnd = 10000;
		cc.w_max = cc.cwnd + cases[i].packets * PACKET;
		cc.reno_acked = 99999;
		rxd_cubic_acked(&cc, 0, 0, SECOND);
		assert_int_equal(cc.k_ns, cases[i].ms * MS);
		assert_int_equal(cc.start_ns, SECOND);
		assert_int_equal(cc.reno_acked, 0);
		assert_int_equal(cc.w_reno, 10000);
		assert_int_equal(cc.w_max, 10000 + cases[i].packets * PACKET);
	}
}

/* The window after whole windows were acknowledged at a time of a phase that began with
 * 100 packets of 400. */
static void the_cubic_function(void **state)
{
	static const struct {
		uint64_t w_max, after_ms, cwnd;
	} cases[] = {
		/* K is 9085 ms: 400 - 0.4 * 9.085^3 = 100. */
		{ 400000, 0, 100061 },
		{ 400000, 1000, 150000 }, /* not more than half as much again */
		/* Where nothing was lost it grows from there. */
		{ 100000, 0, 100000 },
		{ 100000, 1000, 100400 },
		{ 100000, 2000, 103200 },
		{ 100000, 9000, 150000 },
		/* A maximum below it is raised to it. */
		{ 5, 1000, 100400 },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_cubic cc;

		rxd_cubic_init(&cc, PACKET);
		cc.ssthresh = cc.cwnd = 100000;
		cc.w_max = cases[i].w_max;
		rxd_cubic_acked(&cc, 0, 0, SECOND);
		assert_int_equal(cc.cwnd, WF_MAX(UINT64_C(100000), cc.cwnd));
		/* The round trip counts as time that has passed. */
		rxd_cubic_acked(&cc, 100000 - 1, cases[i].after_ms * MS / 2,
			SECOND + cases[i].after_ms * MS / 2);
		assert_in_range(cc.cwnd, cases[i].cwnd - 1 - cases[i].cwnd / 20000,
			cases[i].cwnd);
	}
}

/* A phase that lasts for hours, and a clock that went back. */
static void times_beyond_the_function(void **state)
{
	struct rxd_cubic cc;
	uint64_t once;

	(void)state;
	rxd_cubic_init(&cc, 65507);
	cc.ssthresh = cc.cwnd = UINT64_C(1) << 38;
	rxd_cubic_acked(&cc, 0, 0, SECOND);
	rxd_cubic_acked(&cc, cc.cwnd, 0, 101 * SECOND);
	once = cc.cwnd;
	cc.cwnd = UINT64_C(1) << 38;
	rxd_cubic_acked(&cc, cc.cwnd, 0, 100000 * SECOND);
	assert_true(cc.cwnd == once);
	assert_true(once > UINT64_C(1) << 38);
	cc.cwnd = cc.w_reno = UINT64_C(1) << 38;
	cc.reno_acked = 0;
	rxd_cubic_acked(&cc, cc.cwnd / 2, 0, 0);
	assert_true(cc.cwnd == UINT64_C(1) << 38);
	/* The largest window. */
	cc.ssthresh = UINT64_MAX;
	rxd_cubic_acked(&cc, UINT64_C(1) << 41, 0, 0);
	assert_true(cc.cwnd == UINT64_C(1) << 40);
}

/* Reno's window, which the window follows where round trips are short: 9/17 of a packet
 * for a window, and a whole one above the window before the loss. */
static void the_window_of_reno(void **state)
{
	struct rxd_cubic cc;

	(void)state;
	rxd_cubic_init(&cc, PACKET);
	cc.cwnd = 17000;
	rxd_cubic_lost(&cc, 0);
	assert_int_equal(cc.cwnd, 11900);
	assert_int_equal(cc.prior, 17000);
	rxd_cubic_acked(&cc, 22477, 0, SECOND);
	assert_int_equal(cc.w_reno, 11900);
	cc.cwnd = 11900;
	rxd_cubic_acked(&cc, 1, 0, SECOND);
	assert_int_equal(cc.w_reno, 12900);
	assert_int_equal(cc.reno_acked, 22478 * 9 - 11900 * 17);
	cc.w_reno = cc.prior - 1;
	cc.reno_acked = 0;
	cc.cwnd = 20000;
	rxd_cubic_acked(&cc, 100, 0, SECOND);
	assert_int_equal(cc.reno_acked, 900);
	cc.w_reno = cc.prior;
	rxd_cubic_acked(&cc, 100, 0, SECOND);
	assert_int_equal(cc.reno_acked, 2600);
	rxd_cubic_acked(&cc, 20000 - 153, 0, SECOND);
	assert_int_equal(cc.w_reno, 17000);
	cc.reno_acked = 0;
	rxd_cubic_acked(&cc, 20000, 0, SECOND);
	assert_int_equal(cc.w_reno, 18000);
	assert_int_equal(cc.reno_acked, 0);
}

/* Periods of the largest sample: eight rounds in which the window was the limit; a
 * round ends with the transmission that was the next one when it began. */
static void periods_of_delivery(void **state)
{
	struct rxd_delivery d = { .delivered = 0 };
	const struct rxd_delivery_mark mark = { 0, 0, 0 };

	(void)state;
	rxd_delivery_acked(&d, 5000, MS);
	d.round_order = 10;
	assert_false(rxd_delivery_sample(&d, &mark, MS, 9, 20, true, MS));
	assert_int_equal(d.rounds, 0);
	assert_true(rxd_delivery_sample(&d, &mark, MS, 10, 20, true, MS));
	assert_int_equal(d.rounds, 1);
	assert_int_equal(d.round_order, 20);
	assert_int_equal(d.now_max, 5000000);
	assert_true(rxd_delivery_sample(&d, &mark, MS, 20, 21, false, MS));
	assert_int_equal(d.rounds, 1);
	for (unsigned int i = 2; i < 8; i++) {
		assert_true(
			rxd_delivery_sample(&d, &mark, MS, 19 + i, 20 + i, true, MS));
		assert_int_equal(d.rounds, i);
		assert_int_equal(d.last_max, 0);
	}
	assert_true(rxd_delivery_sample(&d, &mark, MS, 27, 28, true, MS));
	assert_int_equal(d.rounds, 0);
	assert_int_equal(d.last_max, 5000000);
	assert_int_equal(d.now_max, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_at_the_beginning),
		cmocka_unit_test(windows_after_a_loss),
		cmocka_unit_test(a_window_that_collapses),
		cmocka_unit_test(the_time_until_the_window_is_back),
		cmocka_unit_test(the_cubic_function),
		cmocka_unit_test(times_beyond_the_function),
		cmocka_unit_test(the_window_of_reno),
		cmocka_unit_test(periods_of_delivery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

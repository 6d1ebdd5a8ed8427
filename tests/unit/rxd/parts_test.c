/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "providers/rxd/flow/ack.h"
#include "providers/rxd/flow/cubic.h"
#include "providers/rxd/flow/delivery.h"
#include "providers/rxd/flow/early.h"
#include "providers/rxd/flow/hello.h"
#include "providers/rxd/flow/rtt.h"

/* The parts of a flow that stand alone. */

static void rts_is_extended_or_not(void **state)
{
	struct rxd_rts rts = { .index = 5,
		.extended = true,
		.ext = { 9000, 77, true } },
		       got;
	uint8_t packet[RXD_RTS_SIZE];

	(void)state;
	memcpy(rts.name, "name", 4);
	rxd_rts_write(&rts, packet);
	assert_true(rxd_rts_read(packet, sizeof(packet), &got));
	assert_true(got.extended);
	assert_int_equal(got.index, 5);
	assert_int_equal(got.ext.max_packet, 9000);
	assert_int_equal(got.ext.epoch, 77);
	assert_true(got.ext.wants_seals);
	assert_memory_equal(got.name, rts.name, sizeof(rts.name));
	assert_false(rxd_rts_read(packet, sizeof(packet) - 1, &got));
	/* Any other byte is old memory of a peer that knows no extension. */
	for (size_t i = 2; i < sizeof(packet); i++) {
		packet[i] ^= 1;
		assert_true(rxd_rts_read(packet, sizeof(packet), &got));
		assert_false(got.extended);
		packet[i] ^= 1;
	}
	packet[0] = 1;
	assert_false(rxd_rts_read(packet, sizeof(packet), &got));
}

static void cts_answers_one_epoch(void **state)
{
	const struct rxd_cts cts = { 3, 4, true, { 65507, 99, false } };
	uint8_t packet[RXD_CTS_SIZE];
	struct rxd_cts got;

	(void)state;
	rxd_cts_write(&cts, 7, packet);
	assert_true(rxd_cts_read(packet, sizeof(packet), 7, &got));
	assert_true(got.extended);
	assert_int_equal(got.echo, 3);
	assert_int_equal(got.index, 4);
	assert_int_equal(got.ext.epoch, 99);
	assert_false(got.ext.wants_seals);
	assert_true(rxd_cts_read(packet, sizeof(packet), 8, &got));
	assert_false(got.extended);
}

/* A peer of another library that makes its CTS out of the bytes of an RTS. */
static void reused_bytes_are_no_extension(void **state)
{
	const struct rxd_rts rts = {
		.index = 5, .extended = true, .ext = { 9000, 77, false }
	};
	uint8_t packet[RXD_RTS_SIZE];
	struct rxd_cts got;

	(void)state;
	rxd_rts_write(&rts, packet);
	packet[1] = RXD_CTS;
	assert_true(rxd_cts_read(packet, sizeof(packet), 77, &got));
	assert_false(got.extended);
}

static void epochs_grow(void **state)
{
	uint32_t last = rxd_epoch_new();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint32_t epoch = rxd_epoch_new();

		assert_true(rxd_epoch_after(epoch, last));
		last = epoch;
	}
	assert_true(rxd_epoch_after(5, UINT32_MAX - 5));
}

static void ack_of_both_kinds(void **state)
{
	struct rxd_ack ack = { .next = 1000,
		.window = 128,
		.extended = true,
		.refused = 13,
		.largest = 1472,
		.words = 3,
		.early = { 1, 0, UINT64_C(1) << 63 } };
	uint8_t packet[RXD_ACK_SIZE_MAX];
	struct rxd_ack got;
	size_t len = rxd_ack_write(&ack, 9, packet);

	(void)state;
	assert_int_equal(len, RXD_ACK_SIZE + 16);
	assert_true(rxd_ack_read(packet, len, true, &got));
	assert_true(got.extended);
	assert_int_equal(got.next, 1000);
	assert_int_equal(got.window, 128);
	assert_int_equal(got.refused, 13);
	assert_int_equal(got.words, 3);
	assert_memory_equal(got.early, ack.early, 24);
	assert_true(rxd_ack_read(packet, len, false, &got));
	assert_false(got.extended);
	assert_int_equal(got.refused, 0);
	assert_int_equal(got.words, 0);
	assert_false(rxd_ack_read(packet, RXD_ACK_SIZE - 1, true, &got));
}

static void halves_of_numbers(void **state)
{
	uint32_t number, next;

	(void)state;
	rxd_seq_unpack(rxd_seq_pack(UINT64_C(0x1fffffff0), 5), &number, &next);
	assert_int_equal(next, 5);
	assert_int_equal(
		rxd_seq_widen(number, UINT64_C(0x1ffffff00)), UINT64_C(0x1fffffff0));
	assert_int_equal(
		rxd_seq_widen(3, UINT64_C(0x1fffffff0)), UINT64_C(0x200000003));
	assert_int_equal(rxd_seq_widen(0xfffffff0, UINT64_C(0x200000003)),
		UINT64_C(0x1fffffff0));
}

static void timeouts(void **state)
{
	struct rxd_rtt rtt;

	(void)state;
	rxd_rtt_init(&rtt);
	assert_int_equal(rxd_rtt_timeout(&rtt), RXD_RTO_FIRST);
	rxd_rtt_sample(&rtt, 10000000);
	/* RFC 6298: smoothed + 4 * half of it. */
	assert_int_equal(rxd_rtt_timeout(&rtt), 30000000);
	for (int i = 0; i < 1000; i++)
		rxd_rtt_sample(&rtt, 20000);
	assert_int_equal(rxd_rtt_timeout(&rtt), RXD_PROBE_MIN);
	rtt.backoff = 1;
	assert_int_equal(rxd_rtt_timeout(&rtt), 2 * RXD_RTO_MIN);
	rtt.backoff = 3;
	assert_int_equal(rxd_rtt_timeout(&rtt), 8 * RXD_RTO_MIN);
	rtt.backoff = 1000;
	assert_int_equal(rxd_rtt_timeout(&rtt), RXD_RTO_MAX);
}

/* Acknowledge whole windows for @ms milliseconds, @rtt_ms each. */
static void grow(
	struct rxd_cubic *cc, unsigned int ms, unsigned int rtt_ms, uint64_t *now)
{
	for (unsigned int t = 0; t < ms; t += rtt_ms) {
		*now += rtt_ms * UINT64_C(1000000);
		for (uint64_t left = cc->cwnd; left >= 1500; left -= 1500)
			rxd_cubic_acked(cc, 1500, rtt_ms * UINT64_C(1000000), *now);
	}
}

static void cubic_window(void **state)
{
	struct rxd_cubic cc;
	uint64_t now = 1000000000, before;

	(void)state;
	rxd_cubic_init(&cc, 1500);
	assert_int_equal(cc.cwnd, 14600);
	grow(&cc, 50, 10, &now);
	/* Slow start doubles it. */
	assert_in_range(cc.cwnd, 14600 * 28, 14600 * 32);
	cc.cwnd = 1500 * 1000;
	rxd_cubic_lost(&cc, 1500 * 500);
	assert_in_range(cc.cwnd, 1500 * 699, 1500 * 700);
	before = cc.cwnd;
	/* RFC 9438: K = cbrt(300 / 0.4) = 9.09 s until the window is back. */
	grow(&cc, 4500, 100, &now);
	assert_in_range(cc.cwnd, 1500 * 930, 1500 * 980);
	grow(&cc, 4500, 100, &now);
	assert_in_range(cc.cwnd, 1500 * 990, 1500 * 1010);
	grow(&cc, 4500, 100, &now);
	assert_in_range(cc.cwnd, 1500 * 1025, 1500 * 1060);
	/* Where round trips are short, Reno grows faster. */
	before = cc.cwnd = 1500 * 100;
	cc.ssthresh = before;
	cc.w_max = before;
	cc.start_ns = 0;
	grow(&cc, 100, 1, &now);
	assert_in_range(cc.cwnd, before + 1500 * 50, before + 1500 * 110);
	rxd_cubic_collapsed(&cc);
	assert_int_equal(cc.cwnd, 3000);
}

/* A loss leaves at least what the path delivers, and a smaller window as it is. */
static void cubic_window_of_a_lossy_path(void **state)
{
	struct rxd_cubic cc;

	(void)state;
	rxd_cubic_init(&cc, 1500);
	cc.cwnd = 1500 * 100;
	rxd_cubic_lost(&cc, 1500 * 90);
	assert_int_equal(cc.cwnd, 1500 * 90);
	assert_int_equal(cc.ssthresh, 1500 * 90);
	rxd_cubic_lost(&cc, 1500 * 90);
	assert_int_equal(cc.cwnd, 1500 * 90);
	rxd_cubic_lost(&cc, 1500 * 91);
	assert_int_equal(cc.cwnd, 1500 * 90);
	rxd_cubic_lost(&cc, 0);
	assert_int_equal(cc.cwnd, 1500 * 63);
}

/* Rounds of a window of 10 packets with 1000 bytes, one millisecond each. */
static void deliver_rounds(struct rxd_delivery *d, unsigned int rounds, bool limited,
	uint64_t *order, uint64_t *now_ns)
{
	const uint64_t ms = 1000000;

	for (unsigned int i = 0; i < rounds; i++) {
		struct rxd_delivery_mark mark = rxd_delivery_sent(d, i == 0, *now_ns);

		*now_ns += ms;
		rxd_delivery_acked(d, 10000, *now_ns);
		*order += 10;
		assert_true(rxd_delivery_sample(
			d, &mark, *now_ns - ms, *order - 1, *order, limited, ms));
		/* An acknowledgement within the round that follows ends none. */
		assert_false(rxd_delivery_sample(
			d, &mark, *now_ns - ms, *order - 1, *order, limited, ms));
	}
}

static void delivered_bandwidth(void **state)
{
	const uint64_t ms = 1000000;
	struct rxd_delivery d = { .delivered = 0 };
	uint64_t order = 0, now_ns = 500 * ms;
	struct rxd_delivery_mark mark;

	(void)state;
	assert_int_equal(rxd_delivery_window(&d, ms), 0);
	deliver_rounds(&d, 3, true, &order, &now_ns);
	/* 10 MB/s for a millisecond and the pause of processes. */
	assert_int_equal(rxd_delivery_window(&d, ms), 12000);
	assert_int_equal(rxd_delivery_window(&d, ms / 100), 300);
	/* Acknowledgements in a bunch: the time of sending counts. */
	mark = rxd_delivery_sent(&d, false, now_ns);
	mark.first_sent_ns = now_ns - 10 * ms;
	rxd_delivery_acked(&d, 50000, now_ns + ms);
	(void)rxd_delivery_sample(&d, &mark, now_ns, order, order + 1, true, ms);
	assert_int_equal(rxd_delivery_window(&d, ms), 12000);
	/* Less than the shortest round trip is no sample. */
	now_ns += ms;
	mark = rxd_delivery_sent(&d, false, now_ns);
	mark.first_sent_ns = now_ns;
	rxd_delivery_acked(&d, 50000, now_ns + ms / 2);
	(void)rxd_delivery_sample(&d, &mark, now_ns, order, order + 1, true, ms);
	assert_int_equal(rxd_delivery_window(&d, ms), 12000);
	/* A faster round is remembered for one to two periods of rounds in which the
	 * window was the limit, and without end in others. */
	now_ns += ms;
	mark = rxd_delivery_sent(&d, true, now_ns);
	rxd_delivery_acked(&d, 100000, now_ns + ms);
	(void)rxd_delivery_sample(&d, &mark, now_ns, order, order + 1, true, ms);
	now_ns += ms;
	deliver_rounds(&d, 100, false, &order, &now_ns);
	assert_int_equal(rxd_delivery_window(&d, ms), 120000);
	deliver_rounds(&d, 8, true, &order, &now_ns);
	assert_int_equal(rxd_delivery_window(&d, ms), 120000);
	deliver_rounds(&d, 8, true, &order, &now_ns);
	assert_int_equal(rxd_delivery_window(&d, ms), 12000);
}

/* Early packets of one flow leave memory for those of another one. */
static void early_packets_share_memory(void **state)
{
	enum { LEN = 100, LIMIT = 100 * LEN };
	struct rxd_early greedy = { 0 }, other = { 0 };
	uint8_t packet[LEN] = { 0 };
	size_t kept = 0;

	(void)state;
	for (uint64_t n = 1; n < 200; n++)
		(void)rxd_early_keep(&greedy, n, 0, packet, LEN, &kept, LIMIT);
	assert_true(greedy.bytes > 0 && greedy.bytes <= LIMIT / 2);
	for (uint64_t n = 1; n <= 10; n++)
		assert_true(rxd_early_keep(&other, n, 0, packet, LEN, &kept, LIMIT));
	assert_int_equal(kept, greedy.bytes + other.bytes);
	rxd_early_done(&greedy, &kept);
	rxd_early_done(&other, &kept);
	assert_int_equal(kept, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rts_is_extended_or_not),
		cmocka_unit_test(cts_answers_one_epoch),
		cmocka_unit_test(reused_bytes_are_no_extension),
		cmocka_unit_test(epochs_grow),
		cmocka_unit_test(ack_of_both_kinds),
		cmocka_unit_test(halves_of_numbers),
		cmocka_unit_test(timeouts),
		cmocka_unit_test(cubic_window),
		cmocka_unit_test(cubic_window_of_a_lossy_path),
		cmocka_unit_test(delivered_bandwidth),
		cmocka_unit_test(early_packets_share_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

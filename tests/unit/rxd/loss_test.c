/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* A sender whose peer acknowledges by hand: which packets it sends again, and when; and
 * what becomes of the windows. */

enum { SENT = 20, WIDE = 64 * HAND_BYTES };

/* 1 to 20 were sent at *@ret_sent; a round trip has passed. The congestion window is no
 * limit. */
static void in_flight(struct hand *h, bool extended, uint64_t *ret_sent)
{
	hand_open(h, extended);
	h->flow.out.cc.cwnd = WIDE;
	*ret_sent = h->now;
	hand_start(h, SENT);
	if (extended)
		hand_expect(h, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
	hand_forget(h);
	h->now += HAND_RTT;
}

/* Others arrived before the packets that are missing: these are lost if three that were
 * sent later arrived, or 9/8 of a round trip after they were sent. */
static void an_overtaken_packet(void **state)
{
	static const struct {
		uint64_t early;
		const char *at_once, *in_time;
	} cases[] = {
		{ 1, "", "1!" },
		{ 3, "", "1!" },
		{ 7, "1!", "" },
		{ 2, "", "1! 2!" },
		{ 4, "1!", "2! 3!" },
		{ 8, "1! 2!", "3! 4!" },
		{ 0x7fffe, "1! 2!", "" },
	};
	struct hand h;
	uint64_t sent;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		uint64_t late = (uint64_t)HAND_RTT * 9 / 8;

		in_flight(&h, true, &sent);
		hand_ack(&h, 1, cases[i].early);
		hand_expect(&h, cases[i].at_once);
		if (*cases[i].in_time)
			assert_int_equal(rxd_flow_deadline(&h.flow), sent + late);
		hand_run_at(&h, sent + late - 1);
		hand_expect(&h, "");
		hand_run_at(&h, sent + late);
		hand_expect(&h, cases[i].in_time);
		/* What was sent again is not lost at once. */
		hand_run_at(&h, sent + late + 1);
		hand_expect(&h, "");
		hand_done(&h);
	}
}

/* Losses of packets that were sent before the window shrank do not shrink it again. */
static void a_window_shrinks_once_in_a_round(void **state)
{
	struct hand h;
	uint64_t sent, once = (uint64_t)WIDE * 7 / 10;

	(void)state;
	in_flight(&h, true, &sent);
	hand_ack(&h, 1, 7);
	hand_expect(&h, "1!");
	assert_int_equal(h.flow.out.cc.cwnd, once);
	hand_ack(&h, 1, 0x3c7);
	hand_expect(&h, "5! 6! 7!");
	assert_int_equal(h.flow.out.cc.cwnd, once);
	/* The last packet before it, too; one that was sent afterwards does. */
	hand_ack(&h, 20, 0);
	hand_start(&h, 5);
	hand_expect(&h, "21 22 23 24 25");
	h.now += HAND_RTT;
	hand_ack(&h, 20, 0x7);
	hand_expect(&h, "20!");
	assert_int_equal(h.flow.out.cc.cwnd, once);
	hand_ack(&h, 24, 0);
	hand_start(&h, 5);
	hand_expect(&h, "done1 26 27 28 29 30");
	hand_ack(&h, 24, 0xe);
	hand_expect(&h, "24! 25!");
	assert_int_equal(h.flow.out.cc.cwnd, once * 7 / 10);
	hand_done(&h);
}

/* A packet that was sent twice gives no sample of the round trip, unless its last
 * transmission is the one that arrived. */
static void round_trips_of_packets_that_were_sent_once(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	in_flight(&h, true, &sent);
	hand_ack(&h, 1, 7);
	hand_expect(&h, "1!");
	assert_int_equal(h.flow.out.rtt.smoothed, HAND_RTT);
	h.now += 1000;
	hand_ack(&h, 2, 3);
	assert_int_equal(h.flow.out.rtt.min, HAND_RTT);
	assert_int_equal(h.flow.out.rtt.smoothed, HAND_RTT);
	/* Of several, that of the packet sent last counts. */
	h.now = sent + 2 * (uint64_t)HAND_RTT;
	hand_start(&h, 1);
	h.now += 4 * HAND_MS;
	hand_ack(&h, 22, 0);
	assert_int_equal(h.flow.out.rtt.min, 4 * HAND_MS);
	hand_done(&h);
}

/* Acknowledgements that cannot be right change nothing. */
static void impossible_acknowledgements(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	in_flight(&h, true, &sent);
	hand_ack(&h, 22, 0);
	hand_ack(&h, UINT64_MAX, 0);
	hand_ack(&h, 0, 0);
	hand_ack(&h, 21 - 64, 1);
	hand_packet(&h, RXD_DATA, 0, 22, RXD_FLAG_EXT);
	hand_expect(&h, "");
	assert_int_equal(h.flow.out.board.una, 1);
	assert_int_equal(h.flow.out.board.in_flight, SENT * HAND_BYTES);
	/* Not those behind the last packet, 20, of which nothing is known. */
	hand_ack(&h, 10, UINT64_MAX << 10);
	assert_int_equal(h.flow.out.board.in_flight, 11 * HAND_BYTES);
	hand_ack(&h, 10, UINT64_C(1) << 9);
	assert_int_equal(h.flow.out.board.in_flight, 10 * HAND_BYTES);
	hand_expect(&h, "10! 11! 12! 13! 14! 15! 16! 17!");
	hand_ack(&h, 21, 0);
	hand_expect(&h, "done1");
	assert_true(rxd_flow_idle(&h.flow));
	assert_int_equal(rxd_flow_deadline(&h.flow), h.flow.in.delay_ns);
	hand_done(&h);
}

/* As many packets are unacknowledged as the peer allows, and one if it allows none. */
static void the_window_of_the_peer(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	h.flow.out.cc.cwnd = WIDE;
	hand_give_ack(&h, 1, 0, 3, 0);
	hand_start(&h, 9);
	hand_expect(&h, "1 2 3!");
	hand_give_ack(&h, 2, 0, 3, 0);
	hand_run(&h);
	hand_expect(&h, "4!");
	hand_give_ack(&h, 5, 0, 0, 0);
	hand_run(&h);
	hand_expect(&h, "5!");
	hand_give_ack(&h, 5, 0, 1, 0);
	hand_run(&h);
	hand_expect(&h, "");
	hand_give_ack(&h, 6, 0, 2, 0);
	hand_run(&h);
	hand_expect(&h, "6 7!");
	hand_done(&h);
}

/* The congestion window: packets of it, and one if nothing is in flight. */
static void the_congestion_window(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	h.flow.out.cc.cwnd = 3 * HAND_BYTES;
	hand_start(&h, 9);
	hand_expect(&h, "1 2 3!");
	assert_true(h.flow.out.limited);
	/* Slow start: it grows by what was acknowledged. */
	h.now += HAND_RTT;
	hand_ack(&h, 2, 0);
	hand_expect(&h, "4 5!");
	assert_int_equal(h.flow.out.cc.cwnd, 4 * HAND_BYTES);
	h.flow.out.cc.cwnd = 4 * HAND_BYTES - 1;
	hand_ack(&h, 3, 0);
	assert_int_equal(h.flow.out.cc.cwnd, 5 * HAND_BYTES - 1);
	hand_expect(&h, "6!");
	h.flow.out.cc.cwnd = 1;
	h.flow.out.limited = false;
	hand_ack(&h, 7, 0);
	hand_expect(&h, "7!");
	/* A window that was not the limit does not grow. */
	h.flow.out.cc.cwnd = WIDE;
	hand_run(&h);
	hand_expect(&h, "8 9");
	hand_ack(&h, 10, 0);
	hand_expect(&h, "done1");
	assert_int_equal(h.flow.out.cc.cwnd, WIDE);
	hand_done(&h);
}

/* The numbers in packets have 32 bits. */
static void numbers_beyond_32_bits(void **state)
{
	const uint64_t first = UINT64_C(0x1fffffffe);
	struct hand h;

	(void)state;
	hand_open(&h, true);
	rxd_board_clear(&h.flow.out.board, first);
	h.flow.in.next = first;
	hand_start(&h, 5);
	hand_expect(&h, "8589934590 8589934591 8589934592 8589934593 8589934594");
	h.now += HAND_RTT;
	hand_ack(&h, first, 0x8);
	hand_expect(&h, "8589934590! 8589934591!");
	hand_packet(&h, RXD_DATA, first, first + 3, RXD_FLAG_EXT);
	assert_int_equal(h.flow.out.board.una, first + 3);
	hand_packet(&h, RXD_DATA, first + 3, first + 3, RXD_FLAG_EXT);
	hand_packet(&h, RXD_DATA, first + 1, first + 3, RXD_FLAG_EXT);
	hand_run(&h);
	hand_expect(&h, "ack8589934592(8589934593)");
	hand_packet(&h, RXD_DATA, first + 2, first + 5, RXD_FLAG_EXT);
	hand_run(&h);
	hand_expect(&h, "done1 ack8589934594");
	hand_done(&h);
}

/* The peer refuses a transfer: one packet skips the rest of it. */
static void a_refused_transfer(void **state)
{
	struct hand h;

	(void)state;
	for (int complete = 0; complete < 2; complete++) {
		hand_open(&h, true);
		h.flow.out.cc.cwnd = WIDE;
		h.flow.out.window = complete ? HAND_WINDOW : 5;
		hand_start(&h, 8);
		hand_start(&h, 2);
		hand_expect(&h, complete ? "1 2 3 4 5 6 7 8 9 10" : "1 2 3 4 5!");
		hand_give_ack(&h, 3, 0, 0, FI_EACCES);
		hand_run(&h);
		hand_expect(&h, complete ? "fail1:13 skip3+6" : "fail1:13 skip3+3");
		/* It is repeated while it is under way. */
		hand_give_ack(&h, 3, 0, 0, FI_EACCES);
		hand_run(&h);
		hand_expect(&h, "");
		h.now = h.flow.out.timeout_ns;
		hand_run(&h);
		hand_expect(&h, complete ? "skip3+6" : "skip3+3");
		hand_ack(&h, complete ? 9 : 6, 0);
		hand_expect(&h, complete ? "" : "6 7");
		hand_ack(&h, complete ? 11 : 8, 0);
		hand_expect(&h, "done2");
		assert_true(rxd_flow_idle(&h.flow));
		hand_done(&h);
	}
}

/* What does not fit into the queue below is sent by the next run. */
static void a_full_queue_below(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	h.full = true;
	hand_start(&h, 2);
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now);
	hand_run_at(&h, h.now + 1);
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now);
	h.full = false;
	hand_run_at(&h, h.now + 1);
	hand_expect(&h, "rts");
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now + 10 * HAND_MS);
	h.full = true;
	hand_give_cts(&h, hand_cts(&h, true));
	hand_run(&h);
	assert_int_equal(rxd_flow_deadline(&h.flow), 0);
	h.full = false;
	hand_run(&h);
	hand_expect(&h, "0 1");
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now + RXD_RTO_FIRST);
	/* An acknowledgement. */
	h.full = true;
	hand_data(&h, 0);
	hand_data(&h, 1);
	hand_run(&h);
	assert_int_equal(rxd_flow_deadline(&h.flow), 0);
	h.full = false;
	hand_run(&h);
	hand_expect(&h, "done0 ack2");
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	hand_done(&h);
}

/* The provider below takes packets together: so many are collected, then it takes all of
 * them but @batch_left. */
enum { BATCH = 3 };

static size_t batch_count, batch_left;

static ssize_t batch_send(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	if (batch_count == BATCH)
		return -FI_ENOSPC;
	batch_count++;
	return hand_send(flow, xfer, k, base);
}

static size_t batch_flush(struct rxd_flow *flow)
{
	hand_log(hand_of(flow), "flush%zu", batch_count);
	batch_count = 0;
	return batch_left;
}

/* A packet that did not fit starts the next batch; where the provider below has not
 * taken the last one it is not sent, but by the next run. */
static void a_full_batch(void **state)
{
	struct rxd_flow_ops ops = hand_ops;
	struct hand h;

	(void)state;
	ops.send = batch_send;
	ops.flush = batch_flush;
	hand_init(&h);
	h.config.ops = &ops;
	batch_count = batch_left = 0;
	hand_start(&h, 4);
	hand_run(&h);
	hand_expect(&h, "rts");
	hand_give_cts(&h, hand_cts(&h, true));
	hand_run(&h);
	hand_expect(&h, "0 1 2 flush3 3 flush1");
	hand_ack(&h, 4, 0);
	hand_expect(&h, "done0");
	batch_left = 2;
	hand_start(&h, 5);
	hand_expect(&h, "4 5 6 flush3");
	assert_int_equal(rxd_flow_deadline(&h.flow), 0);
	assert_int_equal(h.flow.out.board.next, 7);
	batch_left = 0;
	hand_run(&h);
	hand_expect(&h, "5! 6! 7 flush3 8 flush1 ack0");
	hand_ack(&h, 9, 0);
	hand_expect(&h, "done1");
	hand_done(&h);
}

/* A transfer can be cancelled before its first packet. */
static void a_cancel(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	h.flow.out.window = 1;
	hand_start(&h, 2);
	hand_start(&h, 1);
	hand_expect(&h, "1!");
	assert_false(rxd_flow_cancel(&h.flow, &h.xfers[1].xfer));
	assert_true(rxd_flow_cancel(&h.flow, &h.xfers[2].xfer));
	hand_ack(&h, 2, 0);
	hand_expect(&h, "2");
	assert_false(rxd_flow_idle(&h.flow));
	hand_ack(&h, 3, 0);
	hand_expect(&h, "done1");
	assert_true(rxd_flow_idle(&h.flow));
	hand_done(&h);
}

/* The loss of what was sent after the window shrank shrinks it again, from the first
 * packet on. */
static void the_next_round_of_losses(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	in_flight(&h, true, &sent);
	hand_ack(&h, 1, 7);
	hand_start(&h, 3);
	hand_expect(&h, "1! 21 22 23");
	/* 21 to 23 overtake 1, which was sent again before them; those between them are
	 * lost, too, and belong to the first round. */
	hand_ack(&h, 1, UINT64_C(0x700007));
	assert_int_equal(h.flow.out.cc.cwnd, (uint64_t)WIDE * 7 / 10 * 7 / 10);
	hand_done(&h);
}

/* Losses that show after two timeouts: all packets were lost for long. */
static void losses_after_timeouts(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	for (unsigned int rounds = 1; rounds <= 3; rounds++) {
		in_flight(&h, true, &sent);
		for (unsigned int i = 0; i < rounds; i++)
			hand_run_at(&h, h.flow.out.timeout_ns);
		assert_int_equal(h.flow.out.cc.cwnd, WIDE);
		hand_give_ack(&h, 2, 0x100, HAND_WINDOW, 0);
		assert_int_equal(h.flow.out.cc.cwnd,
			rounds < 2 ? (uint64_t)WIDE * 7 / 10 : 2 * HAND_BYTES);
		hand_done(&h);
	}
}

/* With Westwood, five losses of a round in slow start do not end it, and the window
 * does not become smaller than what the path delivers. */
static void losses_of_a_lossy_path(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	for (unsigned int losses = 4; losses <= 7; losses++) {
		in_flight(&h, true, &sent);
		h.config.westwood = true;
		h.flow.out.delivery.round_order = UINT64_MAX;
		hand_give_ack(&h, 1, UINT64_C(1) << (losses + 1), HAND_WINDOW, 0);
		assert_int_equal(h.flow.out.board.lost, losses);
		assert_int_equal(h.flow.out.cc.cwnd == WIDE, losses < 6);
		assert_int_equal(h.flow.out.start_losses, WF_MIN(losses, 6u));
		hand_done(&h);
	}
	/* Behind slow start each one counts; a round that ends forgives those
	 * before. */
	in_flight(&h, true, &sent);
	h.config.westwood = true;
	h.flow.out.cc.ssthresh = WIDE;
	hand_give_ack(&h, 1, 7, HAND_WINDOW, 0);
	assert_true(h.flow.out.cc.cwnd < WIDE);
	hand_done(&h);
	in_flight(&h, true, &sent);
	h.config.westwood = true;
	h.flow.out.start_losses = 5;
	hand_give_ack(&h, 2, 1, HAND_WINDOW, 0);
	assert_int_equal(h.flow.out.start_losses, 0);
	assert_int_equal(h.flow.out.delivery.first_sent_ns, sent);
	hand_done(&h);
}

/* Which transmission of a packet that was sent twice arrived is known when its last one
 * is as old as the shortest round trip. */
static void the_transmission_that_arrived(void **state)
{
	struct hand h;
	uint64_t sent;

	(void)state;
	for (int old = 0; old < 2; old++) {
		in_flight(&h, true, &sent);
		hand_ack(&h, 1, 7);
		hand_expect(&h, "1!");
		/* Packet 0 had the order 0, and the last one of 20 the order 20. */
		assert_int_equal(h.flow.out.arrived_order, 4);
		h.now += HAND_RTT - 1 + (uint64_t)old;
		hand_give_ack(&h, 2, 3, HAND_WINDOW, 0);
		assert_int_equal(h.flow.out.arrived_order, old ? 21 : 4);
		hand_done(&h);
	}
	/* One that was sent once, however soon. */
	in_flight(&h, true, &sent);
	h.now = sent + 1;
	hand_give_ack(&h, 2, 0, HAND_WINDOW, 0);
	assert_int_equal(h.flow.out.arrived_order, 1);
	assert_int_equal(h.flow.out.rtt.min, 1);
	hand_done(&h);
}

/* Everything arrived after a timeout, at a peer of another library: nothing is lost. */
static void a_timeout_without_a_loss(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	hand_start(&h, 1);
	hand_run_at(&h, h.flow.out.timeout_ns);
	hand_give_ack(&h, 2, 0, HAND_WINDOW, 0);
	assert_int_equal(h.flow.out.cc.cwnd, 14600);
	assert_true(h.flow.out.cc.ssthresh == UINT64_MAX);
	hand_done(&h);
}

/* Operations that start transfers: these wait until the flow runs. */
static void transfers_that_are_started_meanwhile(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_start(&h, 1);
	h.starts = 1;
	hand_give_ack(&h, 2, 0, HAND_WINDOW, 0);
	hand_expect(&h, "1 done1");
	hand_run(&h);
	hand_expect(&h, "2");
	h.starts = 1;
	hand_data(&h, 0);
	hand_expect(&h, "done2");
	hand_run(&h);
	hand_expect(&h, "3");
	h.starts = 1;
	hand_give_ack(&h, 3, 0, HAND_WINDOW, FI_EACCES);
	hand_expect(&h, "fail3:13");
	hand_run(&h);
	hand_expect(&h, "skip3+1 4");
	h.starts = 1;
	hand_start(&h, 1);
	rxd_flow_left(&h.flow);
	hand_expect(&h, "5 restart fail4:104 fail5:104");
	hand_run(&h);
	hand_expect(&h, "rts");
	/* The flow is not left as if an operation were being called. */
	hand_give_cts(&h, hand_cts(&h, true));
	hand_run(&h);
	hand_expect(&h, "0");
	hand_done(&h);
	/* A window that stays closed: failed is called by a timer. */
	hand_open(&h, false);
	hand_start(&h, 1);
	hand_give_ack(&h, 1, 0, 0, 0);
	while (h.flow.out.rounds < 12)
		hand_run_at(&h, h.flow.out.timeout_ns);
	hand_forget(&h);
	h.starts = 1;
	h.flow.greeting.asking = false;
	h.flow.greeting.at_ns = UINT64_MAX;
	hand_run_at(&h, h.flow.out.timeout_ns);
	hand_expect(&h, "fail1:121 1");
	hand_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_overtaken_packet),
		cmocka_unit_test(a_window_shrinks_once_in_a_round),
		cmocka_unit_test(round_trips_of_packets_that_were_sent_once),
		cmocka_unit_test(impossible_acknowledgements),
		cmocka_unit_test(the_window_of_the_peer),
		cmocka_unit_test(the_congestion_window),
		cmocka_unit_test(numbers_beyond_32_bits),
		cmocka_unit_test(a_refused_transfer),
		cmocka_unit_test(a_full_queue_below),
		cmocka_unit_test(a_full_batch),
		cmocka_unit_test(a_cancel),
		cmocka_unit_test(the_next_round_of_losses),
		cmocka_unit_test(losses_after_timeouts),
		cmocka_unit_test(losses_of_a_lossy_path),
		cmocka_unit_test(the_transmission_that_arrived),
		cmocka_unit_test(a_timeout_without_a_loss),
		cmocka_unit_test(transfers_that_are_started_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* Timers of a flow, whose clock the test moves: when packets and greetings are
 * repeated, and when a peer is given up. */

#define SECOND    (UINT64_C(1000) * HAND_MS)
#define PATIENCE  (30 * SECOND)
#define SILENCE   (4 * SECOND)
#define FIRST_RTO (3 * (uint64_t)HAND_RTT) /* RFC 6298 after one sample */

/* The flow does nothing until @at_ns, and then what is in @text. */
#define expect_at(h, at_ns, text)                                                      \
	do {                                                                           \
		assert_int_equal(rxd_flow_deadline(&(h)->flow), at_ns);                \
		hand_run_at(h, (at_ns)-1);                                             \
		hand_expect(h, "");                                                    \
		hand_run_at(h, at_ns);                                                 \
		hand_expect(h, text);                                                  \
	} while (0)

/* Run at each deadline before @end_ns. */
static void run_until(struct hand *h, uint64_t end_ns)
{
	while (rxd_flow_deadline(&h->flow) < end_ns)
		hand_run_at(h, WF_MAX(rxd_flow_deadline(&h->flow), h->now + 1));
	hand_run_at(h, end_ns - 1);
	hand_forget(h);
}

/* The oldest packet is repeated after times that double, from the third time on with a
 * greeting; the transfers fail when the peer was silent for the time of patience after
 * the first timeout. */
static void a_silent_peer(void **state)
{
	uint64_t at, stalled, epoch;
	struct hand h;

	(void)state;
	hand_open(&h, true);
	epoch = h.flow.greeting.own_epoch;
	hand_start(&h, 3);
	hand_start(&h, 1);
	hand_expect(&h, "1 2 3 4");
	stalled = at = h.now + FIRST_RTO;
	expect_at(&h, at, "1!");
	at += 2 * FIRST_RTO;
	expect_at(&h, at, "1!");
	at += 4 * FIRST_RTO;
	expect_at(&h, at, "rts 1!");
	expect_at(&h, at + 10 * HAND_MS, "rts");
	expect_at(&h, at + 30 * HAND_MS, "rts");
	run_until(&h, stalled + PATIENCE);
	expect_at(&h, stalled + PATIENCE, "restart fail1:111 fail2:111");
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	/* The peer sees another instance of this end, with another index. */
	assert_int_equal(h.flow.own_index, HAND_INDEX + 1);
	assert_true(rxd_epoch_after(h.flow.greeting.own_epoch, (uint32_t)epoch));
	assert_int_equal(h.flow.state, RXD_FLOW_NEW);
	hand_start(&h, 1);
	hand_expect(&h, "rts");
	hand_done(&h);
}

/* An acknowledgement ends the doubling, and the time of patience begins anew. */
static void progress_resets_timers(void **state)
{
	struct hand h;
	uint64_t at;

	(void)state;
	hand_open(&h, true);
	hand_start(&h, 2);
	hand_expect(&h, "1 2");
	at = h.now + FIRST_RTO;
	expect_at(&h, at, "1!");
	expect_at(&h, at + 2 * FIRST_RTO, "1!");
	hand_ack(&h, 2, 0);
	assert_int_equal(h.flow.out.rtt.smoothed, HAND_RTT);
	at = h.now + FIRST_RTO;
	expect_at(&h, at, "2!");
	hand_ack(&h, 3, 0);
	hand_expect(&h, "done1");
	hand_start(&h, 1);
	hand_expect(&h, "3");
	at = h.now + h.flow.out.rtt.smoothed + 4 * h.flow.out.rtt.variation;
	expect_at(&h, at, "3!");
	run_until(&h, at + PATIENCE);
	expect_at(&h, at + PATIENCE, "restart fail2:111");
	hand_done(&h);
}

/* A peer that is heard, and takes nothing, is given up after six times as long. */
static void a_peer_that_takes_nothing(void **state)
{
	uint64_t stalled, heard;
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_start(&h, 1);
	hand_expect(&h, "1");
	stalled = h.now + FIRST_RTO;
	expect_at(&h, stalled, "1!");
	for (heard = stalled + SECOND; heard < stalled + 6 * PATIENCE;
		heard += PATIENCE - 1) {
		run_until(&h, heard);
		h.now = heard;
		hand_give_cts(&h, hand_cts(&h, true));
	}
	run_until(&h, stalled + 6 * PATIENCE);
	assert_false(rxd_flow_idle(&h.flow));
	expect_at(&h, stalled + 6 * PATIENCE, "restart fail1:111");
	hand_done(&h);
}

/* Heard once, a peer has the time of patience from then on. */
static void a_peer_that_falls_silent(void **state)
{
	uint64_t stalled, heard;
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_start(&h, 1);
	stalled = h.now + FIRST_RTO;
	heard = stalled + PATIENCE / 2;
	run_until(&h, heard);
	h.now = heard;
	hand_give_cts(&h, hand_cts(&h, true));
	run_until(&h, heard + PATIENCE);
	assert_false(rxd_flow_idle(&h.flow));
	expect_at(&h, heard + PATIENCE, "restart fail1:111");
	hand_done(&h);
}

/* Where the provider below loses nothing, nothing is repeated towards a peer of another
 * library, and that it is heard does not matter. */
static void no_repetitions_where_nothing_is_lost(void **state)
{
	uint64_t stalled;
	struct hand h;

	(void)state;
	hand_init(&h);
	h.config.resend = false;
	hand_meet(&h, false);
	hand_start(&h, 9);
	hand_expect(&h, "1 2 3 4 5 6 7 8 9");
	stalled = h.now + FIRST_RTO;
	expect_at(&h, stalled, "");
	expect_at(&h, stalled + 2 * FIRST_RTO, "");
	for (int i = 0; i < 5; i++)
		hand_ack(&h, 1, 0);
	expect_at(&h, stalled + 6 * FIRST_RTO, "rts");
	run_until(&h, stalled + PATIENCE / 2);
	hand_packet(&h, RXD_DATA, 0, 0, 0);
	run_until(&h, stalled + PATIENCE);
	expect_at(&h, stalled + PATIENCE, "restart fail1:111");
	hand_done(&h);
}

/* Only a packet asks for a new window. */
static void a_closed_window_is_asked_for_again(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	h.config.resend = false;
	hand_meet(&h, false);
	hand_start(&h, 2);
	hand_expect(&h, "1 2");
	hand_give_ack(&h, 1, 0, 0, 0);
	expect_at(&h, h.now + FIRST_RTO, "1");
	hand_done(&h);
}

/* A peer that owes answers is asked whether it lives when it was silent for four
 * seconds. */
static void a_peer_that_owes_answers(void **state)
{
	struct hand h;
	uint64_t heard;

	(void)state;
	hand_open(&h, true);
	h.flow.owed = 1;
	hand_run(&h);
	heard = h.now;
	h.now += SILENCE - 1;
	hand_packet(&h, RXD_PROBE, 0, 0, RXD_FLAG_EXT);
	hand_run(&h);
	hand_expect(&h, "ack0");
	expect_at(&h, heard + SILENCE, "");
	expect_at(&h, heard + 2 * SILENCE, "rts");
	/* Its answer is the end of the asking. */
	hand_give_cts(&h, hand_cts(&h, true));
	expect_at(&h, heard + 3 * SILENCE, "rts");
	run_until(&h, heard + 3 * SILENCE + PATIENCE);
	expect_at(&h, heard + 3 * SILENCE + PATIENCE, "restart");
	hand_done(&h);
	/* With nothing owed there is no timer. */
	hand_open(&h, true);
	hand_run(&h);
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	hand_done(&h);
}

/* Greetings without an answer. */
static void greetings_that_are_not_answered(void **state)
{
	static const unsigned int pauses_ms[] = { 10, 20, 40, 80, 160, 320, 640, 1280,
		2560, 4000, 4000, 4000, 4000, 4000 };
	struct hand h;
	uint64_t at;

	(void)state;
	hand_init(&h);
	at = h.now;
	hand_start(&h, 1);
	hand_expect(&h, "rts");
	assert_int_equal(h.flow.state, RXD_FLOW_GREETED);
	for (size_t i = 0; i < WF_ARRAY_SIZE(pauses_ms); i++) {
		at += pauses_ms[i] * (uint64_t)HAND_MS;
		expect_at(&h, at, "rts");
	}
	run_until(&h, UINT64_C(1000000000) + PATIENCE);
	expect_at(&h, UINT64_C(1000000000) + PATIENCE, "restart fail0:111");
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	hand_done(&h);
}

/* From the fourth timeout on packets are not larger than those of the wire in use. */
static void the_path_takes_no_large_packets_any_more(void **state)
{
	struct hand h;

	(void)state;
	for (int large = 0; large < 2; large++) {
		hand_open(&h, true);
		h.flow.packet_size = 5000;
		h.bytes = HAND_BYTES + large;
		hand_start(&h, 1);
		for (int round = 0; round < 3; round++)
			hand_run_at(&h, h.flow.out.timeout_ns);
		assert_int_equal(h.flow.packet_size, 5000);
		hand_run_at(&h, h.flow.out.timeout_ns);
		assert_int_equal(h.flow.packet_size, large ? HAND_BYTES : 5000);
		hand_done(&h);
	}
}

/* The number of timeouts until something fails; 0: none did in @max. */
static unsigned int timeouts_until_failure(struct hand *h, unsigned int max)
{
	for (unsigned int n = 1; n <= max; n++) {
		hand_forget(h);
		hand_run_at(h, h->flow.out.timeout_ns);
		/* The peer lives, and its window stays as it is. */
		hand_give_ack(h, h->flow.out.board.una, 0, h->flow.out.window, 0);
		if (h->flow.greeting.asking)
			hand_give_cts(h, hand_cts(h, h->flow.extended));
		if (strstr(h->log, "fail"))
			return n;
	}
	return 0;
}

/* A peer of another library refuses a transfer by a window that stays closed. */
static void a_window_that_stays_closed(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	hand_start(&h, 2);
	hand_start(&h, 1);
	hand_give_ack(&h, 1, 0, 0, 0);
	assert_int_equal(timeouts_until_failure(&h, 20), 13);
	/* The next one takes its numbers. */
	hand_expect(&h, "fail1:121 1");
	assert_int_equal(timeouts_until_failure(&h, 20), 13);
	hand_done(&h);
	/* Neither of the second packet of a transfer, nor with an open window, nor of
	 * an extended peer. */
	hand_open(&h, false);
	hand_start(&h, 2);
	hand_give_ack(&h, 2, 0, 0, 0);
	assert_int_equal(timeouts_until_failure(&h, 14), 0);
	hand_done(&h);
	hand_open(&h, false);
	hand_start(&h, 1);
	assert_int_equal(timeouts_until_failure(&h, 14), 0);
	hand_done(&h);
	hand_open(&h, true);
	hand_start(&h, 1);
	hand_give_ack(&h, 1, 0, 0, 0);
	assert_int_equal(timeouts_until_failure(&h, 14), 0);
	hand_done(&h);
}

/* A peer of another library that expects less than it had acknowledged, after three
 * timeouts, has been restarted. */
static void a_peer_that_falls_back(void **state)
{
	struct hand h;

	(void)state;
	for (int extended = 0; extended < 2; extended++) {
		hand_open(&h, extended);
		hand_start(&h, 1);
		for (int round = 0; round < 2; round++)
			hand_run_at(&h, h.flow.out.timeout_ns);
		hand_forget(&h);
		hand_ack(&h, 0, 0);
		hand_expect(&h, "");
		hand_run_at(&h, h.flow.out.timeout_ns);
		hand_forget(&h);
		hand_give_ack(&h, 0, 0, HAND_WINDOW, 0);
		hand_expect(&h, extended ? "" : "restart fail1:104");
		assert_int_equal(h.flow.own_index, HAND_INDEX + !extended);
		hand_done(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_peer),
		cmocka_unit_test(progress_resets_timers),
		cmocka_unit_test(a_peer_that_takes_nothing),
		cmocka_unit_test(a_peer_that_falls_silent),
		cmocka_unit_test(no_repetitions_where_nothing_is_lost),
		cmocka_unit_test(a_closed_window_is_asked_for_again),
		cmocka_unit_test(a_peer_that_owes_answers),
		cmocka_unit_test(greetings_that_are_not_answered),
		cmocka_unit_test(the_path_takes_no_large_packets_any_more),
		cmocka_unit_test(a_window_that_stays_closed),
		cmocka_unit_test(a_peer_that_falls_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* RTS and CTS, given by hand: which ones are answered or believed, and what becomes of
 * what was under way. */

#define SECOND (UINT64_C(1000) * HAND_MS)

/* Each field of an RTS: valid, and next to that. */
static void fields_of_an_rts(void **state)
{
	static const struct {
		uint64_t index;
		uint16_t max_packet;
		bool extended, answered;
	} cases[] = {
		{ HAND_PEER, 9000, true, true },
		{ 1, 512, true, true },
		{ UINT32_MAX, UINT16_MAX, true, true },
		{ HAND_PEER, 0, false, true },
		{ 0, 9000, true, false },
		{ UINT64_C(1) << 32, 9000, true, false },
		{ UINT64_MAX, 9000, true, false },
		{ HAND_PEER, 511, true, false },
		{ HAND_PEER, 0, true, false },
	};
	struct hand h;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_rts rts = hand_rts(cases[i].extended);

		hand_init(&h);
		rts.index = cases[i].index;
		rts.ext.max_packet = cases[i].max_packet;
		hand_give_rts(&h, rts);
		hand_expect(&h, cases[i].answered ? "cts" : "");
		assert_int_equal(h.flow.state == RXD_FLOW_OPEN, cases[i].answered);
		if (cases[i].answered)
			assert_int_equal(h.flow.peer_index, cases[i].index);
		hand_done(&h);
	}
}

static void fields_of_a_cts(void **state)
{
	static const struct {
		int64_t echo; /* what is added to the right one */
		uint64_t index;
		uint16_t max_packet;
		bool asked, opens;
	} cases[] = {
		{ 0, HAND_PEER, 9000, true, true },
		{ 0, HAND_PEER, 512, true, true },
		{ 0, HAND_PEER, 9000, false, false },
		{ 1, HAND_PEER, 9000, true, false },
		{ -1, HAND_PEER, 9000, true, false },
		{ INT64_C(1) << 32, HAND_PEER, 9000, true, false },
		{ 0, 0, 9000, true, false },
		{ 0, UINT64_C(1) << 32, 9000, true, false },
		{ 0, HAND_PEER, 511, true, false },
	};
	struct hand h;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_cts cts;

		hand_init(&h);
		if (cases[i].asked)
			hand_start(&h, 1);
		hand_forget(&h);
		cts = hand_cts(&h, true);
		cts.echo += (uint64_t)cases[i].echo;
		cts.index = cases[i].index;
		cts.ext.max_packet = cases[i].max_packet;
		hand_give_cts(&h, cts);
		assert_int_equal(h.flow.state == RXD_FLOW_OPEN, cases[i].opens);
		assert_int_equal(h.flow.extended, cases[i].opens);
		hand_done(&h);
	}
}

/* An RTS that crosses that of this end. */
static void crossing_greetings(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	hand_start(&h, 1);
	hand_expect(&h, "rts");
	hand_give_rts(&h, hand_rts(true));
	hand_run(&h);
	hand_expect(&h, "cts 0");
	assert_false(h.flow.greeting.proven);
	hand_give_cts(&h, hand_cts(&h, true));
	assert_true(h.flow.greeting.proven);
	/* No further RTS, and another CTS is of no interest. */
	hand_run_at(&h, h.now + 20 * HAND_MS);
	hand_expect(&h, "");
	assert_int_equal(h.flow.greeting.at_ns, UINT64_MAX);
	/* The peer repeats its RTS: it has not got the CTS. */
	hand_give_rts(&h, hand_rts(true));
	hand_expect(&h, "cts");
	hand_done(&h);
}

/* Both ends have to want seals. */
static void seals(void **state)
{
	struct hand h;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct rxd_rts rts = hand_rts(true);

		hand_init(&h);
		h.flow.wants_seals = i & 1;
		rts.ext.wants_seals = i & 2;
		hand_give_rts(&h, rts);
		assert_int_equal(h.flow.sealed, i == 3);
		assert_int_equal(rxd_flow_packet_size(&h.flow),
			HAND_BYTES - (i == 3 ? RXD_SEAL_SIZE : 0));
		hand_done(&h);
	}
}

/* Probes of the path begin when the peer has proven its address: of what both ends and
 * the route take, then smaller ones, each three times. */
static void probes_of_the_path(void **state)
{
	static const struct {
		uint64_t after_ms;
		const char *text;
	} steps[] = {
		{ 0, "probe9000" },
		{ 40, "probe9000" },
		{ 80, "probe9000" },
		{ 160, "probe8972" },
		{ 40, "probe8972" },
		{ 80, "probe8972" },
		{ 160, "probe4096" },
		{ 40, "probe4096" },
		{ 80, "probe4096" },
		{ 160, "" },
	};
	struct hand h;

	(void)state;
	hand_init(&h);
	h.path = 20000;
	h.config.max_packet = 9500;
	hand_give_rts(&h, hand_rts(true));
	hand_run(&h);
	hand_expect(&h, "cts");
	hand_data(&h, 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(steps); i++) {
		hand_run_at(&h, h.now + steps[i].after_ms * HAND_MS - !!i);
		hand_forget(&h);
		hand_run_at(&h, h.now + !!i);
		if (i)
			hand_expect(&h, steps[i].text);
	}
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	assert_int_equal(h.flow.packet_size, HAND_BYTES);
	hand_done(&h);
}

static void give_largest(struct hand *h, uint16_t largest)
{
	struct rxd_ack ack = {
		.window = HAND_WINDOW, .extended = true, .largest = largest
	};
	uint8_t packet[RXD_ACK_SIZE_MAX];

	hand_give(h, packet, rxd_ack_write(&ack, h->flow.own_index, packet));
}

/* A probe that arrives ends them. */
static void a_probe_arrives(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	h.path = 8000;
	hand_start(&h, 1);
	hand_give_cts(&h, hand_cts(&h, true));
	hand_run(&h);
	hand_expect(&h, "rts probe8000 0");
	give_largest(&h, 7999);
	assert_int_equal(h.flow.packet_size, HAND_BYTES);
	give_largest(&h, 8000);
	assert_int_equal(h.flow.packet_size, 8000);
	assert_int_equal(h.flow.out.cc.packet, 8000);
	assert_int_equal(h.flow.path.at_ns, UINT64_MAX);
	/* Larger ones prove nothing more. */
	give_largest(&h, 9000);
	assert_int_equal(h.flow.packet_size, 8000);
	hand_done(&h);
	/* Nor are there probes for packets of the usual size. */
	hand_init(&h);
	h.path = HAND_BYTES;
	hand_meet(&h, true);
	assert_int_equal(h.flow.path.at_ns, UINT64_MAX);
	hand_done(&h);
}

/* The peer of @h, extended and known, with packets in both directions; 1 is in
 * flight. */
static void known_peer(struct hand *h)
{
	hand_open(h, true);
	hand_data(h, 0);
	hand_start(h, 1);
	hand_start(h, 1);
	hand_run(h);
	hand_expect(h, "1 2");
}

static struct rxd_rts rts_of_epoch(uint32_t epoch)
{
	struct rxd_rts rts = hand_rts(true);

	rts.ext.epoch = epoch;
	rts.index = HAND_PEER + 1;
	return rts;
}

/* An RTS of another instance of the peer is not believed before a CTS from its address,
 * which an RTS asks for, at most every 10 ms. */
static void an_rts_of_a_later_instance(void **state)
{
	struct hand h;
	struct rxd_cts cts;

	(void)state;
	known_peer(&h);
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH + 1));
	hand_expect(&h, "rts");
	h.now += 10 * HAND_MS - 1;
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH + 1));
	hand_expect(&h, "");
	h.now++;
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH + 1));
	hand_expect(&h, "rts");
	/* Meanwhile only packets count that know what was sent to this instance. */
	hand_packet(&h, RXD_DATA, 1, 0, RXD_FLAG_EXT);
	hand_packet(&h, RXD_DATA, 1, 4, RXD_FLAG_EXT);
	hand_packet(&h, RXD_ACK, 0, 0, 0);
	hand_ack(&h, 0, 0);
	assert_int_equal(h.flow.in.next, 1);
	hand_packet(&h, RXD_DATA, 1, 1, RXD_FLAG_EXT);
	assert_int_equal(h.flow.in.next, 2);
	hand_ack(&h, 2, 0);
	hand_forget(&h);
	/* The CTS decides: the peer was restarted. */
	cts = hand_cts(&h, true);
	cts.index = HAND_PEER + 1;
	cts.ext.epoch = HAND_EPOCH + 1;
	hand_give_cts(&h, cts);
	hand_expect(&h, "restart fail2:104");
	assert_int_equal(h.flow.own_index, HAND_INDEX);
	assert_int_equal(h.flow.peer_index, HAND_PEER + 1);
	assert_int_equal(h.flow.state, RXD_FLOW_OPEN);
	assert_int_equal(h.flow.in.next, 0);
	hand_done(&h);
}

/* The CTS of the instance that is known: the RTS was forged. */
static void a_forged_rts(void **state)
{
	struct hand h;

	(void)state;
	known_peer(&h);
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH + 1));
	assert_true(h.flow.greeting.contested);
	hand_give_cts(&h, hand_cts(&h, true));
	assert_false(h.flow.greeting.contested);
	hand_packet(&h, RXD_DATA, 1, 0, RXD_FLAG_EXT);
	assert_int_equal(h.flow.in.next, 2);
	assert_int_equal(h.flow.peer_index, HAND_PEER);
	/* A CTS that nobody asked for. */
	hand_forget(&h);
	hand_give_cts(&h, (struct rxd_cts){ h.flow.own_index, HAND_PEER + 1, true,
				  { 9000, HAND_EPOCH + 9, false } });
	hand_expect(&h, "");
	assert_int_equal(h.flow.peer_index, HAND_PEER);
	hand_done(&h);
}

/* An RTS of an earlier instance is a late copy; after a minute of silence, one of a
 * machine whose clock was set back. */
static void an_rts_of_an_earlier_instance(void **state)
{
	struct hand h;
	uint64_t heard;

	(void)state;
	known_peer(&h);
	heard = h.flow.in.heard_ns;
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH - 1));
	h.now = heard + 60 * SECOND;
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH - 1));
	hand_expect(&h, "");
	h.now++;
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH - 1));
	hand_expect(&h, "rts");
	hand_done(&h);
}

/* An RTS without an extension, of a peer that had one: a late copy of a damaged one, or
 * after a second of silence another library. */
static void an_rts_without_an_extension(void **state)
{
	struct hand h;
	uint64_t heard;

	(void)state;
	known_peer(&h);
	heard = h.flow.in.heard_ns;
	h.now = heard + SECOND;
	hand_give_rts(&h, hand_rts(false));
	hand_expect(&h, "");
	h.now++;
	hand_give_rts(&h, hand_rts(false));
	hand_expect(&h, "rts");
	hand_give_cts(&h, hand_cts(&h, false));
	hand_expect(&h, "restart fail1:104 fail2:104");
	assert_false(h.flow.extended);
	hand_done(&h);
}

/* Where packets are to be sealed, one RTS or CTS without an extension is taken for a
 * damaged one. */
static void a_damaged_greeting(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	h.flow.wants_seals = true;
	hand_start(&h, 1);
	hand_expect(&h, "rts");
	hand_give_cts(&h, hand_cts(&h, false));
	hand_expect(&h, "rts");
	assert_int_equal(h.flow.state, RXD_FLOW_GREETED);
	hand_give_cts(&h, hand_cts(&h, false));
	hand_run(&h);
	hand_expect(&h, "0");
	hand_done(&h);
	/* Of two in a row only: a packet between them counts. */
	hand_init(&h);
	h.flow.wants_seals = true;
	hand_give_rts(&h, hand_rts(true));
	hand_give_rts(&h, hand_rts(false));
	assert_true(h.flow.extended);
	hand_give_rts(&h, hand_rts(true));
	hand_give_rts(&h, hand_rts(false));
	assert_true(h.flow.extended);
	hand_give_rts(&h, hand_rts(false));
	assert_false(h.flow.extended);
	hand_done(&h);
}

/* A peer of another library that was restarted sends an RTS: with another index, or
 * after a second in which it was silent. */
static void a_peer_of_another_library_restarts(void **state)
{
	struct hand h;
	struct rxd_rts rts = hand_rts(false);

	(void)state;
	hand_open(&h, false);
	hand_give_rts(&h, rts);
	h.now += SECOND;
	hand_give_rts(&h, rts);
	hand_expect(&h, "cts cts");
	h.now += SECOND + 1;
	hand_start(&h, 1);
	hand_expect(&h, "1");
	hand_give_rts(&h, rts);
	hand_expect(&h, "restart fail1:104 cts");
	assert_int_equal(h.flow.own_index, HAND_INDEX + 1);
	/* Nothing was transferred since then: it has only not got the CTS. */
	h.now += SECOND + 1;
	rts.index++;
	hand_give_rts(&h, rts);
	hand_expect(&h, "cts");
	hand_packet(&h, RXD_DATA, 0, 0, 0);
	rts.index++;
	hand_give_rts(&h, rts);
	hand_expect(&h, "restart cts");
	assert_int_equal(h.flow.peer_index, rts.index);
	hand_done(&h);
}

/* Transfers whose success was told survive, in their order, before those that wait. */
static void survivors(void **state)
{
	struct hand h;
	struct rxd_cts cts;

	(void)state;
	hand_open(&h, true);
	h.flow.out.window = 3;
	h.survive = true;
	hand_start(&h, 1);
	hand_start(&h, 2);
	hand_start(&h, 1);
	hand_expect(&h, "1 2 3!");
	hand_give_rts(&h, rts_of_epoch(HAND_EPOCH + 1));
	cts = hand_cts(&h, true);
	cts.ext.epoch = HAND_EPOCH + 1;
	hand_give_cts(&h, cts);
	hand_run(&h);
	hand_expect(&h, "rts restart 0 1 2 3");
	hand_ack(&h, 4, 0);
	hand_expect(&h, "done1 done2 done3");
	hand_done(&h);
}

/* The first acknowledgement of a peer of another library tells which number it expects
 * from an endpoint that it knew before. */
static void numbers_of_an_earlier_instance(void **state)
{
	static const struct {
		uint64_t next;
		bool extended, adopted;
	} cases[] = {
		{ 2, false, true },
		{ UINT64_C(1) << 62, false, true },
		{ (UINT64_C(1) << 62) + 1, false, false },
		{ UINT64_MAX, false, false },
		{ 2, true, false },
	};
	struct hand h;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		hand_init(&h);
		hand_start(&h, 1);
		hand_give_cts(&h, hand_cts(&h, cases[i].extended));
		hand_run(&h);
		hand_ack(&h, cases[i].next, 0);
		assert_int_equal(
			h.flow.out.board.una, cases[i].adopted ? cases[i].next : 0);
		/* But not a second time. */
		if (cases[i].adopted) {
			hand_ack(&h, cases[i].next - 1, 0);
			hand_ack(&h, cases[i].next + 5, 0);
			assert_int_equal(h.flow.out.board.una, cases[i].next);
		}
		hand_done(&h);
	}
}

/* Which number such a peer expects is unknown after transfers were given up: packets
 * with an old number ask for it. */
static void numbers_after_transfers_were_given_up(void **state)
{
	struct hand h;
	uint64_t since;

	(void)state;
	for (int answered = 0; answered < 2; answered++) {
		hand_open(&h, false);
		hand_start(&h, 3);
		rxd_flow_left(&h.flow);
		hand_forget(&h);
		hand_start(&h, 2);
		hand_expect(&h, "rts");
		hand_give_cts(&h, hand_cts(&h, false));
		since = h.now;
		hand_run(&h);
		hand_expect(&h, "old0");
		hand_run_at(&h, since + 10 * HAND_MS - 1);
		hand_expect(&h, "");
		hand_run_at(&h, since + 10 * HAND_MS);
		hand_expect(&h, "old0");
		hand_ack(&h, (UINT64_C(1) << 62) + 1, 0);
		hand_expect(&h, "");
		if (answered) {
			hand_give_ack(&h, 3, 0, 9, 0);
			hand_run(&h);
			hand_expect(&h, "3 4");
			assert_int_equal(h.flow.out.window, 9);
			hand_run_at(&h, h.now + 20 * HAND_MS);
			hand_expect(&h, "");
		} else {
			while (h.flow.state == RXD_FLOW_OPEN)
				hand_run_at(&h, rxd_flow_deadline(&h.flow));
			assert_int_equal(h.now, since + 30 * SECOND);
		}
		hand_done(&h);
	}
}

/* A sender to a peer of another library makes it acknowledge: every eighth packet of a
 * transfer that asks for nothing, and the last one before it has to wait. */
static void packets_with_old_numbers(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	h.flow.out.cc.cwnd = 64 * HAND_BYTES;
	h.flow.out.window = 20;
	hand_start(&h, 40);
	hand_expect(&h, "1 2 3 4 5 6 7 8 9 old0 10 11 12 13 14 15 16 17 old0 18 19 20 "
			"old0");
	hand_ack(&h, 21, 0);
	hand_expect(&h, "21 22 23 24 25 26 27 28 old20 29 30 31 32 33 34 35 36 old20 "
			"37 38 39 40");
	hand_ack(&h, 41, 0);
	hand_expect(&h, "done1");
	hand_done(&h);
}

/* The third acknowledgement that repeats the last one tells a peer of another library
 * from one that is late: everything is sent again. */
static void acknowledgements_that_are_repeated(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	hand_start(&h, 3);
	hand_expect(&h, "1 2 3");
	hand_ack(&h, 1, 0);
	hand_ack(&h, 1, 0);
	hand_expect(&h, "");
	hand_ack(&h, 1, 0);
	hand_expect(&h, "1 2 3 old0");
	/* Not for what was sent again. */
	h.flow.out.recovered_order = h.flow.out.board.order;
	for (int i = 0; i < 4; i++)
		hand_ack(&h, 1, 0);
	hand_expect(&h, "");
	hand_ack(&h, 2, 0);
	hand_expect(&h, "");
	/* Nor while the window is closed, nor without packets in flight. */
	h.flow.out.recovered_order = 0;
	for (int i = 0; i < 4; i++) {
		hand_give_ack(&h, 2, 0, 0, 0);
		hand_run(&h);
	}
	hand_expect(&h, "");
	hand_ack(&h, 4, 0);
	for (int i = 0; i < 4; i++)
		hand_ack(&h, 4, 0);
	hand_expect(&h, "done1");
	hand_done(&h);
}

/* After a timeout an acknowledgement of a part shows that all of the rest was
 * dropped. */
static void progress_after_a_timeout(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	hand_start(&h, 4);
	hand_expect(&h, "1 2 3 4");
	hand_run_at(&h, h.flow.out.timeout_ns);
	hand_expect(&h, "1 old0");
	hand_ack(&h, 2, 0);
	hand_expect(&h, "2 3 4 old1");
	hand_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_an_rts),
		cmocka_unit_test(fields_of_a_cts),
		cmocka_unit_test(crossing_greetings),
		cmocka_unit_test(seals),
		cmocka_unit_test(probes_of_the_path),
		cmocka_unit_test(a_probe_arrives),
		cmocka_unit_test(an_rts_of_a_later_instance),
		cmocka_unit_test(a_forged_rts),
		cmocka_unit_test(an_rts_of_an_earlier_instance),
		cmocka_unit_test(an_rts_without_an_extension),
		cmocka_unit_test(a_damaged_greeting),
		cmocka_unit_test(a_peer_of_another_library_restarts),
		cmocka_unit_test(survivors),
		cmocka_unit_test(numbers_of_an_earlier_instance),
		cmocka_unit_test(numbers_after_transfers_were_given_up),
		cmocka_unit_test(packets_with_old_numbers),
		cmocka_unit_test(acknowledgements_that_are_repeated),
		cmocka_unit_test(progress_after_a_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "hand.h"

/* A receiver whose peer sends by hand: what it acknowledges, and when. */

enum { ACK_NS = 20000 };

/* One packet of an extended peer is acknowledged after a while, two at once. */
static void acknowledgements_of_packets_in_order(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_data(&h, 0);
	hand_run(&h);
	hand_expect(&h, "");
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now + ACK_NS);
	hand_run_at(&h, h.now + ACK_NS - 1);
	hand_expect(&h, "");
	hand_run_at(&h, h.now + 1);
	hand_expect(&h, "ack1");
	assert_int_equal(rxd_flow_deadline(&h.flow), UINT64_MAX);
	hand_data(&h, 1);
	h.now += ACK_NS / 2;
	hand_data(&h, 2);
	/* The second one does not put it off. */
	assert_int_equal(rxd_flow_deadline(&h.flow), h.now + ACK_NS / 2);
	hand_run(&h);
	hand_expect(&h, "ack3");
	/* Before a sleep, and where the peer asks for it. */
	hand_data(&h, 3);
	rxd_flow_run(&h.flow, h.now, true);
	hand_expect(&h, "ack4");
	hand_packet(&h, RXD_DATA, 4, 1, RXD_FLAG_EXT | RXD_FLAG_ACK_NOW);
	assert_int_equal(rxd_flow_deadline(&h.flow), 0);
	hand_run(&h);
	hand_expect(&h, "ack5");
	/* A sleep with nothing due. */
	rxd_flow_run(&h.flow, h.now, true);
	hand_expect(&h, "");
	hand_done(&h);
}

/* A packet to the peer includes the acknowledgement, unless there is more to tell. */
static void packets_include_acknowledgements(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_data(&h, 0);
	hand_start(&h, 1);
	hand_expect(&h, "1");
	hand_run_at(&h, h.now + ACK_NS);
	hand_expect(&h, "");
	hand_data(&h, 2);
	hand_start(&h, 1);
	hand_expect(&h, "done1 2");
	hand_run(&h);
	hand_expect(&h, "ack1(2)");
	hand_done(&h);
}

/* Every packet of a peer of another library is acknowledged at once. */
static void a_peer_of_another_library(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, false);
	hand_packet(&h, RXD_DATA, 0, 0, 0);
	hand_start(&h, 1);
	hand_run(&h);
	hand_expect(&h, "1 ack1");
	/* Early packets are kept, and not reported. */
	hand_packet(&h, RXD_DATA, 2, 0, 0);
	hand_run(&h);
	hand_expect(&h, "ack1");
	hand_packet(&h, RXD_DATA, 1, 0, 0);
	hand_run(&h);
	hand_expect(&h, "ack3");
	/* It knows no packets that skip. */
	hand_packet(&h, RXD_SKIP, 3, 0, 0);
	hand_run(&h);
	hand_expect(&h, "ack3");
	hand_done(&h);
}

/* Gaps and repetitions are reported at once. */
static void packets_out_of_order(void **state)
{
	static const struct {
		uint64_t number;
		const char *text;
	} steps[] = {
		{ 1, "ack0(1)" },
		{ 1, "ack0(1)" },
		{ 4, "ack0(1,4)" },
		{ HAND_WINDOW - 1, "ack0(1,4,63)" },
		{ HAND_WINDOW, "ack0(1,4,63)" },
		{ UINT64_MAX, "ack0(1,4,63)" },
		{ 0, "ack2(4,63)" },
		{ 0, "ack2(4,63)" },
		{ 3, "ack2(3,4,63)" },
		{ HAND_WINDOW + 1, "ack2(3,4,63,65)" },
		{ 2, "ack5(63,65)" },
	};
	struct hand h;

	(void)state;
	hand_open(&h, true);
	for (size_t i = 0; i < WF_ARRAY_SIZE(steps); i++) {
		hand_data(&h, steps[i].number);
		hand_run(&h);
		hand_expect(&h, steps[i].text);
	}
	for (uint64_t n = 5; n < HAND_WINDOW - 1; n++)
		hand_data(&h, n);
	hand_run(&h);
	hand_expect(&h, "ack64(65)");
	hand_data(&h, HAND_WINDOW);
	hand_run(&h);
	hand_expect(&h, "ack66");
	assert_int_equal(h.config.kept, 0);
	/* In order again. */
	hand_data(&h, HAND_WINDOW + 2);
	hand_run(&h);
	hand_expect(&h, "");
	hand_done(&h);
}

/* A packet that cannot be taken now closes the window until it can. */
static void a_closed_window(void **state)
{
	struct hand h;

	(void)state;
	for (int extended = 0; extended < 2; extended++) {
		uint16_t flags = extended ? RXD_FLAG_EXT : 0;

		hand_open(&h, extended);
		h.delivers = 0;
		hand_packet(&h, RXD_DATA, 0, 1, flags);
		hand_run(&h);
		hand_expect(&h, "ack0/0");
		hand_packet(&h, RXD_DATA, 0, 1, flags);
		hand_run(&h);
		hand_expect(&h, "ack0/0");
		h.delivers = 1;
		hand_packet(&h, RXD_DATA, 0, 1, flags | RXD_FLAG_ACK_NOW);
		hand_run(&h);
		hand_expect(&h, "ack1");
		hand_done(&h);
	}
}

/* An early packet that cannot be taken when its turn comes is dropped. */
static void an_early_packet_that_is_not_taken(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_data(&h, 2);
	hand_data(&h, 1);
	hand_run(&h);
	hand_expect(&h, "ack0(1,2)");
	h.delivers = 0;
	hand_data(&h, 0);
	hand_run(&h);
	hand_expect(&h, "ack0(1,2)/0");
	/* The first one is taken, the next one is not. */
	h.delivers = 2;
	hand_data(&h, 0);
	h.delivers = 0;
	hand_run(&h);
	hand_expect(&h, "ack4");
	hand_done(&h);
}

/* A refused packet is not delivered again; the peer skips the rest of its transfer. */
static void a_refused_packet(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} skips[] = {
		{ 0, "ack0-13" },
		{ RXD_WINDOW_MAX + 1, "ack0-13" },
		{ UINT64_MAX, "ack0-13" },
		{ 3, "ack3(7)" },
		{ 2, "ack5(7)" },
	};
	struct hand h;

	(void)state;
	hand_open(&h, true);
	h.delivers = -FI_EACCES;
	hand_data(&h, 0);
	hand_run(&h);
	hand_expect(&h, "ack0-13");
	h.delivers = 1;
	hand_data(&h, 0);
	hand_run(&h);
	hand_expect(&h, "ack0-13");
	for (size_t i = 0; i < WF_ARRAY_SIZE(skips); i++) {
		struct rxd_base base = { .version = RXD_VERSION,
			.type = RXD_SKIP,
			.flags = RXD_FLAG_EXT,
			.peer = h.flow.own_index,
			.seq = rxd_seq_pack(h.flow.in.next, 1) };
		uint8_t packet[RXD_SKIP_SIZE];

		if (i == 3)
			hand_data(&h, 7);
		memcpy(packet, &base, sizeof(base));
		memcpy(packet + sizeof(base), &skips[i].count, 8);
		/* Too short. */
		hand_give(&h, packet, sizeof(packet) - 1);
		hand_give(&h, packet, sizeof(packet));
		hand_run(&h);
		hand_expect(&h, skips[i].text);
	}
	/* Skipped numbers take early packets with them; as many as a window has. */
	hand_packet(&h, RXD_DATA, 5, 1, RXD_FLAG_EXT);
	hand_packet(&h, RXD_DATA, 6, 1, RXD_FLAG_EXT);
	hand_run(&h);
	hand_expect(&h, "ack8");
	hand_done(&h);
}

static void give_skip(struct hand *h, uint64_t count)
{
	struct rxd_base base = { .version = RXD_VERSION,
		.type = RXD_SKIP,
		.flags = RXD_FLAG_EXT | RXD_FLAG_ACK_NOW,
		.peer = h->flow.own_index,
		.seq = rxd_seq_pack(h->flow.in.next, 1) };
	uint8_t packet[RXD_SKIP_SIZE];

	memcpy(packet, &base, sizeof(base));
	memcpy(packet + sizeof(base), &count, sizeof(count));
	hand_give(h, packet, sizeof(packet));
}

static void skipped_numbers_take_early_packets_with_them(void **state)
{
	struct hand h;

	(void)state;
	hand_open(&h, true);
	hand_data(&h, 2);
	hand_data(&h, 9);
	give_skip(&h, 9);
	hand_run(&h);
	hand_expect(&h, "ack10");
	assert_int_equal(h.config.kept, 0);
	hand_data(&h, 12);
	hand_data(&h, 15);
	give_skip(&h, 5);
	hand_run(&h);
	hand_expect(&h, "ack16");
	hand_data(&h, 18);
	give_skip(&h, RXD_WINDOW_MAX);
	hand_run(&h);
	hand_expect(&h, "ack4112");
	assert_int_equal(h.config.kept, 0);
	hand_done(&h);
}

/* Early packets that fit into no memory are not reported. */
static void no_memory_for_early_packets(void **state)
{
	struct hand h;
	size_t len = RXD_DATA_HEAD + 8;

	(void)state;
	hand_open(&h, true);
	h.config.kept_max = 3 * len;
	hand_data(&h, 1);
	hand_data(&h, 2);
	hand_data(&h, 3);
	hand_run(&h);
	/* A flow leaves as much as it takes. */
	hand_expect(&h, "ack0(1)");
	assert_int_equal(h.config.kept, len);
	h.config.kept_max = 4 * len;
	hand_data(&h, 2);
	hand_data(&h, 3);
	hand_run(&h);
	hand_expect(&h, "ack0(1,2)");
	hand_done(&h);
}

/* Packets that are of another flow, or not of this kind of peer. */
static void packets_that_are_dropped(void **state)
{
	struct hand h;
	struct rxd_base base;

	(void)state;
	hand_open(&h, true);
	hand_packet(&h, RXD_DATA, 0, 1, 0);
	hand_packet(&h, 100, 0, 1, RXD_FLAG_EXT);
	hand_packet(&h, 3, 0, 1, RXD_FLAG_EXT);
	base = (struct rxd_base){ RXD_VERSION, RXD_DATA, RXD_FLAG_EXT, HAND_INDEX + 1,
		rxd_seq_pack(0, 1) };
	hand_give(&h, &base, sizeof(base));
	base.peer = HAND_INDEX;
	hand_give(&h, &base, sizeof(base) - 1);
	hand_run_at(&h, h.now + ACK_NS);
	hand_expect(&h, "");
	hand_give(&h, &base, sizeof(base));
	hand_run_at(&h, h.now + ACK_NS);
	hand_expect(&h, "ack1");
	/* A plain acknowledgement. */
	hand_start(&h, 1);
	hand_packet(&h, RXD_ACK, 2, 0, 0);
	hand_expect(&h, "1");
	hand_done(&h);
}

/* Goodbyes: three to an extended peer that is known, and the rest of what waits. */
static void goodbyes(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h);
	rxd_flow_bye(&h.flow, h.now);
	hand_start(&h, 1);
	rxd_flow_bye(&h.flow, h.now);
	hand_expect(&h, "rts");
	hand_done(&h);
	hand_open(&h, false);
	rxd_flow_bye(&h.flow, h.now);
	hand_expect(&h, "");
	hand_done(&h);
	hand_open(&h, true);
	rxd_flow_bye(&h.flow, h.now);
	hand_expect(&h, "bye bye bye");
	h.flow.out.cc.cwnd = HAND_BYTES;
	hand_start(&h, 3);
	hand_expect(&h, "1!");
	rxd_flow_bye(&h.flow, h.now);
	hand_expect(&h, "2 3 bye bye bye");
	/* That of the peer acknowledges what it had received. */
	hand_forget(&h);
	hand_packet(&h, RXD_BYE, 2, 0, 0);
	assert_int_equal(h.flow.out.board.una, 2);
	hand_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledgements_of_packets_in_order),
		cmocka_unit_test(packets_include_acknowledgements),
		cmocka_unit_test(a_peer_of_another_library),
		cmocka_unit_test(packets_out_of_order),
		cmocka_unit_test(a_closed_window),
		cmocka_unit_test(an_early_packet_that_is_not_taken),
		cmocka_unit_test(a_refused_packet),
		cmocka_unit_test(skipped_numbers_take_early_packets_with_them),
		cmocka_unit_test(no_memory_for_early_packets),
		cmocka_unit_test(packets_that_are_dropped),
		cmocka_unit_test(goodbyes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "providers/rxd/flow/ack.h"
#include "providers/rxd/flow/board.h"
#include "providers/rxd/flow/early.h"
#include "sys/compiler.h"

/* What a flow stores by packet number, at the limits of its rings and words. */

enum { LEN = 100, ROOM = 1 << 20 };

/* ---- early packets ---- */

static bool keep(struct rxd_early *early, uint64_t number, uint64_t next, size_t *kept,
	size_t kept_max)
{
	uint8_t packet[LEN];

	memset(packet, (int)number, sizeof(packet));
	return rxd_early_keep(
		early, number, next, packet, sizeof(packet), kept, kept_max);
}

static void expect_kept(const struct rxd_early *early, uint64_t number)
{
	const struct rxd_early_packet *packet = rxd_early_find(early, number);

	assert_non_null(packet);
	assert_int_equal(packet->len, LEN);
	assert_int_equal(packet->bytes[LEN - 1], (uint8_t)number);
}

/* The ring grows around the packets in it, also where numbers wrap around its end. */
static void a_ring_of_early_packets_grows(void **state)
{
	static const uint64_t firsts[] = { 0, 9, 15, 16, UINT64_C(0xfffffff8) };
	static const uint64_t spans[] = { 1, 15, 16, 17, 31, 32, 63, 64, 500, 4095 };

	(void)state;
	for (size_t f = 0; f < WF_ARRAY_SIZE(firsts); f++) {
		uint64_t first = firsts[f];
		struct rxd_early early = { 0 };
		size_t kept = 0;

		assert_null(rxd_early_find(&early, first));
		for (size_t i = 0; i < WF_ARRAY_SIZE(spans); i++) {
			assert_true(keep(&early, first + spans[i], first, &kept, ROOM));
			/* As many slots as numbers, rounded up. */
			assert_true(early.capacity > spans[i]);
			assert_true(early.capacity <= WF_MAX(16, 2 * spans[i]));
			for (size_t k = 0; k <= i; k++)
				expect_kept(&early, first + spans[k]);
			assert_int_equal(early.count, i + 1);
			assert_int_equal(early.last, first + spans[i]);
		}
		assert_null(rxd_early_find(&early, first + 2));
		/* A second copy is of no use. */
		assert_true(keep(&early, first + 15, first, &kept, ROOM));
		assert_int_equal(kept, WF_ARRAY_SIZE(spans) * LEN);
		assert_int_equal(early.bytes, kept);
		rxd_early_drop(&early, first + 15, &kept);
		rxd_early_drop(&early, first + 15, &kept);
		assert_null(rxd_early_find(&early, first + 15));
		assert_int_equal(early.count, WF_ARRAY_SIZE(spans) - 1);
		rxd_early_done(&early, &kept);
		assert_int_equal(kept, 0);
		rxd_early_drop(&early, 1, &kept);
	}
}

/* A packet is kept if the flow then leaves as much as it has. */
static void limits_of_memory(void **state)
{
	static const struct {
		size_t others, max;
		bool kept;
	} cases[] = {
		{ 0, 2 * LEN, true },
		{ 0, 2 * LEN - 1, false },
		{ 500, 500 + 2 * LEN, true },
		{ 500, 500 + 2 * LEN - 1, false },
		{ 500, 500, false },
		{ 500, 499, false },
		{ 500, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		struct rxd_early early = { 0 };
		size_t kept = cases[i].others;

		assert_int_equal(
			keep(&early, 3, 0, &kept, cases[i].max), cases[i].kept);
		assert_int_equal(kept, cases[i].others + cases[i].kept * LEN);
		assert_int_equal(early.count, cases[i].kept);
		rxd_early_done(&early, &kept);
	}
}

/* Bits of stored packets: those behind the expected one, in as many words as they need
 * and there are. */
static void bits_of_early_packets(void **state)
{
	static const struct {
		uint64_t number;
		size_t words;
		unsigned int bit;
	} cases[] = { { 6, 1, 0 }, { 7, 1, 1 }, { 69, 1, 63 }, { 70, 2, 64 },
		{ 133, 2, 127 }, { 134, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		uint64_t words[3] = { 77, 77, 77 };
		struct rxd_early early = { 0 };
		size_t kept = 0, used;

		used = rxd_early_bits(&early, 5, words, 2);
		assert_int_equal(used, 0);
		assert_true(keep(&early, cases[i].number, 5, &kept, ROOM));
		used = rxd_early_bits(&early, 5, words, 2);
		assert_int_equal(used, cases[i].words);
		for (size_t w = 0; w < used; w++)
			assert_true(words[w] ==
				    (w == cases[i].bit / 64
						    ? UINT64_C(1) << cases[i].bit % 64
						    : 0));
		assert_int_equal(words[2], 77);
		/* What is expected itself has no bit. */
		assert_int_equal(rxd_early_bits(&early, cases[i].number, words, 2), 0);
		rxd_early_done(&early, &kept);
	}
}

/* ---- acknowledgements ---- */

/* Words beyond the first one follow the packet, as many as there are. */
static void lengths_of_acknowledgements(void **state)
{
	static const size_t words[] = { 0, 1, 2, 3, RXD_SACK_WORDS };

	(void)state;
	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(words); i++) {
		size_t count = words[i / 2], len, beyond;
		struct rxd_ack ack = { .next = 5,
			.window = UINT16_MAX,
			.extended = i % 2,
			.refused = 3,
			.largest = UINT16_MAX,
			.words = count };
		uint8_t packet[RXD_ACK_SIZE_MAX + 16];
		struct rxd_ack got = { .early = { 0 } };

		memset(packet, 0x77, sizeof(packet));
		for (size_t w = 0; w < count; w++)
			ack.early[w] = w + 1;
		len = rxd_ack_write(&ack, 9, packet);
		beyond = ack.extended && count > 1 ? count - 1 : 0;
		assert_int_equal(len, RXD_ACK_SIZE + 8 * beyond);
		for (size_t b = len; b < sizeof(packet); b++)
			assert_int_equal(packet[b], 0x77);
		assert_true(rxd_ack_read(packet, len, true, &got));
		assert_int_equal(got.next, 5);
		assert_int_equal(got.window, UINT16_MAX);
		assert_int_equal(got.extended, i % 2);
		assert_int_equal(got.refused, i % 2 ? 3 : 0);
		assert_int_equal(got.largest, i % 2 ? UINT16_MAX : 0);
		assert_int_equal(got.words, i % 2 ? count : 0);
		assert_memory_equal(got.early, ack.early, 8 * got.words);
		/* Half a word behind them counts as none. */
		assert_true(rxd_ack_read(packet, len + 7, true, &got));
		assert_int_equal(got.words, i % 2 ? count : 0);
	}
}

static void words_of_acknowledgements(void **state)
{
	struct rxd_ack ack = { .extended = true, .words = 2, .early = { 0, 4 } };
	uint8_t packet[RXD_ACK_SIZE_MAX + 64] = { 0 };
	struct {
		struct rxd_ack ack;
		uint64_t behind;
	} got = { .behind = 5 };
	size_t len = rxd_ack_write(&ack, 9, packet);

	(void)state;
	/* The first one may be empty. */
	assert_true(rxd_ack_read(packet, len, true, &got.ack));
	assert_int_equal(got.ack.words, 2);
	assert_int_equal(got.ack.early[0], 0);
	assert_int_equal(got.ack.early[1], 4);
	/* More than there can be. */
	assert_true(rxd_ack_read(packet, sizeof(packet), true, &got.ack));
	assert_int_equal(got.ack.words, RXD_SACK_WORDS);
	assert_int_equal(got.behind, 5);
}

/* ---- the scoreboard ---- */

static void a_board_grows_around_its_packets(void **state)
{
	static const uint64_t firsts[] = { 0, 7, 15, 16, UINT64_C(0xfffffffa) };

	(void)state;
	for (size_t f = 0; f < WF_ARRAY_SIZE(firsts); f++) {
		struct rxd_board board = { 0 };

		rxd_board_clear(&board, firsts[f]);
		for (uint32_t k = 0; k < 70; k++) {
			assert_true(rxd_board_reserve(&board));
			assert_true(board.capacity > k);
			assert_true(board.capacity <= WF_MAX(16u, 2 * k));
			rxd_board_sent(&board, firsts[f] + k, NULL, 10 + k, k);
			for (uint32_t i = 0; i <= k; i++) {
				const struct rxd_sent *sent =
					rxd_board_at(&board, firsts[f] + i);

				assert_int_equal(sent->bytes, 10 + i);
				assert_int_equal(sent->order, i);
				assert_false(sent->resent);
			}
		}
		assert_int_equal(rxd_board_count(&board), 70);
		rxd_board_clear(&board, 5);
		assert_int_equal(board.in_flight, 0);
		assert_int_equal(board.lost, 0);
		assert_int_equal(rxd_board_count(&board), 0);
		rxd_board_done(&board);
		assert_null(board.ring);
		assert_int_equal(board.capacity, 0);
	}
}

/* The sums, and the lowest lost packet, after each change. */
static void states_of_packets(void **state)
{
	static const struct {
		uint64_t number;
		enum rxd_sent_state to;
		uint64_t in_flight;
		size_t lost;
		uint64_t first_lost;
	} steps[] = {
		{ 7, RXD_SENT_LOST, 50, 1, 7 },
		{ 9, RXD_SENT_LOST, 40, 2, 7 },
		{ 6, RXD_SENT_LOST, 30, 3, 6 },
		{ 6, RXD_SENT_HELD, 30, 2, 7 },
		{ 7, RXD_SENT_FLYING, 40, 1, 9 },
		{ 5, RXD_SENT_HELD, 30, 1, 9 },
		{ 8, RXD_SENT_LOST, 20, 2, 8 },
		{ 8, RXD_SENT_LOST, 20, 2, 8 },
	};
	struct rxd_board board = { 0 };

	(void)state;
	rxd_board_clear(&board, 5);
	for (uint64_t n = 5; n < 11; n++) {
		assert_true(rxd_board_reserve(&board));
		rxd_board_sent(&board, n, NULL, 10, n);
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(steps); i++) {
		rxd_board_set(&board, steps[i].number, steps[i].to);
		assert_int_equal(board.in_flight, steps[i].in_flight);
		assert_int_equal(board.lost, steps[i].lost);
		assert_int_equal(rxd_board_first_lost(&board), steps[i].first_lost);
		assert_int_equal(board.lost_from, steps[i].first_lost);
	}
	/* What is sent again is in flight, as the last one. */
	rxd_board_sent(&board, 8, NULL, 30, 99);
	assert_int_equal(board.in_flight, 50);
	assert_int_equal(board.lost, 1);
	assert_int_equal(rxd_board_at(&board, 8)->order, 6);
	assert_int_equal(rxd_board_at(&board, 8)->at_ns, 99);
	assert_true(rxd_board_at(&board, 8)->resent);
	assert_int_equal(board.next, 11);
	rxd_board_clear(&board, 20);
	assert_int_equal(board.lost_from, 20);
	assert_int_equal(board.in_flight + board.lost, 0);
	rxd_board_done(&board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_of_early_packets_grows),
		cmocka_unit_test(limits_of_memory),
		cmocka_unit_test(bits_of_early_packets),
		cmocka_unit_test(lengths_of_acknowledgements),
		cmocka_unit_test(words_of_acknowledgements),
		cmocka_unit_test(a_board_grows_around_its_packets),
		cmocka_unit_test(states_of_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

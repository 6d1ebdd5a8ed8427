/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages that are discarded before all of them has come: the rest is
 * dropped wherever it is, the sender hears of it once, and the next message is
 * received.
 */
#include "conn_fixture.h"

enum { LEN = 40, ID = 77 };

static const struct tcp_record first = { .kind = TCP_REC_TAGGED,
	.flags = TCP_FLAG_MATCH,
	.tag = 3,
	.id = ID,
	.payload_len = LEN };

/* The first message, and one behind it that is to be received. */
static struct bytes two_messages(const struct pair *p)
{
	const struct tcp_record behind = { .kind = TCP_REC_TAGGED,
		.flags = TCP_FLAG_DATA,
		.tag = 4,
		.data = 1004,
		.payload_len = LEN };
	struct bytes bytes = { 0 };
	uint8_t payload[LEN];

	fill(payload, LEN, 3);
	add_record(&bytes, p, &first, payload);
	fill(payload, LEN, 4);
	add_record(&bytes, p, &behind, payload);
	return bytes;
}

static void discard(struct pair *p, void *context)
{
	const struct fi_msg_tagged msg = { .tag = 3, .context = context };

	assert_int_equal(fi_trecvmsg(p->ep, &msg, FI_PEEK | FI_DISCARD), 0);
	pair_progress(p);
	assert_one_ended(p, context, 0);
}

static void expect_next(struct pair *p, const uint8_t *in)
{
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, LEN, 4);
	p->ended_count = 0;
	assert_int_equal(p->conn->unexp.bytes, 0);
	assert_int_equal(p->tcp->unexp.bytes, 0);
}

/* When each number of the payload's bytes have come, the last one as well. */
static void while_it_arrives(void **state)
{
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	const size_t hdr = bytes.len - 2 * LEN - (TCP_WIRE_BASE + 16);
	uint8_t in[LEN];

	for (size_t at = hdr; at <= hdr + LEN; at++) {
		assert_int_equal(
			fi_trecv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 4, 0, in), 0);
		peer_send(p, bytes.at, at);
		pair_progress(p);
		peer_expect_nothing(p);
		discard(p, in);
		assert_int_equal(peer_expect(p, TCP_REC_MATCHED, NULL).id, ID);
		peer_send(p, bytes.at + at, bytes.len - at);
		expect_next(p, in);
		peer_expect_nothing(p);
	}
}

/* It was left in the socket, with any number of the bytes behind it read. */
static void left_in_the_socket(void **state)
{
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	const size_t hdr = bytes.len - 2 * LEN - (TCP_WIRE_BASE + 16);
	uint8_t in[LEN];

	for (size_t at = hdr; at <= bytes.len; at++) {
		assert_int_equal(
			fi_trecv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 4, 0, in), 0);
		pair_set_memory_full(p, true);
		peer_send(p, bytes.at, at);
		pair_progress(p);
		assert_int_equal(p->conn->rx.sink, TCP_SINK_HOLD);
		pair_set_memory_full(p, false);
		if (at < bytes.len)
			peer_send(p, bytes.at + at, bytes.len - at);
		assert_int_equal(fi_trecvmsg(p->ep, &(struct fi_msg_tagged){ .tag = 3 },
					 FI_PEEK | FI_DISCARD),
			0);
		pair_progress(p);
		assert_int_equal(p->ended_count, 2);
		assert_message(p, 1, in, LEN, 4);
		p->ended_count = 0;
		assert_int_equal(peer_expect(p, TCP_REC_MATCHED, NULL).id, ID);
		peer_expect_nothing(p);
		assert_int_equal(p->conn->unexp.bytes, 0);
	}
}

/* It was left in the socket, and there is memory again: it is saved, and what is behind
 * it is read, without a receive for it. */
static void goes_on_when_there_is_memory(void **state)
{
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	const size_t hdr = bytes.len - 2 * LEN - (TCP_WIRE_BASE + 16);
	uint8_t in[LEN];

	for (size_t at = hdr; at <= bytes.len; at++) {
		assert_int_equal(
			fi_trecv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 4, 0, in), 0);
		pair_set_memory_full(p, true);
		peer_send(p, bytes.at, at);
		pair_progress(p);
		assert_int_equal(p->conn->rx.sink, TCP_SINK_HOLD);
		pair_set_memory_full(p, false);
		/* Another connection's message was received. */
		wf_budget_give(&p->tcp->unexp.budget, NULL, 0);
		if (at < bytes.len)
			peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		assert_int_equal(p->ended_count, 1);
		assert_message(p, 0, in, LEN, 4);
		assert_int_equal(
			fi_trecv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 3, 0, in), 0);
		pair_progress(p);
		assert_int_equal(p->ended_count, 2);
		assert_memory_equal(in, bytes.at + hdr, LEN);
		p->ended_count = 0;
		assert_int_equal(peer_expect(p, TCP_REC_MATCHED, NULL).id, ID);
		assert_int_equal(p->conn->unexp.bytes, 0);
		assert_int_equal(p->tcp->unexp.budget.used, 0);
		assert_true(wf_list_empty(&p->tcp->held));
	}
}

/* Its payload is at the sender, who has to be cleared to send it before the operation
 * can end there: what comes is dropped. */
static void asked_to_clear(void **state)
{
	const struct tcp_record rts = {
		.kind = TCP_REC_RTS, .tag = 3, .index = 1, .msg_len = LEN
	};
	const struct tcp_record data = {
		.kind = TCP_REC_RDV_DATA, .index = 1, .payload_len = LEN
	};
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	const size_t hdr = bytes.len - 2 * LEN - (TCP_WIRE_BASE + 16);
	uint8_t in[LEN];

	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			fi_trecv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 4, 0, in), 0);
		peer_record(p, &rts, NULL);
		pair_progress(p);
		peer_expect_nothing(p);
		discard(p, in);
		assert_int_equal(peer_expect(p, TCP_REC_CTS, NULL).index, 1);
		peer_record(p, &data, bytes.at);
		peer_send(p, bytes.at + hdr + LEN, bytes.len - hdr - LEN);
		expect_next(p, in);
		assert_null(p->conn->rdv.at[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(while_it_arrives),
		PAIR_TEST(left_in_the_socket),
		PAIR_TEST(goes_on_when_there_is_memory),
		PAIR_TEST(asked_to_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

#include <rdma/fi_atomic.h>

#include "providers/rxm/data/hold.h"

/* Atomic operations at their initiator, works that wait for others, and messages that
 * are complete early. */

static uint64_t operand[64], result[64], compare[64];

static void peer_answers(
	struct pair *p, unsigned int post, int err, const void *before, size_t len)
{
	struct rxm_packet request = packet_at(post);
	_Alignas(8) uint8_t bytes[RXM_WIRE_RESULT + 512];

	rxm_put_result(bytes, 0, &request, err, len);
	if (len)
		memcpy(bytes + RXM_WIRE_RESULT, before, len);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		RXM_WIRE_RESULT + len - RXM_HEADER);
}

static ssize_t fetch(struct pair *p, size_t count, void *context)
{
	return fi_fetch_atomic(p->ep, operand, count, NULL, result, NULL, p->addr, 16,
		5, FI_UINT64, FI_SUM, context);
}

static void test_a_fetch(void **state)
{
	struct pair *p = *state;
	const uint64_t before[2] = { 11, 12 };
	struct rxm_packet packet;

	operand[0] = 3;
	operand[1] = 4;
	assert_int_equal(fetch(p, 2, operand), 0);
	packet = packet_at(0);
	assert_int_equal(packet.kind, RXM_ATOMIC);
	assert_int_equal(packet.op, RXM_OP_FETCH);
	assert_int_equal(packet.datatype, FI_UINT64);
	assert_int_equal(packet.atomic_op, FI_SUM);
	assert_int_equal(packet.seg_count, 1);
	assert_int_equal(packet.seg[0].addr, 16);
	assert_int_equal(packet.seg[0].key, 5);
	assert_int_equal(packet.seg[0].len, 16);
	assert_int_equal(packet.payload_len, 16);
	assert_memory_equal(packet.payload, operand, 16);
	assert_int_equal(
		p->conn->data.asked_bytes, RXM_ANSWER_COST + RXM_WIRE_RESULT + 16);
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	peer_answers(p, 0, 0, before, 16);
	assert_one_ended(p, operand, 0);
	assert_memory_equal(result, before, 16);
	assert_int_equal(p->conn->data.asked_bytes, 0);
	assert_int_equal(p->conn->data.begun, 0);
	assert_int_equal(p->rxm->data.pending, 0);
}

static void test_answers_that_are_no_success(void **state)
{
	struct pair *p = *state;
	const uint64_t before[2] = { 11, 12 };

	assert_int_equal(fetch(p, 1, operand), 0);
	fake_end(0, 0);
	peer_answers(p, 0, FI_EACCES, NULL, 0);
	assert_one_ended(p, operand, FI_EACCES);
	/* More than was asked for. */
	result[0] = 0;
	assert_int_equal(fetch(p, 1, operand), 0);
	fake_end(1, 0);
	peer_answers(p, 1, 0, before, 16);
	assert_one_ended(p, operand, FI_EIO);
	assert_int_equal(result[0], 0);
	/* An answer of a connection is for its own operations, once. */
	peer_answers(p, 1, 0, before, 8);
	assert_true(wf_list_empty(&p->rxm->conns));
}

static void test_operands_and_comparands(void **state)
{
	struct pair *p = *state;
	struct rxm_packet packet;

	operand[0] = 21;
	compare[0] = 22;
	assert_int_equal(
		fi_compare_atomic(p->ep, operand, 1, NULL, compare, NULL, result, NULL,
			p->addr, 0, 5, FI_UINT64, FI_CSWAP, operand),
		0);
	packet = packet_at(0);
	assert_int_equal(packet.op, RXM_OP_COMPARE);
	assert_int_equal(packet.payload_len, 16);
	assert_memory_equal(packet.payload, operand, 8);
	assert_memory_equal(packet.payload + 8, compare, 8);
	/* One without a result has an answer, too. */
	assert_int_equal(fi_atomic(p->ep, operand, 1, NULL, p->addr, 0, 5, FI_UINT64,
				 FI_SUM, operand + 1),
		0);
	assert_int_equal(
		p->conn->data.asked_bytes, 2 * (RXM_ANSWER_COST + RXM_WIRE_RESULT) + 8);
	fake_complete_all();
	peer_answers(p, 1, 0, NULL, 0);
	assert_one_ended(p, operand + 1, 0);
	assert_int_equal(
		p->conn->data.asked_bytes, RXM_ANSWER_COST + RXM_WIRE_RESULT + 8);
}

static void test_how_many_elements(void **state)
{
	struct pair *p = *state;
	size_t most = (RXM_HEADER + BUFFER - RXM_WIRE_ATOMIC) / 8, count = 0;

	assert_int_equal(fi_fetch_atomicvalid(p->ep, FI_UINT64, FI_SUM, &count), 0);
	assert_int_equal(count, most);
	assert_int_equal(fi_compare_atomicvalid(p->ep, FI_UINT64, FI_CSWAP, &count), 0);
	assert_int_equal(count, most / 2);
	assert_int_equal(fetch(p, most, operand), 0);
	assert_int_equal(fetch(p, most + 1, operand), -FI_EMSGSIZE);
	assert_int_equal(fi_atomic(p->ep, operand, 1, NULL, p->addr, 0, 5,
				 FI_LONG_DOUBLE, FI_SUM, operand),
		-FI_EOPNOTSUPP);
	assert_int_equal(fake.post_count, 1);
}

/* The peer has memory for the answers that may be waited for. */
static void test_a_window_of_answers(void **state)
{
	struct pair *p = *state;
	size_t cost = RXM_ANSWER_COST + RXM_WIRE_RESULT + 8;
	unsigned int most = (unsigned int)(RXM_ANSWER_WINDOW / cost);

	p->rxm->data.size = 4096;
	for (unsigned int i = 0; i < most; i++)
		assert_int_equal(fetch(p, 1, operand), 0);
	assert_int_equal(fake.post_count, most);
	assert_int_equal(fetch(p, 1, operand + 1), 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, most);
	fake_complete_all();
	/* Each progress call handles some of them. */
	while (fake.done_got != fake.done_put)
		pair_progress(p);
	peer_answers(p, 0, 0, result, 8);
	assert_int_equal(fake.post_count, most + 1);
	assert_one_ended(p, operand, 0);
}

/* An answer that waits behind an operation with a fence goes first. */
static void test_an_answer_goes_before_a_fence(void **state)
{
	struct pair *p = *state;
	struct iovec iov = { operand, 301 };
	struct fi_msg msg = { &iov, NULL, 1, p->addr, operand + 1, 0 };
	struct wf_op_atomic atomic = {
		.datatype = FI_UINT64, .op = FI_SUM, .count = 1, .size = 8
	};
	struct fi_rma_iov rma = { 0, 8, 12345 };
	struct wf_op from = { .kind = WF_OP_FETCH,
		.len = 8,
		.rma = &rma,
		.rma_count = 1,
		.atomic = &atomic };
	_Alignas(8) uint8_t bytes[RXM_WIRE_ATOMIC + 8] = { 0 };

	assert_int_equal(fi_read(p->ep, result, 8, NULL, p->addr, 0, 1, result), 0);
	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = -FI_EAGAIN;
	assert_int_equal(fi_send(p->ep, operand, 300, NULL, p->addr, operand), 0);
	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_COMPLETION | FI_FENCE), 0);
	assert_int_equal(fi_send(p->ep, operand, 302, NULL, p->addr, operand), 0);
	rxm_put_atomic(bytes, 0, 3, &from, 8);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		sizeof(bytes) - RXM_HEADER);
	assert_int_equal(fake.post_count, 1);
	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(packet_at(1).size, 300);
	assert_int_equal(packet_at(2).kind, RXM_ATOMIC_RESULT);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_int_equal(fake.post_count, 5);
	assert_int_equal(packet_at(3).size, 301);
	assert_int_equal(packet_at(4).size, 302);
}

/* The payload of an injected message is one copy. */
static void test_buffers_that_are_injected(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[40];
	struct iovec iov[2] = { { bytes, 10 }, { bytes + 10, 30 } };
	struct fi_msg msg = { iov, NULL, 2, p->addr, bytes, 0 };
	uint8_t expected[40];

	fill(expected, sizeof(expected), 3);
	memcpy(bytes, expected, sizeof(bytes));
	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = -FI_EAGAIN;
	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_COMPLETION | FI_INJECT), 0);
	memset(bytes, 0, sizeof(bytes));
	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = 0;
	pair_progress(p);
	assert_int_equal(packet_at(0).payload_len, 40);
	assert_memory_equal(packet_at(0).payload, expected, 40);
}

/* Over a stream, the first message after a progress call completes at once. */
static void test_messages_over_a_stream(void **state)
{
	struct pair *p = *state;

	p->rxm->data.is_stream = true;
	assert_int_equal(fi_send(p->ep, operand, 8, NULL, p->addr, operand), 0);
	assert_int_equal(fake.posts[0].kind, FAKE_INJECT);
	assert_int_equal(p->rxm->data.pending, 0);
	assert_int_equal(fi_send(p->ep, operand, 8, NULL, p->addr, operand), 0);
	assert_int_equal(fake.posts[1].kind, FAKE_SEND);
	pair_progress(p);
	assert_one_ended(p, operand, 0);
	assert_int_equal(fi_send(p->ep, operand, 8, NULL, p->addr, operand + 1), 0);
	assert_int_equal(fake.posts[2].kind, FAKE_INJECT);
	pair_progress(p);
	assert_one_ended(p, operand + 1, 0);
	/* The injected ones do not count. */
	assert_int_equal(fi_inject(p->ep, operand, 8, p->addr), 0);
	assert_int_equal(fi_send(p->ep, operand, 8, NULL, p->addr, operand + 1), 0);
	assert_int_equal(fake.posts[4].kind, FAKE_INJECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_a_fetch),
		PAIR_TEST(test_answers_that_are_no_success),
		PAIR_TEST(test_operands_and_comparands),
		PAIR_TEST(test_how_many_elements),
		PAIR_TEST(test_a_window_of_answers),
		PAIR_TEST(test_an_answer_goes_before_a_fence),
		PAIR_TEST(test_buffers_that_are_injected),
		PAIR_TEST(test_messages_over_a_stream),
	};

	fake_reset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

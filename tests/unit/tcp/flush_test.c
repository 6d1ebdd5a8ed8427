/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How records leave where the kernel takes some of their bytes: every number of them,
 * none, or an error. And when they leave: at once, or with the next progress call.
 */
#include "conn_fixture.h"

enum { SMALL = 20, LARGE = TCP_COPY_MAX + 52, STREAM_MAX = 8192 };

/* ---- some bytes at a time ---- */

/* What the peer reads until nothing is left. */
struct stream {
	size_t len;
	uint8_t at[STREAM_MAX];
};

static void read_all(struct pair *p, struct stream *stream)
{
	size_t n;

	while ((n = peer_read(
			p, stream->at + stream->len, sizeof(stream->at) - stream->len)))
		stream->len += n;
}

/* Two small messages, one from three buffers of the application, a small one, a read
 * response from registered memory, and an acknowledgement. */
static void post_all(struct pair *p, uint8_t *small, uint8_t *large)
{
	const struct iovec iov[] = { { large, 1 }, { large + 1, 1000 },
		{ large + 1001, LARGE - 1001 } };
	const struct tcp_record read = {
		.kind = TCP_REC_READ, .seg_count = 1, .seg = { { 3, 99, KEY } }
	};
	const struct tcp_record write = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 1,
		.seg = { { 0, 1, KEY } } };

	assert_int_equal(fi_tsend(p->ep, small, SMALL, NULL, 0, 1, small), 0);
	assert_int_equal(
		fi_tsenddata(p->ep, small, SMALL, NULL, 77, 0, 2, small + 1), 0);
	assert_int_equal(fi_tsendv(p->ep, iov, NULL, 3, 0, 3, large), 0);
	assert_int_equal(fi_send(p->ep, small, SMALL, NULL, 0, small + 2), 0);
	peer_record(p, &read, NULL);
	peer_record(p, &write, "w");
}

static void take_message(struct pair *p, enum tcp_rec_kind kind, uint64_t tag,
	const uint8_t *want, size_t len)
{
	uint8_t payload[LARGE];
	struct tcp_record rec = peer_expect(p, kind, payload);

	assert_int_equal(rec.tag, tag);
	assert_int_equal(rec.payload_len, len);
	assert_memory_equal(payload, want, len);
}

/* All of it at once: the order in which the records go, each whole. */
static void order_of_records(void **state)
{
	uint8_t small[SMALL], large[LARGE], payload[LARGE];
	struct pair *p = *state;
	struct tcp_record rec;

	fill(small, SMALL, 1);
	fill(large, LARGE, 2);
	fill(p->region, REGION, 3);
	kernel.takes = 0;
	post_all(p, small, large);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	take_message(p, TCP_REC_TAGGED, 1, small, SMALL);
	take_message(p, TCP_REC_TAGGED, 2, small, SMALL);
	take_message(p, TCP_REC_TAGGED, 3, large, LARGE);
	(void)peer_expect(p, TCP_REC_ACK, NULL);
	rec = peer_expect(p, TCP_REC_READ_RESP, payload);
	assert_int_equal(rec.payload_len, 99);
	assert_memory_equal(payload, p->region + 3, 99);
	take_message(p, TCP_REC_MSG, 0, small, SMALL);
	peer_expect_nothing(p);
	assert_int_equal(p->ended_count, 4);
}

/* The kernel takes nothing before all is queued, so that the order is the same each
 * time; then @step bytes in each progress call. */
static void send_in_steps(struct pair *p, size_t step, uint8_t *small, uint8_t *large,
	struct stream *stream)
{
	stream->len = 0;
	p->ended_count = 0;
	kernel.takes = 0;
	post_all(p, small, large);
	pair_progress(p);
	read_all(p, stream);
	for (unsigned int i = 0; !tcp_tx_idle(p->conn); i++) {
		assert_true(i < STREAM_MAX);
		kernel.takes = step;
		pair_progress(p);
		read_all(p, stream);
	}
	assert_int_equal(p->ended_count, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(p->ended[i].err, 0);
	assert_ptr_equal(p->ended[0].context, small);
	assert_ptr_equal(p->ended[1].context, small + 1);
	assert_ptr_equal(p->ended[2].context, large);
	assert_ptr_equal(p->ended[3].context, small + 2);
}

/* Set the numbers of the records back, so that the same records are the same bytes. */
static void begin_again(struct pair *p)
{
	assert_null(p->conn->stage);
	assert_true(wf_list_empty(&p->conn->dirty_link));
	p->conn->number = 0;
}

/* A write that stops after each number of bytes: the stream is the same. */
static void stops_after_each_byte(void **state)
{
	static struct stream want, got;
	uint8_t small[SMALL], large[LARGE];
	struct pair *p = *state;

	fill(small, SMALL, 1);
	fill(large, LARGE, 2);
	fill(p->region, REGION, 3);
	p->region[0] = 'w';
	send_in_steps(p, SIZE_MAX, small, large, &want);
	for (size_t at = 1; at < want.len; at++) {
		/* In the middle of the large payload some places are enough. */
		if (at > 300 && at < LARGE - 100)
			at += 97;
		begin_again(p);
		send_in_steps(p, at, small, large, &got);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.at, want.at, want.len);
	}
}

/* A message is complete when the kernel has its last byte, and not before. */
static void complete_with_the_last_byte(void **state)
{
	static const size_t lens[] = { 0, SMALL, LARGE };
	struct pair *p = *state;
	static uint8_t bytes[LARGE], got[LARGE + 64];

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		const size_t whole = TCP_WIRE_BASE + 8 + lens[i];

		for (size_t at = 0; at<whole; at += at> 60 ? 61 : 1) {
			p->ended_count = 0;
			kernel.takes = at;
			assert_int_equal(
				fi_tsend(p->ep, bytes, lens[i], NULL, 0, 1, bytes), 0);
			pair_progress(p);
			assert_int_equal(p->ended_count, 0);
			kernel.takes = whole - at - 1;
			pair_progress(p);
			assert_int_equal(p->ended_count, 0);
			kernel.takes = 1;
			pair_progress(p);
			assert_one_ended(p, bytes, 0);
			assert_int_equal(peer_read(p, got, sizeof(got)), whole);
		}
	}
}

/* ---- errors ---- */

/* A signal ends the call before it took anything: it is repeated. */
static void interrupted(void **state)
{
	uint8_t bytes[SMALL] = { 1 }, got[LARGE];
	struct pair *p = *state;

	kernel.err = EINTR;
	assert_int_equal(fi_send(p->ep, bytes, SMALL, NULL, 0, bytes), 0);
	assert_int_equal(peer_read(p, got, sizeof(got)), TCP_WIRE_BASE + SMALL);
	pair_progress(p);
	assert_one_ended(p, bytes, 0);
}

/* Sending fails after each number of bytes: what the peer had sent before is received,
 * then the operations fail. */
static void failed_after_each_byte(void **state)
{
	const struct tcp_record last = { .kind = TCP_REC_MSG, .payload_len = SMALL };
	uint8_t small[SMALL], large[LARGE], in[SMALL];
	struct pair *p = *state;

	fill(small, SMALL, 1);
	fill(large, LARGE, 2);
	for (size_t at = 0; at < 100; at++) {
		assert_int_equal(fi_recv(p->ep, in, SMALL, NULL, 0, in), 0);
		kernel.takes = at;
		assert_int_equal(fi_send(p->ep, small, SMALL, NULL, 0, small), 0);
		assert_int_equal(fi_send(p->ep, large, LARGE, NULL, 0, large), 0);
		peer_record(p, &last, small);
		kernel.err = EPIPE;
		pair_progress(p);
		assert_int_equal(p->ended_count, 3);
		for (unsigned int i = 0; i < 3; i++) {
			const struct ended *e = &p->ended[i];
			bool sent = e->context == small && at >= TCP_WIRE_BASE + SMALL;

			assert_int_equal(
				e->err, e->context == in || sent ? 0 : FI_ECANCELED);
		}
		assert_memory_equal(in, small, SMALL);
		assert_null(p->tcp->cm->conn);
		pair_again(p);
	}
}

/* ---- when ---- */

/* One message of each progress call goes at once, and those behind it with the next. */
static void first_at_once_then_together(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 1;

	for (unsigned int round = 0; round < 3; round++) {
		kernel.calls = 0;
		assert_int_equal(fi_send(p->ep, &byte, 1, NULL, 0, &byte), 0);
		assert_int_equal(kernel.calls, 1);
		for (unsigned int i = 0; i < 10; i++)
			assert_int_equal(fi_send(p->ep, &byte, 1, NULL, 0, &byte), 0);
		assert_int_equal(kernel.calls, 1);
		pair_progress(p);
		assert_int_equal(kernel.calls, 2);
		assert_int_equal(p->ended_count, 11 * (round + 1));
	}
}

/* FI_MORE: nothing goes before the last of them. */
static void more_to_come(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 1;
	struct iovec iov = { &byte, 1 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &byte };

	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(fi_sendmsg(p->ep, &msg, FI_MORE | FI_COMPLETION), 0);
	assert_int_equal(kernel.calls, 0);
	pair_progress(p);
	assert_int_equal(kernel.calls, 1);
	assert_int_equal(p->ended_count, 5);
}

/* Injected messages do not wait for a progress call, which the application may never
 * make, however many there are. */
static void injected_ones_do_not_wait(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 1;

	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(fi_inject(p->ep, &byte, 1, 0), 0);
		assert_int_equal(kernel.calls, i + 1);
	}
}

/* An application that injects and makes progress calls in between: beyond the 16th,
 * what it injects between two calls goes together. */
static void injected_between_progress_calls(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 1;

	for (unsigned int round = 0; round < 3; round++) {
		kernel.calls = 0;
		for (unsigned int i = 0; i < 40; i++)
			assert_int_equal(fi_inject(p->ep, &byte, 1, 0), 0);
		assert_int_equal(kernel.calls, round ? 16 : 40);
		pair_progress(p);
		assert_int_equal(kernel.calls, round ? 17 : 40);
	}
}

/* A connection whose socket is full is watched for space only as long. */
static void watched_while_the_socket_is_full(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 1;

	p->tcp->watches.sleepers = true;
	p->tcp->armed_epoch = p->tcp->epoch;
	kernel.takes = 3;
	assert_int_equal(fi_send(p->ep, &byte, 1, NULL, 0, &byte), 0);
	assert_true(p->conn->watch.events & EPOLLOUT);
	kernel.takes = 3;
	tcp_tx_flush(p->conn);
	assert_true(p->conn->watch.events & EPOLLOUT);
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	assert_false(p->conn->watch.events & EPOLLOUT);
	assert_one_ended(p, &byte, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(order_of_records),
		PAIR_TEST(stops_after_each_byte),
		PAIR_TEST(complete_with_the_last_byte),
		PAIR_TEST(interrupted),
		PAIR_TEST(failed_after_each_byte),
		PAIR_TEST(first_at_once_then_together),
		PAIR_TEST(more_to_come),
		PAIR_TEST(injected_ones_do_not_wait),
		PAIR_TEST(injected_between_progress_calls),
		PAIR_TEST(watched_while_the_socket_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

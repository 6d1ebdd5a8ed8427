/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a connection reads, where bytes arrive in pieces that begin and end anywhere: a
 * header, a payload into buffers or registered memory, a message that is matched while
 * it arrives, one that is left in the socket.
 */
#include "conn_fixture.h"

#include "objects/endpoint/inbox.h"

enum { LEN = 40 };

static struct tcp_record tagged(uint64_t tag, size_t len)
{
	return (struct tcp_record){ .kind = TCP_REC_TAGGED,
		.flags = TCP_FLAG_DATA,
		.tag = tag,
		.data = tag + 1000,
		.payload_len = len };
}

static void post(struct pair *p, void *buf, size_t len, uint64_t tag)
{
	assert_int_equal(
		fi_trecv(p->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, buf), 0);
}

/* Send @bytes in two pieces, @at bytes first. */
static void send_split(struct pair *p, const struct bytes *bytes, size_t at)
{
	peer_send(p, bytes->at, at);
	pair_progress(p);
	peer_send(p, bytes->at + at, bytes->len - at);
	pair_progress(p);
}

/* Three messages in two pieces, for every place between them. */
static void split_anywhere(void **state)
{
	struct pair *p = *state;
	uint8_t payload[LEN], in[3][LEN];
	struct bytes bytes = { 0 };

	for (unsigned int tag = 0; tag < 3; tag++) {
		struct tcp_record rec = tagged(tag, tag == 1 ? 0 : LEN);

		fill(payload, LEN, tag);
		add_record(&bytes, p, &rec, payload);
	}
	for (size_t at = 1; at < bytes.len; at++) {
		p->ended_count = 0;
		memset(in, 0, sizeof(in));
		for (unsigned int tag = 0; tag < 3; tag++)
			post(p, in[tag], LEN, tag);
		send_split(p, &bytes, at);
		assert_int_equal(p->ended_count, 3);
		for (unsigned int tag = 0; tag < 3; tag++)
			assert_message(p, tag, in[tag], tag == 1 ? 0 : LEN, tag);
	}
}

/* One byte at a time: the message is complete with its last byte, not before. */
static void byte_by_byte(void **state)
{
	struct tcp_record rec = tagged(5, LEN);
	struct bytes bytes = { 0 };
	struct pair *p = *state;
	uint8_t payload[LEN], in[LEN];

	fill(payload, LEN, 5);
	add_record(&bytes, p, &rec, payload);
	post(p, in, LEN, 5);
	for (size_t i = 0; i < bytes.len; i++) {
		assert_int_equal(p->ended_count, 0);
		peer_send(p, bytes.at + i, 1);
		pair_progress(p);
	}
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, LEN, 5);
}

/* A receive of three buffers, which together are too short for the message, whose rest
 * is dropped: the next message is not disturbed. */
static void truncated_into_buffers(void **state)
{
	enum { FIT = 25 };
	struct tcp_record rec = tagged(7, LEN), behind = tagged(8, LEN);
	uint8_t payload[LEN], next[LEN], in[FIT + 1], in2[LEN];
	const struct iovec iov[] = { { in, 3 }, { in + 3, 1 }, { in + 4, FIT - 4 } };
	struct pair *p = *state;
	struct bytes bytes = { 0 };

	fill(payload, LEN, 7);
	fill(next, LEN, 8);
	add_record(&bytes, p, &rec, payload);
	add_record(&bytes, p, &behind, next);
	for (size_t at = 1; at < bytes.len; at++) {
		p->ended_count = 0;
		memset(in, 0xee, sizeof(in));
		assert_int_equal(
			fi_trecvv(p->ep, iov, NULL, 3, FI_ADDR_UNSPEC, 7, 0, in), 0);
		post(p, in2, LEN, 8);
		send_split(p, &bytes, at);
		assert_int_equal(p->ended_count, 2);
		assert_int_equal(p->ended[0].err, FI_ETRUNC);
		assert_int_equal(p->ended[0].len, FIT);
		assert_memory_equal(in, payload, FIT);
		assert_int_equal(in[FIT], 0xee);
		assert_message(p, 1, in2, LEN, 8);
	}
}

/* ---- unexpected messages ---- */

/* Messages with tags 3 and 4. */
static struct bytes two_messages(const struct pair *p)
{
	struct bytes bytes = { 0 };
	uint8_t payload[LEN];

	for (unsigned int tag = 3; tag <= 4; tag++) {
		struct tcp_record rec = tagged(tag, LEN);

		fill(payload, LEN, tag);
		add_record(&bytes, p, &rec, payload);
	}
	return bytes;
}

/* The receive is posted when @at bytes of the message have come. */
static void matched_while_it_arrives(void **state)
{
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	uint8_t in[LEN], in2[LEN];

	for (size_t at = 1; at < bytes.len; at++) {
		const struct iovec iov[] = { { in, 1 }, { in + 1, 20 },
			{ in + 21, LEN - 21 } };

		p->ended_count = 0;
		memset(in, 0, sizeof(in));
		peer_send(p, bytes.at, at);
		pair_progress(p);
		assert_int_equal(
			fi_trecvv(p->ep, iov, NULL, 3, FI_ADDR_UNSPEC, 3, 0, in), 0);
		peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		post(p, in2, LEN, 4);
		pair_progress(p);
		assert_int_equal(p->ended_count, 2);
		assert_message(p, 0, in, LEN, 3);
		assert_message(p, 1, in2, LEN, 4);
		assert_int_equal(p->conn->unexp.bytes, 0);
	}
}

/* The same, where the receive is too short: what came and what comes are cut. */
static void matched_too_short_while_it_arrives(void **state)
{
	enum { FIT = 13 };
	struct tcp_record rec = tagged(3, LEN);
	uint8_t payload[LEN], in[LEN];
	struct pair *p = *state;
	struct bytes bytes = { 0 };

	fill(payload, LEN, 3);
	add_record(&bytes, p, &rec, payload);
	for (size_t at = 1; at <= bytes.len; at++) {
		p->ended_count = 0;
		memset(in, 0xee, sizeof(in));
		peer_send(p, bytes.at, at);
		pair_progress(p);
		post(p, in, FIT, 3);
		if (at < bytes.len)
			peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		assert_one_ended(p, in, FI_ETRUNC);
		assert_memory_equal(in, payload, FIT);
		assert_int_equal(in[FIT], 0xee);
	}
}

/* A message that may not be kept stays in the socket, with the bytes behind it that
 * were read already. When it is matched all goes on, whether more bytes come or not. */
static void held_until_it_is_matched(void **state)
{
	struct pair *p = *state;
	const struct bytes bytes = two_messages(p);
	uint8_t in[LEN], in2[LEN];

	for (size_t at = 1; at <= bytes.len; at++) {
		p->ended_count = 0;
		pair_set_memory_full(p, true);
		post(p, in2, LEN, 4);
		peer_send(p, bytes.at, at);
		pair_progress(p);
		if (at < bytes.len)
			peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		/* The one behind it has a receive and still does not overtake. */
		assert_int_equal(p->ended_count, 0);
		assert_int_equal(p->conn->rx.sink, TCP_SINK_HOLD);
		assert_false(tcp_conn_events(p->conn) & EPOLLIN);
		post(p, in, LEN, 3);
		pair_progress(p);
		pair_set_memory_full(p, false);
		assert_int_equal(p->ended_count, 2);
		assert_message(p, 0, in, LEN, 3);
		assert_message(p, 1, in2, LEN, 4);
		assert_int_equal(p->conn->unexp.bytes, 0);
		assert_null(p->conn->rx.held);
		assert_true(tcp_conn_events(p->conn) & EPOLLIN);
	}
}

/* Of one without payload nothing is left in the socket: no more bytes need to come. */
static void an_empty_one_is_held_until_it_is_matched(void **state)
{
	const struct tcp_record rec = tagged(3, 0);
	struct pair *p = *state;
	uint8_t in[1];

	p->ended_count = 0;
	pair_set_memory_full(p, true);
	peer_record(p, &rec, NULL);
	pair_progress(p);
	assert_int_equal(p->conn->rx.sink, TCP_SINK_HOLD);
	post(p, in, sizeof(in), 3);
	pair_progress(p);
	pair_set_memory_full(p, false);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, 0, 3);
}

/* ---- registered memory ---- */

static struct tcp_record write_of(const struct fi_rma_iov *seg, size_t count)
{
	struct tcp_record rec = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK | TCP_FLAG_DATA,
		.data = 99,
		.seg_count = (uint8_t)count };

	for (size_t i = 0; i < count; i++) {
		rec.seg[i] = seg[i];
		rec.payload_len += seg[i].len;
	}
	return rec;
}

/* A write to three segments, in two pieces. */
static void write_in_pieces(void **state)
{
	struct pair *p = *state;
	const struct fi_rma_iov seg[] = { { 200, 9, KEY }, { 0, 1, KEY },
		{ 100, 30, KEY } };
	struct tcp_record rec = write_of(seg, 3);
	uint8_t payload[LEN], want[REGION];
	struct bytes bytes = { 0 };

	fill(payload, LEN, 1);
	add_record(&bytes, p, &rec, payload);
	memset(want, 0, sizeof(want));
	memcpy(want + 200, payload, 9);
	want[0] = payload[9];
	memcpy(want + 100, payload + 10, 30);
	for (size_t at = 1; at < bytes.len; at++) {
		p->ended_count = 0;
		memset(p->region, 0, sizeof(p->region));
		send_split(p, &bytes, at);
		assert_memory_equal(p->region, want, REGION);
		assert_int_equal(p->ended_count, 1);
		assert_int_equal(p->ended[0].data, 99);
		assert_int_equal(peer_expect(p, TCP_REC_ACK, NULL).payload_len, 0);
		peer_expect_nothing(p);
	}
}

/* The region is closed when some bytes of a write have come: no later byte is stored,
 * the peer is told, and the next record is read as if nothing had been. */
static void region_closed_while_it_is_written(void **state)
{
	struct pair *p = *state;
	const struct fi_rma_iov seg = { 8, LEN, KEY };
	struct tcp_record rec = write_of(&seg, 1), behind = tagged(4, LEN);
	uint8_t payload[LEN], next[LEN], in[LEN];
	const size_t hdr = TCP_WIRE_BASE + 8 + TCP_WIRE_SEG;
	struct bytes bytes = { 0 };

	fill(payload, LEN, 1);
	fill(next, LEN, 4);
	add_record(&bytes, p, &rec, payload);
	assert_int_equal(bytes.len, hdr + LEN);
	add_record(&bytes, p, &behind, next);
	for (size_t at = hdr; at < hdr + LEN; at++) {
		pair_again(p);
		post(p, in, LEN, 4);
		peer_send(p, bytes.at, at);
		pair_progress(p);
		pair_close_mr(p);
		peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		assert_memory_equal(p->region + 8, payload, at - hdr);
		for (size_t i = at - hdr; i < LEN; i++)
			assert_int_equal(p->region[8 + i], 0);
		assert_int_equal(p->ended_count, 1);
		assert_message(p, 0, in, LEN, 4);
		assert_int_equal(
			peer_expect(p, TCP_REC_ERROR, NULL).answer, TCP_ANSWER_ACK);
	}
}

/* ---- the inbox of a layer ---- */

static struct wf_inbox_feed feed;

static void use_inbox(struct pair *p)
{
	feed = (struct wf_inbox_feed){ .inbox = wf_inbox_new(NULL, LEN, NULL) };
	assert_non_null(feed.inbox);
	p->tcp->ep.inbox = &feed;
}

static struct tcp_record untagged(uint16_t flags, size_t len)
{
	return (struct tcp_record){
		.kind = TCP_REC_MSG, .flags = flags, .data = 99, .payload_len = len
	};
}

/* Append an untagged message, whose payload is fill(@seed). */
static void add_untagged(
	struct bytes *bytes, const struct pair *p, uint16_t flags, unsigned int seed)
{
	struct tcp_record rec = untagged(flags, LEN);
	uint8_t payload[LEN];

	fill(payload, LEN, seed);
	add_record(bytes, p, &rec, payload);
}

static void assert_in_inbox(unsigned int seed)
{
	const struct wf_inbox_message *message = wf_inbox_first(feed.inbox);

	assert_non_null(message);
	assert_ptr_equal(message->feed, &feed);
	assert_int_equal(message->len, LEN);
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(message->payload[i], fill_byte(seed, i));
	wf_inbox_pop(feed.inbox, message);
}

static void assert_received(
	const struct pair *p, unsigned int i, const uint8_t *buf, unsigned int seed)
{
	assert_true(i < p->ended_count);
	assert_ptr_equal(p->ended[i].context, buf);
	assert_int_equal(p->ended[i].err, 0);
	assert_int_equal(p->ended[i].len, LEN);
	for (size_t at = 0; at < LEN; at++)
		assert_int_equal(buf[at], fill_byte(seed, at));
}

/* Small messages do not need receives. One with remote CQ data does, and so do those
 * behind it until the layer has handled it. */
static void plain_messages_go_to_the_inbox(void **state)
{
	struct pair *p = *state;
	struct bytes bytes = { 0 };
	uint8_t in[2][LEN];

	use_inbox(p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			fi_recv(p->ep, in[i], LEN, NULL, FI_ADDR_UNSPEC, in[i]), 0);
	add_untagged(&bytes, p, 0, 1);
	add_untagged(&bytes, p, 0, 2);
	add_untagged(&bytes, p, TCP_FLAG_DATA, 3);
	add_untagged(&bytes, p, 0, 4);
	peer_send(p, bytes.at, bytes.len);
	pair_progress(p);
	assert_in_inbox(1);
	assert_in_inbox(2);
	assert_true(wf_inbox_empty(feed.inbox));
	assert_int_equal(p->ended_count, 2);
	assert_received(p, 0, in[0], 3);
	assert_int_equal(p->ended[0].data, 99);
	assert_received(p, 1, in[1], 4);
	assert_int_equal(feed.passed, 2);
	wf_inbox_handled(&feed);
	wf_inbox_handled(&feed);
	bytes.len = 0;
	add_untagged(&bytes, p, 0, 5);
	peer_send(p, bytes.at, bytes.len);
	pair_progress(p);
	assert_in_inbox(5);
	assert_int_equal(p->ended_count, 2);
	wf_inbox_free(feed.inbox);
}

/* Tagged messages, rendezvous and messages with an acknowledgement are passed. */
static void other_messages_are_passed(void **state)
{
	struct pair *p = *state;
	struct tcp_record rts = {
		.kind = TCP_REC_MSG_RTS, .index = 1, .msg_len = 1 << 20
	};
	struct tcp_record rec = tagged(7, LEN), acked = untagged(TCP_FLAG_ACK, 0);
	uint8_t payload[LEN], in[LEN], other[1];

	use_inbox(p);
	fill(payload, LEN, 7);
	post(p, in, LEN, 7);
	peer_record(p, &rec, payload);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, LEN, 7);
	assert_int_equal(feed.passed, 1);
	wf_inbox_handled(&feed);
	assert_int_equal(fi_recv(p->ep, other, 1, NULL, FI_ADDR_UNSPEC, other), 0);
	peer_record(p, &acked, NULL);
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_int_equal(peer_expect(p, TCP_REC_ACK, NULL).payload_len, 0);
	assert_int_equal(feed.passed, 1);
	wf_inbox_handled(&feed);
	peer_record(p, &rts, NULL);
	pair_progress(p);
	assert_int_equal(feed.passed, 1);
	assert_true(wf_inbox_empty(feed.inbox));
	wf_inbox_free(feed.inbox);
}

/* In two pieces: a message is passed if its header came alone, or with a part of the
 * payload. */
static void incomplete_messages_are_passed(void **state)
{
	struct pair *p = *state;
	struct bytes bytes = { 0 };
	uint8_t in[LEN];
	size_t hdr;

	use_inbox(p);
	add_untagged(&bytes, p, 0, 8);
	hdr = bytes.len - LEN;
	for (size_t at = 1; at < bytes.len; at++) {
		p->ended_count = 0;
		if (at >= hdr)
			assert_int_equal(
				fi_recv(p->ep, in, LEN, NULL, FI_ADDR_UNSPEC, in), 0);
		send_split(p, &bytes, at);
		if (at >= hdr) {
			assert_int_equal(p->ended_count, 1);
			assert_received(p, 0, in, 8);
			assert_int_equal(feed.passed, 1);
			wf_inbox_handled(&feed);
		} else {
			assert_in_inbox(8);
		}
		assert_true(wf_inbox_empty(feed.inbox));
		assert_int_equal(feed.passed, 0);
	}
	wf_inbox_free(feed.inbox);
}

/* ---- reading stops ---- */

/* A peer that does not read its answers is not read either, and goes on where it was
 * when it reads again. */
static void unread_answers_stop_the_reading(void **state)
{
	struct tcp_record probe = { .kind = TCP_REC_PROBE, .id = 1 };
	unsigned int sent = 0, came = 0;
	struct pair *p = *state;
	size_t held;

	p->tcp->answers.limit = 1;
	p->tcp->answers.share = TCP_ANSWER_SHARE;
	kernel.takes = 0;
	while (!tcp_rx_is_stopped(p->conn)) {
		assert_true(sent < 4096);
		probe.id = ++sent;
		peer_record(p, &probe, NULL);
		pair_progress(p);
	}
	assert_false(tcp_conn_events(p->conn) & EPOLLIN);
	held = p->conn->answer_bytes;
	probe.id = ++sent;
	peer_record(p, &probe, NULL);
	pair_progress(p);
	assert_int_equal(p->conn->answer_bytes, held);
	assert_int_equal(p->tcp->answers.used, p->conn->answer_bytes);
	while (came < sent) {
		kernel.takes = 24;
		pair_progress(p);
		assert_int_equal(peer_expect(p, TCP_REC_PROBE_RESP, NULL).id, ++came);
	}
	assert_int_equal(p->conn->answer_bytes, 0);
	assert_int_equal(p->tcp->answers.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(split_anywhere),
		PAIR_TEST(byte_by_byte),
		PAIR_TEST(truncated_into_buffers),
		PAIR_TEST(matched_while_it_arrives),
		PAIR_TEST(matched_too_short_while_it_arrives),
		PAIR_TEST(held_until_it_is_matched),
		PAIR_TEST(an_empty_one_is_held_until_it_is_matched),
		PAIR_TEST(write_in_pieces),
		PAIR_TEST(region_closed_while_it_is_written),
		PAIR_TEST(plain_messages_go_to_the_inbox),
		PAIR_TEST(other_messages_are_passed),
		PAIR_TEST(incomplete_messages_are_passed),
		PAIR_TEST(unread_answers_stop_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that are sent at once, in pieces: received before, while and after they are
 * whole, in buffers of any kind; what a peer may not write; and what becomes of them
 * when an end dies in the middle.
 */
#include "conn_fixture.h"

#include <stdlib.h>

enum { LONG = 10000, PIECE = 4096, PIECES = 3, TAG = 7 };

static uint8_t payload[SHM_BLOB_MAX], in[SHM_BLOB_MAX];

/* ---- the peer ---- */

/* Write a record with a blob in the byte ring, and @total behind its length. */
static void peer_piece(struct pair *p, uint8_t kind, uint8_t flags, uint64_t word,
	size_t at, size_t len, size_t total)
{
	struct shm_slot *slot;
	uint8_t ring_flags, *to;

	assert_true(shm_writer_refresh(&p->out));
	assert_true(shm_writer_slots(&p->out) > 0);
	slot = shm_writer_slot(&p->out);
	to = shm_writer_bytes(&p->out, len, &ring_flags);
	assert_non_null(to);
	memcpy(to, payload + at, len);
	peer_describe(slot, len, total);
	slot->word = word;
	slot->data = word + 1000;
	shm_writer_bytes_done(&p->out, ring_flags, len);
	shm_writer_commit(&p->out, slot, kind, flags | ring_flags, 0);
}

/* The @i-th piece of a message of LONG bytes. */
static void write_piece(struct pair *p, unsigned int i)
{
	size_t at = i * (size_t)PIECE, len = WF_MIN((size_t)PIECE, LONG - at);

	if (i)
		peer_piece(p, SHM_REC_DATA, 0, 0, at, len, 0);
	else
		peer_piece(p, SHM_REC_TAGGED, SHM_FLAG_MORE | SHM_FLAG_DATA, TAG, 0,
			len, LONG);
}

static void write_pieces(struct pair *p, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		write_piece(p, i);
	pair_progress(p);
}

static void post(struct pair *p)
{
	assert_int_equal(
		fi_trecv(p->ep, in, LONG, NULL, FI_ADDR_UNSPEC, TAG, 0, in), 0);
}

static void assert_received(struct pair *p)
{
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, LONG, TAG);
	p->ended_count = 0;
	memset(in, 0, sizeof(in));
	assert_int_equal(p->conn->unexp.bytes, 0);
	assert_int_equal(p->conn->in.pos, p->out.pos);
}

static int setup(void **state)
{
	fill(payload, sizeof(payload), TAG);
	memset(in, 0, sizeof(in));
	return pair_setup(state);
}

#define PIECES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)

/* ---- receiving ---- */

/* The receive is posted after each number of pieces, at each place of the byte ring
 * around its end. */
static void posted_before_each_piece(void **state)
{
	struct pair *p = *state;

	for (unsigned int back = 0; back <= LONG + 512; back += SHM_BYTES_ALIGN) {
		unsigned int after = back / SHM_BYTES_ALIGN % (PIECES + 1);

		pair_place(p, (uint32_t) - (back % 5), SHM_BYTES - back);
		write_pieces(p, 0, after);
		post(p);
		for (unsigned int i = after; i < PIECES; i++) {
			pair_progress(p);
			assert_int_equal(p->ended_count, 0);
			write_pieces(p, i, i + 1);
		}
		pair_progress(p);
		assert_received(p);
	}
}

/* Into several buffers, which the pieces do not end at; and into too few bytes. */
static void into_buffers(void **state)
{
	static const size_t lens[][2] = { { 1, LONG }, { PIECE, LONG - PIECE },
		{ PIECE + 100, LONG }, { 5000, 10 }, { 0, 7 } };
	struct pair *p = *state;

	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(lens); i++) {
		const size_t *len = lens[i / 2], all = len[0] + len[1];
		struct iovec iov[2] = { { in, len[0] }, { in + len[0], len[1] } };

		if (i % 2)
			write_pieces(p, 0, 2);
		assert_int_equal(
			fi_trecvv(p->ep, iov, NULL, 2, FI_ADDR_UNSPEC, TAG, 0, in), 0);
		write_pieces(p, i % 2 ? 2 : 0, PIECES);
		assert_int_equal(p->ended_count, 1);
		assert_int_equal(p->ended[0].err, all < LONG ? FI_ETRUNC : 0);
		assert_memory_equal(in, payload, WF_MIN(all, (size_t)LONG));
		assert_int_equal(in[all], 0);
		memset(in, 0, sizeof(in));
		p->ended_count = 0;
		assert_int_equal(p->conn->unexp.bytes, 0);
	}
}

/* Dropped while it comes: the rest goes nowhere, and the next message is received. */
static void dropped_while_it_comes(void **state)
{
	struct pair *p = *state;
	struct fi_msg_tagged msg = {
		.addr = FI_ADDR_UNSPEC, .tag = TAG, .context = in
	};

	write_pieces(p, 0, 1);
	assert_int_equal(fi_trecvmsg(p->ep, &msg, FI_PEEK | FI_DISCARD), 0);
	pair_progress(p);
	assert_one_ended(p, in, 0);
	assert_int_equal(p->conn->unexp.bytes, 0);
	post(p);
	write_pieces(p, 1, PIECES);
	assert_int_equal(p->ended_count, 0);
	write_pieces(p, 0, PIECES);
	assert_received(p);
}

/* What the peer writes behind the last piece is received behind the message. */
static void small_ones_behind_it(void **state)
{
	struct pair *p = *state;
	uint8_t small[8];

	post(p);
	assert_int_equal(
		fi_trecv(p->ep, small, 8, NULL, FI_ADDR_UNSPEC, TAG, 0, small), 0);
	for (unsigned int i = 0; i < PIECES; i++)
		write_piece(p, i);
	peer_record(p, SHM_REC_TAGGED, SHM_FLAG_DATA, TAG, payload, sizeof(small));
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_message(p, 0, in, LONG, TAG);
	assert_message(p, 1, small, sizeof(small), TAG);
}

/* ---- hostile peers ---- */

static void impossible_first_piece(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t len, total;
	} rows[] = {
		{ SHM_FLAG_ACK, 100, 200 },
		{ SHM_FLAG_MATCH, 100, 200 },
		{ 0, 100, 100 },
		{ 0, 100, 99 },
		{ 0, 100, 0 },
		{ 0, 100, SHM_BLOB_MAX + 1 },
		{ 0, 100, UINT32_MAX },
		{ 0, SHM_BLOB_MAX, SHM_BLOB_MAX },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		post(p);
		peer_piece(p, SHM_REC_TAGGED, SHM_FLAG_MORE | rows[i].flags, TAG, 0,
			rows[i].len, rows[i].total);
		assert_refused(p);
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
	/* not in the byte ring */
	post(p);
	peer_record(p, SHM_REC_TAGGED, SHM_FLAG_MORE, TAG, payload, 8);
	assert_refused(p);
	assert_int_equal(p->ended_count, 0);
}

/* Behind the first piece; the receive has been matched, and fails. */
static void impossible_later_piece(void **state)
{
	struct pair *p = *state;

	for (unsigned int what = 0; what < 4; what++) {
		post(p);
		write_pieces(p, 0, 2);
		if (what == 0) /* one byte too many */
			peer_piece(p, SHM_REC_DATA, 0, 0, 0, LONG - 2 * PIECE + 1, 0);
		else if (what == 1)
			peer_piece(p, SHM_REC_DATA, 0, 0, 0, 0, 0);
		else if (what == 2) /* another message in pieces */
			write_piece(p, 0);
		else { /* the end of it, and a piece more */
			write_pieces(p, 2, PIECES);
			assert_received(p);
			write_piece(p, 1);
		}
		assert_refused(p);
		if (what < 3)
			assert_one_ended(p, in, FI_EPROTO);
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
}

/* ---- an end that dies ---- */

/* The sender: the receive of the message fails, and no other; what is saved of it fails
 * the receive that matches it. */
static void sender_dies(void **state)
{
	struct pair *p = *state;

	for (unsigned int pieces = 1; pieces < PIECES; pieces++) {
		post(p);
		write_pieces(p, 0, pieces);
		post(p);
		peer_dies(p);
		assert_one_ended(p, in, FI_ECONNRESET);
		pair_connect(p);
		write_pieces(p, 0, PIECES);
		assert_received(p);
		write_pieces(p, 0, pieces);
		peer_dies(p);
		assert_int_equal(p->ended_count, 0);
		post(p);
		pair_progress(p);
		assert_one_ended(p, in, FI_ECONNRESET);
		pair_connect(p);
	}
}

/* This endpoint closes in the middle, with the receive matched and not. */
static void closed_in_the_middle(void **state)
{
	struct pair *p = *state;

	for (int posted = 0; posted < 2; posted++) {
		if (posted)
			post(p);
		write_pieces(p, 0, 2);
		assert_int_equal(fi_close(&p->ep->fid), 0);
		p->ep = NULL;
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
}

/* ---- sending ---- */

static void send_long(struct pair *p, size_t len, uint64_t tag)
{
	assert_int_equal(fi_tsenddata(p->ep, payload, len, NULL, tag + 1000, p->addr,
				 tag, payload),
		0);
	pair_progress(p);
	assert_one_ended(p, payload, 0);
}

/* The peer has sent something, so it may wait for what this endpoint sends. */
static void peer_speaks(struct pair *p)
{
	uint64_t none = 0;

	peer_record(p, SHM_REC_ACK, 0, 0, &none, 0);
	pair_progress(p);
}

/* Read a message of @len bytes; returns the number of its records. */
static unsigned int expect_long(struct pair *p, size_t len, uint64_t tag)
{
	struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);
	unsigned int records = 1;
	size_t got = rec.len;

	assert_int_equal(rec.word, tag);
	assert_int_equal(rec.data, tag + 1000);
	assert_int_equal(!!(rec.flags & SHM_FLAG_DATA), 1);
	assert_int_equal(!!(rec.flags & SHM_FLAG_MORE), got < len);
	if (got < len)
		assert_int_equal(rec.total, len);
	assert_memory_equal(rec.blob, payload, got);
	for (; got < len; records++) {
		rec = peer_expect(p, SHM_REC_DATA);
		assert_int_equal(rec.word, 0);
		assert_true(rec.len && rec.len <= len - got);
		assert_memory_equal(rec.blob, payload + got, rec.len);
		got += rec.len;
	}
	peer_tell(p);
	return records;
}

/* In pieces to a peer that has sent something since the last one, wherever the ring
 * begins; otherwise as a whole. */
static void sent_in_pieces(void **state)
{
	static const size_t lens[] = { 8192, 8193, LONG, 12288, 32767, 32768 };
	struct pair *p = *state;

	for (unsigned int i = 0; i < 600; i++) {
		size_t len = lens[i % WF_ARRAY_SIZE(lens)];

		pair_place(p, (uint32_t) - (i % 9),
			SHM_BYTES - i * (uint64_t)SHM_BYTES_ALIGN);
		peer_speaks(p);
		send_long(p, len, i);
		send_long(p, len, i);
		assert_true(expect_long(p, len, i) > 1);
		assert_int_equal(expect_long(p, len, i), 1);
		assert_false(peer_has_record(p));
		assert_int_equal(p->in.pos, p->conn->out.pos);
	}
}

/* From several buffers, which the pieces do not end at. */
static void gathered(void **state)
{
	struct pair *p = *state;

	for (size_t first = 0; first <= LONG; first += 500) {
		struct iovec iov[3] = { { payload, first }, { payload + first, 0 },
			{ payload + first, LONG - first } };
		struct fi_msg_tagged msg = { .msg_iov = iov,
			.iov_count = 3,
			.addr = p->addr,
			.tag = TAG,
			.data = TAG + 1000,
			.context = payload };

		peer_speaks(p);
		assert_int_equal(fi_tsendmsg(p->ep, &msg, FI_REMOTE_CQ_DATA), 0);
		assert_true(expect_long(p, LONG, TAG) > 1);
		pair_progress(p);
		assert_one_ended(p, payload, 0);
		assert_false(peer_has_record(p));
	}
}

/* With too few slots, or bytes, for all pieces nothing of the message is sent in
 * pieces, whatever else happens to it. */
static void without_space(void **state)
{
	struct pair *p = *state;
	unsigned int left = 0;

	for (unsigned int sent = SHM_SLOTS - 4; sent <= SHM_SLOTS; sent++) {
		pair_again(p);
		for (unsigned int i = 0; i < sent; i++)
			assert_int_equal(fi_tinject(p->ep, &i, 4, p->addr, 1), 0);
		peer_speaks(p);
		assert_int_equal(fi_tsenddata(p->ep, payload, LONG, NULL, TAG + 1000,
					 p->addr, TAG, payload),
			0);
		for (unsigned int i = 0; i < sent; i++)
			(void)peer_expect(p, SHM_REC_TAGGED);
		if (!peer_has_record(p)) {
			peer_tell(p);
			left++;
			pair_progress(p);
		}
		(void)expect_long(p, LONG, TAG);
		pair_progress(p);
		assert_int_equal(p->ended_count, 1);
		assert_false(peer_has_record(p));
	}
	assert_int_equal(left, 1);
	/* 256 KiB hold six of 40 KiB, with the gaps, and less than one more. */
	pair_again(p);
	for (unsigned int i = 0; i < 6; i++) {
		peer_speaks(p);
		send_long(p, 32768, i);
	}
	peer_speaks(p);
	assert_int_equal(fi_tsenddata(p->ep, payload, 32000, NULL, 1000 + 8, p->addr, 8,
				 payload),
		0);
	for (unsigned int i = 0; i < 6; i++)
		assert_true(expect_long(p, 32768, i) > 1);
	pair_progress(p);
	(void)expect_long(p, 32000, 8);
	pair_progress(p);
	assert_one_ended(p, payload, 0);
}

/* The reader dies: what it had not begun goes to its successor, whole and once. */
static void reader_dies(void **state)
{
	struct pair *p = *state;

	for (unsigned int begun = 0; begun <= 6; begun++) {
		unsigned int records = 0;

		pair_place(p, UINT32_MAX - 2, SHM_BYTES - 5000);
		peer_speaks(p);
		send_long(p, LONG, TAG);
		send_long(p, 8, 1);
		peer_speaks(p);
		send_long(p, LONG, 2);
		for (; records < begun; records++) {
			assert_true(peer_has_record(p));
			(void)peer_expect(p,
				(enum shm_kind)shm_head_kind(shm_reader_head(&p->in)));
		}
		peer_dies(p);
		pair_connect(p);
		pair_progress(p);
		if (begun < 1)
			(void)expect_long(p, LONG, TAG);
		if (begun < 4)
			(void)expect_long(p, 8, 1);
		if (begun < 5)
			(void)expect_long(p, LONG, 2);
		assert_false(peer_has_record(p));
		assert_int_equal(p->ended_count, 0);
	}
}

/* A peer that spoiled the lane before it died: nothing is sent again that is not a
 * message of this endpoint. */
static void spoiled_pieces(void **state)
{
	struct pair *p = *state;

	for (unsigned int what = 0; what < 5; what++) {
		struct shm_slot *first, *second;
		uint32_t total[] = { UINT32_MAX, SHM_BLOB_MAX, 1, LONG, LONG };

		pair_place(p, 1, 0);
		first = shm_slot_at(p->in.lane, 1);
		second = shm_slot_at(p->in.lane, 2);
		peer_speaks(p);
		send_long(p, LONG, TAG);
		memcpy(first->blob + 4, &total[what], 4);
		if (what == 3)
			second->word = 1;
		if (what == 4)
			second->head ^= (uint64_t)(SHM_REC_DATA ^ SHM_REC_CTS) << 32;
		peer_dies(p);
		pair_connect(p);
		pair_progress(p);
		assert_false(peer_has_record(p));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIECES_TEST(posted_before_each_piece),
		PIECES_TEST(into_buffers),
		PIECES_TEST(dropped_while_it_comes),
		PIECES_TEST(small_ones_behind_it),
		PIECES_TEST(impossible_first_piece),
		PIECES_TEST(impossible_later_piece),
		PIECES_TEST(sender_dies),
		PIECES_TEST(closed_in_the_middle),
		PIECES_TEST(sent_in_pieces),
		PIECES_TEST(gathered),
		PIECES_TEST(without_space),
		PIECES_TEST(reader_dies),
		PIECES_TEST(spoiled_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

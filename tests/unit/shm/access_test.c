/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RMA and atomic operations of the peer on registered memory, and its answers to those
 * of the endpoint: what is refused, at which limits, and also in the middle of a write.
 */
#include "conn_fixture.h"

enum { STREAM = 60000, PIECE = 7001 };

static uint8_t local[SHM_INLINE_MAX], result[64];

/* ---- requests of the peer ---- */

/* A request with one segment, and @payload bytes behind it. */
static void request(struct pair *p, uint8_t kind, uint8_t flags, uint64_t word,
	uint64_t id, struct fi_rma_iov seg, size_t payload)
{
	uint8_t blob[SHM_ACCESS_HEAD + 64];

	assert_true(payload <= 64);
	memcpy(blob, &id, sizeof(id));
	memcpy(blob + sizeof(id), &seg, sizeof(seg));
	fill(blob + SHM_ACCESS_HEAD, 64, 1);
	peer_record(p, kind, flags, word, blob, SHM_ACCESS_HEAD + payload);
}

static void expect_error(struct pair *p, uint64_t word, uint32_t err)
{
	struct shm_record rec = peer_expect(p, SHM_REC_ERROR);
	uint32_t code;

	assert_int_equal(rec.word, word);
	assert_int_equal(rec.len, sizeof(code));
	memcpy(&code, rec.blob, sizeof(code));
	assert_int_equal(code, err);
}

/* The error that the endpoint stored for the peer's last record, before its
 * position. */
static int refusal(struct pair *p)
{
	uint32_t last = p->out.next - 1;
	struct shm_lane *lane = p->out.lane;

	assert_int_equal(atomic_load(&lane->reader.slots), last);
	return atomic_exchange(&lane->refused[last % SHM_SLOTS], 0);
}

/* Memory that is not the peer's: the first byte before it, the first one behind it, an
 * overflow, another key. The refusal names the operation's id, or is in the entry of
 * its record if it has none; nothing is changed, and the connection goes on. */
static void refused(void **state)
{
	static const struct fi_rma_iov segs[] = { { REGION - 7, 8, KEY },
		{ REGION, 8, KEY }, { UINT64_MAX - 3, 8, KEY }, { 0, 8, KEY + 1 } };
	const uint64_t sum = shm_access_word(1, FI_UINT64, FI_SUM);
	const uint64_t swap = shm_access_word(1, FI_UINT64, FI_CSWAP);
	const uint64_t plain = shm_access_word(1, 0, 0);
	static uint8_t before[REGION];
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(segs); i++) {
		request(p, SHM_REC_WRITE, 0, plain, 2, segs[i], 8);
		request(p, SHM_REC_ATOMIC, 0, sum, 3, segs[i], 8);
		pair_progress(p);
		for (uint64_t id = 2; id <= 3; id++)
			assert_int_equal(peer_expect(p, SHM_REC_ERROR).word, id);
		request(p, SHM_REC_WRITE, 0, plain, SHM_ID_NONE, segs[i], 8);
		pair_progress(p);
		assert_int_not_equal(refusal(p), 0);
		request(p, SHM_REC_ATOMIC, 0, sum, SHM_ID_NONE, segs[i], 8);
		pair_progress(p);
		assert_int_not_equal(refusal(p), 0);
		request(p, SHM_REC_READ, 0, plain, 5, segs[i], 0);
		request(p, SHM_REC_FETCH, 0, sum, 6, segs[i], 8);
		request(p, SHM_REC_COMPARE, 0, swap, 7, segs[i], 16);
		pair_progress(p);
		for (uint64_t id = 5; id <= 7; id++)
			assert_int_equal(peer_expect(p, SHM_REC_ERROR).word, id);
		assert_memory_equal(p->region, before, REGION);
	}
	request(p, SHM_REC_WRITE, 0, plain, 9, (struct fi_rma_iov){ 0, 8, KEY }, 8);
	pair_progress(p);
	peer_expect_ack(p, 9);
	assert_memory_not_equal(p->region, before, 8);
	request(p, SHM_REC_WRITE, 0, plain, SHM_ID_NONE,
		(struct fi_rma_iov){ 8, 8, KEY }, 8);
	pair_progress(p);
	assert_int_equal(refusal(p), 0);
	assert_false(peer_has_record(p));
}

/* ---- rights ---- */

enum { RIGHT_READ = KEY + 2, RIGHT_WRITE, ID = 5 };

/* Requests that need one right, or both, and how they are answered with it. */
static const struct right_row {
	uint8_t kind, flags, op, datatype;
	size_t len, payload;
	uint64_t needs;
	uint8_t answer;
} right_rows[] = {
	{ SHM_REC_WRITE, 0, 0, 0, 8, 8, FI_REMOTE_WRITE, SHM_REC_ACK },
	{ SHM_REC_WRITE, SHM_FLAG_DATA, 0, 0, 8, 8, FI_REMOTE_WRITE, SHM_REC_ACK },
	/* No bytes need no right. */
	{ SHM_REC_WRITE, 0, 0, 0, 0, 0, 0, SHM_REC_ACK },
	{ SHM_REC_READ, 0, 0, 0, 8, 0, FI_REMOTE_READ, SHM_REC_DATA },
	{ SHM_REC_READ, 0, 0, 0, 0, 0, 0, SHM_REC_ACK },
	{ SHM_REC_READ, 0, 0, 0, SHM_INLINE_MAX + 8, 0, FI_REMOTE_READ, SHM_REC_DATA },
	{ SHM_REC_ATOMIC, 0, FI_SUM, FI_UINT64, 8, 8, FI_REMOTE_WRITE, SHM_REC_ACK },
	{ SHM_REC_FETCH, 0, FI_ATOMIC_READ, FI_UINT64, 8, 0, FI_REMOTE_READ,
		SHM_REC_RESP },
	{ SHM_REC_FETCH, 0, FI_SUM, FI_UINT64, 8, 8, FI_REMOTE_READ | FI_REMOTE_WRITE,
		SHM_REC_RESP },
	{ SHM_REC_COMPARE, 0, FI_CSWAP, FI_UINT64, 8, 16,
		FI_REMOTE_READ | FI_REMOTE_WRITE, SHM_REC_RESP },
	{ SHM_REC_DONE, 0, SHM_DONE_WRITE, 0, 8, 0, FI_REMOTE_WRITE, SHM_REC_ACK },
	{ SHM_REC_DONE, 0, SHM_DONE_READ, 0, 8, 0, FI_REMOTE_READ, SHM_REC_ACK },
};

static void ask_with(
	struct pair *p, const struct right_row *row, uint64_t key, uint64_t has)
{
	bool sums =
		row->op == FI_SUM && row->datatype && (row->needs & has) == row->needs;
	uint64_t before, operand, after;
	struct shm_record rec;

	fill((uint8_t *)&operand, sizeof(operand), 1);
	memcpy(&before, p->region, sizeof(before));
	request(p, row->kind, row->flags, shm_access_word(1, row->datatype, row->op),
		ID, (struct fi_rma_iov){ 0, row->len, key }, row->payload);
	pair_progress(p);
	if ((row->needs & has) != row->needs) {
		expect_error(p, ID, FI_EACCES);
		assert_int_equal(p->ended_count, 0);
	} else if (row->answer == SHM_REC_ACK) {
		peer_expect_ack(p, ID);
	} else {
		rec = peer_expect(p, row->answer);
		assert_int_equal(rec.word, ID);
		assert_int_equal(rec.len, row->len);
		assert_memory_equal(rec.blob, &before, sizeof(before));
	}
	memcpy(&after, p->region, sizeof(after));
	if (row->datatype)
		assert_int_equal(after, sums ? before + operand : before);
	/* The event of a write with data, and no other one. */
	if (p->ended_count) {
		assert_true(row->flags & SHM_FLAG_DATA);
		assert_int_equal(p->ended_count, 1);
		assert_int_equal(p->ended[0].flags,
			FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		assert_int_equal(p->ended[0].len, row->len);
	}
	p->ended_count = 0;
	assert_false(peer_has_record(p));
}

static void memory_has_rights(void **state)
{
	static const uint64_t rights[] = { FI_REMOTE_READ, FI_REMOTE_WRITE };
	struct fid_mr *mr[2];
	struct pair *p = *state;

	for (size_t k = 0; k < 2; k++)
		assert_int_equal(fi_mr_reg(p->domain, p->region, sizeof(p->region),
					 rights[k], 0, RIGHT_READ + k, 0, &mr[k], NULL),
			0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(right_rows); i++) {
		ask_with(p, &right_rows[i], KEY, FI_REMOTE_READ | FI_REMOTE_WRITE);
		for (size_t k = 0; k < 2; k++)
			ask_with(p, &right_rows[i], RIGHT_READ + k, rights[k]);
	}
	for (size_t k = 0; k < 2; k++)
		assert_int_equal(fi_close(&mr[k]->fid), 0);
}

/* Requests that are none: each ends the connection, and memory is as it was. */
static void malformed(void **state)
{
	static const struct {
		uint8_t kind, flags;
		uint8_t segs, datatype, op;
		uint64_t id, seg_len;
		size_t payload;
	} rows[] = {
		{ SHM_REC_WRITE, 0, 1, 0, 0, 5, 8, 7 },
		{ SHM_REC_WRITE, 0, 1, 0, 0, 5, 8, 9 },
		{ SHM_REC_WRITE, 0, 5, 0, 0, 5, 8, 64 },
		{ SHM_REC_WRITE, 0, 255, 0, 0, 5, 8, 64 },
		{ SHM_REC_WRITE, 0, 2, 0, 0, 5, UINT64_MAX, 24 },
		{ SHM_REC_WRITE, SHM_FLAG_MORE, 1, 0, 0, 5, 8, 8 },
		{ SHM_REC_WRITE, SHM_FLAG_MORE, 1, 0, 0, 5, 0, 0 },
		{ SHM_REC_READ, 0, 1, 0, 0, 5, 8, 1 },
		{ SHM_REC_WRITE, SHM_FLAG_MORE, 1, 0, 0, SHM_ID_NONE, 8, 0 },
		{ SHM_REC_READ, 0, 1, 0, 0, SHM_ID_NONE, 8, 0 },
		{ SHM_REC_READ, 0, 255, 0, 0, 5, 8, 0 },
		{ SHM_REC_DONE, 0, 1, 0, SHM_DONE_WRITE, 5, 8, 1 },
		{ SHM_REC_DONE, 0, 1, 1, SHM_DONE_WRITE, 5, 8, 0 },
		{ SHM_REC_DONE, 0, 1, 0, SHM_DONE_READ + 1, 5, 8, 0 },
		{ SHM_REC_DONE, 0, 255, 0, SHM_DONE_READ, 5, 8, 0 },
		{ SHM_REC_ATOMIC, 0, 255, FI_UINT64, FI_SUM, 5, 8, 8 },
		{ SHM_REC_ATOMIC, 0, 1, FI_UINT64, FI_SUM, 5, 8, 16 },
		{ SHM_REC_ATOMIC, 0, 1, FI_UINT64, FI_SUM, 5, 12, 12 },
		{ SHM_REC_ATOMIC, 0, 1, FI_UINT64, FI_SUM, 5, 0, 0 },
		{ SHM_REC_ATOMIC, 0, 1, 99, FI_SUM, 5, 8, 8 },
		{ SHM_REC_ATOMIC, 0, 1, FI_UINT64, 99, 5, 8, 8 },
		{ SHM_REC_ATOMIC, 0, 1, FI_UINT64, FI_CSWAP, 5, 8, 8 },
		{ SHM_REC_FETCH, 0, 1, FI_UINT64, FI_SUM, SHM_ID_NONE, 8, 8 },
		{ SHM_REC_FETCH, 0, 1, FI_UINT64, FI_ATOMIC_READ, 5, 8, 8 },
		{ SHM_REC_COMPARE, 0, 1, FI_UINT64, FI_CSWAP, 5, 8, 8 },
		{ SHM_REC_COMPARE, 0, 1, FI_UINT64, FI_SUM, 5, 8, 16 },
	};
	static const uint8_t before[REGION];
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		request(p, rows[i].kind, rows[i].flags,
			shm_access_word(rows[i].segs, rows[i].datatype, rows[i].op),
			rows[i].id, (struct fi_rma_iov){ 0, rows[i].seg_len, KEY },
			rows[i].payload);
		assert_refused(p);
		assert_memory_equal(p->region, before, REGION);
		pair_again(p);
	}
}

/* More segments than there may be, and segments whose lengths overflow: all else in the
 * record is right. */
static void segments(void **state)
{
	static const struct {
		unsigned int count;
		uint64_t last, payload;
		bool good;
	} rows[] = {
		{ SHM_RMA_LIMIT, 8, 8 * SHM_RMA_LIMIT, true },
		{ SHM_RMA_LIMIT + 1, 8, 8 * (SHM_RMA_LIMIT + 1), false },
		{ 2, UINT64_MAX - 3, 4, false },
		{ 2, UINT64_MAX - 7, 0, false },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		uint64_t blob[1 + 3 * (SHM_RMA_LIMIT + 1) + SHM_RMA_LIMIT + 1] = { 5 };
		uint64_t *to = blob + 1;

		for (unsigned int s = 0; s < rows[i].count; s++) {
			*to++ = 8 * s;
			*to++ = s + 1 < rows[i].count ? 8 : rows[i].last;
			*to++ = KEY;
		}
		peer_record(p, SHM_REC_WRITE, 0, shm_access_word(rows[i].count, 0, 0),
			blob, (size_t)(to - blob) * 8 + rows[i].payload);
		if (rows[i].good) {
			pair_progress(p);
			peer_expect_ack(p, 5);
		} else {
			assert_refused(p);
		}
		pair_again(p);
	}
}

/* ---- a write that comes in pieces ---- */

static void begin_write(struct pair *p, uint64_t id, uint64_t key)
{
	request(p, SHM_REC_WRITE, SHM_FLAG_MORE | SHM_FLAG_DATA,
		shm_access_word(1, 0, 0), id, (struct fi_rma_iov){ 8, STREAM, key }, 0);
}

/* Pieces of a write. The region is closed when @close_at bytes have come. */
static void send_pieces(struct pair *p, const uint8_t *from, size_t close_at)
{
	for (size_t at = 0; at < STREAM;) {
		size_t len = WF_MIN(STREAM - at, (size_t)PIECE);

		if (at >= close_at) {
			pair_close_mr(p);
			close_at = SIZE_MAX;
		}
		assert_false(peer_has_record(p));
		assert_int_equal(p->ended_count, 0);
		peer_record(p, SHM_REC_DATA, 0, 0, from + at, len);
		pair_progress(p);
		at += len;
	}
}

/* It is refused at its beginning, or because its region is closed after each of its
 * pieces: no later piece is stored, the peer hears of it once and when all pieces came,
 * and the next one is written. */
static void refused_in_a_stream(void **state)
{
	static uint8_t payload[STREAM];
	struct pair *p = *state;

	fill(payload, STREAM, 3);
	for (size_t pieces = 0; pieces <= STREAM / PIECE + 1; pieces++) {
		size_t stored = WF_MIN(pieces * PIECE, (size_t)STREAM);

		begin_write(p, 5, KEY);
		pair_progress(p);
		send_pieces(p, payload, pieces * PIECE);
		assert_memory_equal(p->region + 8, payload, stored);
		for (size_t i = stored; i < STREAM; i++)
			assert_int_equal(p->region[8 + i], 0);
		if (stored < STREAM) {
			expect_error(p, 5, FI_EKEYREJECTED);
			assert_int_equal(p->ended_count, 0);
		} else {
			peer_expect_ack(p, 5);
			assert_int_equal(p->ended_count, 1);
			assert_int_equal(p->ended[0].flags,
				FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
			assert_int_equal(p->ended[0].len, STREAM);
		}
		assert_false(peer_has_record(p));
		assert_null(p->conn->arriving.writing);
		p->ended_count = 0;
		pair_again(p);
	}
	/* A region that has its key later does not get the pieces that still come. */
	begin_write(p, 8, KEY);
	pair_close_mr(p);
	peer_record(p, SHM_REC_DATA, 0, 0, payload, PIECE);
	pair_progress(p);
	pair_register(p);
	for (size_t at = PIECE; at < STREAM; at += PIECE)
		peer_record(p, SHM_REC_DATA, 0, 0, payload,
			WF_MIN(STREAM - at, (size_t)PIECE));
	pair_progress(p);
	expect_error(p, 8, FI_EKEYREJECTED);
	for (size_t i = 0; i < STREAM; i++)
		assert_int_equal(p->region[8 + i], 0);
	begin_write(p, 6, KEY + 1);
	send_pieces(p, payload, SIZE_MAX);
	expect_error(p, 6, FI_EKEYREJECTED);
	begin_write(p, 7, KEY);
	send_pieces(p, payload, SIZE_MAX);
	peer_expect_ack(p, 7);
	assert_memory_equal(p->region + 8, payload, STREAM);
}

/* Pieces that do not belong to the write: none is open, a second one begins in it, too
 * much comes, or nothing. */
static void pieces_of_no_write(void **state)
{
	static const uint8_t bytes[STREAM + 1];
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		if (i)
			begin_write(p, 5, KEY);
		if (i == 1)
			begin_write(p, 6, KEY);
		else
			peer_record(p, SHM_REC_DATA, 0, 0, bytes,
				i == 2   ? STREAM + 1
				: i == 3 ? 0
					 : 8);
		assert_refused(p);
		pair_again(p);
	}
}

/* ---- answers of the peer ---- */

static uint64_t taken_id(struct pair *p, enum shm_kind kind)
{
	struct shm_record rec = peer_expect(p, kind);
	uint64_t id;

	memcpy(&id, rec.blob, sizeof(id));
	return id;
}

static uint64_t post_read(struct pair *p)
{
	assert_int_equal(fi_read(p->ep, result, 8, NULL, p->addr, 0, KEY, local), 0);
	return taken_id(p, SHM_REC_READ);
}

static uint64_t post_fetch(struct pair *p)
{
	assert_int_equal(fi_fetch_atomic(p->ep, local, 1, NULL, result, NULL, p->addr,
				 0, KEY, FI_UINT64, FI_SUM, local),
		0);
	return taken_id(p, SHM_REC_FETCH);
}

/* It has an id, because it does not fit one slot. */
static uint64_t post_write(struct pair *p)
{
	assert_int_equal(
		fi_write(p->ep, local, sizeof(local), NULL, p->addr, 0, KEY, local), 0);
	return taken_id(p, SHM_REC_WRITE);
}

/* Answers that do not fit the operation with that id. */
static void answers_that_do_not_fit(void **state)
{
	static const struct {
		uint64_t (*post)(struct pair *p);
		uint8_t kind;
		size_t len;
	} rows[] = {
		{ post_read, SHM_REC_ACK, 8 },
		{ post_read, SHM_REC_RESP, 8 },
		{ post_read, SHM_REC_DATA, 9 },
		{ post_read, SHM_REC_DATA, 0 },
		{ post_read, SHM_REC_ERROR, 3 },
		{ post_fetch, SHM_REC_ACK, 8 },
		{ post_fetch, SHM_REC_RESP, 7 },
		{ post_fetch, SHM_REC_RESP, 16 },
		{ post_fetch, SHM_REC_DATA, 8 },
		{ post_write, SHM_REC_ACK, 7 },
		{ post_write, SHM_REC_RESP, 8 },
		{ post_write, SHM_REC_DATA, 8 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		uint64_t id = rows[i].post(p);
		uint64_t blob[2] = { rows[i].kind == SHM_REC_ACK ? id : 0 };

		peer_record(p, rows[i].kind, 0, id, blob, rows[i].len);
		pair_progress(p);
		if (p->peer->conn)
			fail_msg("row %zu", i);
		assert_one_ended(p, local, FI_EPROTO);
		pair_again(p);
	}
}

/* An error that is none, or too large for one, is reported as FI_EIO. */
static void errors_of_the_peer(void **state)
{
	static const uint32_t codes[] = { 0, 1, FI_EACCES, FI_EKEYREJECTED,
		FI_ERRNO_MAX, UINT32_MAX };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(codes); i++) {
		uint64_t id = post_write(p);
		bool valid = codes[i] && codes[i] < FI_ERRNO_MAX;

		peer_record(p, SHM_REC_ERROR, 0, id, &codes[i], sizeof(codes[i]));
		pair_progress(p);
		assert_one_ended(p, local, valid ? (int)codes[i] : FI_EIO);
		peer_tell(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(refused),
		PAIR_TEST(memory_has_rights),
		PAIR_TEST(malformed),
		PAIR_TEST(segments),
		PAIR_TEST(refused_in_a_stream),
		PAIR_TEST(pieces_of_no_write),
		PAIR_TEST(answers_that_do_not_fit),
		PAIR_TEST(errors_of_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

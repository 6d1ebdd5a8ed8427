/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records into a lane that is full or nearly full, at each place of its rings: each
 * leaves whole, once and in its order, when the reader has made space.
 */
#include "conn_fixture.h"

enum { LARGE = 100 << 10, EAGER = 8000 };

static uint8_t local[LARGE], result[64];

/* ---- the end of the rings ---- */

/* Messages of this length, more than fit, from this place on. */
static void fill_up(struct pair *p, size_t len, uint32_t number, uint64_t pos)
{
	static uint8_t bytes[SHM_SLOTS + 40][EAGER];
	unsigned int came = 0, count = SHM_SLOTS + 40;

	pair_place(p, number, pos);
	p->ended_count = 0;
	for (unsigned int i = 0; i < count; i++) {
		memset(bytes[i], (int)i, len);
		assert_int_equal(
			fi_tsend(p->ep, bytes[i], len, NULL, p->addr, i, bytes[i]), 0);
	}
	while (came < count) {
		struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);

		assert_int_equal(rec.word, came);
		assert_int_equal(rec.len, len);
		assert_int_equal(rec.blob[0], (uint8_t)came);
		assert_int_equal(rec.blob[len - 1], (uint8_t)came);
		came++;
		if (peer_has_record(p))
			continue;
		peer_tell(p);
		pair_progress(p);
	}
	assert_false(peer_has_record(p));
	assert_true(p->conn->queue.idle);
	assert_int_equal(p->ended_count, count);
}

static void full_at_each_place(void **state)
{
	/* 241 blobs of 1088 bytes are 64 bytes more than the ring has. */
	static const size_t lens[] = { 1, SHM_INLINE_MAX, SHM_INLINE_MAX + 1, 1000,
		1088, EAGER };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++)
		for (size_t back = 0; back <= lens[i] + 2 * SHM_BYTES_ALIGN;
			back +=
			lens[i] > 2000 ? 2000 - SHM_BYTES_ALIGN / 2 : SHM_BYTES_ALIGN)
			fill_up(p, lens[i], UINT32_MAX - (uint32_t)(back % 300),
				SHM_BYTES - back / SHM_BYTES_ALIGN * SHM_BYTES_ALIGN);
}

/* ---- one slot at a time ---- */

static void post_message(struct pair *p)
{
	assert_int_equal(fi_send(p->ep, local, 8, NULL, p->addr, local), 0);
}

static void post_long_message(struct pair *p)
{
	assert_int_equal(fi_send(p->ep, local, EAGER, NULL, p->addr, local), 0);
}

static void post_with_level(struct pair *p)
{
	struct iovec iov = { local, 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = p->addr, .context = local
	};

	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_DELIVERY_COMPLETE), 0);
}

static void post_rendezvous(struct pair *p)
{
	assert_int_equal(fi_send(p->ep, local, LARGE, NULL, p->addr, local), 0);
}

static void post_write(struct pair *p)
{
	assert_int_equal(fi_write(p->ep, local, 8, NULL, p->addr, 0, KEY, local), 0);
}

static void post_long_write(struct pair *p)
{
	assert_int_equal(
		fi_write(p->ep, local, EAGER, NULL, p->addr, 0, KEY, local), 0);
}

static void post_read(struct pair *p)
{
	assert_int_equal(fi_read(p->ep, result, 8, NULL, p->addr, 0, KEY, local), 0);
}

static void post_fetch(struct pair *p)
{
	assert_int_equal(fi_fetch_atomic(p->ep, local, 1, NULL, result, NULL, p->addr,
				 0, KEY, FI_UINT64, FI_SUM, local),
		0);
}

static void post_compare(struct pair *p)
{
	assert_int_equal(
		fi_compare_atomic(p->ep, local, 1, NULL, local + 8, NULL, result, NULL,
			p->addr, 0, KEY, FI_UINT64, FI_CSWAP, local),
		0);
}

static const struct {
	void (*post)(struct pair *p);
	uint8_t kind;
	size_t len; /* of the blob */
	bool waits; /* for the peer's answer */
} posts[] = {
	{ post_message, SHM_REC_MSG, 8, false },
	{ post_long_message, SHM_REC_MSG, EAGER, false },
	{ post_with_level, SHM_REC_MSG, 16, true },
	{ post_rendezvous, SHM_REC_RTS, sizeof(struct shm_rts), true },
	{ post_write, SHM_REC_WRITE, SHM_ACCESS_HEAD + 8, true },
	{ post_long_write, SHM_REC_WRITE, SHM_ACCESS_HEAD + EAGER, true },
	{ post_read, SHM_REC_READ, SHM_ACCESS_HEAD, true },
	{ post_fetch, SHM_REC_FETCH, SHM_ACCESS_HEAD + 8, true },
	{ post_compare, SHM_REC_COMPARE, SHM_ACCESS_HEAD + 16, true },
};

/* What was queued is written as it was posted: payloads and operands are from @local,
 * the comparands are those behind the operands there. */
static void assert_written(const struct shm_record *rec)
{
	size_t head = rec->flags & SHM_FLAG_ACK ? sizeof(uint64_t) : 0;
	struct fi_rma_iov seg;

	if (rec->kind == SHM_REC_RTS)
		return;
	if (rec->kind != SHM_REC_MSG) {
		memcpy(&seg, rec->blob + 8, sizeof(seg));
		assert_int_equal(seg.addr, 0);
		assert_int_equal(seg.key, KEY);
		head = SHM_ACCESS_HEAD;
	}
	assert_memory_equal(rec->blob + head, local, rec->len - head);
}

/* The lane is full, and all kinds of operations are posted: one leaves for each slot
 * that the reader frees, in their order. Those that are complete without an answer are
 * complete then. */
static void a_slot_for_each(void **state)
{
	struct pair *p = *state;
	unsigned int done = 0;
	struct shm_record rec;

	fill(local, sizeof(local), 1);
	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	assert_int_equal(shm_writer_slots(&p->conn->out), 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(posts); i++)
		posts[i].post(p);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(posts); i++) {
		(void)peer_expect(p, SHM_REC_MSG);
		peer_tell(p);
		pair_progress(p);
		assert_int_equal(shm_writer_slots(&p->conn->out), 0);
		done += !posts[i].waits;
		assert_int_equal(p->ended_count, done);
	}
	for (size_t i = WF_ARRAY_SIZE(posts); i < SHM_SLOTS; i++)
		(void)peer_expect(p, SHM_REC_MSG);
	for (size_t i = 0; i < WF_ARRAY_SIZE(posts); i++) {
		rec = peer_expect(p, posts[i].kind);
		assert_int_equal(rec.len, posts[i].len);
		assert_written(&rec);
	}
	assert_false(peer_has_record(p));
}

/* ---- what goes first ---- */

static void ask_to_read(struct pair *p, uint64_t id, uint64_t len)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
	} blob = { id, { 0, len, KEY } };

	peer_record(p, SHM_REC_READ, 0, shm_access_word(1, 0, 0), &blob, sizeof(blob));
}

static void write_with_id(struct pair *p, uint64_t id, uint64_t key)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
		uint64_t value;
	} blob = { id, { 0, 8, key }, 5 };

	peer_record(p, SHM_REC_WRITE, 0, shm_access_word(1, 0, 0), &blob, sizeof(blob));
}

/* Of what is queued the acknowledgements leave first, then the answers, the operations
 * and the streams; in one record as many acknowledgements as fit. */
static void order_of_the_queues(void **state)
{
	enum { ACKS = SHM_INLINE_MAX / sizeof(uint64_t), WRITES = 2 * ACKS + 1 };
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id, next = 100;

	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	post_message(p);
	ask_to_read(p, 50, LARGE);
	write_with_id(p, 51, KEY + 1);
	ask_to_read(p, 52, 8);
	for (uint64_t i = 0; i < WRITES; i++)
		write_with_id(p, 100 + i, KEY);
	pair_progress(p);
	assert_int_equal(peer_skip(p), SHM_SLOTS);
	pair_progress(p);
	for (int i = 0; i < 3; i++) {
		rec = peer_expect(p, SHM_REC_ACK);
		assert_int_equal(rec.len, (i < 2 ? ACKS : 1) * sizeof(uint64_t));
		for (size_t at = 0; at < rec.len; at += sizeof(id)) {
			memcpy(&id, rec.blob + at, sizeof(id));
			assert_int_equal(id, next++);
		}
	}
	assert_int_equal(peer_expect(p, SHM_REC_ERROR).word, 51);
	rec = peer_expect(p, SHM_REC_DATA);
	assert_int_equal(rec.word, 52);
	assert_int_equal(rec.len, 8);
	assert_int_equal(peer_expect(p, SHM_REC_MSG).len, 8);
	for (size_t got = 0; got < LARGE; got += rec.len) {
		rec = peer_expect(p, SHM_REC_DATA);
		assert_int_equal(rec.word, 50);
	}
	assert_false(peer_has_record(p));
}

/* ---- streams ---- */

/* Read the stream of a read response. Returns its bytes until it ended, and in
 * *@ret_err the error that it ended with. */
static size_t read_stream(struct pair *p, size_t close_at, uint32_t *ret_err)
{
	size_t got = 0;

	*ret_err = 0;
	while (peer_has_record(p)) {
		uint8_t kind = shm_head_kind(shm_reader_head(&p->in));
		struct shm_record rec = peer_expect(p, kind);

		if (kind == SHM_REC_ERROR) {
			memcpy(ret_err, rec.blob, sizeof(*ret_err));
			break;
		}
		assert_int_equal(kind, SHM_REC_DATA);
		assert_memory_equal(rec.blob, p->region + got, rec.len);
		got += rec.len;
		if (got >= close_at)
			pair_close_mr(p);
		peer_tell(p);
		pair_progress(p);
	}
	return got;
}

/* The region that is read is closed in the middle of the stream: what was in the lane
 * is followed by an error. */
static void closed_in_a_stream(void **state)
{
	struct pair *p = *state;
	uint32_t err;
	size_t got;

	fill(p->region, REGION, 1);
	ask_to_read(p, 7, REGION);
	pair_progress(p);
	assert_int_equal(read_stream(p, SIZE_MAX, &err), REGION);
	assert_int_equal(err, 0);
	/* The lane has no space for all of it. */
	for (int i = 0; i < SHM_SLOTS - 3; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	ask_to_read(p, 8, REGION);
	pair_progress(p);
	for (int i = 0; i < SHM_SLOTS - 3; i++)
		(void)peer_expect(p, SHM_REC_MSG);
	got = read_stream(p, 1, &err);
	assert_true(got >= 1 && got < REGION);
	assert_int_equal(err, FI_EKEYREJECTED);
	assert_true(p->conn->queue.idle);
	assert_int_equal(p->conn->queue.answer_bytes, 0);
	/* The connection goes on. */
	peer_tell(p);
	post_message(p);
	(void)peer_expect(p, SHM_REC_MSG);
}

/* ---- a position that cannot be ---- */

/* The reader says that it has read what was not written: only what waits for space
 * looks at it, and the connection ends. */
static void impossible_position(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	post_with_level(p);
	atomic_store(&p->in.lane->reader.slots, SHM_SLOTS + 1);
	pair_progress(p);
	assert_one_ended(p, local, FI_EPROTO);
	assert_refused(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(full_at_each_place),
		PAIR_TEST(a_slot_for_each),
		PAIR_TEST(order_of_the_queues),
		PAIR_TEST(closed_in_a_stream),
		PAIR_TEST(impossible_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

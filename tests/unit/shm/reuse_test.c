/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records whose bytes are in the byte ring tell what their writer has read of the other
 * lane; and where the bytes of messages lie that are answered.
 */
#include "conn_fixture.h"
#include "providers/shm/data/reuse.h"

enum { LONG = 3000, ROUNDS = 300, TAG = 7 };

static uint8_t out[SHM_BLOB_MAX], in[LONG];

static void use(struct pair *p, unsigned int method)
{
	wf_choice_init(&p->conn->reuse.choice, 1u << method, method);
}

static int setup(void **state)
{
	int ret = pair_setup(state);
	struct pair *p = *state;

	p->conn->positions = true;
	use(p, SHM_REUSE_AT_ONCE);
	return ret;
}

#define REUSE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)

/* ---- the peer ---- */

/* A long message of the peer, which has read so much, and for which there is a receive.
 */
static void say(struct pair *p, uint32_t slots, uint64_t bytes)
{
	struct shm_long blob = {
		.len = LONG, .read_bytes = bytes, .read_slots = slots
	};
	struct shm_slot *slot = shm_writer_slot(&p->out);
	uint8_t flags, *to;

	assert_int_equal(
		fi_trecv(p->ep, in, LONG, NULL, FI_ADDR_UNSPEC, TAG, 0, in), 0);
	assert_true(shm_writer_refresh(&p->out));
	to = shm_writer_bytes(&p->out, LONG, &flags);
	assert_non_null(to);
	fill(to, LONG, TAG);
	memcpy(slot->blob, &blob, sizeof(blob));
	slot->word = TAG;
	shm_writer_bytes_done(&p->out, flags, LONG);
	shm_writer_commit(&p->out, slot, SHM_REC_TAGGED, flags, 0);
}

static void say_all(struct pair *p)
{
	say(p, p->in.next - 1, p->in.pos);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	p->ended_count = 0;
}

static void post(struct pair *p, size_t len, unsigned int seed)
{
	fill(out, len, seed);
	assert_int_equal(fi_tinject(p->ep, out, len, p->addr, seed), 0);
}

/* Returns where the message is in the byte ring. */
static size_t expect(struct pair *p, size_t len, unsigned int seed)
{
	struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);

	fill(out, len, seed);
	assert_int_equal(rec.word, seed);
	assert_int_equal(rec.len, len);
	assert_memory_equal(rec.blob, out, len);
	assert_int_equal(p->in.pos, p->conn->out.pos);
	return (size_t)(rec.blob - p->in.lane->bytes);
}

/* ---- where the bytes are ---- */

/* Messages of each length, all of which are answered. */
static void again(struct pair *p, unsigned int method, size_t behind)
{
	static const size_t lens[] = { SHM_REUSE_MIN, 2000, LONG, SHM_REUSE_MAX };

	use(p, method);
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		size_t at = 0;

		pair_place(p, 1, (i + 1) * SHM_BYTES);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			post(p, lens[i], round);
			assert_int_equal(expect(p, lens[i], round), at);
			at += (lens[i] + SHM_BYTES_ALIGN - 1) / SHM_BYTES_ALIGN *
			      SHM_BYTES_ALIGN;
			if (at >= behind)
				at = 0;
			say_all(p);
		}
	}
}

static void again_at_the_beginning(void **state)
{
	again(*state, SHM_REUSE_AT_ONCE, 2048);
	again(*state, SHM_REUSE_AHEAD, 8192);
}

/* With both methods there are rounds of each, and one is kept between them. */
static void both_are_measured(void **state)
{
	enum { MESSAGES = 16 + 24 + 64 + 24 + 10 };
	unsigned int measured = 0, runs[2] = { 0, 0 };
	struct pair *p = *state;
	struct shm_reuse *reuse = &p->conn->reuse;

	shm_reuse_init(p->conn);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		post(p, SHM_REUSE_MAX, i);
		(void)expect(p, SHM_REUSE_MAX, i);
		say_all(p);
		measured += !reuse->choice.settled;
		runs[reuse->method]++;
	}
	assert_true(reuse->choice.settled);
	assert_in_range(measured, 2 * 24, 2 * 24 + 2);
	assert_true(runs[0] >= 24 && runs[1] >= 24);
	assert_true(reuse->choice.median[SHM_REUSE_AT_ONCE] != UINT64_MAX);
	assert_true(reuse->choice.median[SHM_REUSE_AHEAD] != UINT64_MAX);
	/* Not where nothing is to be measured. */
	shm_params.measure_copies = 0;
	shm_reuse_init(p->conn);
	shm_params.measure_copies = 1;
	for (unsigned int i = 0; i < MESSAGES; i++) {
		post(p, SHM_REUSE_MAX, i);
		(void)expect(p, SHM_REUSE_MAX, i);
		say_all(p);
		assert_int_equal(reuse->method, SHM_REUSE_AHEAD);
	}
}

/* Nothing that the reader may still read is written over, and long messages go on. */
static void not_before_all_is_read(void **state)
{
	enum { STEP = 3008, LONGER = SHM_REUSE_MAX + 1 };
	struct pair *p = *state;

	post(p, LONG, 1);
	post(p, LONG, 2);
	(void)peer_expect(p, SHM_REC_TAGGED);
	say(p, 1, STEP);
	pair_progress(p);
	p->ended_count = 0;
	post(p, LONG, 3);
	(void)peer_expect(p, SHM_REC_TAGGED);
	assert_int_equal(expect(p, LONG, 3), 2 * STEP);
	say_all(p);
	fill(out, LONGER, 4);
	assert_int_equal(fi_tsend(p->ep, out, LONGER, NULL, p->addr, 4, out), 0);
	assert_int_equal(expect(p, LONGER, 4), 3 * STEP);
}

/* A peer of an earlier version has anything there. */
static void not_without_the_flag(void **state)
{
	struct pair *p = *state;

	p->conn->positions = false;
	for (unsigned int round = 0; round < 3; round++) {
		post(p, LONG, round);
		assert_int_equal(expect(p, LONG, round), round * 3008);
		say(p, round % 2 ? 1u << 30 : p->in.next - 1,
			round % 2 ? UINT64_C(1) << 60 : p->in.pos);
		pair_progress(p);
		assert_int_equal(p->ended_count, 1);
		p->ended_count = 0;
	}
}

/* Messages that nobody answers, behind one at the beginning: the reader reports its
 * position in time, and all of them come. */
static void a_stream_behind_it(void **state)
{
	struct pair *p = *state;
	unsigned int came = 0;

	post(p, LONG, 0);
	(void)expect(p, LONG, 0);
	say_all(p);
	for (unsigned int i = 0; i < ROUNDS; i++)
		post(p, LONG, i);
	while (came < ROUNDS) {
		struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);

		assert_int_equal(rec.word, came++);
		if (p->in.pos - p->in.reported_pos >= SHM_REPORT_BYTES)
			peer_tell(p);
		pair_progress(p);
	}
	assert_false(peer_has_record(p));
}

/* ---- what is told ---- */

static void tells_what_it_has_read(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 1; i <= 5; i++) {
		struct shm_record rec;

		say(p, 0, 0);
		pair_progress(p);
		post(p, 8, i);
		(void)peer_expect(p, SHM_REC_TAGGED);
		post(p, LONG, i);
		rec = peer_expect(p, SHM_REC_TAGGED);
		assert_int_equal(rec.read_slots, i);
		assert_int_equal(rec.read_bytes, p->out.pos);
	}
}

static void impossible(void **state)
{
	struct pair *p = *state;

	for (unsigned int what = 0; what < 4; what++) {
		post(p, LONG, 1);
		(void)peer_expect(p, SHM_REC_TAGGED);
		say(p, p->in.next - 1 + (what == 0) + (what == 2 ? 1u << 30 : 0),
			p->in.pos + (what == 1) + (what == 3 ? UINT64_C(1) << 62 : 0));
		assert_refused(p);
		pair_again(p);
		p->conn->positions = true;
	}
}

/* What it said is older than what it has reported since. */
static void older(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 1; i <= 3; i++) {
		post(p, LONG, i);
		(void)peer_expect(p, SHM_REC_TAGGED);
	}
	say_all(p);
	say(p, 1, 3008);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->ended[0].err, 0);
	assert_int_equal(p->conn->out.seen_slots, 3);
	post(p, LONG, 4);
	/* Where it was before the bytes that are skipped. */
	peer_tell(p);
	assert_true(shm_writer_refresh(&p->conn->out));
	assert_int_equal(expect(p, LONG, 4), 0);
}

/* ---- the reader dies ---- */

/* What it had not begun goes to its successor, whatever it has said of it. */
static void dies(void **state)
{
	enum { COUNT = 4 };
	struct pair *p = *state;

	for (unsigned int begun = 0; begun <= COUNT; begun++) {
		for (unsigned int said = 0; said <= begun; said++) {
			post(p, LONG, 50);
			(void)expect(p, LONG, 50);
			say_all(p);
			for (unsigned int i = 0; i < COUNT; i++)
				post(p, LONG - i, i);
			for (unsigned int i = 0; i < begun; i++) {
				(void)peer_expect(p, SHM_REC_TAGGED);
				if (i + 1 == said)
					say_all(p);
			}
			peer_dies(p);
			pair_connect(p);
			p->conn->positions = true;
			use(p, SHM_REUSE_AT_ONCE);
			pair_progress(p);
			for (unsigned int i = begun; i < COUNT; i++) {
				struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);

				fill(out, LONG, i);
				assert_int_equal(rec.word, i);
				assert_int_equal(rec.len, LONG - i);
				assert_memory_equal(rec.blob, out, LONG - i);
			}
			assert_false(peer_has_record(p));
			peer_tell(p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		REUSE_TEST(again_at_the_beginning),
		REUSE_TEST(both_are_measured),
		REUSE_TEST(not_before_all_is_read),
		REUSE_TEST(not_without_the_flag),
		REUSE_TEST(a_stream_behind_it),
		REUSE_TEST(tells_what_it_has_read),
		REUSE_TEST(impossible),
		REUSE_TEST(older),
		REUSE_TEST(dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

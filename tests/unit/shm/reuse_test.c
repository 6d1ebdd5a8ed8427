/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records whose bytes are in the byte ring tell what their writer has read of the other
 * lane; and which bytes of the ring the next message takes.
 */
#include "conn_fixture.h"
#include "providers/shm/conn/reuse.h"

#include <sys/mman.h>

enum { LONG = 3000, ROUNDS = 300, TAG = 7 };

/* From one message of that length to the next one. */
static const size_t step = 3008 + SHM_BYTES_GAP;

static uint8_t out[SHM_BLOB_MAX], in[LONG];

/* ---- the peer ---- */

/* A long message of the peer, which has read so much, and for which there is a
 * receive. */
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
static void again_at_the_beginning(void **state)
{
	enum { BEHIND = 8192 };
	static const size_t lens[] = { SHM_REUSE_MIN, 2000, LONG, SHM_REUSE_MAX };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		size_t at = 0;

		shm_reuse_init(p->conn);
		pair_place(p, 1, (i + 1) * SHM_BYTES);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			post(p, lens[i], round);
			assert_int_equal(expect(p, lens[i], round), at);
			at += shm_bytes_taken(lens[i]);
			if (at >= BEHIND)
				at = 0;
			say_all(p);
		}
	}
}

/* ---- wide rings ---- */

static void send_one(struct pair *p, unsigned int seed)
{
	post(p, SHM_REUSE_MAX, seed);
	(void)expect(p, SHM_REUSE_MAX, seed);
	say_all(p);
}

static void send_stretches(struct pair *p, unsigned int count)
{
	for (unsigned int i = 0; i < count * (SHM_STRETCH / SHM_REUSE_MAX); i++)
		send_one(p, i);
}

/* A connection that has sent enough gets a wide ring, and goes through all of it. */
static void wide_after_a_while(void **state)
{
	enum { ASKS = 512 };
	struct pair *p = *state;
	struct shm_reuse *reuse = &p->conn->reuse;

	send_stretches(p, ASKS - 1);
	assert_false(reuse->is_wide);
	assert_true(p->conn->out.pos % SHM_BYTES <= 4 * SHM_REUSE_MAX);
	send_stretches(p, 1);
	assert_true(reuse->is_wide);
	assert_int_equal(p->shm->conns.wide_rings, 1);
	send_stretches(p, 8);
	assert_true(p->conn->out.pos % SHM_BYTES > SHM_LAP_SHORT);
	/* Short ones that are answered begin again all the same. */
	post(p, SHM_REUSE_MAX_WIDE, 1);
	assert_int_equal(expect(p, SHM_REUSE_MAX_WIDE, 1), 0);
	say_all(p);
}

/* All of a wide ring is used, by messages of all lengths, and comes to an end. */
static void a_lap_of_a_wide_ring(void **state)
{
	static const size_t lens[] = { SHM_REUSE_MAX, 200, SHM_REUSE_MIN, 30000 };
	struct pair *p = *state;
	uint64_t before = 0, most = 0;

	p->conn->reuse.ask = 1;
	shm_reuse_next(p->conn);
	for (unsigned int i = 0; p->conn->out.pos < 3 * (uint64_t)SHM_BYTES; i++) {
		size_t len = lens[i % 3];

		if (i % 5 == 4) {
			len = lens[3];
			fill(out, len, i);
			assert_int_equal(
				fi_tsend(p->ep, out, len, NULL, p->addr, i, out), 0);
			assert_true(peer_skip(p) > 0);
		} else {
			post(p, len, i);
			(void)expect(p, len, i);
		}
		peer_tell(p);
		pair_progress(p);
		p->ended_count = 0;
		most = WF_MAX(most, before % SHM_BYTES);
		before = p->conn->out.pos;
	}
	assert_true(most > SHM_BYTES - 2 * SHM_BLOB_MAX);
}

/* Without one, messages that nobody answers keep to the short lap. */
static void a_short_lap(void **state)
{
	struct pair *p = *state;
	uint64_t most = 0;

	shm_reuse_init(p->conn);
	for (unsigned int i = 0; i < 2 * SHM_LAP_SHORT / LONG; i++) {
		post(p, LONG, i);
		(void)expect(p, LONG, i);
		if (p->in.pos - p->in.reported_pos >= SHM_REPORT_BYTES)
			peer_tell(p);
		most = WF_MAX(most, p->in.pos % SHM_BYTES);
	}
	assert_in_range(most, SHM_LAP_SHORT - 2 * step, SHM_LAP_SHORT + SHM_BYTES_GAP);
}

/* ---- memory ---- */

static bool is_there(struct pair *p, size_t at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char there = 0;

	assert_int_equal(
		mincore(p->memory->lane[0].bytes + at / page * page, page, &there), 0);
	return there & 1;
}

static void not_beyond_the_limit(void **state)
{
	struct pair *p = *state;
	size_t limit = shm_params.ring_memory;

	shm_params.ring_memory = SHM_BYTES - 1;
	shm_reuse_init(p->conn);
	send_stretches(p, 600);
	shm_params.ring_memory = limit;
	assert_false(p->conn->reuse.is_wide);
	assert_int_equal(p->shm->conns.wide_rings, 0);
	assert_false(is_there(p, SHM_LAP_SHORT + SHM_BLOB_MAX));
}

/* A second connection of the endpoint, to nobody. */
static struct shm_conn *another(struct pair *p, int *ret_fd)
{
	struct shm_peer *peer = shm_peer_get(p->shm, "/another");
	struct shm_segment *region;
	struct shm_conn *conn;
	int fds[2], fd;

	assert_non_null(peer);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	assert_int_equal(shm_segment_new(&fd, &region), 0);
	close(fd);
	conn = shm_conn_new(p->shm, peer, fds[0], region, 0);
	assert_non_null(conn);
	shm_peer_connected(peer, conn);
	*ret_fd = fds[1];
	return conn;
}

/* As if it had sent so much. */
static void ask(struct shm_conn *conn)
{
	conn->reuse.ask = 1;
	shm_reuse_count(conn, SHM_STRETCH);
}

/* The one wide ring of the endpoint goes to the connection that needs it, if the other
 * one is idle, and if its peer has read everything. */
static void taken_from_an_idle_one(void **state)
{
	struct pair *p = *state;
	size_t limit = shm_params.ring_memory;
	struct shm_reuse *reuse = &p->conn->reuse;
	uint64_t deadline = wf_deadline_ns(limit_ms(20000));
	struct shm_conn *conn;
	int fd;

	shm_params.ring_memory = 2 * SHM_BYTES - 1;
	shm_reuse_init(p->conn);
	send_stretches(p, 520);
	assert_true(reuse->is_wide);
	assert_true(is_there(p, SHM_LAP_SHORT + SHM_BLOB_MAX));
	conn = another(p, &fd);
	ask(conn);
	assert_false(conn->reuse.is_wide);
	shm_conn_make_cold(p->conn);
	post(p, LONG, 1);
	ask(conn);
	assert_false(conn->reuse.is_wide);
	(void)peer_expect(p, SHM_REC_TAGGED);
	ask(conn);
	assert_false(conn->reuse.is_wide);
	peer_tell(p);
	ask(conn);
	assert_true(conn->reuse.is_wide);
	assert_false(reuse->is_wide);
	assert_int_equal(p->shm->conns.wide_rings, 1);
	assert_false(is_there(p, SHM_LAP_SHORT + SHM_BLOB_MAX));
	/* The first one goes on in the short lap. */
	send_stretches(p, 5);
	assert_true(p->conn->out.pos % SHM_BYTES <= SHM_LAP_SHORT);
	/* The ring comes back when its connection ends. */
	shm_params.ring_memory = limit;
	close(fd);
	while (p->shm->conns.wide_rings) {
		assert_true(wf_now_ns() < deadline);
		pair_progress(p);
	}
}

/* Nothing that the reader may still read is written over, and long messages go on. */
static void not_before_all_is_read(void **state)
{
	enum { LONGER = SHM_REUSE_MAX + 1 };
	struct pair *p = *state;

	post(p, LONG, 1);
	post(p, LONG, 2);
	(void)peer_expect(p, SHM_REC_TAGGED);
	say(p, 1, step);
	pair_progress(p);
	p->ended_count = 0;
	post(p, LONG, 3);
	(void)peer_expect(p, SHM_REC_TAGGED);
	assert_int_equal(expect(p, LONG, 3), 2 * step);
	say_all(p);
	fill(out, LONGER, 4);
	assert_int_equal(fi_tsend(p->ep, out, LONGER, NULL, p->addr, 4, out), 0);
	assert_int_equal(expect(p, LONGER, 4), 3 * step);
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
		assert_down(p);
		pair_again(p);
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
	say(p, 1, step);
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
		PAIR_TEST(again_at_the_beginning),
		PAIR_TEST(wide_after_a_while),
		PAIR_TEST(a_lap_of_a_wide_ring),
		PAIR_TEST(a_short_lap),
		PAIR_TEST(not_beyond_the_limit),
		PAIR_TEST(taken_from_an_idle_one),
		PAIR_TEST(not_before_all_is_read),
		PAIR_TEST(a_stream_behind_it),
		PAIR_TEST(tells_what_it_has_read),
		PAIR_TEST(impossible),
		PAIR_TEST(older),
		PAIR_TEST(dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

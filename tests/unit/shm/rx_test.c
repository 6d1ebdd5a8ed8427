/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that are read out of a lane: where their bytes are, which of them are none,
 * how many at a time, and when a lane is not read.
 */
#include "conn_fixture.h"
#include "providers/shm/proto/rx.h"

enum { LONG = 5000, GAP = SHM_BYTES_GAP };

/* ---- decoding ---- */

static void decoded(void **state)
{
	static const struct {
		uint64_t pos;
		uint8_t kind, flags;
		uint16_t len; /* in the head */
		uint32_t bytes;
		bool good;
		uint64_t next, at; /* the position behind it, and that of its blob */
	} rows[] = {
		{ 0, SHM_REC_MSG, 0, 0, 0, true, 0, 0 },
		{ 64, SHM_REC_MSG, 0, SHM_INLINE_MAX, 0, true, 64, 0 },
		{ 0, SHM_REC_MSG, 0, SHM_INLINE_MAX + 1, 0, false, 0, 0 },
		{ 0, SHM_REC_KINDS - 1, SHM_FLAGS_KNOWN & ~SHM_FLAG_BYTES, 8, 0, true,
			0, 0 },
		{ 0, SHM_REC_KINDS, 0, 8, 0, false, 0, 0 },
		{ 0, UINT8_MAX, 0, 8, 0, false, 0, 0 },
		{ 0, SHM_REC_MSG, SHM_FLAGS_KNOWN + 1, 8, 0, false, 0, 0 },
		{ 0, SHM_REC_MSG, SHM_FLAG_BYTES, 0, 1, true, 64 + GAP, 0 },
		{ 0, SHM_REC_MSG, SHM_FLAG_BYTES, 0, 64, true, 64 + GAP, 0 },
		{ 128, SHM_REC_MSG, SHM_FLAG_BYTES, 0, 65, true, 256 + GAP, 128 },
		{ 0, SHM_REC_MSG, SHM_FLAG_BYTES, 0, SHM_BLOB_MAX, true,
			SHM_BLOB_MAX + GAP, 0 },
		{ 0, SHM_REC_MSG, SHM_FLAG_BYTES, 0, SHM_BLOB_MAX + 1, false, 0, 0 },
		{ 0, SHM_REC_MSG, SHM_FLAG_BYTES, 0, UINT32_MAX, false, 0, 0 },
		/* Up to the last byte of the ring, and one further. */
		{ SHM_BYTES - 128, SHM_REC_MSG, SHM_FLAG_BYTES, 0, 128, true,
			SHM_BYTES + GAP, SHM_BYTES - 128 },
		{ SHM_BYTES - 128, SHM_REC_MSG, SHM_FLAG_BYTES, 0, 129, false, 0, 0 },
		/* At the beginning, what is before the end is skipped. */
		{ SHM_BYTES - 128, SHM_REC_MSG, SHM_FLAG_BYTES | SHM_FLAG_WRAP, 0, 129,
			true, SHM_BYTES + 192 + GAP, 0 },
		{ SHM_BYTES, SHM_REC_MSG, SHM_FLAG_BYTES | SHM_FLAG_WRAP, 0, 8, true,
			SHM_BYTES + 64 + GAP, 0 },
	};
	struct pair *p = *state;
	struct shm_lane *lane = p->in.lane;
	struct shm_record rec;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct shm_reader in = { .lane = lane, .next = 9, .pos = rows[i].pos };
		struct shm_slot *slot = shm_slot_at(lane, 9);
		uint64_t head = 9 | (uint64_t)rows[i].kind << 32 |
				(uint64_t)rows[i].flags << 40 |
				(uint64_t)rows[i].len << 48;

		memcpy(slot->blob, &rows[i].bytes, sizeof(rows[i].bytes));
		slot->word = i;
		if (shm_record_decode(&in, head, &rec) != rows[i].good)
			fail_msg("row %zu", i);
		if (!rows[i].good)
			continue;
		assert_int_equal(rec.kind, rows[i].kind);
		assert_int_equal(rec.word, i);
		assert_int_equal(in.pos, rows[i].next);
		if (!(rows[i].flags & SHM_FLAG_BYTES)) {
			assert_ptr_equal(rec.blob, slot->blob);
			assert_int_equal(rec.len, rows[i].len);
			continue;
		}
		assert_ptr_equal(rec.blob, lane->bytes + rows[i].at);
		assert_int_equal(rec.len, rows[i].bytes);
	}
}

/* ---- reading ---- */

static void post(struct pair *p, void *buf, size_t len, uint64_t tag)
{
	assert_int_equal(
		fi_trecv(p->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, buf), 0);
}

static void assert_one_ended_with(struct pair *p, const void *context, uint64_t flags)
{
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->ended[0].flags, flags);
	assert_one_ended(p, context, 0);
}

static void send_tagged(struct pair *p, uint64_t tag, size_t len)
{
	static uint8_t payload[LONG];

	fill(payload, len, (unsigned int)tag);
	peer_record(p, SHM_REC_TAGGED, SHM_FLAG_DATA, tag, payload, len);
}

/* Messages inline and in the byte ring, at each place of both: with a receive, and
 * before one. */
static void messages_at_each_place(void **state)
{
	static const size_t lens[] = { LONG, 8, 300, 0 };
	static uint8_t in[4][LONG];
	struct pair *p = *state;

	for (unsigned int back = 0; back <= LONG + 512; back += SHM_BYTES_ALIGN) {
		bool expected = back / SHM_BYTES_ALIGN % 2;

		pair_place(p, (uint32_t) - (back % 5), SHM_BYTES - back);
		p->ended_count = 0;
		for (unsigned int i = 0; i < 4 && expected; i++)
			post(p, in[i], LONG, i);
		for (unsigned int i = 0; i < 4; i++)
			send_tagged(p, i, lens[i]);
		pair_progress(p);
		for (unsigned int i = 0; i < 4 && !expected; i++)
			post(p, in[i], LONG, i);
		pair_progress(p);
		assert_int_equal(p->ended_count, 4);
		for (unsigned int i = 0; i < 4; i++)
			assert_message(p, i, in[i], lens[i], i);
		assert_int_equal(p->conn->unexp.bytes, 0);
		assert_int_equal(p->conn->in.pos, p->out.pos);
	}
}

static void post_both(struct pair *p, uint8_t *msg, uint8_t *tagged)
{
	assert_int_equal(fi_recv(p->ep, msg, 8, NULL, FI_ADDR_UNSPEC, msg), 0);
	post(p, tagged, 8, 7);
}

/* Messages of each kind end receives of that kind, and the event tells it. */
static void messages_have_kinds(void **state)
{
	static uint8_t in[2][8], payload[8];
	struct pair *p = *state;

	for (unsigned int i = 0; i < 8; i++) {
		bool tagged = i & 1, data = i & 2, expected = i & 4;
		uint64_t flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG) |
				 (data ? FI_REMOTE_CQ_DATA : 0);

		for (int late = 0; late < 2; late++) {
			if (late == expected)
				peer_record(p, tagged ? SHM_REC_TAGGED : SHM_REC_MSG,
					data ? SHM_FLAG_DATA : 0, tagged ? 7 : 0,
					payload, sizeof(payload));
			else
				post_both(p, in[0], in[1]);
			pair_progress(p);
		}
		assert_one_ended_with(p, in[tagged], flags);
		/* The other receive has waited. */
		assert_int_equal(fi_cancel(&p->ep->fid, in[!tagged]), 0);
		pair_progress(p);
		assert_one_ended(p, in[!tagged], FI_ECANCELED);
	}
}

/* A read ends with its last piece; no more than was asked for is taken. */
static void reads_are_answered_in_pieces(void **state)
{
	static uint8_t in[20], payload[20];
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id;

	fill(payload, sizeof(payload), 5);
	for (size_t more = 0; more < 2; more++) {
		memset(in, 0, sizeof(in));
		assert_int_equal(
			fi_read(p->ep, in, sizeof(in), NULL, p->addr, 0, KEY, in), 0);
		rec = peer_expect(p, SHM_REC_READ);
		memcpy(&id, rec.blob, sizeof(id));
		peer_record(p, SHM_REC_DATA, 0, id, payload, 12);
		pair_progress(p);
		assert_int_equal(p->ended_count, 0);
		assert_memory_equal(in, payload, 12);
		peer_record(p, SHM_REC_DATA, 0, id, payload + 12 - more, 8 + more);
		pair_progress(p);
		assert_one_ended(p, in, more ? FI_EPROTO : 0);
		if (!more)
			assert_memory_equal(in, payload, sizeof(in));
	}
	assert_down(p);
}

/* A record says whether it answers what was read, or crosses it. */
static void answers_and_crossings(void **state)
{
	struct pair *p = *state;
	static uint8_t in[8];

	for (unsigned int i = 0; i < 300; i++) {
		bool crosses = i % 3 == 0;

		post(p, in, sizeof(in), i);
		send_tagged(p, i, sizeof(in));
		if (!crosses)
			pair_progress(p);
		assert_int_equal(fi_tinject(p->ep, in, sizeof(in), p->addr, i), 0);
		assert_int_equal(shm_head_heard(shm_reader_head(&p->in)),
			(uint8_t)(p->out.next - 1 - crosses));
		(void)shm_reader_advance(&p->in);
		shm_reader_tell(&p->in);
		pair_progress(p);
	}
}

/* The reader stores that it processes a record before it does, and reports its position
 * after the agreed number of records, or bytes. */
static void taken_and_told(void **state)
{
	struct shm_lane *lane;
	struct pair *p = *state;

	lane = p->out.lane;
	for (unsigned int i = 1; i <= SHM_REPORT_SLOTS; i++) {
		assert_int_equal(atomic_load(&lane->reader.slots), 0);
		send_tagged(p, i, 8);
		assert_int_equal(atomic_load(&lane->taken), i - 1);
		pair_progress(p);
		assert_int_equal(atomic_load(&lane->taken), i);
	}
	assert_int_equal(atomic_load(&lane->reader.slots), SHM_REPORT_SLOTS);
	for (unsigned int i = 1; p->out.pos < SHM_REPORT_BYTES; i++) {
		assert_int_equal(atomic_load(&lane->reader.slots), SHM_REPORT_SLOTS);
		send_tagged(p, i, LONG);
		pair_progress(p);
	}
	assert_int_equal(atomic_load(&lane->reader.bytes), p->out.pos);
	assert_int_equal(atomic_load(&lane->reader.slots), p->out.next - 1);
}

/* One connection does not keep the others waiting: its records are read in turns. */
static void a_budget_of_records(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 0; i < 200; i++)
		send_tagged(p, i, 8);
	for (unsigned int read = 0; read < 200;) {
		unsigned int n = shm_rx_poll(p->conn);

		assert_int_equal(n, WF_MIN(200 - read, 64u));
		read += n;
	}
	assert_int_equal(shm_rx_poll(p->conn), 0);
}

/* EPA-034. The lane is not read while the peer leaves too many answers unread, or has
 * too many unexpected messages; and is read again afterwards. */
static void choked(void **state)
{
	enum { LIMIT = 1 << 20 };
	struct pair *p = *state;
	struct wf_budget *unexp = &p->shm->unexp.budget, *answers = &p->shm->answers;
	uint8_t in[8];

	send_tagged(p, 1, 8);
	post(p, in, 8, 1);
	unexp->limit = answers->limit = LIMIT;
	unexp->share = answers->share = 0;
	wf_budget_take(answers, &p->conn->queue.answer_bytes, LIMIT / 2 + 1);
	assert_int_equal(shm_rx_poll(p->conn), 0);
	wf_budget_give(answers, &p->conn->queue.answer_bytes, LIMIT / 2 + 1);
	wf_budget_take(unexp, &p->conn->unexp.bytes, LIMIT / 2 + 1);
	assert_int_equal(shm_rx_poll(p->conn), 0);
	wf_budget_give(unexp, &p->conn->unexp.bytes, 1);
	assert_int_equal(shm_rx_poll(p->conn), 1);
	wf_budget_give(unexp, &p->conn->unexp.bytes, LIMIT / 2);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, in, 8, 1);
}

/* A message that fills the peer's part of the memory is the last one that is read. */
static void choked_meanwhile(void **state)
{
	enum { LIMIT = 1 << 20 };
	struct pair *p = *state;
	struct wf_budget *unexp = &p->shm->unexp.budget;
	uint8_t in[2][8];

	send_tagged(p, 1, 8);
	send_tagged(p, 2, 8);
	unexp->limit = LIMIT;
	unexp->share = 0;
	wf_budget_take(unexp, &p->conn->unexp.bytes, LIMIT / 2);
	assert_int_equal(shm_rx_poll(p->conn), 1);
	assert_int_equal(shm_rx_poll(p->conn), 0);
	wf_budget_give(unexp, &p->conn->unexp.bytes, LIMIT / 2);
	post(p, in[0], 8, 1);
	post(p, in[1], 8, 2);
	assert_int_equal(shm_rx_poll(p->conn), 1);
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
}

/* A malformed record ends the connection, and the ones behind it are not acted on. */
static void nothing_behind_a_bad_one(void **state)
{
	struct pair *p = *state;
	uint8_t first[8], second[8] = { 0 };
	const uint8_t zeros[8] = { 0 };

	post(p, first, 8, 1);
	post(p, second, 8, 2);
	send_tagged(p, 1, 8);
	peer_record(p, SHM_REC_KINDS, 0, 0, NULL, 0);
	send_tagged(p, 2, 8);
	assert_refused(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, first, 8, 1);
	assert_memory_equal(second, zeros, 8);
}

/* Records that are none of their kind, whatever the endpoint has sent. */
static void records_that_are_none(void **state)
{
	static const uint32_t withdrawn = SHM_WITHDRAWN, refused = FI_EACCES;
	static const struct {
		uint8_t kind, flags;
		uint64_t word;
		const void *blob;
		size_t len;
	} rows[] = {
		{ SHM_REC_NONE, 0, 0, NULL, 0 },
		{ SHM_REC_MSG, SHM_FLAG_ACK, 0, "1234567", 7 },
		{ SHM_REC_TAGGED, SHM_FLAG_MATCH, 0, "1234567", 7 },
		{ SHM_REC_RTS, 0, 0, "1234567", 8 },
		{ SHM_REC_CTS, 0, 77, "1234567", 7 },
		{ SHM_REC_CTS, 0, 77, "123456789", 9 },
		{ SHM_REC_GONE, 0, 0, "1234567", 7 },
		{ SHM_REC_ERROR, 0, 77, &refused, sizeof(refused) },
		{ SHM_REC_ACK, 0, 0, "12345678", 8 },
		{ SHM_REC_RESP, 0, 77, "12345678", 8 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		peer_record(p, rows[i].kind, rows[i].flags, rows[i].word, rows[i].blob,
			rows[i].len);
		assert_refused(p);
		pair_again(p);
	}
	/* Of an operation that has not ended, and was not withdrawn; and asked for no
	 * clear to send. */
	for (int cleared = 0; cleared < 2; cleared++) {
		static uint8_t buf[8];
		struct shm_record rec;
		uint64_t id;

		assert_int_equal(fi_read(p->ep, buf, 8, NULL, p->addr, 0, KEY, buf), 0);
		rec = peer_expect(p, SHM_REC_READ);
		memcpy(&id, rec.blob, sizeof(id));
		if (cleared)
			peer_record(p, SHM_REC_CTS, 0, id, &id, sizeof(id));
		else
			peer_record(
				p, SHM_REC_ERROR, 0, id, &withdrawn, sizeof(withdrawn));
		assert_refused(p);
		assert_one_ended(p, buf, FI_EPROTO);
		pair_again(p);
	}
}

/* Messages to an endpoint that receives none. */
static void messages_to_a_sender(void **state)
{
	static const uint8_t kinds[] = { SHM_REC_MSG, SHM_REC_TAGGED, SHM_REC_RTS };
	struct shm_rts rts = { .id = 5, .len = 64, .token = SHM_TOKENS, .count = 1 };
	struct pair *p = *state;

	rts.iov[0].len = 64;
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		struct fid_peer_srx *srx = p->shm->ep.srx;

		p->shm->ep.srx = NULL;
		peer_record(p, kinds[i], 0, 0, &rts, sizeof(rts));
		assert_refused(p);
		p->shm->ep.srx = srx;
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(decoded),
		PAIR_TEST(messages_at_each_place),
		PAIR_TEST(messages_have_kinds),
		PAIR_TEST(reads_are_answered_in_pieces),
		PAIR_TEST(answers_and_crossings),
		PAIR_TEST(taken_and_told),
		PAIR_TEST(a_budget_of_records),
		PAIR_TEST(choked),
		PAIR_TEST(choked_meanwhile),
		PAIR_TEST(records_that_are_none),
		PAIR_TEST(messages_to_a_sender),
		PAIR_TEST(nothing_behind_a_bad_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

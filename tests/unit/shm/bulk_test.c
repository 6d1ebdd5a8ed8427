/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rendezvous messages: which end moves the payload, when both may; what a stream may
 * hold and where it goes; and what becomes of it when the peer's memory is not what it
 * said.
 */
#include "conn_fixture.h"

#include "providers/shm/data/method.h"
#include "sys/choice.h"

enum { LARGE = 100 << 10, TAG = 7 };

static uint8_t local[LARGE], in[LARGE];

/* ---- messages of the endpoint ---- */

/* Post a message that is too large to be sent before it is matched. */
static struct shm_rts post(struct pair *p, void *context, uint64_t level)
{
	struct iovec iov = { local, LARGE };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = p->addr,
		.tag = TAG,
		.context = context };
	struct shm_record rec;
	struct shm_rts rts;

	assert_int_equal(fi_tsendmsg(p->ep, &msg, level | FI_COMPLETION), 0);
	rec = peer_expect(p, SHM_REC_TAGGED_RTS);
	assert_int_equal(rec.word, TAG);
	assert_int_equal(rec.len, sizeof(rts));
	memcpy(&rts, rec.blob, sizeof(rts));
	assert_int_equal(rts.len, LARGE);
	return rts;
}

/* The word that says which end moves the message. */
static _Atomic uint64_t *token_of(struct pair *p, const struct shm_rts *rts)
{
	return &p->memory->tokens[0][rts->token].id;
}

static void write_clearance(struct pair *p, uint64_t id, uint64_t sink)
{
	peer_record(p, SHM_REC_CTS, 0, id, &sink, sizeof(sink));
}

static void clear_to_send(struct pair *p, uint64_t id, uint64_t sink)
{
	write_clearance(p, id, sink);
	pair_progress(p);
}

static void acknowledge(struct pair *p, uint64_t id)
{
	peer_record(p, SHM_REC_ACK, 0, 0, &id, sizeof(id));
	pair_progress(p);
}

/* Read a stream to @sink, all of it. */
static void expect_stream(struct pair *p, uint64_t sink)
{
	size_t got = 0;

	while (got < LARGE) {
		struct shm_record rec = peer_expect(p, SHM_REC_DATA);

		assert_int_equal(rec.word, sink);
		assert_true(rec.len <= LARGE - got);
		assert_memory_equal(rec.blob, local + got, rec.len);
		got += rec.len;
		peer_tell(p);
		pair_progress(p);
	}
	assert_false(peer_has_record(p));
}

/* The peer has taken the token, and its clear to send comes late: nothing is
 * written, and the message ends with the acknowledgement. */
static void taken_by_the_peer(void **state)
{
	struct pair *p = *state;
	struct shm_rts rts = post(p, local, 0);

	assert_int_equal(atomic_load(token_of(p, &rts)), rts.id);
	atomic_store(token_of(p, &rts), 0);
	clear_to_send(p, rts.id, 99);
	assert_false(peer_has_record(p));
	assert_int_equal(p->ended_count, 0);
	acknowledge(p, rts.id);
	assert_one_ended(p, local, 0);
	assert_int_equal(p->conn->tokens, 0);
	/* A clear to send for a message that is over says nothing. */
	clear_to_send(p, rts.id, 99);
	assert_false(peer_has_record(p));
	assert_non_null(p->peer->conn);
}

/* Cleared to send, once and again: the endpoint takes the token and writes the
 * message once. It is complete when it is written, or when the peer acknowledges it. */
static void cleared_twice(void **state)
{
	static const uint64_t levels[] = { 0, FI_DELIVERY_COMPLETE };
	struct pair *p = *state;
	struct shm_rts rts;

	fill(local, LARGE, 5);
	for (size_t i = 0; i < WF_ARRAY_SIZE(levels); i++) {
		rts = post(p, local, levels[i]);
		clear_to_send(p, rts.id, 99);
		clear_to_send(p, rts.id, 98);
		assert_int_equal(atomic_load(token_of(p, &rts)), 0);
		expect_stream(p, 99);
		if (levels[i]) {
			assert_int_equal(p->ended_count, 0);
			acknowledge(p, rts.id);
		}
		assert_one_ended(p, local, 0);
		assert_int_equal(p->conn->tokens, 0);
		assert_int_equal(p->conn->unsettled, 0);
	}
}

/* More messages at a time than there are tokens: those beyond are moved by the
 * sender alone, and a word is free again when its message is over. */
static void more_than_tokens(void **state)
{
	enum { COUNT = SHM_TOKENS + 3 };
	struct shm_rts rts[COUNT], again;
	struct pair *p = *state;
	uint64_t seen = 0;

	for (unsigned int i = 0; i < COUNT; i++) {
		rts[i] = post(p, &rts[i], 0);
		if (i >= SHM_TOKENS) {
			assert_int_equal(rts[i].token, SHM_TOKENS);
			continue;
		}
		assert_true(rts[i].token < SHM_TOKENS);
		assert_false(seen & 1ull << rts[i].token);
		seen |= 1ull << rts[i].token;
	}
	/* The second one comes when the stream has begun, and changes nothing. */
	write_clearance(p, rts[COUNT - 1].id, 7);
	clear_to_send(p, rts[COUNT - 1].id, 6);
	expect_stream(p, 7);
	assert_one_ended(p, &rts[COUNT - 1], 0);
	atomic_store(token_of(p, &rts[5]), 0);
	acknowledge(p, rts[5].id);
	assert_one_ended(p, &rts[5], 0);
	again = post(p, &again, 0);
	assert_int_equal(again.token, rts[5].token);
	/* The token was another message's before: what took it then is not taken now.
	 */
	assert_int_equal(atomic_load(token_of(p, &again)), again.id);
	assert_int_not_equal(again.id, rts[5].id);
}

/* ---- messages of the peer ---- */

static void announce(
	struct pair *p, uint64_t id, const void *from, size_t len, uint32_t token)
{
	peer_announce(p, SHM_FLAG_ACK, TAG, id, from, len, token);
	pair_progress(p);
}

static void receive(struct pair *p, size_t len)
{
	memset(in, 0xee, sizeof(in));
	assert_int_equal(fi_trecv(p->ep, in, len, NULL, FI_ADDR_UNSPEC, TAG, 0, in), 0);
}

/* The id of the sink that the endpoint gives for message @id. */
static uint64_t expect_clearance(struct pair *p, uint64_t id)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(20000)), sink;
	struct shm_record rec;

	while (!peer_has_record(p)) {
		assert_true(wf_now_ns() < deadline);
		pair_progress(p);
	}
	rec = peer_expect(p, SHM_REC_CTS);
	assert_int_equal(rec.word, id);
	assert_int_equal(rec.len, sizeof(sink));
	memcpy(&sink, rec.blob, sizeof(sink));
	return sink;
}

/* A stream in pieces of any length goes where the receive is; what does not fit is
 * dropped, and the sender hears of its end all the same. */
static void pieces_of_any_length(void **state)
{
	enum { LEN = 3000 };
	static const size_t pieces[] = { 1, 63, 64, 105, 1000, LEN };
	static const size_t fits[] = { LEN, LEN - 1, 1000, 1, 0 };
	struct pair *p = *state;

	fill(local, LEN, 2);
	for (size_t i = 0; i < WF_ARRAY_SIZE(pieces) * WF_ARRAY_SIZE(fits); i++) {
		size_t piece = pieces[i % WF_ARRAY_SIZE(pieces)];
		size_t fit = fits[i / WF_ARRAY_SIZE(pieces)];
		uint64_t sink;

		receive(p, fit);
		announce(p, 5, local, LEN, SHM_TOKENS);
		sink = expect_clearance(p, 5);
		for (size_t at = 0; at < LEN; at += piece) {
			assert_int_equal(p->ended_count, 0);
			peer_record(p, SHM_REC_DATA, 0, sink, local + at,
				WF_MIN(LEN - at, piece));
			if (at / piece % 50 == 0 || at + piece >= LEN)
				pair_progress(p);
		}
		assert_one_ended(p, in, fit < LEN ? FI_ETRUNC : 0);
		assert_memory_equal(in, local, fit);
		assert_int_equal(in[fit], 0xee);
		peer_expect_ack(p, 5);
		peer_tell(p);
		assert_true(wf_list_empty(&p->conn->sinks));
	}
}

/* Pieces that are none: too long, empty, or behind the last one. */
static void pieces_that_do_not_fit(void **state)
{
	enum { LEN = 100 };
	static const size_t lens[][2] = { { LEN + 1 }, { 0 }, { 60, 41 }, { LEN, 1 } };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		uint64_t sink;

		receive(p, LEN);
		announce(p, 5, local, LEN, SHM_TOKENS);
		sink = expect_clearance(p, 5);
		peer_record(p, SHM_REC_DATA, 0, sink, local, lens[i][0]);
		if (lens[i][1])
			peer_record(p, SHM_REC_DATA, 0, sink, local, lens[i][1]);
		assert_refused(p);
		assert_one_ended(p, in, lens[i][0] == LEN ? 0 : FI_EPROTO);
		assert_int_equal(in[LEN], 0xee);
		pair_again(p);
	}
}

/* Requests to send that are none. */
static void announced_wrongly(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 6; i++) {
		struct shm_rts rts = { .id = 5, .len = 64, .token = 0, .count = 1 };
		size_t len = sizeof(rts);

		rts.iov[0].len = 64;
		rts.id = i == 0 ? 0 : 5;
		rts.token = i == 1 ? SHM_TOKENS + 1 : 0;
		rts.count = i == 2 ? SHM_IOV_LIMIT + 1 : 1;
		rts.iov[0].len += i == 3;
		rts.len += i == 4;
		len -= i == 5;
		receive(p, 64);
		peer_record(p, SHM_REC_TAGGED_RTS, 0, TAG, &rts, len);
		assert_refused(p);
		/* The receive is there still. */
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
}

/* ---- out of the peer's memory ---- */

/* The endpoint reads the message from the peer's memory. A clear to send is not needed
 * then, nor is the token, which only clears to send compete for. */
static void read_from_memory(void **state)
{
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	fill(local, LARGE, 9);
	p->conn->cma = true;
	for (size_t fit = LARGE; fit; fit = fit > 1000 ? 1000 : 0) {
		receive(p, fit);
		shm_params.cma_size = LARGE;
		announce(p, 5, local, LARGE, 3);
		shm_params.cma_size = SIZE_MAX;
		assert_int_equal(atomic_load(&p->memory->tokens[1][3].id), 5);
		assert_one_ended(p, in, fit < LARGE ? FI_ETRUNC : 0);
		assert_memory_equal(in, local, fit);
		peer_expect_ack(p, 5);
		assert_false(peer_has_record(p));
	}
}

static bool is_next(const struct pair *p, uint8_t kind)
{
	return shm_head_kind(shm_reader_head(&p->in)) == kind;
}

/* A message by the method that the endpoint chooses. True: both ends may copy pieces.
 */
static bool receive_one(struct pair *p, uint64_t id)
{
	bool shared;

	memset(in, 0, LARGE);
	receive(p, LARGE);
	announce(p, id, local, LARGE, 3);
	shared = is_next(p, SHM_REC_SHARE);
	if (shared) {
		(void)peer_expect(p, SHM_REC_SHARE);
	} else {
		uint64_t sink = expect_clearance(p, id);
		/* The endpoint may lose its patience. */
		bool read = !atomic_exchange(&p->memory->tokens[1][3].id, 0);

		for (size_t at = 0; !read && at < LARGE; at += LARGE / 4)
			peer_record(p, SHM_REC_DATA, 0, sink, local + at, LARGE / 4);
		pair_progress(p);
	}
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, local, LARGE);
	peer_expect_ack(p, id);
	peer_tell(p);
	assert_true(wf_list_empty(&p->conn->sinks));
	return shared;
}

/* Which method takes less time is measured: messages use both, and all arrive. */
static void both_methods(void **state)
{
	enum { MESSAGES = 110 + WF_CHOICE_SKIPPED_MAX };
	struct pair *p = *state;
	unsigned int shared = 0;

	if (!pair_may_attach(p))
		skip();
	fill(local, LARGE, 9);
	p->conn->cma = true;
	for (uint64_t id = 1; id <= MESSAGES; id++)
		shared += receive_one(p, id);
	assert_in_range(shared, 2, MESSAGES);
	assert_non_null(p->conn->methods[SHM_USE_MESSAGE]);
}

/* Nothing is measured where parameters say so, or nothing may be read. */
static void one_way(void **state)
{
	struct pair *p = *state;
	struct shm_chosen chosen;

	for (int i = 0; i < 3000; i++) {
		shm_params.measure_copies = i % 3 != 0;
		shm_params.cma_size = i % 3 == 1 ? LARGE + 1 : SIZE_MAX;
		shm_method_begin(p->conn, i % SHM_USES, LARGE, i % 3 != 2, &chosen);
		assert_int_equal(chosen.method, SHM_METHOD_LANE);
		assert_int_equal(chosen.measured, i % 3 == 2);
		shm_method_end(p->conn, &chosen, LARGE, i + 1);
	}
	shm_params.measure_copies = 1;
	shm_params.cma_size = SIZE_MAX;
}

/* A method with which several transfers end together is not taken for that, if it is no
 * better. */
static void ends_together(void **state)
{
	enum { TRANSFERS = 3000, ROUNDS = 12 };
	struct pair *p = *state;
	unsigned int shared = 0;
	uint64_t now = 1000;

	for (int i = 0; i < TRANSFERS; i++) {
		struct shm_chosen chosen;

		shm_method_begin(p->conn, SHM_USE_MESSAGE, LARGE, true, &chosen);
		if (chosen.method == SHM_METHOD_SHARE) {
			now += ++shared % 3 ? 10 : 2980;
		} else {
			now += 1000;
		}
		shm_method_end(p->conn, &chosen, LARGE, now);
	}
	assert_in_range(shared, WF_CHOICE_TRIES, ROUNDS * WF_CHOICE_TRIES);
}

/* A stream, of which a window is under way at any time. By the one method one message
 * ends after the other; by the other method all that are under way end together, at the
 * time at which the last of them would end if each took @cost ns. Returns how many
 * of the last messages took the latter. */
static unsigned int stream(struct pair *p, unsigned int use, uint64_t cost)
{
	enum { TRANSFERS = 6000, LAST = 1000, WINDOW = 48, LANE = 1000 };
	struct shm_chosen pending[WINDOW];
	unsigned int shared = 0;
	uint64_t now = 1000, left = 0;

	for (unsigned int i = 0; i < TRANSFERS + WINDOW; i++) {
		struct shm_chosen *chosen = &pending[i % WINDOW];

		if (i >= WINDOW) {
			if (chosen->method == SHM_METHOD_LANE)
				now += LANE, left = 0;
			else if (left)
				now++, left--;
			else
				now += cost * WINDOW, left = WINDOW - 1;
			shm_method_end(p->conn, chosen, LARGE, now);
			shared += i >= TRANSFERS + WINDOW - LAST &&
				  chosen->method == SHM_METHOD_SHARE;
		}
		shm_method_begin(p->conn, use, LARGE, true, chosen);
	}
	return shared;
}

static void a_window_ends_together(void **state)
{
	struct pair *p = *state;

	assert_in_range(stream(p, SHM_USE_MESSAGE, 1200), 0, 300);
	pair_again(p);
	assert_in_range(stream(p, SHM_USE_MESSAGE, 700), 700, 1000);
}

/* A transfer that fails ends, too, and says nothing of the time: measurements go on as
 * if no other transfer were under way. */
static void failed_ones_end(void **state)
{
	/* As many transfers as the first round has, and those before it. */
	enum { FAILED = 40, TRANSFERS = 70, LANE = 1000, SHARE = 500 };
	struct pair *p = *state;
	struct shm_chosen chosen;
	uint64_t now = 1000;

	for (int i = 0; i < FAILED + TRANSFERS; i++) {
		shm_method_begin(p->conn, SHM_USE_MESSAGE, LARGE, true, &chosen);
		now += chosen.method == SHM_METHOD_LANE ? LANE : SHARE;
		shm_method_end(p->conn, &chosen, LARGE, i < FAILED ? 0 : now);
	}
	assert_int_equal(chosen.method, SHM_METHOD_SHARE);
}

/* The time from a transfer of one length to that of another one is no cost of either.
 */
static void lengths_in_turn(void **state)
{
	enum { TRANSFERS = 1200, LANE = 1000, SHARE = 100 };
	struct pair *p = *state;
	unsigned int shared = 0;
	struct shm_chosen chosen;
	uint64_t now = 1000;

	for (int i = 0; i < TRANSFERS; i++) {
		size_t len = i % 2 ? LARGE : LARGE / 2;

		shm_method_begin(p->conn, SHM_USE_MESSAGE, len, true, &chosen);
		now += chosen.method == SHM_METHOD_LANE ? LANE : SHARE;
		shared += chosen.method == SHM_METHOD_SHARE;
		shm_method_end(p->conn, &chosen, len, now);
	}
	assert_in_range(shared, WF_CHOICE_TRIES, TRANSFERS / 5);
}

/* The method that FI_SHM_COPY forces, where the memory of the peer may be accessed. */
static void forced_way(void **state)
{
	static const uint8_t methods[] = {
		[SHM_COPY_RING] = SHM_METHOD_LANE,
		[SHM_COPY_READ] = SHM_METHOD_READ,
		[SHM_COPY_BOTH] = SHM_METHOD_SHARE,
	};
	struct pair *p = *state;
	struct shm_chosen chosen;

	for (int copy = SHM_COPY_RING; copy <= SHM_COPY_BOTH; copy++) {
		shm_params.copy = copy;
		shm_method_begin(p->conn, SHM_USE_MESSAGE, LARGE, true, &chosen);
		assert_int_equal(chosen.method, methods[copy]);
		shm_method_begin(p->conn, SHM_USE_MESSAGE, LARGE, false, &chosen);
		assert_int_equal(chosen.method, SHM_METHOD_LANE);
		assert_false(chosen.measured);
	}
	shm_params.copy = SHM_COPY_AUTO;
}

/* The peer's socket has ended: what was read may be another process's memory by now, or
 * the buffer another message's. It is not delivered. The socket is asked each time if
 * the peer does not store in the region when it ends the connection. */
static void ended_meanwhile(void **state)
{
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	for (int closes = 0; closes < 2; closes++) {
		if (closes)
			pair_again(p);
		p->conn->cma = true;
		p->conn->closes = closes;
		p->conn->proved_ns = closes ? 0 : wf_now_ns();
		receive(p, 64);
		shm_params.cma_size = 64;
		peer_announce(p, SHM_FLAG_ACK, TAG, 5, local, 64, 3);
		close(p->fd);
		p->fd = -1;
		pair_progress(p);
		shm_params.cma_size = SIZE_MAX;
		assert_one_ended(p, in, FI_ECONNRESET);
		assert_null(p->peer->conn);
	}
}

/* There is no memory where the peer says the message is. The peer is asked to send. */
static void nothing_there(void **state)
{
	struct pair *p = *state;
	uint64_t sink;

	fill(local, LARGE, 9);
	p->conn->cma = true;
	receive(p, 64);
	shm_params.cma_size = 64;
	announce(p, 5, (void *)16, 64, 3);
	shm_params.cma_size = SIZE_MAX;
	sink = expect_clearance(p, 5);
	assert_int_equal(atomic_load(&p->memory->tokens[1][3].id), 5);
	assert_false(p->conn->cma);
	assert_int_equal(p->ended_count, 0);
	peer_record(p, SHM_REC_DATA, 0, sink, local, 64);
	pair_progress(p);
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, local, 64);
}

/* The sender has the token already: the endpoint does not read its memory, but
 * waits for the stream. */
static void taken_by_the_sender(void **state)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(20000)), sink;
	struct pair *p = *state;

	fill(local, LARGE, 9);
	p->conn->cma = true;
	receive(p, 64);
	peer_announce(p, SHM_FLAG_ACK, TAG, 5, local + 100, 64, 3);
	atomic_store(&p->memory->tokens[1][3].id, 0);
	pair_progress(p);
	sink = expect_clearance(p, 5);
	while (!wf_list_empty(&p->shm->pulls)) {
		assert_true(wf_now_ns() < deadline);
		pair_progress(p);
	}
	assert_int_equal(p->ended_count, 0);
	peer_record(p, SHM_REC_DATA, 0, sink, local, 64);
	pair_progress(p);
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, local, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(taken_by_the_peer),
		PAIR_TEST(cleared_twice),
		PAIR_TEST(more_than_tokens),
		PAIR_TEST(pieces_of_any_length),
		PAIR_TEST(pieces_that_do_not_fit),
		PAIR_TEST(announced_wrongly),
		PAIR_TEST(read_from_memory),
		PAIR_TEST(both_methods),
		PAIR_TEST(ends_together),
		PAIR_TEST(a_window_ends_together),
		PAIR_TEST(failed_ones_end),
		PAIR_TEST(lengths_in_turn),
		PAIR_TEST(one_way),
		PAIR_TEST(forced_way),
		PAIR_TEST(ended_meanwhile),
		PAIR_TEST(nothing_there),
		PAIR_TEST(taken_by_the_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

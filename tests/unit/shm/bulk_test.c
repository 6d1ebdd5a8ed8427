/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rendezvous messages: which end moves the payload, when both may; what a stream may
 * hold and where it goes; and what becomes of it when the peer's memory is not what it
 * said.
 */
#include "conn_fixture.h"

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

/* While the lane has no space the message is not announced: it has no id, and can be
 * cancelled. */
static void cancelled_before_it_is_announced(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_tinject(p->ep, "", 1, p->addr, i), 0);
	assert_int_equal(fi_tsend(p->ep, local, LARGE, NULL, p->addr, TAG, local), 0);
	pair_progress(p);
	assert_int_equal(p->conn->waits.unsettled, 0);
	assert_int_equal(fi_cancel(&p->ep->fid, local), 0);
	pair_progress(p);
	assert_one_ended(p, local, FI_ECANCELED);
	for (unsigned int i = 0; i < SHM_SLOTS; i++)
		(void)peer_expect(p, SHM_REC_TAGGED);
	peer_tell(p);
	pair_progress(p);
	assert_false(peer_has_record(p));
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
	assert_int_equal(p->conn->waits.tokens, 0);
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
		assert_int_equal(p->conn->waits.tokens, 0);
		assert_int_equal(p->conn->waits.unsettled, 0);
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
	/* The token was another message's before: what took it then is not taken
	 * now. */
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
		assert_true(wf_list_empty(&p->conn->arriving.sinks));
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
	p->conn->process.cma = true;
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

/* The sender had no token left: the message comes through the lane, as does a shorter
 * one than those that are read. */
static void not_from_memory(void **state)
{
	struct pair *p = *state;

	fill(local, LARGE, 9);
	p->conn->process.cma = true;
	for (int i = 0; i < 2; i++) {
		uint64_t sink;

		receive(p, 64);
		shm_params.cma_size = i ? 65 : 64;
		peer_announce(p, SHM_FLAG_ACK, TAG, 5, local, 64, i ? 3 : SHM_TOKENS);
		/* Taken by the sender: the endpoint cannot read the message later, which
		 * it would do after some microseconds. */
		atomic_store(&p->memory->tokens[1][3].id, 0);
		pair_progress(p);
		shm_params.cma_size = SIZE_MAX;
		sink = expect_clearance(p, 5);
		assert_int_equal(p->ended_count, 0);
		peer_record(p, SHM_REC_DATA, 0, sink, local, 64);
		pair_progress(p);
		assert_one_ended(p, in, 0);
		assert_memory_equal(in, local, 64);
		(void)peer_skip(p);
		peer_tell(p);
	}
}

/* The sender's endpoint is closed: what was read may be what the application has stored
 * in the buffer since. The socket is asked only now and then, the segment each time. */
static void closed_meanwhile(void **state)
{
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	shm_params.cma_size = 64;
	for (int i = 0; i < 3; i++) {
		p->conn->process.cma = true;
		p->conn->process.proved_ns = i == 2 ? 0 : wf_now_ns();
		receive(p, 64);
		peer_announce(p, SHM_FLAG_ACK, TAG, 5, local, 64, 3);
		if (i == 1)
			shm_reader_close(&p->in);
		if (i == 2) {
			close(p->fd);
			p->fd = -1;
		}
		pair_progress(p);
		assert_one_ended(p, in, i ? FI_ECONNRESET : 0);
		if (i == 1)
			pair_again(p);
	}
	shm_params.cma_size = SIZE_MAX;
	assert_null(p->peer->conn);
}

/* An endpoint that is closed tells the peer before its operations end. */
static void tells_its_end(void **state)
{
	struct pair *p = *state;
	_Atomic uint32_t *closed = &p->memory->lane[1].reader.closed;

	assert_int_equal(atomic_load(closed), 0);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(closed), 1);
}

/* There is no memory where the peer says the message is. The peer is asked to send. */
static void nothing_there(void **state)
{
	struct pair *p = *state;
	uint64_t sink;

	fill(local, LARGE, 9);
	p->conn->process.cma = true;
	receive(p, 64);
	shm_params.cma_size = 64;
	announce(p, 5, (void *)16, 64, 3);
	shm_params.cma_size = SIZE_MAX;
	sink = expect_clearance(p, 5);
	assert_int_equal(atomic_load(&p->memory->tokens[1][3].id), 5);
	assert_false(p->conn->process.cma);
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
	p->conn->process.cma = true;
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
		PAIR_TEST(cancelled_before_it_is_announced),
		PAIR_TEST(taken_by_the_peer),
		PAIR_TEST(cleared_twice),
		PAIR_TEST(more_than_tokens),
		PAIR_TEST(pieces_of_any_length),
		PAIR_TEST(pieces_that_do_not_fit),
		PAIR_TEST(announced_wrongly),
		PAIR_TEST(read_from_memory),
		PAIR_TEST(not_from_memory),
		PAIR_TEST(closed_meanwhile),
		PAIR_TEST(tells_its_end),
		PAIR_TEST(nothing_there),
		PAIR_TEST(taken_by_the_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

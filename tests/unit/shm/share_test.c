/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rendezvous messages of which both ends copy pieces: who copies what, and what becomes
 * of them when one end stops, dies or says what cannot be.
 */
#include "conn_fixture.h"

#include <pthread.h>
#include <unistd.h>

enum {
	LARGE = 100 << 10,
	PIECE = 52 << 10, /* half of it, in whole pages */
	TAG = 7,
	ID = 5,
	TOKEN = 3,
};

static uint8_t local[LARGE], in[LARGE];

static void allow(struct pair *p)
{
	if (!pair_may_attach(p))
		skip();
	p->conn->cma = true;
	fill(local, LARGE, 9);
	memset(in, 0xee, sizeof(in));
}

/* ---- the endpoint receives ---- */

static struct shm_token *token_in(struct pair *p)
{
	return &p->memory->tokens[1][TOKEN];
}

/* The endpoint receives a message of @len bytes at @from into the first @fit bytes of
 * two buffers; what it asks the sender for. */
static struct shm_share ask(struct pair *p, const void *from, size_t len, size_t fit)
{
	struct shm_rts rts = { .id = ID, .len = len, .token = TOKEN, .count = 1 };
	struct iovec iov[] = { { in, fit / 3 }, { in + fit / 3, fit - fit / 3 } };
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.iov_count = 2,
		.addr = FI_ADDR_UNSPEC,
		.tag = TAG,
		.context = in };
	struct shm_share share;
	struct shm_record rec;

	rts.iov[0].base = (uintptr_t)from;
	rts.iov[0].len = len;
	atomic_store(&token_in(p)->id, ID);
	peer_record(p, SHM_REC_TAGGED_RTS, SHM_FLAG_ACK, TAG, &rts, sizeof(rts));
	pair_progress(p);
	/* Matched now: the endpoint reads nothing before it makes progress. */
	shm_params.copy = SHM_COPY_BOTH;
	assert_int_equal(fi_trecvmsg(p->ep, &msg, FI_COMPLETION), 0);
	shm_params.copy = SHM_COPY_AUTO;
	/* Only a clear to send makes both ends compete for the token. */
	assert_int_equal(atomic_load(&token_in(p)->id), ID);
	rec = peer_expect(p, SHM_REC_SHARE);
	assert_int_equal(rec.word, ID);
	assert_int_equal(rec.len, sizeof(share));
	memcpy(&share, rec.blob, sizeof(share));
	assert_int_equal(share.count, 2);
	assert_ptr_equal((void *)(uintptr_t)share.iov[0].base, in);
	assert_int_equal(share.iov[0].len + share.iov[1].len, fit);
	return share;
}

static void take_back(struct pair *p)
{
	atomic_fetch_add(&token_in(p)->taken, 1ull << 32);
}

static void expect_end(struct pair *p, size_t fit)
{
	struct shm_record rec;
	uint64_t id = ID;

	pair_progress(p);
	assert_one_ended(p, in, fit < LARGE ? FI_ETRUNC : 0);
	assert_memory_equal(in, local, fit);
	rec = peer_expect(p, SHM_REC_ACK);
	assert_int_equal(rec.len, sizeof(id));
	assert_memory_equal(rec.blob, &id, sizeof(id));
	peer_tell(p);
	assert_true(wf_list_empty(&p->conn->sinks));
}

/* A sender that does nothing: the endpoint reads all, also of a message that is longer
 * than the receive. */
static void idle_sender(void **state)
{
	static const size_t fits[] = { LARGE, LARGE - 1, PIECE };
	struct pair *p = *state;

	allow(p);
	for (size_t i = 0; i < WF_ARRAY_SIZE(fits); i++) {
		assert_int_equal(ask(p, local, LARGE, fits[i]).piece,
			fits[i] > PIECE ? PIECE : 28 << 10);
		expect_end(p, fits[i]);
		memset(in, 0xee, sizeof(in));
	}
}

/* The sender takes the last piece: the endpoint waits until it is written. */
static void sender_helps(void **state)
{
	struct pair *p = *state;

	allow(p);
	assert_int_equal(ask(p, local, LARGE, LARGE).piece, PIECE);
	take_back(p);
	pair_progress(p);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_memory_equal(in, local, PIECE);
	assert_int_equal(in[PIECE], 0xee);
	assert_false(shm_share_has_news(p->shm));
	memcpy(in + PIECE, local + PIECE, LARGE - PIECE);
	atomic_store(&token_in(p)->written, 1);
	assert_true(shm_share_has_news(p->shm));
	expect_end(p, LARGE);
}

/* The sender took the last piece and could not write it: the endpoint reads it. */
static void sender_stops(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local, LARGE, LARGE);
	take_back(p);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	atomic_store(&token_in(p)->written, SHM_SHARE_STOPPED);
	expect_end(p, LARGE);
}

/* The peer's memory is not what it said: the payload is to come through the lane, and
 * the sender writes no piece any more. */
static void unreadable(void **state)
{
	struct shm_record rec;
	struct pair *p = *state;
	uint64_t sink;

	allow(p);
	(void)ask(p, NULL, LARGE, LARGE);
	pair_progress(p);
	assert_int_equal((uint32_t)atomic_load(&token_in(p)->taken), 2);
	assert_int_equal(atomic_load(&token_in(p)->id), ID);
	rec = peer_expect(p, SHM_REC_CTS);
	memcpy(&sink, rec.blob, sizeof(sink));
	for (size_t at = 0; at < LARGE; at += LARGE / 4)
		peer_record(p, SHM_REC_DATA, 0, sink, local + at, LARGE / 4);
	expect_end(p, LARGE);
}

/* The peer dies when it has taken a piece: the receive fails, at once. */
static void sender_dies(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local, LARGE, LARGE);
	take_back(p);
	peer_dies(p);
	assert_one_ended(p, in, FI_ECONNRESET);
}

/* The endpoint is closed before it read anything: the sender finds nothing to write. */
static void receiver_closes(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local, LARGE, LARGE);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(&token_in(p)->taken), 2);
}

static void *write_late(void *arg)
{
	struct pair *p = arg;

	(void)usleep(20000);
	memcpy(in + PIECE, local + PIECE, LARGE - PIECE);
	atomic_store(&token_in(p)->written, 1);
	return NULL;
}

/* The endpoint is closed while the sender writes a piece: the buffer is left to the
 * application when that is over. */
static void receiver_closes_meanwhile(void **state)
{
	struct pair *p = *state;
	pthread_t thread;

	allow(p);
	(void)ask(p, local, LARGE, LARGE);
	take_back(p);
	assert_int_equal(pthread_create(&thread, NULL, write_late, p), 0);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(&token_in(p)->written), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Numbers of pieces that cannot be. */
static void bad_numbers(void **state)
{
	static const struct {
		uint64_t taken, written;
	} cases[] = {
		{ 0, 0 },                     /* fewer than the endpoint took */
		{ 2, 0 },                     /* more than that */
		{ 1 | 2ull << 32, 0 },        /* more than there are */
		{ 1 | 1ull << 32, 2 },        /* more written than taken */
		{ 1, 1 | SHM_SHARE_STOPPED }, /* the same */
	};
	struct pair *p = *state;

	allow(p);
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		p->conn->cma = true;
		(void)ask(p, local, LARGE, LARGE);
		atomic_store(&token_in(p)->taken, cases[i].taken);
		atomic_store(&token_in(p)->written, cases[i].written);
		/* Its socket is open, but nobody will write. */
		assert_refused(p);
		assert_one_ended(p, in, FI_EPROTO);
		pair_again(p);
	}
}

/* ---- the endpoint sends ---- */

static struct shm_rts post(struct pair *p)
{
	struct iovec iov[] = { { local, 1000 }, { local + 1000, LARGE - 1000 } };
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.iov_count = 2,
		.addr = p->addr,
		.tag = TAG,
		.context = local };
	struct shm_record rec;
	struct shm_rts rts;

	assert_int_equal(fi_tsendmsg(p->ep, &msg, FI_COMPLETION), 0);
	rec = peer_expect(p, SHM_REC_TAGGED_RTS);
	memcpy(&rts, rec.blob, sizeof(rts));
	return rts;
}

static struct shm_token *token_out(struct pair *p, const struct shm_rts *rts)
{
	return &p->memory->tokens[0][rts->token];
}

/* Ask the endpoint to write pieces of @piece bytes, of which @front are taken, into the
 * first @fit bytes of @to. */
static void share(struct pair *p, const struct shm_rts *rts, uint64_t piece,
	uint32_t front, uint8_t *to, size_t fit)
{
	struct shm_share rec = { .piece = piece, .count = 2 };

	rec.iov[0].base = (uintptr_t)to;
	rec.iov[0].len = 100;
	rec.iov[1].base = (uintptr_t)to + 100;
	rec.iov[1].len = fit - 100;
	atomic_store(&token_out(p, rts)->id, 0);
	atomic_store(&token_out(p, rts)->taken, front);
	atomic_store(&token_out(p, rts)->written, 0);
	peer_record(p, SHM_REC_SHARE, 0, rts->id, &rec, sizeof(rec));
	pair_progress(p);
}

static void acknowledge(struct pair *p, const struct shm_rts *rts)
{
	peer_record(p, SHM_REC_ACK, 0, 0, &rts->id, sizeof(rts->id));
	pair_progress(p);
	assert_one_ended(p, local, 0);
	assert_int_equal(p->conn->tokens, 0);
	assert_int_equal(p->conn->unsettled, 0);
}

/* The endpoint writes what is not taken, and not a byte more; the message is complete
 * when the receiver says so. */
static void writes_the_rest(void **state)
{
	static const struct {
		size_t piece, fit;
		uint32_t front, pieces;
	} cases[] = {
		{ PIECE, LARGE, 1, 2 },
		{ PIECE, LARGE, 2, 2 },
		{ PIECE, LARGE - 7, 1, 2 },
		{ 40 << 10, LARGE, 1, 3 },
		{ LARGE, LARGE, 0, 1 },
		{ 60, 150, 1, 3 },
	};
	struct pair *p = *state;

	allow(p);
	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		size_t from = WF_MIN(cases[i].front * cases[i].piece, cases[i].fit);
		struct shm_rts rts = post(p);
		uint64_t back = cases[i].pieces - cases[i].front;

		memset(in, 0xee, sizeof(in));
		share(p, &rts, cases[i].piece, cases[i].front, in, cases[i].fit);
		assert_int_equal(atomic_load(&token_out(p, &rts)->taken),
			cases[i].front | back << 32);
		assert_int_equal(atomic_load(&token_out(p, &rts)->written), back);
		for (size_t at = 0; at < from; at++)
			assert_int_equal(in[at], 0xee);
		assert_memory_equal(in + from, local + from, cases[i].fit - from);
		for (size_t at = cases[i].fit; at < LARGE; at++)
			assert_int_equal(in[at], 0xee);
		assert_int_equal(p->ended_count, 0);
		assert_false(peer_has_record(p));
		acknowledge(p, &rts);
		peer_tell(p);
	}
}

/* What was measured of the ring before the kernel copies a message has no result. */
static void the_ring_is_measured_again(void **state)
{
	struct pair *p = *state;
	struct wf_choice *choice = &p->conn->reuse.choice;
	struct shm_rts rts;

	allow(p);
	rts = post(p);
	while (choice->settled)
		(void)wf_choice_add(choice, choice->kept, 1);
	p->conn->reuse.begun_ns = 1;
	share(p, &rts, PIECE, 1, in, LARGE);
	assert_true(choice->settled);
	assert_int_equal(p->conn->reuse.begun_ns, 0);
	acknowledge(p, &rts);
}

/* It may not write there, and says so; then the receiver has it write into the lane. */
static void not_writable(void **state)
{
	struct pair *p = *state;
	struct shm_record rec;
	struct shm_rts rts;
	uint64_t sink = 99;
	size_t got = 0;

	allow(p);
	rts = post(p);
	share(p, &rts, PIECE, 1, NULL, LARGE);
	assert_int_equal(atomic_load(&token_out(p, &rts)->written), SHM_SHARE_STOPPED);
	assert_false(p->conn->cma);
	atomic_store(&token_out(p, &rts)->id, rts.id);
	peer_record(p, SHM_REC_CTS, 0, rts.id, &sink, sizeof(sink));
	pair_progress(p);
	for (; got < LARGE; got += rec.len) {
		rec = peer_expect(p, SHM_REC_DATA);
		assert_memory_equal(rec.blob, local + got, rec.len);
		peer_tell(p);
		pair_progress(p);
	}
	assert_one_ended(p, local, 0);
}

/* Without permission the endpoint takes no piece, and the receiver reads all. */
static void forbidden(void **state)
{
	struct pair *p = *state;
	struct shm_rts rts = post(p);

	p->conn->cma = false;
	share(p, &rts, PIECE, 1, in, LARGE);
	assert_int_equal(atomic_load(&token_out(p, &rts)->taken), 1);
	acknowledge(p, &rts);
}

/* The receiver's process is gone: nothing is written where its number may be that of
 * another one. */
static void receiver_is_gone(void **state)
{
	struct pair *p = *state;
	struct shm_rts rts;

	allow(p);
	rts = post(p);
	close(p->fd);
	p->fd = -1;
	share(p, &rts, PIECE, 1, in, LARGE);
	peer_dies(p);
	assert_int_equal(atomic_load(&token_out(p, &rts)->taken), 1);
	assert_int_equal(in[LARGE - 1], 0xee);
	assert_one_ended(p, local, FI_ECONNRESET);
}

/* Another process has the number of the receiver's: nothing is written there, and no
 * other copy is tried. */
static void receiver_is_another_process(void **state)
{
	struct pair *p = *state;
	struct shm_rts rts;

	allow(p);
	rts = post(p);
	p->probe++;
	p->conn->proved_ns = 0;
	share(p, &rts, PIECE, 1, in, LARGE);
	assert_int_equal(atomic_load(&token_out(p, &rts)->taken), 1);
	assert_int_equal(in[LARGE - 1], 0xee);
	assert_false(p->conn->cma);
	acknowledge(p, &rts);
}

/* Requests that are none. */
static void bad_requests(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		struct shm_share rec = { .piece = i == 1 ? 0 : PIECE,
			.count = i == 2 ? SHM_IOV_LIMIT + 1 : 0 };
		struct shm_rts rts;

		allow(p);
		rts = post(p);
		if (i == 3) /* asked before */
			peer_record(p, SHM_REC_SHARE, 0, rts.id, &rec, sizeof(rec));
		peer_record(p, SHM_REC_SHARE, 0, rts.id, &rec, sizeof(rec) - (i == 0));
		assert_refused(p);
		assert_one_ended(p, local, FI_EPROTO);
		pair_again(p);
	}
}

/* A request waited for space, and the acknowledgement of the message overtook it. */
static void request_after_the_end(void **state)
{
	struct pair *p = *state;
	struct shm_share rec = { .piece = PIECE };

	allow(p);
	for (int i = 0; i < 2; i++) {
		struct shm_rts rts = post(p);

		acknowledge(p, &rts);
		peer_record(p, SHM_REC_SHARE, 0, rts.id, &rec, sizeof(rec));
		pair_progress(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(idle_sender),
		PAIR_TEST(sender_helps),
		PAIR_TEST(sender_stops),
		PAIR_TEST(unreadable),
		PAIR_TEST(sender_dies),
		PAIR_TEST(receiver_closes),
		PAIR_TEST(receiver_closes_meanwhile),
		PAIR_TEST(bad_numbers),
		PAIR_TEST(writes_the_rest),
		PAIR_TEST(the_ring_is_measured_again),
		PAIR_TEST(not_writable),
		PAIR_TEST(forbidden),
		PAIR_TEST(receiver_is_gone),
		PAIR_TEST(receiver_is_another_process),
		PAIR_TEST(bad_requests),
		PAIR_TEST(request_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

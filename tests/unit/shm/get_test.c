/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large reads that the kernel copies: what the initiator accepts from a target, and the
 * target from an initiator; and what becomes of a read when one of them stops, dies or
 * says what cannot be.
 */
#include "kernel_copy.h"

/* ---- the endpoint is the initiator ---- */

static struct shm_token *token_in(struct pair *p)
{
	return &p->memory->tokens[1][TOKEN];
}

/* Start a read into two buffers of @other; returns its id. */
static uint64_t start(struct pair *p, int copy)
{
	struct shm_record rec = start_access(p, SHM_REC_GET, other, copy);
	uint64_t id;

	assert_int_equal(rec.len, SHM_ACCESS_HEAD);
	memcpy(&id, rec.blob, sizeof(id));
	assert_segment(rec.blob + sizeof(id));
	return id;
}

static struct shm_offer make_offer(const void *from)
{
	struct shm_offer offer = { .piece = PIECE,
		.rts = { .id = ID, .len = LARGE, .token = TOKEN, .count = 1 } };

	offer.rts.iov[0].base = (uintptr_t)from;
	offer.rts.iov[0].len = LARGE;
	return offer;
}

static void offer(struct pair *p, uint64_t id, const struct shm_offer *what)
{
	atomic_store(&token_in(p)->id, what->rts.id);
	atomic_store(&token_in(p)->taken, 0);
	atomic_store(&token_in(p)->written, 0);
	atomic_store(&token_in(p)->read, 0);
	peer_record(p, SHM_REC_OFFER, 0, id, what,
		SHM_RTS_SIZE(struct shm_offer, what->rts.count));
}

/* One poll of the connection: the record is read, and no byte is copied yet. */
static void let_it_read(struct pair *p)
{
	wf_lock(&p->shm->ep.lock);
	(void)shm_rx_poll(p->conn);
	wf_unlock(&p->shm->ep.lock);
}

/* The endpoint has the offer of @from, and has asked for pieces. */
static void ask(struct pair *p, const void *from)
{
	struct shm_offer what = make_offer(from);
	struct shm_share share;

	offer(p, start(p, SHM_COPY_BOTH), &what);
	let_it_read(p);
	share = expect_share(p, ID);
	assert_int_equal(share.piece, PIECE);
	assert_int_equal(share.count, 2);
	assert_ptr_equal((void *)(uintptr_t)share.iov[0].base, other);
	assert_int_equal(share.iov[0].len + share.iov[1].len, LARGE);
	assert_int_equal(atomic_load(&token_in(p)->id), 0);
	assert_int_equal(atomic_load(&token_in(p)->taken), 1);
}

static void expect_read(struct pair *p)
{
	pair_progress(p);
	assert_one_ended(p, other, 0);
	assert_memory_equal(other, local, LARGE);
	assert_true(wf_list_empty(&p->conn->sinks));
	assert_int_equal(p->conn->unsettled, 0);
	memset(other, 0xee, LARGE);
}

/* A target that does nothing: the endpoint reads all, and says so. */
static void idle_target(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;

	allow(p);
	ask(p, local);
	expect_read(p);
	peer_expect_ack(p, ID);
	assert_int_equal(atomic_load(&token_in(p)->read), 2);
	what = make_offer(local);
	offer(p, start(p, SHM_COPY_READ), &what);
	expect_read(p);
	peer_expect_ack(p, ID);
	assert_false(peer_has_record(p));
}

static void target_helps(void **state)
{
	struct pair *p = *state;

	allow(p);
	ask(p, local);
	atomic_fetch_add(&token_in(p)->taken, 1ull << 32);
	pair_progress(p);
	assert_false(peer_has_record(p));
	assert_int_equal(p->ended_count, 0);
	assert_memory_equal(other, local, PIECE);
	assert_untouched(other, PIECE, LARGE);
	assert_int_equal(atomic_load(&token_in(p)->read), 1);
	memcpy(other + PIECE, local + PIECE, LARGE - PIECE);
	atomic_store(&token_in(p)->written, 1);
	expect_read(p);
	peer_expect_ack(p, ID);
}

/* The target closes the region: what the endpoint had taken is read, and the read
 * fails. */
static void revoked(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 2; i++) {
		struct shm_offer what = make_offer(local);

		allow(p);
		if (i) {
			/* Before the endpoint has the offer. */
			offer(p, start(p, SHM_COPY_BOTH), &what);
			atomic_store(&token_in(p)->taken, 2ull << 32);
			atomic_store(&token_in(p)->written, SHM_SHARE_REVOKED);
			let_it_read(p);
			(void)expect_share(p, ID);
		} else {
			ask(p, local);
			atomic_fetch_add(&token_in(p)->taken, 1ull << 32);
			pair_progress(p);
			assert_false(shm_share_has_news(p->shm));
			atomic_store(&token_in(p)->written, SHM_SHARE_REVOKED);
			assert_true(shm_share_has_news(p->shm));
		}
		pair_progress(p);
		assert_one_ended(p, other, FI_EKEYREJECTED);
		assert_untouched(other, i ? 0 : PIECE, LARGE);
		peer_expect_ack(p, ID);
		assert_true(wf_list_empty(&p->conn->sinks));
	}
}

/* The target answers by a stream, as it may. */
static void streamed(void **state)
{
	struct pair *p = *state;

	allow(p);
	stream_local(p, start(p, SHM_COPY_BOTH));
	expect_read(p);
	assert_false(peer_has_record(p));
}

/* The target's memory is not what it said, or cannot be accessed any more: the payload
 * comes as a stream. */
static void through_the_lane(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;
	uint64_t id;

	allow(p);
	ask(p, NULL);
	pair_progress(p);
	assert_int_equal(atomic_load(&token_in(p)->id), ID);
	stream_local(p, expect_clearance(p, ID));
	expect_read(p);
	assert_false(p->conn->cma);
	p->conn->cma = true;
	id = start(p, SHM_COPY_READ);
	p->conn->cma = false;
	what = make_offer(local);
	offer(p, id, &what);
	pair_progress(p);
	stream_local(p, expect_clearance(p, ID));
	expect_read(p);
	assert_false(peer_has_record(p));
}

/* The target ends the read while it is copied, by an error or by a stream. */
static void ended_meanwhile(void **state)
{
	const uint32_t err = FI_EACCES;
	struct pair *p = *state;
	struct shm_offer what;
	uint64_t id;

	allow(p);
	for (int i = 0; i < 2; i++) {
		what = make_offer(local);
		id = start(p, SHM_COPY_BOTH);
		offer(p, id, &what);
		let_it_read(p);
		if (i)
			stream_local(p, id);
		else
			peer_record(p, SHM_REC_ERROR, 0, id, &err, sizeof(err));
		let_it_read(p);
		assert_true(wf_list_empty(&p->conn->sinks));
		assert_int_equal(atomic_load(&token_in(p)->taken), 2);
		pair_progress(p);
		assert_one_ended(p, other, i ? 0 : FI_EACCES);
		(void)expect_share(p, ID);
		assert_false(peer_has_record(p));
	}
}

static void target_dies(void **state)
{
	struct pair *p = *state;

	allow(p);
	ask(p, local);
	atomic_fetch_add(&token_in(p)->taken, 1ull << 32);
	peer_dies(p);
	assert_one_ended(p, other, FI_ECONNRESET);
}

static void initiator_closes(void **state)
{
	struct pair *p = *state;

	allow(p);
	ask(p, local);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(&token_in(p)->taken), 2);
	assert_untouched(other, 0, LARGE);
}

/* Offers that are none. */
static void bad_offers(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 12; i++) {
		struct shm_offer what = make_offer(local);
		size_t cut = 0;
		uint64_t id;

		allow(p);
		id = start(p, SHM_COPY_BOTH);
		switch (i) {
		case 0:
			what.rts.id = 0;
			break;
		case 1:
			what.rts.token = SHM_TOKENS;
			break;
		case 2:
			what.rts.count = SHM_IOV_LIMIT + 1;
			break;
		case 3:
			what.rts.iov[0].len--;
			break;
		case 4:
			what.rts.len = what.rts.iov[0].len = LARGE + 1;
			break;
		case 5:
			what.rts.len = what.rts.iov[0].len = LARGE - 1;
			break;
		case 6:
			what.piece = 0;
			break;
		case 7:
			what.piece = LARGE;
			break;
		case 8:
			id++;
			break;
		case 9:
			cut = 1;
			break;
		case 10:
			cut = SHM_RTS_SIZE(struct shm_offer, 1) - 8;
			break;
		default: /* offered before */
			offer(p, id, &what);
			break;
		}
		peer_record(p, SHM_REC_OFFER, 0, id, &what,
			SHM_RTS_SIZE(struct shm_offer,
				WF_MIN(what.rts.count, SHM_IOV_LIMIT)) -
				cut);
		pair_progress(p);
		if (p->peer->conn)
			fail_msg("row %d", i);
		assert_refused(p);
		assert_one_ended(p, other, FI_EPROTO);
		assert_untouched(other, 0, LARGE);
		pair_again(p);
	}
}

/* A read that was not asked for so is not offered. */
static void not_asked(void **state)
{
	struct shm_offer what = make_offer(local);
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id;

	allow(p);
	shm_params.copy = SHM_COPY_BOTH;
	for (int i = 0; i < 3; i++) {
		p->conn->copies = i != 0;
		p->conn->cma = i != 1;
		assert_int_equal(fi_read(p->ep, other, i == 2 ? SHM_PUT_MIN - 1 : LARGE,
					 NULL, p->addr, AT, KEY, other),
			0);
		rec = peer_expect(p, SHM_REC_READ);
		memcpy(&id, rec.blob, sizeof(id));
	}
	shm_params.copy = SHM_COPY_AUTO;
	what.rts.len = what.rts.iov[0].len = SHM_PUT_MIN - 1;
	offer(p, id, &what);
	assert_refused(p);
	assert_untouched(other, 0, LARGE);
}

/* What belongs to messages and writes: the buffers of a read are not sent. */
static void no_read(void **state)
{
	struct shm_share share = { .piece = PIECE };
	struct pair *p = *state;
	uint64_t sink = 99;

	for (int i = 0; i < 2; i++) {
		uint64_t id;

		allow(p);
		id = start(p, SHM_COPY_BOTH);
		if (i)
			peer_record(p, SHM_REC_SHARE, 0, id, &share, sizeof(share));
		else
			peer_record(p, SHM_REC_CTS, 0, id, &sink, sizeof(sink));
		assert_refused(p);
		assert_one_ended(p, other, FI_EPROTO);
		assert_false(peer_has_record(p));
		pair_again(p);
	}
}

/* ---- the endpoint is the target ---- */

static void request(struct pair *p, uint64_t addr, uint64_t len, uint64_t key)
{
	uint64_t blob[] = { ID, addr, len, key };

	peer_record(p, SHM_REC_GET, 0, shm_access_word(1, 0, 0), blob, sizeof(blob));
	pair_progress(p);
}

static struct shm_offer get(struct pair *p)
{
	struct shm_offer what = { 0 };
	struct shm_record rec;

	memcpy(p->region + AT, local, LARGE);
	request(p, AT, LARGE, KEY);
	rec = peer_expect(p, SHM_REC_OFFER);
	assert_int_equal(rec.word, ID);
	assert_int_equal(rec.len, SHM_RTS_SIZE(struct shm_offer, 1));
	memcpy(&what, rec.blob, rec.len);
	assert_int_equal(what.piece, PIECE);
	assert_int_equal(what.rts.len, LARGE);
	assert_ptr_equal((void *)(uintptr_t)what.rts.iov[0].base, p->region + AT);
	assert_int_equal(what.rts.iov[0].len, LARGE);
	return what;
}

static struct shm_token *token_out(struct pair *p, const struct shm_offer *what)
{
	return &p->memory->tokens[0][what->rts.token];
}

static void share(struct pair *p, const struct shm_offer *what, size_t fit)
{
	struct shm_share rec = { .piece = what->piece, .count = 1 };

	rec.iov[0].base = (uintptr_t)other;
	rec.iov[0].len = fit;
	atomic_store(&token_out(p, what)->id, 0);
	atomic_store(&token_out(p, what)->taken, 1);
	peer_record(p, SHM_REC_SHARE, 0, what->rts.id, &rec, sizeof(rec));
	pair_progress(p);
}

static void acknowledge(struct pair *p, const struct shm_offer *what)
{
	peer_record(p, SHM_REC_ACK, 0, 0, &what->rts.id, sizeof(what->rts.id));
	pair_progress(p);
	assert_false(peer_has_record(p));
	assert_int_equal(p->conn->tokens, 0);
	assert_int_equal(p->conn->answer_bytes, 0);
	assert_true(wf_list_empty(&p->conn->settling));
	peer_tell(p);
}

/* The initiator reads; the endpoint writes the piece that is left, if it is asked to.
 */
static void offers(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;

	allow(p);
	what = get(p);
	acknowledge(p, &what);
	what = get(p);
	share(p, &what, LARGE);
	assert_int_equal(atomic_load(&token_out(p, &what)->taken), 1 | 1ull << 32);
	assert_int_equal(atomic_load(&token_out(p, &what)->written), 1);
	assert_untouched(other, 0, PIECE);
	assert_memory_equal(other + PIECE, local + PIECE, LARGE - PIECE);
	acknowledge(p, &what);
	assert_true(wf_list_empty(&wf_container_of(p->mr, struct wf_mr, fid)->grants));
}

/* Memory that is not the initiator's to read. */
static void refused(void **state)
{
	struct pair *p = *state;

	allow(p);
	request(p, REGION - LARGE + 1, LARGE, KEY);
	expect_error(p, ID, FI_EINVAL);
	request(p, UINT64_MAX - 3, LARGE, KEY);
	expect_error(p, ID, FI_EINVAL);
	request(p, 0, UINT64_MAX, KEY);
	expect_error(p, ID, FI_EINVAL);
	request(p, 0, LARGE, KEY + 1);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_int_equal(p->conn->tokens, 0);
}

/* Short reads are answered as always. */
static void short_read(void **state)
{
	struct pair *p = *state;

	allow(p);
	request(p, 0, 8, KEY);
	assert_int_equal(peer_expect(p, SHM_REC_DATA).word, ID);
	request(p, 0, SHM_PUT_MIN - 1, KEY);
	assert_int_equal(peer_expect(p, SHM_REC_DATA).word, ID);
}

/* The initiator cannot read. */
static void cleared(void **state)
{
	uint64_t sink = 99;
	struct pair *p = *state;
	struct shm_offer what;

	allow(p);
	what = get(p);
	peer_record(p, SHM_REC_CTS, 0, what.rts.id, &sink, sizeof(sink));
	pair_progress(p);
	expect_stream(p, sink, local);
	assert_int_equal(p->conn->tokens, 0);
	assert_int_equal(p->conn->answer_bytes, 0);
	/* The region is closed before: the error names the read. */
	what = get(p);
	pair_close_mr(p);
	peer_record(p, SHM_REC_CTS, 0, what.rts.id, &sink, sizeof(sink));
	pair_progress(p);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_int_equal(p->conn->tokens, 0);
}

/* The region is closed while nothing is being copied: the initiator finds no piece. */
static void region_closes(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;

	allow(p);
	what = get(p);
	pair_close_mr(p);
	assert_int_equal(atomic_load(&token_out(p, &what)->taken), 2ull << 32);
	assert_int_equal(atomic_load(&token_out(p, &what)->written), SHM_SHARE_REVOKED);
	/* It asked for pieces before it knew. */
	atomic_store(&token_out(p, &what)->id, 0);
	peer_record(p, SHM_REC_SHARE, 0, what.rts.id,
		&(struct shm_share){ .piece = PIECE, .count = 0 },
		sizeof(struct shm_share));
	pair_progress(p);
	assert_int_equal(atomic_load(&token_out(p, &what)->written), SHM_SHARE_REVOKED);
	acknowledge(p, &what);
}

struct late {
	struct shm_token *token;
	_Atomic int over;
};

static void *read_late(void *arg)
{
	struct late *late = arg;

	(void)usleep(20000);
	atomic_store(&late->over, 1);
	atomic_store(&late->token->read, 1);
	return NULL;
}

/* Closing the region waits for a piece that the initiator is reading. */
static void region_closes_meanwhile(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;
	struct late late = { 0 };
	pthread_t thread;

	allow(p);
	what = get(p);
	late.token = token_out(p, &what);
	atomic_store(&late.token->id, 0);
	atomic_store(&late.token->taken, 1);
	assert_int_equal(pthread_create(&thread, NULL, read_late, &late), 0);
	pair_close_mr(p);
	assert_int_equal(atomic_load(&late.over), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&late.token->taken), 1 | 1ull << 32);
	acknowledge(p, &what);
}

/* Numbers that the initiator must not write end nothing but its own read. */
static void bad_numbers(void **state)
{
	struct pair *p = *state;
	struct shm_offer what;

	allow(p);
	what = get(p);
	atomic_store(&token_out(p, &what)->read, UINT64_MAX);
	atomic_store(&token_out(p, &what)->taken, UINT64_MAX);
	pair_close_mr(p);
	acknowledge(p, &what);
}

static void initiator_dies(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)get(p);
	peer_dies(p);
	assert_true(wf_list_empty(&wf_container_of(p->mr, struct wf_mr, fid)->grants));
}

/* What an initiator must not say. */
static void bad_answers(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 5; i++) {
		struct shm_share rec = { .piece = i == 0 ? PIECE + 1 : PIECE };
		const uint32_t err = FI_EACCES;
		uint64_t sink = 99;
		struct shm_offer what;

		allow(p);
		what = get(p);
		if (i == 1) /* asked before */
			peer_record(
				p, SHM_REC_SHARE, 0, what.rts.id, &rec, sizeof(rec));
		if (i < 2)
			peer_record(
				p, SHM_REC_SHARE, 0, what.rts.id, &rec, sizeof(rec));
		if (i == 2)
			peer_record(
				p, SHM_REC_ERROR, 0, what.rts.id, &err, sizeof(err));
		if (i == 3) /* acknowledged twice */
			for (int j = 0; j < 2; j++)
				peer_record(p, SHM_REC_ACK, 0, 0, &what.rts.id,
					sizeof(what.rts.id));
		if (i == 4) { /* acknowledged, though it is a stream */
			peer_record(
				p, SHM_REC_CTS, 0, what.rts.id, &sink, sizeof(sink));
			peer_record(p, SHM_REC_ACK, 0, 0, &what.rts.id,
				sizeof(what.rts.id));
		}
		pair_progress(p);
		if (p->peer->conn)
			fail_msg("row %d", i);
		assert_refused(p);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(idle_target),
		PAIR_TEST(target_helps),
		PAIR_TEST(revoked),
		PAIR_TEST(streamed),
		PAIR_TEST(through_the_lane),
		PAIR_TEST(ended_meanwhile),
		PAIR_TEST(target_dies),
		PAIR_TEST(initiator_closes),
		PAIR_TEST(bad_offers),
		PAIR_TEST(not_asked),
		PAIR_TEST(no_read),
		PAIR_TEST(offers),
		PAIR_TEST(refused),
		PAIR_TEST(short_read),
		PAIR_TEST(cleared),
		PAIR_TEST(region_closes),
		PAIR_TEST(region_closes_meanwhile),
		PAIR_TEST(bad_numbers),
		PAIR_TEST(initiator_dies),
		PAIR_TEST(bad_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

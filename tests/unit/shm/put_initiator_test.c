/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large writes that the kernel copies: what the initiator accepts from a target, and
 * which operations wait behind such a write.
 */
#include "kernel_copy.h"

#include "providers/shm/data/method.h"
#include "sys/choice.h"

enum { BODY = LARGE - SHM_TAIL };

static struct shm_put start(struct pair *p, int copy)
{
	struct shm_record rec = start_access(p, SHM_REC_PUT, local, copy);
	struct shm_put put = { 0 };

	assert_int_equal(rec.len, SHM_RTS_SIZE(struct shm_put, 2));
	assert_int_equal(rec.word,
		copy == SHM_COPY_READ ? SHM_COPYING_ALONE : SHM_COPYING_SHARED);
	memcpy(&put, rec.blob, rec.len);
	assert_segment(&put.seg);
	assert_memory_equal(put.tail, local + BODY, SHM_TAIL);
	assert_ptr_equal((void *)(uintptr_t)put.rts.iov[0].base, local);
	assert_int_equal(put.rts.len, LARGE);
	return put;
}

static struct shm_token *token_out(struct pair *p, const struct shm_put *put)
{
	return &p->memory->tokens[0][put->rts.token];
}

/* Let the endpoint write pieces into the first @fit bytes of @other. */
static void share(struct pair *p, const struct shm_put *put, uint32_t front, size_t fit)
{
	struct shm_share rec = { .piece = PIECE, .count = 1 };

	rec.iov[0].base = (uintptr_t)other;
	rec.iov[0].len = fit;
	atomic_store(&token_out(p, put)->id, 0);
	atomic_store(&token_out(p, put)->taken, front);
	atomic_store(&token_out(p, put)->written, 0);
	peer_record(p, SHM_REC_SHARE, 0, put->rts.id, &rec, sizeof(rec));
	pair_progress(p);
}

static void acknowledge(struct pair *p, const struct shm_put *put)
{
	peer_record(p, SHM_REC_ACK, 0, 0, &put->rts.id, sizeof(put->rts.id));
	pair_progress(p);
	assert_one_ended(p, local, 0);
	assert_int_equal(p->conn->tokens, 0);
	assert_int_equal(p->conn->unsettled, 0);
	assert_int_equal(p->conn->unput, 0);
	assert_true(p->conn->idle);
	peer_tell(p);
}

/* The endpoint writes what the target leaves, and not a byte more. */
static void writes_the_rest(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	put = start(p, SHM_COPY_BOTH);
	share(p, &put, 1, BODY);
	assert_int_equal(atomic_load(&token_out(p, &put)->taken), 1 | 1ull << 32);
	assert_int_equal(atomic_load(&token_out(p, &put)->written), 1);
	assert_untouched(other, 0, PIECE);
	assert_memory_equal(other + PIECE, local + PIECE, BODY - PIECE);
	assert_untouched(other, BODY, LARGE);
	assert_int_equal(p->ended_count, 0);
	acknowledge(p, &put);
	put = start(p, SHM_COPY_READ);
	acknowledge(p, &put);
}

/* Other operations wait for such a write, but not the next write of that kind. */
static void others_wait(void **state)
{
	static uint64_t word = 7;
	struct pair *p = *state;
	struct shm_put put[2];

	allow(p);
	put[0] = start(p, SHM_COPY_BOTH);
	put[1] = start(p, SHM_COPY_BOTH);
	assert_int_equal(fi_inject_write(p->ep, &word, 8, p->addr, AT, KEY), 0);
	assert_int_equal(fi_inject(p->ep, &word, 8, p->addr), 0);
	assert_int_equal(fi_read(p->ep, &word, 8, NULL, p->addr, AT, KEY, &word), 0);
	pair_progress(p);
	assert_false(peer_has_record(p));
	/* An answer to the peer does not wait. */
	peer_record(p, SHM_REC_READ, 0, shm_access_word(1, 0, 0),
		(uint64_t[]){ 77, 0, 8, KEY }, 32);
	pair_progress(p);
	assert_int_equal(peer_expect(p, SHM_REC_DATA).word, 77);
	peer_record(p, SHM_REC_ACK, 0, 0, &put[0].rts.id, sizeof(put->rts.id));
	pair_progress(p);
	assert_one_ended(p, local, 0);
	assert_false(peer_has_record(p));
	peer_record(p, SHM_REC_ACK, 0, 0, &put[1].rts.id, sizeof(put->rts.id));
	pair_progress(p);
	assert_one_ended(p, local, 0);
	(void)peer_expect(p, SHM_REC_WRITE);
	(void)peer_expect(p, SHM_REC_MSG);
	(void)peer_expect(p, SHM_REC_READ);
}

/* The target wants the payload through the lane, and is not asked again. */
static void cleared(void **state)
{
	struct pair *p = *state;
	struct shm_put put;
	uint64_t sink = 99;

	allow(p);
	put = start(p, SHM_COPY_BOTH);
	peer_record(p, SHM_REC_CTS, 0, put.rts.id, &sink, sizeof(sink));
	pair_progress(p);
	expect_stream(p, sink, local);
	assert_int_equal(p->ended_count, 0);
	acknowledge(p, &put);
	shm_params.copy = SHM_COPY_BOTH;
	assert_int_equal(
		fi_write(p->ep, local, LARGE, NULL, p->addr, AT, KEY, local), 0);
	shm_params.copy = SHM_COPY_AUTO;
	(void)peer_expect(p, SHM_REC_WRITE);
}

/* A peer of an earlier version gets no such request; nor does one whose memory cannot
 * be accessed; nor are short writes, or several segments, requested so. */
static void not_asked(void **state)
{
	struct fi_rma_iov segs[] = { { AT, LARGE / 2, KEY }, { 0, LARGE / 2, KEY } };
	struct iovec iov = { local, LARGE };
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = segs,
		.rma_iov_count = 2,
		.context = local };
	struct pair *p = *state;

	allow(p);
	shm_params.copy = SHM_COPY_BOTH;
	for (int i = 0; i < 4; i++) {
		size_t len = i == 2 ? SHM_PUT_MIN - 1 : LARGE;

		p->conn->copies = i != 0;
		p->conn->cma = i != 1;
		msg.addr = p->addr;
		if (i == 3)
			assert_int_equal(fi_writemsg(p->ep, &msg, 0), 0);
		else
			assert_int_equal(fi_write(p->ep, local, len, NULL, p->addr, AT,
						 KEY, local),
				0);
		(void)peer_expect(p, SHM_REC_WRITE);
		(void)peer_skip(p);
		pair_progress(p);
		(void)peer_skip(p);
	}
	shm_params.copy = SHM_COPY_AUTO;
}

/* What a target must not say. */
static void bad_answers(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 3; i++) {
		struct shm_share rec = { .piece = i == 0 ? 0 : PIECE,
			.count = i == 1 ? SHM_IOV_LIMIT + 1 : 0 };
		struct shm_put put;

		allow(p);
		put = start(p, SHM_COPY_BOTH);
		if (i == 2) /* asked before */
			peer_record(p, SHM_REC_SHARE, 0, put.rts.id, &rec, sizeof(rec));
		peer_record(p, SHM_REC_SHARE, 0, put.rts.id, &rec, sizeof(rec));
		assert_refused(p);
		assert_one_ended(p, local, FI_EPROTO);
		pair_again(p);
	}
}

/* Buffers longer than the payload, of a target that wants more than there is. */
static void greedy_target(void **state)
{
	static uint8_t more[2 * LARGE];
	struct shm_share rec = { .piece = PIECE, .count = 1 };
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	put = start(p, SHM_COPY_BOTH);
	memset(more, 0xee, sizeof(more));
	rec.iov[0].base = (uintptr_t)more;
	rec.iov[0].len = sizeof(more);
	atomic_store(&token_out(p, &put)->taken, 0);
	peer_record(p, SHM_REC_SHARE, 0, put.rts.id, &rec, sizeof(rec));
	pair_progress(p);
	assert_memory_equal(more, local, LARGE);
	assert_untouched(more, LARGE, sizeof(more));
	acknowledge(p, &put);
}

static void target_refuses(void **state)
{
	const uint32_t err = FI_EACCES;
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	put = start(p, SHM_COPY_BOTH);
	peer_record(p, SHM_REC_ERROR, 0, put.rts.id, &err, sizeof(err));
	pair_progress(p);
	assert_one_ended(p, local, FI_EACCES);
	assert_int_equal(p->conn->unput, 0);
	assert_true(p->conn->idle);
}

/* A write of the test's choice of a method. Returns the method. */
static unsigned int choose(struct pair *p)
{
	enum { LANE = 1000, SHARE = 100 };
	static uint64_t now;
	struct shm_chosen chosen;

	shm_method_begin(p->conn, SHM_USE_WRITE, LARGE, true, &chosen);
	now += chosen.method == SHM_METHOD_LANE ? LANE : SHARE;
	shm_method_end(p->conn, &chosen, LARGE, now);
	return chosen.method;
}

/* A write that the initiator would copy alone, but that is not direct: both ends copy,
 * as the parameter says that one end does only if it is set. */
static void not_direct(void **state)
{
	struct pair *p = *state;
	struct shm_record rec;

	allow(p);
	p->conn->copies_directly = true;
	while (choose(p) != SHM_METHOD_READ)
		;
	rec = start_access(p, SHM_REC_PUT, local, SHM_COPY_AUTO);
	assert_int_equal(rec.word, SHM_COPYING_SHARED);
	rec = start_access(p, SHM_REC_PUT, local, SHM_COPY_READ);
	assert_int_equal(rec.word, SHM_COPYING_ALONE);
}

/* Refused writes are not under way any more for the choice of a method: the second
 * round of measurements begins after as many writes as without them. */
static void refused_ones_end(void **state)
{
	enum {
		PAUSE = 16, /* writes before each of the first rounds */
		/* Those of a trial of the ring that do not count: two laps. Writes of
		 * LARGE bytes count as 128 KiB, the end of their class. */
		LAPS = 2 * SHM_BYTES / (128 << 10),
		ROUND = LAPS + WF_CHOICE_SAMPLES + WF_CHOICE_TRIES,
		REFUSED = 10,
	};
	const uint32_t err = FI_EACCES;
	struct pair *p = *state;
	struct shm_record rec;
	struct shm_put put;

	allow(p);
	for (int i = 0; i < PAUSE + ROUND; i++)
		(void)choose(p);
	for (int i = 0; i < REFUSED; i++) {
		rec = start_access(p, SHM_REC_PUT, local, SHM_COPY_AUTO);
		memcpy(&put, rec.blob, rec.len);
		peer_record(p, SHM_REC_ERROR, 0, put.rts.id, &err, sizeof(err));
		peer_tell(p);
		pair_progress(p);
		assert_one_ended(p, local, FI_EACCES);
	}
	for (int i = REFUSED; i < PAUSE; i++)
		assert_int_equal(choose(p), SHM_METHOD_SHARE);
	assert_int_equal(choose(p), SHM_METHOD_LANE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(writes_the_rest),
		PAIR_TEST(others_wait),
		PAIR_TEST(cleared),
		PAIR_TEST(not_asked),
		PAIR_TEST(bad_answers),
		PAIR_TEST(greedy_target),
		PAIR_TEST(target_refuses),
		PAIR_TEST(not_direct),
		PAIR_TEST(refused_ones_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

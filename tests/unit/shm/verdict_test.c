/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small writes and atomics of the endpoint: each ends once, when the peer has stored
 * its position behind it, and as the peer says there. RMA-006 RMA-007 CQ-044 CS-013
 */
#include "conn_fixture.h"

#include "providers/shm/proto/verdict.h"

enum { MANY = 5 * SHM_SLOTS };

static uint64_t word;
static uint8_t contexts[MANY];

static ssize_t try_write(struct pair *p, void *context)
{
	return fi_write(p->ep, &word, sizeof(word), NULL, p->addr, 0, KEY, context);
}

static void post_write(struct pair *p, void *context)
{
	assert_int_equal(try_write(p, context), 0);
}

static void post_add(struct pair *p, void *context)
{
	assert_int_equal(fi_atomic(p->ep, &word, 1, NULL, p->addr, 0, KEY, FI_UINT64,
				 FI_SUM, context),
		0);
}

static void post_level(struct pair *p, uint64_t flags, void *context)
{
	struct iovec iov = { &word, sizeof(word) };
	struct fi_rma_iov rma = { .len = sizeof(word), .key = KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = p->addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context };

	assert_int_equal(fi_writemsg(p->ep, &msg, flags | FI_COMPLETION), 0);
}

/* The peer reads the next record, and refuses the operation with @err; 0: it does
 * not. */
static void peer_decides(struct pair *p, enum shm_kind kind, int err)
{
	atomic_store(&p->in.lane->refused[p->in.next % SHM_SLOTS], (uint16_t)err);
	(void)peer_expect(p, kind);
}

static void assert_ended(struct pair *p, unsigned int i, const void *context, int err)
{
	assert_true(i < p->ended_count);
	assert_ptr_equal(p->ended[i].context, context);
	assert_int_equal(p->ended[i].err, err);
}

/* Not before the peer has read the record, whichever completion level is asked for. */
static void ends_when_read(void **state)
{
	static const uint64_t levels[] = { 0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
		FI_DELIVERY_COMPLETE };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(levels); i++) {
		post_level(p, levels[i], &contexts[0]);
		post_add(p, &contexts[1]);
		pair_progress(p);
		assert_int_equal(p->ended_count, 0);
		peer_decides(p, SHM_REC_WRITE, 0);
		peer_tell(p);
		pair_progress(p);
		assert_true(p->ended[0].flags & FI_RMA);
		assert_one_ended(p, &contexts[0], 0);
		peer_decides(p, SHM_REC_ATOMIC, 0);
		peer_tell(p);
		pair_progress(p);
		assert_true(p->ended[0].flags & FI_ATOMIC);
		assert_one_ended(p, &contexts[1], 0);
	}
}

/* Those that are refused end in an error, and nothing else; of injected ones only that
 * is told. A code that is none is FI_EIO. */
static void refused(void **state)
{
	static const struct {
		uint16_t code;
		int err;
	} rows[] = { { FI_EKEYREJECTED, FI_EKEYREJECTED }, { 1, 1 },
		{ FI_ERRNO_MAX, FI_EIO }, { UINT16_MAX, FI_EIO } };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		post_write(p, &contexts[0]);
		post_write(p, &contexts[1]);
		post_add(p, &contexts[2]);
		for (int j = 0; j < 2; j++)
			assert_int_equal(fi_inject_write(p->ep, &word, sizeof(word),
						 p->addr, 0, KEY),
				0);
		peer_decides(p, SHM_REC_WRITE, rows[i].code);
		peer_decides(p, SHM_REC_WRITE, 0);
		peer_decides(p, SHM_REC_ATOMIC, rows[i].code);
		peer_decides(p, SHM_REC_WRITE, 0);
		peer_decides(p, SHM_REC_WRITE, rows[i].code);
		peer_tell(p);
		pair_progress(p);
		assert_int_equal(p->ended_count, 4);
		assert_ended(p, 0, &contexts[0], rows[i].err);
		assert_ended(p, 1, &contexts[1], 0);
		assert_ended(p, 2, &contexts[2], rows[i].err);
		assert_ended(p, 3, p->ep->fid.context, rows[i].err);
		assert_true(p->ended[3].flags & FI_WRITE);
		p->ended_count = 0;
	}
	assert_int_equal(p->shm->tx.pending, 0);
}

/* Each gets its own verdict, however often the entries are used again, with messages
 * between the writes. */
static void many(void **state)
{
	struct pair *p = *state;
	unsigned int posted = 0, read = 0;

	pair_place(p, UINT32_MAX - SHM_SLOTS, 0);
	while (read < MANY) {
		while (posted < MANY && posted - read < SHM_SLOTS / 3 &&
			!try_write(p, &contexts[posted])) {
			assert_int_equal(fi_inject(p->ep, &word, 8, p->addr), 0);
			posted++;
		}
		for (int i = 0; i < 5 && read < posted; i++, read++) {
			peer_decides(p, SHM_REC_WRITE, read % 7 ? 0 : FI_EACCES);
			(void)peer_expect(p, SHM_REC_MSG);
		}
		peer_tell(p);
		if (read % 3)
			pair_progress(p);
	}
	pair_progress(p);
	assert_int_equal(p->ended_count, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_ended(p, i, &contexts[i], i % 7 ? 0 : FI_EACCES);
}

/* No more than the transmit queue has space for. */
static void transmit_queue(void **state)
{
	struct pair *p = *state;

	p->shm->tx.size = 3;
	for (int i = 0; i < 3; i++)
		post_write(p, &contexts[i]);
	assert_int_equal(try_write(p, &contexts[3]), -FI_EAGAIN);
	peer_decides(p, SHM_REC_WRITE, 0);
	peer_tell(p);
	post_write(p, &contexts[3]);
	assert_int_equal(try_write(p, &contexts[4]), -FI_EAGAIN);
	(void)peer_skip(p);
	pair_progress(p);
	assert_int_equal(p->ended_count, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_ended(p, i, &contexts[i], 0);
}

/* An operation with a fence is not sent before. */
static void fenced(void **state)
{
	struct pair *p = *state;

	post_write(p, &contexts[0]);
	post_level(p, FI_FENCE, &contexts[1]);
	pair_progress(p);
	peer_decides(p, SHM_REC_WRITE, FI_EACCES);
	assert_false(peer_has_record(p));
	peer_tell(p);
	pair_progress(p);
	assert_one_ended(p, &contexts[0], FI_EACCES);
	(void)peer_expect(p, SHM_REC_WRITE);
}

/* The peer dies: those that it had told of have their result, the others fail. */
static void dies(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 5; i++)
		post_write(p, &contexts[i]);
	peer_decides(p, SHM_REC_WRITE, 0);
	peer_decides(p, SHM_REC_WRITE, FI_EACCES);
	peer_tell(p);
	peer_decides(p, SHM_REC_WRITE, 0);
	peer_dies(p);
	assert_int_equal(p->ended_count, 5);
	assert_ended(p, 0, &contexts[0], 0);
	assert_ended(p, 1, &contexts[1], FI_EACCES);
	for (unsigned int i = 2; i < 5; i++)
		assert_ended(p, i, &contexts[i], FI_ECONNRESET);
	assert_int_equal(p->shm->tx.pending, 0);
}

/* A position behind the last record ends the connection, and each operation once. */
static void impossible_position(void **state)
{
	struct pair *p = *state;

	post_write(p, &contexts[0]);
	post_add(p, &contexts[1]);
	atomic_store(&p->in.lane->reader.slots, p->conn->out.next);
	assert_down(p);
	assert_int_equal(p->ended_count, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_ended(p, i, &contexts[i], FI_EPROTO);
}

/* A sleep ends when the verdict comes. */
static void sleeps(void **state)
{
	struct pair *p = *state;

	assert_true(shm_arm(&p->shm->ep));
	assert_int_equal(atomic_load(&p->in.lane->reader.waiting), 0);
	post_write(p, &contexts[0]);
	assert_true(shm_arm(&p->shm->ep));
	assert_int_equal(atomic_load(&p->in.lane->reader.waiting), 1);
	(void)peer_skip(p);
	assert_false(shm_arm(&p->shm->ep));
	pair_progress(p);
	assert_one_ended(p, &contexts[0], 0);
	assert_true(shm_arm(&p->shm->ep));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(ends_when_read),
		PAIR_TEST(refused),
		PAIR_TEST(many),
		PAIR_TEST(transmit_queue),
		PAIR_TEST(fenced),
		PAIR_TEST(dies),
		PAIR_TEST(impossible_position),
		PAIR_TEST(sleeps),
	};

	/* The endpoint asks for no direct access, after which writes are no records. */
	(void)setenv("FI_SHM_DISABLE_MAPPING", "1", 1);
	(void)setenv("FI_SHM_DISABLE_CMA", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large writes that the kernel copies: what the target accepts from an initiator, and
 * what becomes of a write when one of them stops, dies or says what cannot be.
 */
#include "kernel_copy.h"

enum { BODY = LARGE - SHM_TAIL };

static struct shm_token *token_in(struct pair *p, uint32_t token)
{
	return &p->memory->tokens[1][token];
}

static struct shm_put make_put(const void *from)
{
	struct shm_put put = { .seg = { AT, LARGE, KEY },
		.rts = { .id = ID, .len = LARGE, .token = TOKEN, .count = 2 } };

	put.rts.iov[0].base = (uintptr_t)from;
	put.rts.iov[0].len = 1000;
	put.rts.iov[1].base = (uintptr_t)from + 1000;
	put.rts.iov[1].len = LARGE - 1000;
	memcpy(put.tail, local + BODY, SHM_TAIL);
	return put;
}

static void request(
	struct pair *p, const struct shm_put *put, uint64_t word, uint8_t flags)
{
	if (put->rts.token < SHM_TOKENS)
		atomic_store(&token_in(p, put->rts.token)->id, put->rts.id);
	peer_record(p, SHM_REC_PUT, flags, word, put,
		SHM_RTS_SIZE(struct shm_put, WF_MIN(put->rts.count, SHM_IOV_LIMIT)));
}

/* One poll of the connection: the request is read, and no byte is copied yet. */
static void let_it_read(struct pair *p)
{
	wf_lock(&p->shm->ep.lock);
	(void)shm_rx_poll(p->conn);
	wf_unlock(&p->shm->ep.lock);
}

static struct shm_share ask(struct pair *p, const void *from)
{
	struct shm_put put = make_put(from);
	struct shm_share share;

	request(p, &put, SHM_COPYING_SHARED, 0);
	let_it_read(p);
	share = expect_share(p, ID);
	assert_int_equal(atomic_load(&token_in(p, TOKEN)->id), 0);
	assert_int_equal(share.piece, PIECE);
	assert_int_equal(share.count, 1);
	assert_ptr_equal((void *)(uintptr_t)share.iov[0].base, p->region + AT);
	assert_int_equal(share.iov[0].len, BODY);
	return share;
}

static void expect_written(struct pair *p)
{
	pair_progress(p);
	peer_expect_ack(p, ID);
	peer_tell(p);
	assert_memory_equal(p->region + AT, local, LARGE);
	assert_untouched(p->region, 0, AT);
	assert_untouched(p->region, AT + LARGE, REGION);
	assert_true(wf_list_empty(&p->conn->sinks));
	assert_int_equal(p->conn->put_count, 0);
	assert_true(wf_list_empty(&wf_container_of(p->mr, struct wf_mr, fid)->grants));
}

/* An initiator that does nothing: the endpoint reads all. */
static void idle_initiator(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	(void)ask(p, local);
	expect_written(p);
	memset(p->region, 0xee, REGION);
	put = make_put(local);
	request(p, &put, SHM_COPYING_ALONE, 0);
	expect_written(p);
	assert_int_equal(p->ended_count, 0);
}

/* The initiator writes the second piece. The end of the payload is stored last. */
static void initiator_helps(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	pair_progress(p);
	assert_false(peer_has_record(p));
	assert_memory_equal(p->region + AT, local, PIECE);
	assert_untouched(p->region, AT + PIECE, REGION);
	memcpy(p->region + AT + PIECE, local + PIECE, BODY - PIECE);
	atomic_store(&token_in(p, TOKEN)->written, 1);
	expect_written(p);
}

/* The completion with remote CQ data is written when all bytes are there. */
static void with_data(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	put = make_put(local);
	request(p, &put, SHM_COPYING_SHARED, SHM_FLAG_DATA);
	let_it_read(p);
	(void)expect_share(p, ID);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	atomic_store(&token_in(p, TOKEN)->written, SHM_SHARE_STOPPED);
	expect_written(p);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->ended[0].data, SHM_COPYING_SHARED + 1000);
	assert_true(p->ended[0].flags & FI_REMOTE_CQ_DATA);
}

/* Writes are copied one after the other. */
static void in_order(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	(void)ask(p, local);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	put = make_put(other);
	put.rts.id = ID + 1;
	put.rts.token = TOKEN + 1;
	memset(put.tail, 0xdd, sizeof(put.tail));
	request(p, &put, SHM_COPYING_SHARED, 0);
	pair_progress(p);
	assert_false(peer_has_record(p));
	assert_int_equal(atomic_load(&token_in(p, TOKEN + 1)->id), ID + 1);
	atomic_store(&token_in(p, TOKEN)->written, 1);
	pair_progress(p);
	peer_expect_ack(p, ID);
	(void)expect_share(p, ID + 1);
	peer_expect_ack(p, ID + 1);
	assert_untouched(p->region, 0, AT + BODY);
	assert_int_equal(p->region[AT + BODY], 0xdd);
}

/* Memory that is not the initiator's to write. */
static void refused(void **state)
{
	static const struct {
		uint64_t addr, key;
		uint32_t err;
	} rows[] = {
		{ REGION - LARGE + 1, KEY, FI_EINVAL },
		{ REGION, KEY, FI_EINVAL },
		{ UINT64_MAX - LARGE / 2, KEY, FI_EINVAL },
		{ 0, KEY + 1, FI_EKEYREJECTED },
		{ 0, KEY + 2, FI_EACCES },
	};
	static uint8_t readable[LARGE];
	struct pair *p = *state;
	struct fid_mr *mr;

	allow(p);
	assert_int_equal(fi_mr_reg(p->domain, readable, LARGE, FI_REMOTE_READ, 0,
				 KEY + 2, 0, &mr, NULL),
		0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct shm_put put = make_put(local);

		put.seg.addr = rows[i].addr;
		put.seg.key = rows[i].key;
		request(p, &put, SHM_COPYING_SHARED, 0);
		pair_progress(p);
		expect_error(p, ID, rows[i].err);
		peer_tell(p);
		assert_untouched(p->region, 0, REGION);
	}
	assert_int_equal(readable[0], 0);
	(void)ask(p, local);
	expect_written(p);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* Requests that are none. */
static void malformed(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 12; i++) {
		struct shm_put put;
		uint64_t word = SHM_COPYING_SHARED;
		size_t cut = 0;

		allow(p);
		put = make_put(local);
		switch (i) {
		case 0:
			put.rts.id = SHM_ID_NONE;
			break;
		case 1:
			put.rts.token = SHM_TOKENS;
			break;
		case 2:
			put.rts.count = SHM_IOV_LIMIT + 1;
			break;
		case 3:
			put.rts.iov[1].len--;
			break;
		case 4:
			put.rts.iov[1].len = UINT64_MAX - 999;
			break;
		case 5:
			put.seg.len--;
			break;
		case 6:
			put.seg.len = put.rts.len = LARGE + 1;
			break;
		case 7:
			word = 0;
			break;
		case 8:
			word = SHM_COPYING_SHARED + 1;
			break;
		case 9:
			cut = 1;
			break;
		case 10:
			cut = SHM_RTS_SIZE(struct shm_put, 2) - 1;
			break;
		default:
			put.seg.len = put.rts.len = SHM_TAIL;
			put.rts.iov[0].len = SHM_TAIL;
			put.rts.count = 1;
			break;
		}
		atomic_store(&token_in(p, TOKEN)->id, put.rts.id);
		peer_record(p, SHM_REC_PUT, 0, word, &put,
			SHM_RTS_SIZE(
				struct shm_put, WF_MIN(put.rts.count, SHM_IOV_LIMIT)) -
				cut);
		pair_progress(p);
		if (p->peer->conn)
			fail_msg("row %d", i);
		assert_refused(p);
		assert_untouched(p->region, 0, REGION);
		pair_again(p);
	}
}

/* There are no more requests at a time than tokens. */
static void too_many(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	(void)ask(p, local);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	put = make_put(local);
	for (unsigned int i = 1; i < SHM_TOKENS; i++) {
		put.rts.id = ID + i;
		request(p, &put, SHM_COPYING_SHARED, 0);
		let_it_read(p);
	}
	assert_int_equal(p->conn->put_count, SHM_TOKENS);
	assert_int_equal(p->conn->err, 0);
	put.rts.id++;
	request(p, &put, SHM_COPYING_SHARED, 0);
	assert_refused(p);
}

/* The initiator's memory is not what it said: the payload comes through the lane. So it
 * does where cross-memory attach is forbidden. */
static void through_the_lane(void **state)
{
	struct pair *p = *state;
	struct shm_put put;
	uint64_t sink;

	allow(p);
	(void)ask(p, NULL);
	pair_progress(p);
	assert_int_equal((uint32_t)atomic_load(&token_in(p, TOKEN)->taken), 2);
	assert_int_equal(atomic_load(&token_in(p, TOKEN)->id), ID);
	stream_local(p, expect_clearance(p, ID));
	expect_written(p);
	assert_false(p->conn->cma);
	memset(p->region, 0xee, REGION);
	put = make_put(local);
	request(p, &put, SHM_COPYING_SHARED, 0);
	pair_progress(p);
	stream_local(p, expect_clearance(p, ID));
	expect_written(p);
	/* The region is closed meanwhile. */
	memset(p->region, 0xee, REGION);
	request(p, &put, SHM_COPYING_ALONE, 0);
	pair_progress(p);
	sink = expect_clearance(p, ID);
	pair_close_mr(p);
	stream_local(p, sink);
	pair_progress(p);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_untouched(p->region, 0, REGION);
}

/* The region is closed before a byte was copied. */
static void region_closes(void **state)
{
	struct pair *p = *state;
	struct shm_put put;

	allow(p);
	(void)ask(p, local);
	pair_close_mr(p);
	/* The initiator finds nothing to write. */
	assert_int_equal(atomic_load(&token_in(p, TOKEN)->taken), 2);
	pair_progress(p);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_untouched(p->region, 0, REGION);
	assert_true(wf_list_empty(&p->conn->sinks));
	pair_register(p);
	put = make_put(local);
	request(p, &put, SHM_COPYING_ALONE, 0);
	let_it_read(p);
	pair_close_mr(p);
	pair_progress(p);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_untouched(p->region, 0, REGION);
}

static void *write_late(void *arg)
{
	struct pair *p = arg;

	(void)usleep(20000);
	memcpy(p->region + AT + PIECE, local + PIECE, BODY - PIECE);
	atomic_store(&token_in(p, TOKEN)->written, 1);
	return NULL;
}

/* Closing the region waits for a piece that the initiator is writing. Nothing is stored
 * afterwards, also not the end of the payload. */
static void region_closes_meanwhile(void **state)
{
	struct pair *p = *state;
	pthread_t thread;

	allow(p);
	(void)ask(p, local);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	assert_int_equal(pthread_create(&thread, NULL, write_late, p), 0);
	pair_close_mr(p);
	assert_int_equal(atomic_load(&token_in(p, TOKEN)->written), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pair_progress(p);
	expect_error(p, ID, FI_EKEYREJECTED);
	assert_untouched(p->region, AT + BODY, REGION);
}

/* Read the next record: true: the endpoint asks for pieces; false: the write has ended.
 */
static bool is_invitation(struct pair *p)
{
	struct shm_record rec;

	shm_reader_take(&p->in);
	assert_true(shm_rx_decode(&p->in, shm_reader_head(&p->in), &rec));
	(void)shm_reader_advance(&p->in);
	peer_tell(p);
	assert_true(rec.kind == SHM_REC_SHARE || rec.kind == SHM_REC_ACK ||
		    rec.kind == SHM_REC_ERROR);
	return rec.kind == SHM_REC_SHARE;
}

struct poller {
	struct pair *p;
	_Atomic bool over;
};

static void *poll_on(void *arg)
{
	struct poller *poller = arg;

	while (!atomic_load(&poller->over))
		(void)fi_cq_read(poller->p->cq, NULL, 0);
	return NULL;
}

/* One thread closes the region while another one copies. */
static void region_closes_in_a_thread(void **state)
{
	enum { ROUNDS = 200 };
	struct pair *p = *state;
	struct poller poller = { .p = p };
	struct shm_put put;
	pthread_t thread;

	allow(p);
	put = make_put(local);
	assert_int_equal(pthread_create(&thread, NULL, poll_on, &poller), 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t deadline = wf_deadline_ns(limit_ms(20000));

		request(p, &put, i % 2 ? SHM_COPYING_SHARED : SHM_COPYING_ALONE, 0);
		for (int j = i % 20 * 50; j; j--)
			wf_cpu_relax();
		pair_close_mr(p);
		memset(p->region, 0xee, REGION);
		do {
			while (!peer_has_record(p))
				assert_true(wf_now_ns() < deadline);
		} while (is_invitation(p));
		assert_untouched(p->region, 0, REGION);
		pair_register(p);
	}
	atomic_store(&poller.over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A counter that is bound meanwhile ends no write, and counts it. */
static void counter_is_bound(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct pair *p = *state;
	struct fid_cntr *cntr;

	allow(p);
	(void)ask(p, local);
	assert_int_equal(fi_cntr_open(p->domain, &attr, &cntr, NULL), 0);
	assert_int_equal(fi_mr_bind(p->mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	expect_written(p);
	assert_int_equal(fi_cntr_read(cntr), 1);
	pair_close_mr(p);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void initiator_dies(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local);
	atomic_fetch_add(&token_in(p, TOKEN)->taken, 1ull << 32);
	peer_dies(p);
	assert_true(wf_list_empty(&wf_container_of(p->mr, struct wf_mr, fid)->grants));
	assert_int_equal(p->ended_count, 0);
}

static void target_closes(void **state)
{
	struct pair *p = *state;

	allow(p);
	(void)ask(p, local);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(&token_in(p, TOKEN)->taken), 2);
	assert_true(wf_list_empty(&wf_container_of(p->mr, struct wf_mr, fid)->grants));
}

/* Numbers of pieces that cannot be. */
static void bad_numbers(void **state)
{
	static const uint64_t cases[][2] = {
		{ 0, 0 },
		{ 2, 0 },
		{ 1 | 2ull << 32, 0 },
		{ 1 | 1ull << 32, 2 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		allow(p);
		(void)ask(p, local);
		atomic_store(&token_in(p, TOKEN)->taken, cases[i][0]);
		atomic_store(&token_in(p, TOKEN)->written, cases[i][1]);
		assert_refused(p);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(idle_initiator),
		PAIR_TEST(initiator_helps),
		PAIR_TEST(with_data),
		PAIR_TEST(in_order),
		PAIR_TEST(refused),
		PAIR_TEST(malformed),
		PAIR_TEST(too_many),
		PAIR_TEST(through_the_lane),
		PAIR_TEST(region_closes),
		PAIR_TEST(region_closes_meanwhile),
		PAIR_TEST(region_closes_in_a_thread),
		PAIR_TEST(counter_is_bound),
		PAIR_TEST(initiator_dies),
		PAIR_TEST(target_closes),
		PAIR_TEST(bad_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

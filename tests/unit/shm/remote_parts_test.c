/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that are withdrawn where the target falls silent: small ones, and the parts of
 * a long write.
 */
#include "remote_fixture.h"

/* Small requests that the peer leaves unread are withdrawn, in their order; those
 * behind a message are not. */
static void withdrawn(void **state)
{
	enum { COUNT = 5 };
	static const size_t lens[] = { 8, SHM_REMOTE_SMALL_WRITE, 8, 200, 8 };
	static uint8_t from[COUNT][SHM_REMOTE_SMALL_WRITE];
	struct pair *p = *state;

	open_table(p);
	for (unsigned int i = 0; i < COUNT; i++) {
		from[i][0] = (uint8_t)i;
		assert_int_equal(fi_write(p->ep, from[i], lens[i], NULL, p->addr,
					 8 * (i % 2), THEIRS, from[i]),
			0);
	}
	post(p, true, 0, 8, 0);
	wait_until_ended(p, COUNT + 1);
	for (unsigned int i = 0; i < COUNT; i++)
		assert_ptr_equal(p->ended[i].context, from[i]);
	assert_int_equal(there[0], 4);
	assert_int_equal(there[8], 3);
	assert_int_equal(buffer[0], 4);
	for (unsigned int i = 0; i < COUNT + 1; i++)
		(void)peer_expect(p, SHM_REC_GONE);
	assert_false(peer_has_record(p));
	/* The peer says what it found of one that has ended. */
	peer_record(p, SHM_REC_ERROR, 0, 77, &(uint32_t){ SHM_WITHDRAWN }, 4);
	pair_progress(p);
	assert_non_null(p->peer->conn);
	/* It makes progress again. */
	assert_int_equal(fi_inject(p->ep, "1", 1, p->addr), 0);
	post(p, false, 16, 8, 0);
	for (uint64_t end = wf_deadline_ns(10); wf_now_ns() < end;)
		pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	(void)peer_expect(p, SHM_REC_MSG);
	wait_until_ended(p, 1);
	assert_int_equal(there[16], buffer[0]);
	/* Nothing is withdrawn that a message follows: the peer may take that first. */
	(void)peer_skip(p);
	pair_progress(p);
	post(p, false, 24, 8, 0);
	assert_int_equal(fi_inject(p->ep, "1", 1, p->addr), 0);
	for (uint64_t end = wf_deadline_ns(10); wf_now_ns() < end;)
		pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	(void)peer_expect(p, SHM_REC_WRITE);
	(void)peer_expect(p, SHM_REC_MSG);
	close_table();
}

/* A long write is sent in parts to a target that makes progress; when that falls
 * silent, the rest is performed, and what it has left unread. */
static void in_parts(void **state)
{
	enum { PARTS = 40, TAKEN = 3 };
	const size_t len = PARTS * SHM_REMOTE_SMALL_WRITE;
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id[TAKEN];

	open_table(p);
	post(p, false, 0, len, 0);
	for (unsigned int i = 0; i < TAKEN; i++) {
		rec = peer_expect(p, SHM_REC_WRITE);
		memcpy(&id[i], rec.blob, sizeof(id[i]));
		assert_int_equal(rec.len, SHM_ACCESS_HEAD + SHM_REMOTE_SMALL_WRITE);
		memcpy(there + i * SHM_REMOTE_SMALL_WRITE, rec.blob + SHM_ACCESS_HEAD,
			SHM_REMOTE_SMALL_WRITE);
	}
	peer_tell(p);
	peer_record(p, SHM_REC_ACK, 0, 0, id, sizeof(id));
	wait_until_ended(p, 1);
	assert_one_ended(p, buffer, 0);
	assert_memory_equal(there, buffer, len);
	assert_int_equal(p->conn->waits.unsettled, 0);
	/* One that is refused. */
	(void)peer_skip(p);
	pair_progress(p);
	post(p, false, 0, 2 * SHM_REMOTE_SMALL_WRITE, 0);
	rec = peer_expect(p, SHM_REC_WRITE);
	memcpy(&id[0], rec.blob, sizeof(id[0]));
	rec = peer_expect(p, SHM_REC_WRITE);
	memcpy(&id[1], rec.blob, sizeof(id[1]));
	peer_tell(p);
	peer_record(p, SHM_REC_ERROR, 0, id[0], &(uint32_t){ FI_EKEYREJECTED }, 4);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	peer_record(p, SHM_REC_ACK, 0, 0, &id[1], sizeof(id[1]));
	wait_until_ended(p, 1);
	assert_one_ended(p, buffer, FI_EKEYREJECTED);
	close_table();
}

/* The region is closed while the target is silent. */
static void in_parts_no_more(void **state)
{
	struct pair *p = *state;

	open_table(p);
	post(p, false, 0, 40 * SHM_REMOTE_SMALL_WRITE, 0);
	atomic_store(&entry()->serial, SHM_SERIAL_NONE);
	wait_until_ended(p, 1);
	assert_one_ended(p, buffer, FI_EKEYREJECTED);
	assert_int_equal(p->conn->waits.unsettled, 0);
	assert_true(wf_list_empty(&p->conn->waits.settling));
	assert_int_equal(there[0], 0xee);
	close_table();
}

/* Requests that take_write found withdrawn. */
static unsigned int gone;

/* Take the next record as a target does. Returns the id that has to be acknowledged; 0:
 * none. */
static uint64_t take_write(struct pair *p)
{
	static uint64_t stream_id, stream_at, stream_left;
	uint8_t kind = shm_head_kind(shm_reader_head(&p->in));
	struct shm_record rec = peer_expect(p, kind);
	struct fi_rma_iov seg;
	uint64_t id;

	if (kind == SHM_REC_GONE) {
		gone++;
		return 0;
	}
	if (kind == SHM_REC_DATA) {
		assert_in_range(rec.len, 1, stream_left);
		memcpy(there + stream_at, rec.blob, rec.len);
		stream_at += rec.len;
		stream_left -= rec.len;
		return stream_left ? 0 : stream_id;
	}
	assert_int_equal(kind, SHM_REC_WRITE);
	memcpy(&id, rec.blob, sizeof(id));
	memcpy(&seg, rec.blob + sizeof(id), sizeof(seg));
	if (rec.flags & SHM_FLAG_MORE) {
		stream_id = id;
		stream_at = seg.addr;
		stream_left = seg.len;
		return 0;
	}
	assert_int_equal(rec.len, SHM_ACCESS_HEAD + seg.len);
	memcpy(there + seg.addr, rec.blob + SHM_ACCESS_HEAD, seg.len);
	return id;
}

/* The target takes what there is until the write has ended. */
static void take_all(struct pair *p, uint64_t deadline)
{
	uint64_t id;

	while (!p->ended_count) {
		assert_true(wf_now_ns() < deadline);
		while (peer_has_record(p)) {
			id = take_write(p);
			peer_tell(p);
			if (id)
				peer_record(p, SHM_REC_ACK, 0, 0, &id, sizeof(id));
		}
		pair_progress(p);
	}
}

/* Protect the whole pages of @there from @from on. */
static void protect(size_t from, int how)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)there + from + page - 1) / page * page;
	uintptr_t end = (uintptr_t)(there + LEN) / page * page;

	assert_int_equal(mprotect((void *)begin, end - begin, how), 0);
}

/* The target is silent, but its memory cannot be copied, or not all of it: that waits
 * until the target makes progress, as requests, which are not withdrawn again. */
static void in_parts_and_requests(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		size_t len = i < 2 ? LEN : 4 * SHM_REMOTE_SMALL_WRITE;
		size_t copied = i % 2 ? len / 2 : 0;
		uint64_t deadline = wf_deadline_ns(limit_ms(20000));
		struct shm_window *window;

		open_table(p);
		post(p, false, 0, len, 0);
		assert_int_equal(
			shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_MEMORY);
		/* What was sent in parts, or only the end, is not accessible. */
		protect(copied, PROT_NONE);
		while (!window->no_copies) {
			assert_true(wf_now_ns() < deadline);
			pair_progress(p);
		}
		protect(copied, PROT_READ | PROT_WRITE);
		for (uint64_t end = wf_deadline_ns(5); wf_now_ns() < end;)
			pair_progress(p);
		assert_int_equal(p->ended_count, 0);
		gone = 0;
		take_all(p, deadline);
		assert_in_range(gone, 1, len / SHM_REMOTE_SMALL_WRITE);
		assert_one_ended(p, buffer, 0);
		assert_memory_equal(there, buffer, len);
		assert_false(peer_has_record(p));
		assert_int_equal(p->conn->waits.unsettled, 0);
		assert_true(wf_list_empty(&p->conn->waits.settling));
		close_table();
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(in_parts),
		PAIR_TEST(in_parts_no_more),
		PAIR_TEST(in_parts_and_requests),
		PAIR_TEST(withdrawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

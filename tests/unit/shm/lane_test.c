/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw_fixture.h"

#include <sys/mman.h>

#include "../../readable.h"

/* What an endpoint writes into a lane, and what it makes of records that no endpoint
 * would write. */

/* ---- acknowledgements ---- */

/* What the endpoint acknowledged, in its order. The ids are numbers from 1 on. */
static void read_acks(struct raw *raw, uint64_t *last)
{
	const struct shm_slot *slot;
	uint64_t id;

	while ((slot = raw_head(raw))) {
		uint64_t head = atomic_load(&slot->head);

		assert_int_equal(shm_head_kind(head), SHM_REC_ACK);
		for (size_t at = 0; at < shm_head_len(head); at += sizeof(id)) {
			memcpy(&id, slot->blob + at, sizeof(id));
			assert_int_equal(id, ++*last);
		}
		raw_next(raw);
	}
}

/* The lane gets full in the middle of acknowledgements that leave together: each one
 * comes, once and in its order. */
static void acknowledgements_of_a_full_lane(void **state)
{
	/* More than fit: a record has 13 at most, and 64 come at a time. */
	enum { COUNT = SHM_SLOTS * 13 + 200 };
	uint64_t last = 0, id;
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	for (id = 1; id <= COUNT; id++) {
		while (!raw_put(&raw, SHM_REC_TAGGED, SHM_FLAG_ACK, 5, &id, sizeof(id)))
			raw_drive(&raw);
		if (id % 64 == 0)
			raw_drive(&raw);
	}
	for (int i = 0; i < 100 && last < COUNT; i++) {
		raw_drive(&raw);
		read_acks(&raw, &last);
	}
	assert_int_equal(last, COUNT);
	raw_close(&raw);
}

/* ---- fences ---- */

/* Clear the message to be sent, and read it. Nothing overtakes it. */
static void take_stream(struct raw *raw, size_t len)
{
	uint64_t sink = 99, deadline = wf_deadline_ns(RAW_LIMIT_MS);
	const struct shm_slot *slot = raw_head(raw);
	size_t got = 0;
	struct shm_rts rts;
	uint32_t piece;

	assert_non_null(slot);
	assert_int_equal(shm_head_kind(atomic_load(&slot->head)), SHM_REC_TAGGED_RTS);
	memcpy(&rts, slot->blob, sizeof(rts));
	raw_next(raw);
	assert_null(raw_head(raw));
	assert_true(raw_put(raw, SHM_REC_CTS, 0, rts.id, &sink, sizeof(sink)));
	while (got < len) {
		slot = raw_head(raw);
		if (!slot) {
			assert_true(wf_now_ns() < deadline);
			raw_drive(raw);
			continue;
		}
		assert_int_equal(shm_head_kind(atomic_load(&slot->head)), SHM_REC_DATA);
		assert_int_equal(slot->word, sink);
		memcpy(&piece, slot->blob, sizeof(piece));
		got += piece;
		raw_next(raw);
	}
}

/* What is fenced behind a message that is streamed leaves when the stream ends, though
 * nothing else happens to the connection. */
static void fenced_behind_a_stream(void **state)
{
	enum { LEN = 1 << 20 };
	const struct shm_slot *slot;
	static uint8_t large[LEN];
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	assert_int_equal(
		fi_tsend(raw.ep, large, sizeof(large), NULL, raw.peer, 7, NULL), 0);
	raw_post_write(&raw, FI_FENCE);
	take_stream(&raw, LEN);
	assert_int_equal(raw.completions, 1);
	raw_drive(&raw);
	slot = raw_head(&raw);
	assert_non_null(slot);
	assert_int_equal(shm_head_kind(atomic_load(&slot->head)), SHM_REC_WRITE);
	raw_close(&raw);
}

/* ---- sleepers ---- */

/* Nothing is left to do but to sleep on the queue's descriptor. */
static void fall_asleep(struct raw *raw, int fd)
{
	struct fid *fids[] = { &raw->cq->fid };
	uint64_t deadline = wf_deadline_ns(RAW_LIMIT_MS);

	do {
		assert_true(wf_now_ns() < deadline);
		raw_drive(raw);
	} while (fi_trywait(raw->fabric, fids, 1) || is_readable(fd, 0));
}

static unsigned int read_messages(struct raw *raw)
{
	const struct shm_slot *slot;
	unsigned int count = 0;

	while ((slot = raw_head(raw))) {
		assert_int_equal(
			shm_head_kind(atomic_load(&slot->head)), SHM_REC_TAGGED);
		raw_next(raw);
		count++;
	}
	return count;
}

/* A writer that sleeps while the lane is full asked to be woken when there is space.
 * Both slots and bytes run out. */
static void writer_asleep_with_a_full_lane(void **state)
{
	static const size_t lens[] = { 8, 8000 };
	static uint8_t bytes[8000];
	_Atomic uint32_t *waiting;
	struct raw raw;
	int fd;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		unsigned int sent = 0, came = 0;

		raw_open(&raw, FI_WAIT_FD);
		waiting = &raw.in.lane->reader.waiting;
		assert_int_equal(fi_control(&raw.cq->fid, FI_GETWAIT, &fd), 0);
		while (!fi_tsend(raw.ep, bytes, lens[i], NULL, raw.peer, 7, NULL))
			sent++;
		assert_true(sent > SHM_SLOTS);
		while (came < sent) {
			fall_asleep(&raw, fd);
			/* All was written, or there is no space for the rest. */
			assert_int_equal(
				atomic_exchange(waiting, 0), raw.completions < sent);
			came += read_messages(&raw);
			assert_int_equal(send(raw.fd, "", 1, 0), 1);
			assert_true(is_readable(fd, RAW_LIMIT_MS));
			raw_drive(&raw);
		}
		assert_int_equal(came, sent);
		assert_int_equal(raw.completions, sent);
		raw_close(&raw);
	}
}

/* A writer that waits for space gets a byte when the reader reports some, and only
 * then. */
static void reader_of_a_writer_that_waits(void **state)
{
	_Atomic uint32_t *waiting;
	uint64_t word = 0;
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	waiting = &raw.out.lane->reader.waiting;
	while (raw_put(&raw, SHM_REC_TAGGED, 0, 7, &word, sizeof(word)))
		;
	for (int i = 0; i < 8; i++)
		raw_drive(&raw);
	assert_int_equal(raw_woken(&raw), 0);
	while (raw_put(&raw, SHM_REC_TAGGED, 0, 7, &word, sizeof(word)))
		;
	atomic_store(waiting, 1);
	for (int i = 0; i < 8; i++)
		raw_drive(&raw);
	assert_int_equal(raw_woken(&raw), 1);
	assert_int_equal(atomic_load(waiting), 0);
	assert_true(shm_writer_refresh(&raw.out));
	assert_true(shm_writer_slots(&raw.out) > SHM_SLOTS / 2);
	raw_close(&raw);
}

/* ---- pages ---- */

/* The pages of the slots are there before the first message, and the byte ring's
 * beginning, in both directions; the rest is left to be. */
static void first_pages_are_there(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct shm_lane *lanes;
	struct raw raw;

	(void)state;
	raw_open(&raw, FI_WAIT_NONE);
	lanes = raw.region->lane;
#ifdef MADV_POPULATE_WRITE
	if (madvise(lanes, page, MADV_POPULATE_WRITE)) {
		raw_close(&raw);
		skip();
	}
#endif
	for (unsigned int i = 0; i < 2; i++) {
		unsigned char there = 0;

		assert_int_equal(mincore(lanes[i].bytes, page, &there), 0);
		assert_int_equal(there & 1, 1);
		assert_int_equal(
			mincore(lanes[i].bytes + SHM_BYTES - page, page, &there), 0);
		assert_int_equal(there & 1, 0);
	}
	raw_close(&raw);
}

/* ---- records that cannot be ---- */

/* An access record that is shorter than its number of segments. The memory behind it is
 * prepared: if it were read, the write would have a payload of the right length. */
static void access_shorter_than_its_segments(void **state)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
	} blob = { .id = 17, .seg = { .key = RAW_KEY } };
	const size_t lens[] = { 0, 8, 16, sizeof(blob) - 1 };
	struct raw raw;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		raw_open(&raw, FI_WAIT_NONE);
		blob.seg.len = lens[i] - sizeof(blob);
		/* Write the whole record with a shorter length. */
		memcpy(shm_writer_slot(&raw.out)->blob, &blob, sizeof(blob));
		assert_true(raw_put(&raw, SHM_REC_WRITE, 0, shm_access_word(1, 0, 0),
			&blob, lens[i]));
		raw_drive(&raw);
		assert_null(raw_head(&raw));
		assert_true(raw_closed(&raw));
		raw_close(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledgements_of_a_full_lane),
		cmocka_unit_test(fenced_behind_a_stream),
		cmocka_unit_test(writer_asleep_with_a_full_lane),
		cmocka_unit_test(reader_of_a_writer_that_waits),
		cmocka_unit_test(first_pages_are_there),
		cmocka_unit_test(access_shorter_than_its_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

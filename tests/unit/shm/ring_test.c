/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <pthread.h>
#include <sched.h>

#include "../../sanitizer.h"
#include "providers/shm/wire/reader.h"
#include "providers/shm/wire/writer.h"

/*
 * A writer and a reader on one lane, each a thread, as they are two processes
 * otherwise: so that ThreadSanitizer sees whether what one stores is ordered before
 * what the other loads (L1 to L4 in wire.h), payload included.
 */

enum { RECORDS = SANITIZED ? 100000 : 1000000, BLOBS = 7 };

struct fi_provider shm_fi = { .name = "shm" };

static struct shm_lane *lane;

/* Lengths that need the byte ring, with and without a way around its end, and none. */
static size_t length_of(uint32_t number)
{
	static const size_t lens[BLOBS] = { 8, 0, 104, 200, 4096, 40000, 1 };

	return lens[number % BLOBS];
}

static uint8_t byte_of(uint32_t number)
{
	return (uint8_t)(number * 31);
}

static void write_one(struct shm_writer *w, uint32_t number)
{
	size_t len = length_of(number);
	uint32_t len32 = (uint32_t)len;
	struct shm_slot *slot;
	uint8_t flags = 0, *to;

	while (!shm_writer_slots(w)) {
		assert_true(shm_writer_refresh(w));
		(void)sched_yield();
	}
	slot = shm_writer_slot(w);
	to = slot->blob;
	if (number % 3 == 0)
		assert_true(shm_writer_refresh(w));
	if (len > SHM_INLINE_MAX && shm_writer_is_read(w))
		shm_writer_restart(w, 2048);
	while (len > SHM_INLINE_MAX && !(to = shm_writer_bytes(w, len, &flags))) {
		assert_true(shm_writer_refresh(w));
		(void)sched_yield();
	}
	slot->word = number;
	memset(to, byte_of(number), len);
	if (flags) {
		memcpy(slot->blob, &len32, sizeof(len32));
		shm_writer_bytes_done(w, flags, len);
	}
	shm_writer_commit(w, slot, SHM_REC_MSG, flags, flags ? 0 : len);
}

static void *write_all(void *arg)
{
	struct shm_writer w = shm_writer_of(lane);

	(void)arg;
	for (uint32_t i = 0; i < RECORDS; i++)
		write_one(&w, i);
	return NULL;
}

static void read_one(struct shm_reader *r, uint32_t number)
{
	size_t len = length_of(number);
	const struct shm_slot *slot = shm_slot_at(r->lane, r->next);
	const uint8_t *from = slot->blob;
	uint64_t head;
	uint8_t flags;

	while (!(head = shm_reader_head(r)))
		(void)sched_yield();
	flags = (uint8_t)(head >> 40);
	assert_int_equal(slot->word, number);
	assert_int_equal(!!(flags & SHM_FLAG_BYTES), len > SHM_INLINE_MAX);
	if (flags & SHM_FLAG_BYTES) {
		uint64_t start = shm_bytes_start(r->pos, flags);

		from = r->lane->bytes + start % SHM_BYTES;
		r->pos = shm_bytes_next(r->pos, flags, len);
	} else {
		assert_int_equal(head >> 48, len);
	}
	for (size_t i = 0; i<len; i += len> 256 ? 97 : 1)
		assert_int_equal(from[i], byte_of(number));
	if (shm_reader_advance(r))
		shm_reader_tell(r);
}

static void test_two_threads(void **state)
{
	struct shm_reader r = { .next = 1 };
	pthread_t writer;

	(void)state;
	lane = aligned_alloc(4096, sizeof(*lane));
	assert_non_null(lane);
	memset(lane, 0, sizeof(*lane));
	r.lane = lane;
	assert_int_equal(pthread_create(&writer, NULL, write_all, NULL), 0);
	for (uint32_t i = 0; i < RECORDS; i++)
		read_one(&r, i);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(shm_reader_head(&r), 0);
	free(lane);
}

/* A reader that reports to have read records that were never written is not
 * believed. */
static void test_impossible_progress(void **state)
{
	struct shm_writer w;

	(void)state;
	lane = aligned_alloc(4096, sizeof(*lane));
	assert_non_null(lane);
	memset(lane, 0, sizeof(*lane));
	w = shm_writer_of(lane);
	assert_true(shm_writer_refresh(&w));
	for (uint32_t i = 0; i < 5; i++)
		write_one(&w, i);
	atomic_store(&lane->reader.slots, 5);
	atomic_store(&lane->reader.bytes, w.pos);
	assert_true(shm_writer_refresh(&w));
	assert_int_equal(shm_writer_slots(&w), SHM_SLOTS);
	atomic_store(&lane->reader.slots, 6);
	assert_false(shm_writer_refresh(&w));
	/* It may be older than what a record told. */
	atomic_store(&lane->reader.slots, 4);
	assert_true(shm_writer_refresh(&w));
	assert_int_equal(w.seen_slots, 5);
	atomic_store(&lane->reader.slots, 5);
	atomic_store(&lane->reader.bytes, w.pos + 1);
	assert_false(shm_writer_refresh(&w));
	free(lane);
}

/* A blob that would reach over the end of the ring begins at its start: what is skipped
 * is no room, and the reader has to be past all of it. */
static void test_room_at_the_wrap(void **state)
{
	struct shm_writer w = {
		.lap = SHM_BYTES, .pos = SHM_BYTES - 1024, .seen_pos = 9728
	};
	uint8_t flags;

	(void)state;
	lane = aligned_alloc(4096, sizeof(*lane));
	assert_non_null(lane);
	w.lane = lane;
	assert_null(shm_writer_bytes(&w, 10240, &flags));
	w.seen_pos = 10240 - 1;
	assert_null(shm_writer_bytes(&w, 10240, &flags));
	w.seen_pos = 10240;
	assert_ptr_equal(shm_writer_bytes(&w, 10240, &flags), lane->bytes);
	assert_int_equal(flags, SHM_FLAG_BYTES | SHM_FLAG_WRAP);
	/* The same where a short lap ends. */
	w = (struct shm_writer){ lane, .lap = SHM_LAP_SHORT,
		.pos = SHM_LAP_SHORT - 10239, .seen_pos = 10240 - 1 };
	assert_null(shm_writer_bytes(&w, 10240, &flags));
	w.seen_pos = 10240;
	assert_ptr_equal(shm_writer_bytes(&w, 10240, &flags), lane->bytes);
	assert_int_equal(flags, SHM_FLAG_BYTES | SHM_FLAG_WRAP);
	assert_ptr_equal(shm_writer_bytes(&w, 10239, &flags),
		lane->bytes + SHM_LAP_SHORT - 10239);
	assert_int_equal(flags, SHM_FLAG_BYTES);
	/* Small blobs have another lap, in which they fill all slots. */
	w = shm_writer_of(lane);
	for (unsigned int i = 0; i < SHM_SLOTS; i++) {
		assert_non_null(shm_writer_bytes(&w, SHM_POSITION_MIN - 1, &flags));
		shm_writer_bytes_done(&w, flags, SHM_POSITION_MIN - 1);
	}
	assert_null(shm_writer_bytes(&w, SHM_POSITION_MIN - 1, &flags));
	/* What fits before the end needs no wrap. */
	w = (struct shm_writer){ lane, .lap = SHM_BYTES, .pos = SHM_BYTES - 1024 };
	w.seen_pos = 0;
	assert_ptr_equal(
		shm_writer_bytes(&w, 1024, &flags), lane->bytes + SHM_BYTES - 1024);
	assert_int_equal(flags, SHM_FLAG_BYTES);
	free(lane);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_impossible_progress),
		cmocka_unit_test(test_room_at_the_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

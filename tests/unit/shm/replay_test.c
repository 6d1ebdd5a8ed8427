/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to a reader that dies: those that it had not begun go to its successor,
 * once, whole and in their order; whatever it had read, said and left behind in the
 * lane.
 */
#include "conn_fixture.h"

enum { COUNT = 9, LONG = 3000 };

static uint8_t bytes[COUNT][LONG];

/* Lengths inline, empty, and in the byte ring. */
static size_t length_of(unsigned int i)
{
	static const size_t lens[] = { 8, 0, LONG, 104, 105, LONG, 1, 2000, LONG };

	return lens[i];
}

static void post(struct pair *p, unsigned int i)
{
	fill(bytes[i], length_of(i), i);
	if (i % 2)
		assert_int_equal(fi_tsenddata(p->ep, bytes[i], length_of(i), NULL, i,
					 p->addr, 100 + i, bytes[i]),
			0);
	else
		assert_int_equal(
			fi_send(p->ep, bytes[i], length_of(i), NULL, p->addr, bytes[i]),
			0);
}

static void expect(struct pair *p, unsigned int i)
{
	struct shm_record rec = peer_expect(p, i % 2 ? SHM_REC_TAGGED : SHM_REC_MSG);
	uint8_t want[LONG];

	fill(want, length_of(i), i);
	assert_int_equal(rec.len, length_of(i));
	assert_memory_equal(rec.blob, want, rec.len);
	assert_int_equal(rec.flags & SHM_FLAG_DATA, i % 2 ? SHM_FLAG_DATA : 0);
	if (!(i % 2))
		return;
	assert_int_equal(rec.word, 100 + i);
	assert_int_equal(rec.data, i);
}

/* All of them are posted at a place of the rings, and complete. */
static void post_all(struct pair *p, uint32_t number, uint64_t pos)
{
	pair_place(p, number, pos);
	p->ended_count = 0;
	for (unsigned int i = 0; i < COUNT; i++)
		post(p, i);
	pair_progress(p);
	assert_int_equal(p->ended_count, COUNT);
}

/* The successor gets the messages from @first on, and nothing of them is told again. */
static void succeed(struct pair *p, unsigned int first)
{
	p->ended_count = 0;
	pair_connect(p);
	pair_progress(p);
	for (unsigned int i = first; i < COUNT; i++)
		expect(p, i);
	assert_false(peer_has_record(p));
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->shm->tx.pending, 0);
	peer_tell(p);
}

/* The reader has begun @begun messages, and has told of @told of them. */
static void read_some(struct pair *p, unsigned int begun, unsigned int told)
{
	for (unsigned int i = 0; i < begun; i++) {
		if (i == told)
			peer_tell(p);
		expect(p, i);
	}
	if (told == begun)
		peer_tell(p);
}

/* Each number of messages that were begun, and of those the reader told of, at places
 * where the number of the record and the byte ring begin anew. */
static void begun_and_told(void **state)
{
	static const uint32_t numbers[] = { 1, 250, UINT32_MAX - 4, 0 };
	struct pair *p = *state;
	unsigned int round = 0;

	for (unsigned int begun = 0; begun <= COUNT; begun++) {
		for (unsigned int told = 0; told <= begun; told++, round++) {
			post_all(p, numbers[round % WF_ARRAY_SIZE(numbers)],
				SHM_BYTES - round * SHM_BYTES_ALIGN * 4);
			read_some(p, begun, told);
			peer_dies(p);
			succeed(p, begun);
		}
	}
}

/* The reader took a record and died before it was through with it: it may have
 * acted. */
static void died_in_the_middle_of_one(void **state)
{
	struct pair *p = *state;

	for (unsigned int begun = 0; begun < COUNT; begun++) {
		post_all(p, 1, 0);
		read_some(p, begun, begun);
		shm_reader_take(&p->in);
		peer_dies(p);
		succeed(p, begun + 1);
	}
}

/* It died between the two stores of its position. */
static void died_while_it_told(void **state)
{
	struct pair *p = *state;

	for (unsigned int begun = 0; begun <= COUNT; begun++) {
		post_all(p, 1, SHM_BYTES - LONG);
		read_some(p, begun, 0);
		atomic_store(&p->in.lane->reader.bytes, p->in.pos);
		peer_dies(p);
		succeed(p, begun);
	}
}

/* Messages that are queued because the lane is full come behind those in the lane.
 * Their operations were not complete, and fail. */
static void full_lane(void **state)
{
	static uint8_t number[SHM_SLOTS + 50];
	struct pair *p = *state;
	unsigned int failed = 0;

	pair_place(p, UINT32_MAX - 100, 0);
	for (unsigned int i = 0; i < WF_ARRAY_SIZE(number); i++) {
		number[i] = (uint8_t)i;
		assert_int_equal(
			fi_tsend(p->ep, &number[i], 1, NULL, p->addr, i, &number[i]),
			0);
	}
	for (unsigned int i = 0; i < 70; i++)
		assert_int_equal(peer_expect(p, SHM_REC_TAGGED).word, i);
	peer_dies(p);
	for (unsigned int i = 0; i < p->ended_count; i++)
		failed += p->ended[i].err != 0;
	assert_int_equal(failed, 50);
	p->ended_count = 0;
	pair_connect(p);
	pair_progress(p);
	for (unsigned int i = 70; i < SHM_SLOTS; i++)
		assert_int_equal(peer_expect(p, SHM_REC_TAGGED).word, i);
	assert_false(peer_has_record(p));
}

/* Messages of later calls come behind those that are sent again. */
static void later_messages_come_behind(void **state)
{
	struct pair *p = *state;

	for (unsigned int i = 0; i < 5; i++)
		post(p, i);
	read_some(p, 2, 0);
	peer_dies(p);
	for (unsigned int i = 5; i < COUNT; i++)
		post(p, i);
	pair_connect(p);
	pair_progress(p);
	for (unsigned int i = 2; i < COUNT; i++)
		expect(p, i);
	assert_false(peer_has_record(p));
}

/* ---- what is not sent again ---- */

/* Small accesses, also injected ones: those that the peer did not report as read fail,
 * and none of them is sent again. */
static void accesses(void **state)
{
	struct pair *p = *state;
	static uint64_t value;

	for (unsigned int begun = 0; begun <= 4; begun++) {
		unsigned int reported = begun / 2 * 2, failed = 0;

		p->ended_count = 0;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(fi_inject_write(p->ep, &value, sizeof(value),
						 p->addr, 0, KEY),
				0);
			assert_int_equal(fi_inject_atomic(p->ep, &value, 1, p->addr, 0,
						 KEY, FI_UINT64, FI_SUM),
				0);
		}
		assert_int_equal(fi_write(p->ep, &value, sizeof(value), NULL, p->addr,
					 0, KEY, &value),
			0);
		for (unsigned int i = 0; i < begun; i++) {
			(void)peer_expect(p, i % 2 ? SHM_REC_ATOMIC : SHM_REC_WRITE);
			if (i % 2)
				peer_tell(p);
		}
		peer_dies(p);
		for (unsigned int i = 0; i < p->ended_count; i++)
			failed += p->ended[i].err != 0;
		assert_int_equal(failed, 5 - reported);
		assert_int_equal(p->ended_count, failed);
		pair_connect(p);
		pair_progress(p);
		assert_false(peer_has_record(p));
	}
}

/* Operations that wait for the peer's word fail, and none of them is sent again. */
static void operations_that_wait(void **state)
{
	struct pair *p = *state;
	struct iovec iov = { bytes[0], 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = p->addr, .context = bytes[0]
	};

	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_MATCH_COMPLETE), 0);
	assert_int_equal(
		fi_read(p->ep, bytes[1], 8, NULL, p->addr, 0, KEY, bytes[0]), 0);
	peer_dies(p);
	assert_int_equal(p->ended_count, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(p->ended[i].err, FI_ECONNRESET);
	pair_connect(p);
	pair_progress(p);
	assert_false(peer_has_record(p));
}

/* A peer that was hostile or broken before it died: whatever it wrote into the lane,
 * nothing is sent again that is not a message of ours, in its order. */
static void spoiled_lane(void **state)
{
	struct pair *p = *state;
	struct shm_lane *lane;

	for (unsigned int what = 0; what < 6; what++) {
		post_all(p, 1, 0);
		lane = p->in.lane;
		switch (what) {
		case 0: /* taken what was never sent */
			atomic_store(&lane->taken, COUNT + 100);
			atomic_store(&lane->reader.slots, COUNT + 100);
			break;
		case 1: /* the numbers are gone */
			for (uint32_t i = 1; i <= COUNT; i++)
				atomic_store(&shm_slot_at(lane, i)->head, 0);
			break;
		case 2: /* a blob that reaches beyond the ring */
			memset(shm_slot_at(lane, 3)->blob, 0xff, 4);
			break;
		case 3: /* kinds that there are none of */
			atomic_store(&shm_slot_at(lane, 2)->head,
				2 | (uint64_t)SHM_REC_KINDS << 32);
			break;
		case 4: /* bytes read that were never written */
			atomic_store(&lane->reader.bytes, 1 << 20);
			break;
		default: /* a shorter blob: the positions behind it are wrong */
			memset(shm_slot_at(lane, 3)->blob, 1, 1);
			memset(shm_slot_at(lane, 3)->blob + 1, 0, 3);
			break;
		}
		peer_dies(p);
		succeed(p, COUNT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(begun_and_told),
		PAIR_TEST(died_in_the_middle_of_one),
		PAIR_TEST(died_while_it_told),
		PAIR_TEST(full_lane),
		PAIR_TEST(later_messages_come_behind),
		PAIR_TEST(accesses),
		PAIR_TEST(operations_that_wait),
		PAIR_TEST(spoiled_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

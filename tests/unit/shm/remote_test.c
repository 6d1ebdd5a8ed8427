/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator's side of published regions: which operations are performed on the
 * peer's memory, which are requests, and what a table full of garbage can do.
 */
#include "remote_fixture.h"

/* From now on the peer makes no progress, and the endpoint knows. The test goes on
 * behind the record that was withdrawn without taking it. */
static void fall_silent(struct pair *p)
{
	post(p, false, 0, 8, 0);
	wait_until_ended(p, 1);
	assert_int_equal(shm_head_kind(shm_reader_head(&p->in)), SHM_REC_GONE);
	(void)shm_reader_advance(&p->in);
	p->ended_count = 0;
	memset(there, 0xee, 8);
}

/* A write of 4 KiB is performed without a record. */
static void assert_performed(struct pair *p)
{
	memset(there, 0xee, 4096);
	post(p, false, 0, 4096, 0);
	assert_false(peer_has_record(p));
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	assert_memory_equal(there, buffer, 4096);
	assert_int_equal(atomic_load(&p->memory->visits[1].busy), 0);
	assert_int_equal(atomic_load(&p->memory->visits[1].used), 1);
}

/* Is a write of 4 KiB a request? */
static bool is_requested(struct pair *p)
{
	bool ret;

	post(p, false, 0, 4096, 0);
	ret = peer_has_record(p);
	(void)peer_skip(p);
	return ret;
}

static void assert_error(struct pair *p, int err)
{
	assert_false(peer_has_record(p));
	pair_progress(p);
	assert_one_ended(p, buffer, err);
}

/* Of all lengths but the smallest; those above SHM_REMOTE_FIRST in steps. */
static void performed(void **state)
{
	static const size_t lens[] = { SHM_REMOTE_SMALL_WRITE + 1, 4096,
		SHM_REMOTE_FIRST, SHM_REMOTE_FIRST + 1, LEN - 8 };
	struct pair *p = *state;

	open_table(p);
	fall_silent(p);
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		fill(buffer, lens[i], (unsigned int)i);
		post(p, false, 8, lens[i], 0);
		pair_progress(p);
		assert_one_ended(p, buffer, 0);
		assert_memory_equal(there + 8, buffer, lens[i]);
		assert_int_equal(there[7], 0xee);
		memset(buffer, 0, lens[i]);
		post(p, true, 8, lens[i], 0);
		pair_progress(p);
		assert_one_ended(p, buffer, 0);
		assert_memory_equal(there + 8, buffer, lens[i]);
	}
	assert_false(peer_has_record(p));
	close_table();
}

static void refused(void **state)
{
	struct pair *p = *state;

	open_table(p);
	fall_silent(p);
	assert_performed(p);
	post(p, true, LEN - 4095, 4096, 0);
	assert_error(p, FI_EINVAL);
	post(p, true, UINT64_MAX - 100, 4096, 0);
	assert_error(p, FI_EINVAL);
	publish(there, LEN, SHM_MAY_WRITE, 10);
	post(p, true, 0, 8, 0);
	assert_error(p, FI_EACCES);
	atomic_store(&entry()->serial, SHM_SERIAL_NONE);
	post(p, false, 0, 8, 0);
	assert_error(p, FI_EKEYREJECTED);
	/* The table may be incomplete, or change. */
	atomic_store(&table->left_out, 1);
	assert_true(is_requested(p));
	atomic_store(&table->left_out, 0);
	pair_again(p);
	close_table();
	open_table(p);
	atomic_store(&entry()->serial, SHM_SERIAL_CHANGING);
	assert_true(is_requested(p));
	close_table();
}

/* FI_SHM_DISABLE_MAPPING at this end only: what the peer publishes is not accessed. */
static void not_with_the_setting(void **state)
{
	struct pair *p = *state;

	open_table(p);
	segs = 2;
	assert_performed(p);
	close_table();
	pair_again(p);
	open_table(p);
	segs = 2;
	shm_params.disable_mapping = 1;
	assert_true(is_requested(p));
	shm_params.disable_mapping = 0;
	close_table();
}

/* The first place of the key is another region's: the one behind it is found. Then it is
 * in the last place that it may have, and in none. */
static void behind_another(void **state)
{
	struct pair *p = *state;
	struct shm_window *window;
	struct shm_entry *next;

	open_table(p);
	for (uint32_t i = 1; i < SHM_TABLE_PROBES; i += SHM_TABLE_PROBES - 2) {
		next = &table->entry[(shm_table_first(THEIRS) + i) % SHM_TABLE_SIZE];
		next->region = entry()->region;
		next->region.key = THEIRS;
		atomic_store(&next->serial, 10 + i);
		publish(buffer, 8, SHM_MAY_READ, 9);
		entry()->region.key = THEIRS + 1;
		assert_int_equal(
			shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_MEMORY);
		assert_int_equal(window->serial, 10 + i);
		assert_int_equal(window->region.key, THEIRS);
		assert_int_equal(window->index, next - table->entry);
		atomic_store(&next->serial, SHM_SERIAL_NONE);
		assert_int_equal(
			shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_REFUSED);
		publish(there, LEN, SHM_MAY_READ, 9);
	}
	next = &table->entry[(shm_table_first(THEIRS) + SHM_TABLE_PROBES) %
			     SHM_TABLE_SIZE];
	next->region = entry()->region;
	entry()->region.key = THEIRS + 1;
	atomic_store(&next->serial, 30);
	assert_int_equal(shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_REFUSED);
	close_table();
}

/* A window whose memory is mapped is kept for its key until its region is closed. Others
 * with the same window share one that is never mapped. */
static void shared_window(void **state)
{
	struct pair *p = *state;
	struct shm_window *mapped, *window;
	struct shm_entry *other = NULL;
	uint64_t key = THEIRS;

	open_table(p);
	assert_int_equal(shm_remote_find(p->conn, THEIRS, &mapped), SHM_REACH_MEMORY);
	assert_ptr_not_equal(mapped, &p->conn->access.remote->spare);
	assert_false(mapped->is_examined);
	mapped->map_len = (size_t)sysconf(_SC_PAGESIZE);
	mapped->map = mmap(
		NULL, mapped->map_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mapped->map, MAP_FAILED);
	mapped->at = mapped->map;
	/* Which keys share a window is the table's own affair: one of these does. */
	do {
		key++;
		other = &table->entry[shm_table_first(key)];
		if (other == entry())
			continue;
		other->region = entry()->region;
		other->region.key = key;
		atomic_store(&other->serial, 10);
		assert_int_equal(
			shm_remote_find(p->conn, key, &window), SHM_REACH_MEMORY);
	} while (window != &p->conn->access.remote->spare && key < THEIRS + 4096);
	assert_ptr_equal(window, &p->conn->access.remote->spare);
	assert_int_equal(window->region.key, key);
	assert_true(window->is_examined);
	assert_non_null(mapped->at);
	assert_int_equal(shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_MEMORY);
	assert_ptr_equal(window, mapped);
	atomic_store(&entry()->serial, SHM_SERIAL_NONE);
	assert_int_equal(shm_remote_find(p->conn, key, &window), SHM_REACH_MEMORY);
	assert_ptr_equal(window, mapped);
	assert_null(mapped->at);
	assert_int_equal(window->region.key, key);
	assert_false(window->is_examined);
	close_table();
}

/* What the peer's table says of fences and copies. */
static void flags_of_the_table(void **state)
{
	struct pair *p = *state;

	for (uint32_t flags = 0; flags < 4; flags++) {
		struct shm_window *window;

		open_table(p);
		table->flags = flags;
		segs = 2;
		assert_int_equal(
			shm_remote_find(p->conn, THEIRS, &window), SHM_REACH_MEMORY);
		if (flags & SHM_TABLE_FENCE)
			assert_true(p->conn->access.remote->fence);
		assert_int_equal(
			p->conn->access.copied, !(flags & SHM_TABLE_NO_COPIES));
		if (flags & SHM_TABLE_NO_COPIES)
			assert_true(is_requested(p));
		else
			assert_performed(p);
		close_table();
		pair_again(p);
	}
}

/* A region that is closed, or whose owner ends the connection, in the middle. */
static void closed_meanwhile(void **state)
{
	struct pair *p = *state;

	open_table(p);
	fall_silent(p);
	post(p, false, 0, LEN, 0);
	assert_int_equal(there[SHM_REMOTE_FIRST], 0xee);
	atomic_store(&entry()->serial, SHM_SERIAL_NONE);
	pair_progress(p);
	assert_one_ended(p, buffer, FI_EKEYREJECTED);
	assert_int_equal(there[SHM_REMOTE_FIRST], 0xee);
	publish(there, LEN, SHM_MAY_WRITE, 11);
	post(p, false, 0, LEN, 0);
	atomic_store(&p->memory->visits[1].open, 0);
	pair_progress(p);
	/* The target decides. */
	(void)peer_expect(p, SHM_REC_WRITE);
	assert_int_equal(there[SHM_REMOTE_FIRST], 0xee);
	close_table();
}

/* A table that is another process's, of another endpoint, or none. */
static void not_the_table(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		open_table(p);
		if (i == 0)
			p->conn->process.instance++;
		if (i == 1)
			p->conn->access.table_fd = 0;
		if (i == 2)
			p->conn->access.table_fd = -5;
		if (i == 3)
			atomic_store(&p->memory->visits[1].open, 0);
		assert_true(is_requested(p));
		close_table();
		pair_again(p);
	}
}

/* Numbers that make no sense: the target is asked, and nothing is accessed. */
static void garbage(void **state)
{
	struct pair *p = *state;
	struct shm_described *region = &entry()->region;

	open_table(p);
	region = &entry()->region;
	for (int i = 0; i < 7; i++) {
		publish(there, LEN, SHM_MAY_READ | SHM_MAY_WRITE, 20 + (uint64_t)i);
		if (i == 0)
			region->count = SHM_IOV_LIMIT + 1;
		if (i == 1)
			region->piece[0].len = LEN - 1;
		if (i == 2)
			region->piece[0].len = LEN + 1;
		if (i == 3)
			region->piece[0].base = UINT64_MAX - 100;
		if (i == 4)
			region->base = UINT64_MAX - 100;
		if (i == 5)
			region->count = 0;
		/* Memory that is not there. */
		if (i == 6)
			region->piece[0].base = 4096;
		assert_true(is_requested(p));
		assert_int_equal(there[0], 0xee);
		pair_again(p);
		p->conn->process.instance = 99;
		p->conn->access.table_fd = table_fd;
		p->conn->process.cma = true;
		atomic_store(&p->memory->visits[1].open, 1);
	}
	/* Every word of the table. */
	for (size_t i = 0; i < SHM_TABLE_SIZE; i++) {
		fill((uint8_t *)&table->entry[i], sizeof(table->entry[i]),
			(unsigned int)i);
		table->entry[i].region.key = THEIRS;
	}
	post(p, false, 0, 4096, 0);
	(void)peer_skip(p);
	assert_int_equal(there[0], 0xee);
	close_table();
}

/* Behind a message that the peer has not taken, and an operation that it has not
 * answered. */
static void in_order(void **state)
{
	struct pair *p = *state;
	uint64_t word = 1;

	open_table(p);
	segs = 2;
	assert_performed(p);
	assert_int_equal(fi_inject(p->ep, "1", 1, p->addr), 0);
	post(p, false, 0, 4096, 0);
	memset(there, 0xee, 4096);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(there[0], 0xee);
	(void)peer_expect(p, SHM_REC_MSG);
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	assert_memory_equal(there, buffer, 4096);
	/* An atomic operation is a request. */
	assert_int_equal(fi_inject_atomic(p->ep, &word, 1, p->addr, 0, THEIRS,
				 FI_UINT64, FI_SUM),
		0);
	post(p, false, 0, 4096, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	(void)peer_expect(p, SHM_REC_ATOMIC);
	peer_tell(p);
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	close_table();
}

/* What the target wants to be told of, and what it acknowledges. */
static void told(void **state)
{
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id;

	open_table(p);
	segs = 2;
	post(p, false, 0, 4096, FI_REMOTE_CQ_DATA);
	rec = peer_expect(p, SHM_REC_DONE);
	assert_int_equal(rec.flags, SHM_FLAG_DATA);
	assert_int_equal(rec.data, 5);
	assert_int_equal(rec.word, shm_access_word(2, 0, SHM_DONE_WRITE));
	assert_memory_equal(there, buffer, 4096);
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	publish(there, LEN, SHM_MAY_READ | SHM_MAY_WRITE | SHM_TELL_READ, 30);
	post(p, true, 0, 4096, 0);
	rec = peer_expect(p, SHM_REC_DONE);
	assert_int_equal(rec.word, shm_access_word(2, 0, SHM_DONE_READ));
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	assert_performed(p);
	publish(there, LEN, SHM_MAY_WRITE | SHM_TELL_WRITE, 31);
	post(p, false, 0, 4096, FI_DELIVERY_COMPLETE);
	rec = peer_expect(p, SHM_REC_DONE);
	memcpy(&id, rec.blob, sizeof(id));
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	peer_record(p, SHM_REC_ACK, 0, 0, &id, sizeof(id));
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	close_table();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(performed),
		PAIR_TEST(refused),
		PAIR_TEST(behind_another),
		PAIR_TEST(shared_window),
		PAIR_TEST(flags_of_the_table),
		PAIR_TEST(not_with_the_setting),
		PAIR_TEST(closed_meanwhile),
		PAIR_TEST(not_the_table),
		PAIR_TEST(garbage),
		PAIR_TEST(in_order),
		PAIR_TEST(told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"
#include "../../sanitizer.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

/* Sanitizers do not survive a million of anything in good time. */
enum { MANY = SANITIZED ? 100000 : 1000000 };

static struct sockaddr_in nth(uint32_t i)
{
	return in_addr_of(0x0a000000 + i / 7, (uint16_t)(1000 + i % 7));
}

static void assert_is(struct wf_av *av, fi_addr_t addr, uint32_t i)
{
	struct sockaddr_in want = nth(i);
	const void *got = wf_av_addr(av, addr);

	assert_non_null(got);
	assert_memory_equal(got, &want, sizeof(want));
	assert_true(wf_av_index(av, &want, sizeof(want)) == addr);
}

/* A million addresses: each where it should be, in tens of bytes; the lowest free
 * index is reused among them. */
static void million(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av *own = wf_av_of(av);
	struct sockaddr_in *sa = malloc(MANY * sizeof(*sa));
	fi_addr_t *addr = malloc(MANY * sizeof(*addr));
	struct sockaddr_in other;
	struct mallinfo2 before, after;
	size_t bytes;

	assert_true(sa && addr);
	for (uint32_t i = 0; i < MANY; i++)
		sa[i] = nth(i);
	before = mallinfo2();
	assert_int_equal(fi_av_insert(av, sa, MANY, addr, 0, NULL), MANY);
	after = mallinfo2();
	bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
	print_message("# %zu bytes for each of %d addresses\n", bytes / MANY, MANY);
	assert_true(bytes < (size_t)MANY * 64);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(addr[i] == i);
		assert_is(own, i, i);
	}
	other = nth(MANY);
	assert_true(wf_av_index(own, &other, 16) == FI_ADDR_NOTAVAIL);

	/* Every third goes; new ones fill the holes from below. */
	for (uint32_t i = 0; i < MANY / 3; i++)
		addr[i] = 3 * i;
	assert_int_equal(fi_av_remove(av, addr, MANY / 3, 0), 0);
	for (uint32_t i = 0; i < MANY / 3; i++) {
		assert_null(wf_av_addr(own, 3 * i));
		assert_true(wf_av_index(own, &sa[3 * i], 16) == FI_ADDR_NOTAVAIL);
	}
	for (uint32_t i = 0; i < MANY / 3; i++)
		sa[i] = nth(MANY + i);
	assert_int_equal(fi_av_insert(av, sa, MANY / 3, addr, 0, NULL), MANY / 3);
	for (uint32_t i = 0; i < MANY / 3; i++)
		assert_is(own, 3 * i, MANY + i);
	assert_int_equal(fi_close(&av->fid), 0);
	free(addr);
	free(sa);
}

/* However many addresses there are, one more takes a bounded number of steps; and the
 * chains are soon as many as the slots. */
static void one_by_one(void **state)
{
	enum { ALL = SANITIZED ? 13000 : 100000, MOST = 64 };
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av_table *table = &wf_av_of(av)->table;
	uint64_t before, most = 0;
	fi_addr_t addr;

	for (uint32_t i = 0; i < ALL; i++) {
		struct sockaddr_in sa = nth(i);

		before = table->moved;
		assert_int_equal(fi_av_insert(av, &sa, 1, &addr, 0, NULL), 1);
		most = WF_MAX(most, table->moved - before);
	}
	print_message("# at most %u addresses moved at a time\n", (unsigned int)most);
	assert_in_range(most, 1, MOST);
	/* More than half of the slots that came last are used. */
	assert_int_equal(table->state->chains, wf_av_table_capacity(table));
	for (uint32_t i = 0; i < ALL; i++)
		assert_is(wf_av_of(av), i, i);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* What is expected to come has its room from the start. */
static void expected(void **state)
{
	struct fid_av *av =
		av_fixture_open(*state, (struct fi_av_attr){ .count = 5000 });

	assert_int_equal(wf_av_table_capacity(&wf_av_of(av)->table), 8192);
	assert_int_equal(fi_close(&av->fid), 0);
	av = av_fixture_open(*state, (struct fi_av_attr){ .count = SIZE_MAX });
	assert_int_equal(fi_close(&av->fid), 0);
}

/*
 * Threads. One part of the addresses is inserted first and stays: readers look for it
 * all the time, by index and by address, and always find it, while writers insert and
 * remove others and make the table grow.
 */
enum { FIXED = 50, EACH = 3000, ROUNDS = 3, WRITERS = 2, READERS = 2 };

struct crowd {
	struct wf_av *av;
	atomic_bool stop;
	atomic_uint next_writer;
};

static void *writer(void *arg)
{
	struct crowd *c = arg;
	uint32_t first = 100000 * (1 + atomic_fetch_add(&c->next_writer, 1));
	fi_addr_t addr[EACH];
	struct sockaddr_in sa;

	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < EACH; i++) {
			sa = nth(first + i);
			if (fi_av_insert(&c->av->fid, &sa, 1, &addr[i], 0, NULL) != 1)
				abort();
			if (wf_av_index(c->av, &sa, sizeof(sa)) != addr[i])
				abort();
			if (fi_av_set_user_id(&c->av->fid, addr[i], i, 0))
				abort();
		}
		if (fi_av_remove(&c->av->fid, addr, EACH, 0))
			abort();
	}
	return NULL;
}

static void *reader(void *arg)
{
	struct crowd *c = arg;
	size_t seen = 0;

	while (!atomic_load(&c->stop)) {
		for (uint32_t i = 0; i < FIXED; i++) {
			struct sockaddr_in sa = nth(i);
			const void *got = wf_av_addr(c->av, i);

			if (!got || memcmp(got, &sa, sizeof(sa)))
				abort();
			if (wf_av_index(c->av, &sa, sizeof(sa)) != i)
				abort();
			if (source_of(c->av, &sa, sizeof(sa)) != i)
				abort();
		}
		/* An address that is inserted and removed; either result is right. */
		seen += wf_av_addr(c->av, FIXED + 17) != NULL;
	}
	return (void *)(uintptr_t)!seen;
}

static void threads(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct crowd crowd = { .av = wf_av_of(av) };
	pthread_t thread[WRITERS + READERS];

	for (uint32_t i = 0; i < FIXED; i++) {
		struct sockaddr_in sa = nth(i);

		assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	}
	for (int i = 0; i < READERS; i++)
		assert_int_equal(
			pthread_create(&thread[WRITERS + i], NULL, reader, &crowd), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, &crowd), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	atomic_store(&crowd.stop, true);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(thread[WRITERS + i], NULL), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-048: a thread that looks up an address finds it with its id, or not at all. */
enum { FIRST_ID = 1000000, LOOKED_AT = 3000 };

static void *looker(void *arg)
{
	struct crowd *c = arg;
	fi_addr_t got;

	while (!atomic_load(&c->stop)) {
		/* Whatever the writer is doing. */
		uint32_t i = atomic_load(&c->next_writer);
		struct sockaddr_in sa = nth(i);

		got = source_of(c->av, &sa, sizeof(sa));
		if (got != FI_ADDR_NOTAVAIL && got != FIRST_ID + i)
			return c;
	}
	return NULL;
}

static void ids_from_the_start(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct crowd crowd = { .av = wf_av_of(av) };
	pthread_t thread[READERS];
	void *wrong;

	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, looker, &crowd), 0);
	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		struct sockaddr_in sa = nth(i);
		fi_addr_t addr = FIRST_ID + i;

		atomic_store(&crowd.next_writer, i);
		assert_int_equal(
			fi_av_insert(av, &sa, 1, &addr, FI_AV_USER_ID, NULL), 1);
		assert_int_equal(addr, i);
	}
	atomic_store(&crowd.stop, true);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(thread[i], &wrong), 0);
		assert_null(wrong);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(million),
		AV_TEST(one_by_one),
		AV_TEST(expected),
		AV_TEST(threads),
		AV_TEST(ids_from_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

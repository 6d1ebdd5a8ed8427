/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The owner's side of published regions: what is in the table, and how the end of a
 * region and of a connection waits for the peer's accesses.
 */
#include "conn_fixture.h"

#include <pthread.h>

enum { LEN = 4096, OTHER = 77 };

static uint8_t mem[LEN];

/* The entry with @key in the endpoint's table; NULL: none is valid. */
static const struct shm_entry *entry_of(struct pair *p, uint64_t key)
{
	const struct shm_table *table = p->shm->regions.table;

	for (unsigned int i = 0; i < SHM_TABLE_SIZE; i++)
		if (atomic_load(&table->entry[i].serial) >= SHM_SERIAL_FIRST &&
			table->entry[i].region.key == key)
			return &table->entry[i];
	return NULL;
}

static struct fid_mr *reg(struct pair *p, uint64_t access, uint64_t key)
{
	struct fid_mr *mr;

	assert_int_equal(
		fi_mr_reg(p->domain, mem, LEN, access, 0, key, 0, &mr, NULL), 0);
	return mr;
}

/* Regions that were registered before the endpoint was enabled, and later ones. */
static void described(void **state)
{
	struct pair *p = *state;
	const struct shm_entry *entry = entry_of(p, KEY);
	struct iovec pieces[] = { { mem, 8 }, { mem + 16, 24 } };
	struct fid_mr *mr;
	uint64_t serial;

	assert_int_equal(p->shm->regions.table->instance, p->shm->peers->instance);
	assert_non_null(entry);
	assert_int_equal(entry->region.base, 0);
	assert_int_equal(entry->region.len, REGION);
	assert_int_equal(entry->region.flags, SHM_MAY_READ | SHM_MAY_WRITE);
	assert_int_equal(entry->region.count, 1);
	assert_int_equal(entry->region.piece[0].base, (uintptr_t)p->region);
	assert_int_equal(entry->region.piece[0].len, REGION);

	mr = reg(p, FI_REMOTE_READ | FI_SEND, OTHER);
	entry = entry_of(p, OTHER);
	assert_int_equal(entry->region.flags, SHM_MAY_READ);
	serial = atomic_load(&entry->serial);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_null(entry_of(p, OTHER));
	/* Another region with the key is another one for peers. */
	assert_int_equal(fi_mr_regv(p->domain, pieces, 2, FI_REMOTE_WRITE, 0, OTHER, 0,
				 &mr, NULL),
		0);
	entry = entry_of(p, OTHER);
	assert_true(atomic_load(&entry->serial) > serial);
	assert_int_equal(entry->region.len, 32);
	assert_int_equal(entry->region.count, 2);
	assert_int_equal(entry->region.piece[1].base, (uintptr_t)(mem + 16));
	assert_int_equal(fi_close(&mr->fid), 0);
	/* No remote access, no entry. */
	mr = reg(p, FI_SEND, OTHER);
	assert_null(entry_of(p, OTHER));
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* A region whose memory is mapped anew is a new one. */
static void refreshed(void **state)
{
	struct pair *p = *state;
	uint64_t serial = atomic_load(&entry_of(p, KEY)->serial);
	struct iovec iov = { p->region, REGION };

	assert_int_equal(fi_mr_refresh(p->mr, &iov, 1, 0), 0);
	assert_true(atomic_load(&entry_of(p, KEY)->serial) > serial);
	assert_int_equal(entry_of(p, KEY)->region.len, REGION);
}

/* Keys whose places in the table are all taken. */
static void left_out(void **state)
{
	enum { MANY = SHM_TABLE_PROBES + 3 };
	struct pair *p = *state;
	const struct shm_table *table = p->shm->regions.table;
	struct fid_mr *mr[MANY];
	uint64_t key[MANY];
	unsigned int count = 0, found = 0;

	for (uint64_t k = 1; count < MANY; k++)
		if (shm_table_first(k) == 5 && k != KEY)
			key[count++] = k;
	for (unsigned int i = 0; i < MANY; i++) {
		mr[i] = reg(p, FI_REMOTE_READ, key[i]);
		found += entry_of(p, key[i]) != NULL;
	}
	assert_in_range(found, 1, SHM_TABLE_PROBES);
	assert_int_equal(atomic_load(&table->left_out), MANY - found);
	for (unsigned int i = MANY; i-- > 0;)
		assert_int_equal(fi_close(&mr[i]->fid), 0);
	assert_int_equal(atomic_load(&table->left_out), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_null(entry_of(p, key[i]));
}

struct visitor {
	struct shm_visits *words;
	const _Atomic uint64_t *serial;
	const _Atomic uint32_t *open;
	atomic_bool left;
};

static void *visit_until_closed(void *arg)
{
	struct visitor *v = arg;

	while (v->serial ? atomic_load(v->serial) : atomic_load(v->open))
		(void)sched_yield();
	atomic_store(&v->left, true);
	atomic_store(&v->words->busy, 0);
	return NULL;
}

/* fi_close of a region waits for an access to it that has begun, but not for one to
 * another region, and not for a dead peer. */
static void close_waits(void **state)
{
	struct pair *p = *state;
	struct visitor v = { .words = &p->memory->visits[0] };
	const struct shm_entry *entry;
	pthread_t thread;
	struct fid_mr *mr;
	uint32_t at;

	shm_regions_enter(p->conn);
	assert_int_equal(atomic_load(&v.words->open), 1);
	atomic_store(&v.words->used, 1);
	for (int i = 0; i < 3; i++) {
		mr = reg(p, FI_REMOTE_WRITE, OTHER);
		entry = entry_of(p, OTHER);
		at = (uint32_t)(entry - p->shm->regions.table->entry);
		atomic_store(&v.words->busy, i == 1 ? at + 2 : at + 1);
		v.serial = &entry->serial;
		if (i == 0)
			assert_int_equal(
				pthread_create(&thread, NULL, visit_until_closed, &v),
				0);
		else if (i == 2)
			close(p->fd);
		assert_int_equal(fi_close(&mr->fid), 0);
		assert_true(atomic_load(&v.left));
		if (i == 0)
			pthread_join(thread, NULL);
	}
	atomic_store(&v.words->busy, 0);
	p->fd = -1;
}

/* So does the end of the connection, for all regions. */
static void end_waits(void **state)
{
	struct pair *p = *state;
	struct visitor v = { .words = &p->memory->visits[0],
		.open = &p->memory->visits[0].open };
	pthread_t thread;

	shm_regions_enter(p->conn);
	atomic_store(&v.words->used, 1);
	atomic_store(&v.words->busy, 7);
	assert_int_equal(pthread_create(&thread, NULL, visit_until_closed, &v), 0);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_true(atomic_load(&v.left));
	pthread_join(thread, NULL);
}

/* ---- records of operations that the peer has performed ---- */

static void done(struct pair *p, uint64_t id, uint64_t addr, uint64_t len, uint64_t key,
	uint8_t flags, unsigned int what)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
	} blob = { id, { addr, len, key } };

	peer_record(p, SHM_REC_DONE, flags, shm_access_word(1, 0, what), &blob,
		sizeof(blob));
	pair_progress(p);
}

/* They write remote CQ data, and are acknowledged if they have an id; unless range or
 * access are wrong. One of a region that was closed meanwhile counts. */
static void told(void **state)
{
	struct pair *p = *state;
	struct shm_record rec;

	done(p, SHM_ID_NONE, 8, 64, KEY, SHM_FLAG_DATA, SHM_DONE_WRITE);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->ended[0].len, 64);
	assert_true(p->ended[0].flags & FI_REMOTE_CQ_DATA);
	assert_true(p->ended[0].flags & FI_REMOTE_WRITE);
	assert_false(peer_has_record(p));
	done(p, 9, 8, 64, OTHER, SHM_FLAG_DATA, SHM_DONE_WRITE);
	assert_int_equal(p->ended_count, 2);
	peer_expect_ack(p, 9);
	done(p, 10, REGION - 8, 64, KEY, SHM_FLAG_DATA, SHM_DONE_WRITE);
	assert_int_equal(p->ended_count, 2);
	rec = peer_expect(p, SHM_REC_ERROR);
	assert_int_equal(rec.word, 10);
	done(p, SHM_ID_NONE, 0, 64, KEY, 0, SHM_DONE_READ);
	assert_int_equal(p->ended_count, 2);
	assert_false(peer_has_record(p));
	done(p, SHM_ID_NONE, 0, 64, KEY, 0, SHM_DONE_READ + 1);
	assert_refused(p);
}

/* Requests that their writer has withdrawn: they have no effect, which is told. */
static void withdrawn(void **state)
{
	struct pair *p = *state;
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
		uint64_t value;
	} blob = { SHM_ID_NONE, { 0, 8, KEY }, 4711 };
	struct shm_record rec;
	uint32_t number = p->out.next, code;

	memset(p->region, 0, 8);
	peer_record(p, SHM_REC_GONE, 0, shm_access_word(1, 0, 0), &blob, sizeof(blob));
	pair_progress(p);
	assert_int_equal(atomic_load(&p->memory->lane[1].refused[number % SHM_SLOTS]),
		SHM_WITHDRAWN);
	assert_int_equal(atomic_load(&p->memory->lane[1].reader.slots), number);
	blob.id = 12;
	peer_record(p, SHM_REC_GONE, 0, shm_access_word(1, 0, 0), &blob, sizeof(blob));
	pair_progress(p);
	rec = peer_expect(p, SHM_REC_ERROR);
	assert_int_equal(rec.word, 12);
	memcpy(&code, rec.blob, sizeof(code));
	assert_int_equal(code, SHM_WITHDRAWN);
	assert_int_equal(p->region[0], 0);
	peer_record(p, SHM_REC_GONE, 0, 0, "1234567", 7);
	assert_refused(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(described),
		PAIR_TEST(refreshed),
		PAIR_TEST(left_out),
		PAIR_TEST(close_waits),
		PAIR_TEST(end_waits),
		PAIR_TEST(told),
		PAIR_TEST(withdrawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

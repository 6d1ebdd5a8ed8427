/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct access to mapped regions: what an endpoint grants, and takes back; what it
 * maps of a peer that lies, and which of its operations go directly.
 */
#include "grant_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "sys/mapping.h"

enum { LEN = 3 * 4096, AT = 4096, PART = 4096 };

struct file {
	int fd;
	uint8_t *mem;
};

static struct file file_new(int seals)
{
	struct file f;

	f.fd = memfd_create("direct_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(f.fd >= 0);
	assert_int_equal(ftruncate(f.fd, LEN), 0);
	assert_int_equal(fcntl(f.fd, F_ADD_SEALS, seals), 0);
	f.mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	assert_ptr_not_equal(f.mem, MAP_FAILED);
	return f;
}

static void file_close(struct file *f)
{
	munmap(f->mem, LEN);
	close(f->fd);
}

/* ---- the endpoint is the target ---- */

static void grant_ask(
	struct pair *p, uint64_t key, struct shm_grant_packet *ret, int *fd)
{
	const uint64_t addr = 0;

	peer_record(p, SHM_REC_ASK, 0, key, &addr, sizeof(addr));
	pair_progress(p);
	assert_int_equal(shm_socket_recv(p->fd, ret, sizeof(*ret), fd), sizeof(*ret));
	assert_int_equal(ret->magic, SHM_GRANT_MAGIC);
	assert_int_equal(ret->key, key);
}

static struct fid_mr *reg(struct pair *p, void *mem, size_t len, uint64_t access)
{
	struct fid_mr *mr;

	assert_int_equal(
		fi_mr_reg(p->domain, mem, len, access, 0, ASKED_KEY, 0, &mr, NULL), 0);
	return mr;
}

static void assert_not_granted(struct pair *p, uint64_t key)
{
	struct shm_grant_packet packet;
	int fd;

	grant_ask(p, key, &packet, &fd);
	assert_int_equal(packet.how, SHM_GRANT_REFUSED);
	assert_int_equal(fd, -1);
}

static void granted_and_revoked(void **state)
{
	struct file f = file_new(F_SEAL_SHRINK);
	struct pair *p = *state;
	struct shm_grant_packet packet;
	struct fid_mr *mr = reg(p, f.mem + AT + 8, PART, FI_REMOTE_WRITE);
	_Atomic uint64_t *word;
	uint8_t *seen;
	int fd;

	grant_ask(p, ASKED_KEY, &packet, &fd);
	assert_int_equal(packet.how, SHM_GRANT_FILE);
	assert_int_equal(packet.offset, AT + 8);
	assert_int_equal(packet.len, PART);
	assert_int_equal(packet.access, FI_REMOTE_WRITE);
	seen = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(seen, MAP_FAILED);
	seen[packet.offset] = 0x5a;
	assert_int_equal(f.mem[AT + 8], 0x5a);
	word = &p->memory->grants[0].serial[packet.index];
	assert_true(packet.serial);
	assert_int_equal(atomic_load(word), packet.serial);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(atomic_load(word), 0);
	munmap(seen, LEN);
	close(fd);
	assert_not_granted(p, ASKED_KEY);
	file_close(&f);
}

/* No region at all; and, where the kernel is not to copy, memory that is not shared or
 * that may shrink. */
static void not_granted(void **state)
{
	struct file f = file_new(F_SEAL_GROW);
	struct pair *p = *state;
	struct fid_mr *mr = reg(p, f.mem, LEN, FI_REMOTE_WRITE);

	assert_not_granted(p, ASKED_KEY + 1);
	shm_params.disable_cma = 1;
	assert_not_granted(p, KEY);
	assert_not_granted(p, ASKED_KEY);
	shm_params.disable_cma = 0;
	assert_int_equal(fi_close(&mr->fid), 0);
	file_close(&f);
}

/* Such memory is granted for copies of the kernel, until the region is closed; but not
 * a region in several pieces. */
static void granted_for_copies(void **state)
{
	static uint8_t mem[LEN];
	struct iovec pieces[] = { { mem, 8 }, { mem + 16, 8 } };
	struct pair *p = *state;
	struct shm_grant_packet packet;
	_Atomic uint64_t *word;
	struct fid_mr *mr = reg(p, mem + 8, PART, FI_REMOTE_READ);
	int fd;

	grant_ask(p, ASKED_KEY, &packet, &fd);
	assert_int_equal(packet.how, SHM_GRANT_COPY);
	assert_int_equal(fd, -1);
	assert_int_equal(packet.offset, (uintptr_t)mem + 8);
	assert_int_equal(packet.len, PART);
	assert_int_equal(packet.access, FI_REMOTE_READ);
	word = &p->memory->grants[0].serial[packet.index];
	assert_int_equal(atomic_load(word), packet.serial);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(atomic_load(word), 0);
	assert_int_equal(fi_mr_regv(p->domain, pieces, 2, FI_REMOTE_READ, 0, ASKED_KEY,
				 0, &mr, NULL),
		0);
	assert_not_granted(p, ASKED_KEY);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void ask_that_is_none(void **state)
{
	struct pair *p = *state;

	peer_record(p, SHM_REC_ASK, 0, KEY, "1234567", 7);
	assert_refused(p);
}

struct accessor {
	struct shm_grants *words;
	unsigned int index;
	atomic_bool left;
};

static void *access_until_revoked(void *arg)
{
	struct accessor *a = arg;

	while (atomic_load(&a->words->serial[a->index]))
		(void)sched_yield();
	atomic_store(&a->left, true);
	atomic_store(&a->words->busy, 0);
	return NULL;
}

/* fi_close of a region waits for an access that has begun, but not for a dead peer. */
static void close_waits_for_access(void **state)
{
	struct file f = file_new(F_SEAL_SHRINK);
	struct pair *p = *state;
	struct accessor a = { .words = &p->memory->grants[0] };
	struct shm_grant_packet packet;
	struct fid_mr *mr;
	pthread_t thread;
	int fd;

	for (int i = 0; i < 2; i++) {
		mr = reg(p, f.mem, LEN, FI_REMOTE_WRITE);
		grant_ask(p, ASKED_KEY, &packet, &fd);
		close(fd);
		atomic_store(&a.words->busy, packet.index + 1u);
		a.index = packet.index;
		if (!i)
			assert_int_equal(
				pthread_create(&thread, NULL, access_until_revoked, &a),
				0);
		else
			close(p->fd);
		assert_int_equal(fi_close(&mr->fid), 0);
		assert_true(atomic_load(&a.left));
		if (!i)
			pthread_join(thread, NULL);
	}
	p->fd = -1;
	file_close(&f);
}

/* ---- the endpoint is the initiator ---- */

static struct shm_grant_packet good(void)
{
	return (struct shm_grant_packet){ .magic = SHM_GRANT_MAGIC,
		.how = SHM_GRANT_FILE,
		.index = 3,
		.serial = 9,
		.key = ASKED_KEY,
		.len = PART,
		.offset = AT + 16,
		.access = FI_REMOTE_READ | FI_REMOTE_WRITE };
}

static void direct(void **state)
{
	struct file f = file_new(F_SEAL_SHRINK);
	struct shm_grant_packet packet = good();
	struct pair *p = *state;
	uint64_t *there = (uint64_t *)(void *)(f.mem + AT + 16), one = 1, found;
	static const uint64_t ops[2] = { FI_WRITE, FI_READ };

	be_asked(p);
	answer_with(p, &packet, f.fd);
	assert_false(write_is_record(p, 0));
	assert_int_equal(*there, value);
	assert_false(write_is_record(p, PART - 8));
	assert_int_equal(there[PART / 8 - 1], value);
	assert_int_equal(there[PART / 8], 0);
	assert_int_equal(atomic_load(&p->memory->grants[1].busy), 0);
	/* Outside, and with a part of the target in it. */
	assert_true(write_is_record(p, PART - 7));
	assert_true(write_is_record(p, PART));
	assert_true(write_is_record(p, UINT64_MAX - 3));
	assert_int_equal(
		fi_inject_writedata(p->ep, &one, 8, 5, p->addr, 0, ASKED_KEY), 0);
	assert_true(peer_has_record(p));
	/* Not before the peer has read what was sent before. */
	(void)peer_expect(p, SHM_REC_WRITE);
	assert_int_equal(fi_inject_write(p->ep, &one, 8, p->addr, 0, ASKED_KEY), 0);
	assert_true(peer_has_record(p));
	(void)peer_skip(p);
	assert_false(write_is_record(p, 0));

	*there = 41;
	assert_int_equal(fi_fetch_atomic(p->ep, &one, 1, NULL, &found, NULL, p->addr, 0,
				 ASKED_KEY, FI_UINT64, FI_SUM, NULL),
		0);
	assert_int_equal(found, 41);
	assert_int_equal(*there, 42);
	assert_int_equal(
		fi_read(p->ep, &found, 8, NULL, p->addr, 0, ASKED_KEY, NULL), 0);
	assert_int_equal(found, 42);
	assert_false(peer_has_record(p));
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_true(p->ended[1].flags & ops[1]);
	/* An element that no instruction updates. */
	assert_int_equal(fi_inject_atomic(p->ep, &one, 1, p->addr, 4, ASKED_KEY,
				 FI_UINT64, FI_SUM),
		0);
	assert_true(peer_has_record(p));
	(void)peer_skip(p);
	assert_false(write_is_record(p, 0));

	/* Revoked. */
	*there = 7;
	atomic_store(&p->memory->grants[1].serial[3], 10);
	assert_true(write_is_record(p, 0));
	assert_int_equal(*there, 7);
	assert_int_equal(atomic_load(&p->memory->grants[1].busy), 0);
	file_close(&f);
}

/* Only what was granted, and no descriptor that can do less. */
static void read_only(void **state)
{
	struct file f = file_new(F_SEAL_SHRINK);
	struct shm_grant_packet packet = good();
	struct pair *p = *state;
	uint64_t found = 0;

	packet.access = FI_REMOTE_READ;
	be_asked(p);
	answer_with(p, &packet, f.fd);
	assert_true(write_is_record(p, 0));
	f.mem[AT + 16] = 0x77;
	assert_int_equal(
		fi_read(p->ep, &found, 8, NULL, p->addr, 0, ASKED_KEY, NULL), 0);
	assert_false(peer_has_record(p));
	assert_int_equal(found, 0x77);
	file_close(&f);
}

/* Packets of a peer that would be dangerous to believe. */
static void lies(void **state)
{
	struct file f = file_new(F_SEAL_SHRINK), loose = file_new(F_SEAL_GROW);
	struct shm_grant_packet row[12];
	struct pair *p = *state;
	int fd;

	for (size_t i = 0; i < WF_ARRAY_SIZE(row); i++)
		row[i] = good();
	row[0].magic++;
	row[1].index = SHM_GRANTS;
	row[2].serial = 0;
	row[3].len = 0;
	row[4].access |= FI_SEND;
	row[5].access = 0;
	row[6].offset = LEN - PART + 1;
	row[7].offset = UINT64_MAX - PART + 2;
	row[8].base = UINT64_MAX - 7;
	row[9].key++;
	row[10].how = SHM_GRANT_SYSV; /* of no namespace */
	row[11].how = SHM_GRANT_REFUSED;
	for (size_t i = 0; i < WF_ARRAY_SIZE(row) + 2; i++) {
		pair_again(p);
		be_asked(p);
		fd = i == WF_ARRAY_SIZE(row) ? -1 : f.fd;
		if (i > WF_ARRAY_SIZE(row))
			fd = loose.fd;
		row[0].magic = i ? SHM_GRANT_MAGIC : SHM_GRANT_MAGIC + 1;
		answer_with(p, &row[i < WF_ARRAY_SIZE(row) ? i : 0], fd);
		assert_true(write_is_record(p, row[8].base * (i == 8)));
		assert_int_equal(f.mem[AT + 16], 0);
	}
	file_close(&f);
	file_close(&loose);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(granted_and_revoked),
		PAIR_TEST(not_granted),
		PAIR_TEST(granted_for_copies),
		PAIR_TEST(ask_that_is_none),
		PAIR_TEST(close_waits_for_access),
		PAIR_TEST(direct),
		PAIR_TEST(read_only),
		PAIR_TEST(lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct access to mapped regions: what an endpoint grants, and takes back; what it
 * maps of a peer that lies, and which of its operations go directly.
 */
#include "conn_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "providers/shm/data/grant.h"
#include "sys/mapping.h"

enum { LEN = 3 * 4096, AT = 4096, PART = 4096, ASKS = 16, ASKED_KEY = 77 };

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

static uint64_t value;

/* A write of @addr; does it go by a record? */
static bool write_is_record(struct pair *p, uint64_t addr)
{
	bool record;

	value++;
	assert_int_equal(
		fi_inject_write(p->ep, &value, sizeof(value), p->addr, addr, ASKED_KEY),
		0);
	record = peer_has_record(p);
	(void)peer_skip(p);
	return record;
}

/* The endpoint asks for the region after enough operations. */
static void be_asked(struct pair *p)
{
	uint8_t kind = 0;

	for (int i = 0; i < ASKS; i++) {
		value++;
		assert_int_equal(fi_inject_write(p->ep, &value, sizeof(value), p->addr,
					 0, ASKED_KEY),
			0);
	}
	while (peer_has_record(p)) {
		kind = shm_head_kind(shm_reader_head(&p->in));
		(void)peer_expect(p, kind);
	}
	assert_int_equal(kind, SHM_REC_ASK);
	peer_tell(p);
}

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

static void answer_with(struct pair *p, const struct shm_grant_packet *packet, int fd)
{
	atomic_store(&p->memory->grants[1].serial[3], 9);
	assert_int_equal(shm_socket_send(p->fd, packet, sizeof(*packet), fd), 0);
	p->shm->poll_left = 1;
	p->shm->chores = true;
	p->shm->poll_coarse_ns = 0;
	pair_progress(p);
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

/* ---- copies of the kernel ---- */

static uint8_t region[SHM_DIRECT_MAX + 4096], buffer[SHM_DIRECT_MAX + 4096];

/* The region begins behind the first 16 bytes of region[]. */
static struct shm_grant_packet good_copy(void)
{
	return (struct shm_grant_packet){ .magic = SHM_GRANT_MAGIC,
		.how = SHM_GRANT_COPY,
		.index = 3,
		.serial = 9,
		.key = ASKED_KEY,
		.len = sizeof(region) - 32,
		.offset = (uintptr_t)region + 16,
		.access = FI_REMOTE_READ | FI_REMOTE_WRITE };
}

static void be_granted(struct pair *p, const struct shm_grant_packet *packet)
{
	if (!pair_may_attach(p))
		skip();
	p->conn->cma = true;
	be_asked(p);
	answer_with(p, packet, -1);
	memset(region, 0xee, sizeof(region));
	for (size_t i = 0; i < sizeof(buffer); i++)
		buffer[i] = (uint8_t)(i * 7);
}

/* An access of the method that is forced, from or into two buffers, of which the second
 * one may be shorter than what is stored last; does it go by records? */
static bool access_is_record(
	struct pair *p, enum wf_op_kind kind, size_t len, uint64_t addr, int copy)
{
	size_t first = len % 2 ? 300 : len - 3;
	struct iovec iov[] = { { buffer, first }, { buffer + first, len - first } };
	struct fi_rma_iov seg = { addr, len, ASKED_KEY };
	struct fi_msg_rma msg = { .msg_iov = iov,
		.iov_count = 2,
		.addr = p->addr,
		.rma_iov = &seg,
		.rma_iov_count = 1,
		.context = buffer };
	bool record;

	shm_params.copy = copy;
	assert_int_equal(kind == WF_OP_WRITE ? fi_writemsg(p->ep, &msg, FI_COMPLETION)
					     : fi_readmsg(p->ep, &msg, FI_COMPLETION),
		0);
	shm_params.copy = SHM_COPY_AUTO;
	record = peer_has_record(p);
	if (!record) {
		pair_progress(p);
		assert_one_ended(p, buffer, 0);
	}
	return record;
}

/* The last call of process_vm_writev: how many bytes are before each of its buffers but
 * the first, and in how many parts the target's memory is. */
static struct {
	size_t before[SHM_IOV_LIMIT];
	unsigned long count, targets;
} written;

/* Takes the place of the function of the C library. */
ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long from_count,
	const struct iovec *to, unsigned long to_count, unsigned long flags)
{
	size_t bytes = 0;

	assert_in_range(from_count, 1, WF_ARRAY_SIZE(written.before) + 1);
	written.count = from_count - 1;
	written.targets = to_count;
	for (unsigned long i = 0; i < written.count; i++) {
		bytes += from[i].iov_len;
		written.before[i] = bytes;
	}
	return syscall(
		SYS_process_vm_writev, pid, from, from_count, to, to_count, flags);
}

/* The kernel copies one buffer of the initiator after the other, so it stores the last
 * 8 bytes last if a buffer begins with them. */
static void assert_end_is_last(size_t len)
{
	bool found = false;

	for (unsigned long i = 0; i < written.count; i++)
		found |= written.before[i] == len - 8;
	assert_true(found);
	assert_int_equal(written.targets, 1);
}

/* Of lengths in the limits, at both ends of the region. */
static void copied(void **state)
{
	static const size_t lens[] = { SHM_DIRECT_READ_MIN + 1,
		SHM_DIRECT_WRITE_MIN + 1, 10000, SHM_DIRECT_MAX };
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;
	uint8_t *mem;

	be_granted(p, &packet);
	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(lens); i++) {
		size_t len = lens[i / 2], at = i % 2 ? packet.len - len : 0;

		mem = region + 16 + at;
		if (len > SHM_DIRECT_WRITE_MIN) {
			assert_false(access_is_record(
				p, WF_OP_WRITE, len, at, SHM_COPY_READ));
			assert_end_is_last(len);
			assert_memory_equal(mem, buffer, len);
			assert_int_equal(mem[-1], 0xee);
			assert_int_equal(mem[len], 0xee);
		}
		memset(mem, 0x5a, len);
		assert_false(access_is_record(p, WF_OP_READ, len, at, SHM_COPY_READ));
		assert_memory_equal(buffer, mem, len);
		assert_int_equal(buffer[len], (uint8_t)(len * 7));
		memset(region, 0xee, sizeof(region));
		for (size_t j = 0; j < len; j++)
			buffer[j] = (uint8_t)(j * 7);
	}
	assert_int_equal(atomic_load(&p->memory->grants[1].busy), 0);
	assert_true(access_is_record(
		p, WF_OP_WRITE, SHM_DIRECT_WRITE_MIN, 0, SHM_COPY_READ));
}

/* What the kernel does not copy: by length, method, place and access. */
static void not_copied(void **state)
{
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;
	const struct {
		size_t len;
		uint64_t addr;
		enum wf_op_kind kind;
		int copy;
	} rows[] = {
		{ SHM_DIRECT_READ_MIN, 0, WF_OP_READ, SHM_COPY_READ },
		{ SHM_DIRECT_MAX + 1, 0, WF_OP_READ, SHM_COPY_READ },
		{ 4096, 0, WF_OP_READ, SHM_COPY_RING },
		{ 4096, 0, WF_OP_READ, SHM_COPY_BOTH },
		{ 4096, packet.len - 4095, WF_OP_READ, SHM_COPY_READ },
		{ 4096, UINT64_MAX - 100, WF_OP_READ, SHM_COPY_READ },
		{ 4096, 0, WF_OP_WRITE, SHM_COPY_READ },
	};

	packet.access = FI_REMOTE_READ;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		be_granted(p, &packet);
		assert_true(access_is_record(
			p, rows[i].kind, rows[i].len, rows[i].addr, rows[i].copy));
		assert_int_equal(region[16], 0xee);
		pair_again(p);
	}
}

/* A region that was closed, a process that is another one, or memory that is gone: the
 * target is asked. */
static void no_longer_copied(void **state)
{
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		be_granted(p, &packet);
		p->conn->proved_ns = 0;
		if (i == 0)
			atomic_store(&p->memory->grants[1].serial[3], 0);
		p->probe += i == 1;
		if (i == 2)
			shm_window_at(p->conn->windows, ASKED_KEY)->remote = 16;
		if (i == 3)
			p->conn->cma = false;
		assert_true(access_is_record(p, WF_OP_WRITE, 4096, 0, SHM_COPY_READ));
		assert_int_equal(region[16], 0xee);
		assert_int_equal(atomic_load(&p->memory->grants[1].busy), 0);
		pair_again(p);
	}
}

/* Behind an operation that the target has not executed, and with a fence, the lane
 * keeps the order. */
static void copied_in_order(void **state)
{
	struct shm_grant_packet packet = good_copy();
	struct iovec iov = { buffer, 4096 };
	struct fi_rma_iov seg = { 0, 4096, ASKED_KEY };
	struct fi_msg_rma fenced = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &seg, .rma_iov_count = 1
	};
	struct pair *p = *state;

	be_granted(p, &packet);
	assert_true(write_is_record(p, 0));
	/* The target has read it, but has not said so. */
	p->conn->drained = 0;
	atomic_store(&p->memory->lane[0].reader.slots, 0);
	assert_true(access_is_record(p, WF_OP_WRITE, 4096, 0, SHM_COPY_READ));
	assert_int_equal(region[16], 0xee);
	pair_again(p);
	be_granted(p, &packet);
	fenced.addr = p->addr;
	shm_params.copy = SHM_COPY_READ;
	assert_int_equal(fi_writemsg(p->ep, &fenced, FI_FENCE), 0);
	shm_params.copy = SHM_COPY_AUTO;
	assert_true(peer_has_record(p));
	assert_int_equal(region[16], 0xee);
}

/* The acknowledgement of the operation before has come, and was not read: the call that
 * posts the next one reads it, and no other record. */
static void acknowledged_before(void **state)
{
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;
	struct shm_record rec;
	uint64_t id;

	be_granted(p, &packet);
	for (int i = 0; i < 2; i++) {
		assert_true(access_is_record(p, WF_OP_WRITE, 4096, 0, SHM_COPY_RING));
		rec = peer_expect(p, SHM_REC_WRITE);
		memcpy(&id, rec.blob, sizeof(id));
		peer_tell(p);
		if (i)
			peer_record(p, SHM_REC_TAGGED, 0, 5, "1", 1);
		peer_record(p, SHM_REC_ACK, 0, 0, &id, sizeof(id));
		shm_params.copy = SHM_COPY_READ;
		assert_int_equal(fi_write(p->ep, buffer, 4096, NULL, p->addr, 0,
					 ASKED_KEY, buffer),
			0);
		shm_params.copy = SHM_COPY_AUTO;
		assert_int_equal(peer_has_record(p), i);
		pair_progress(p);
		assert_int_equal(p->ended_count, 2 - i);
		p->ended_count = 0;
	}
}

/* A read by the way that is chosen. */
static bool read_is_record(struct pair *p, size_t len)
{
	struct shm_record rec;
	uint64_t id;

	if (!access_is_record(p, WF_OP_READ, len, 0, SHM_COPY_AUTO))
		return false;
	rec = peer_expect(p, SHM_REC_READ);
	memcpy(&id, rec.blob, sizeof(id));
	peer_tell(p);
	peer_record(p, SHM_REC_DATA, 0, id, region + 16, len);
	pair_progress(p);
	assert_one_ended(p, buffer, 0);
	return true;
}

/* The time of both ways is measured: reads take both of them. */
static void copies_measured(void **state)
{
	enum { READS = 200 + WF_CHOICE_SKIPPED_MAX };
	static const size_t lens[] = { SHM_DIRECT_READ_MIN + 1, 4096 };
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;

	be_granted(p, &packet);
	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		unsigned int copies = 0;

		for (int j = 0; j < READS; j++)
			copies += !read_is_record(p, lens[i]);
		assert_in_range(copies, WF_CHOICE_TRIES, READS - 20);
	}
}

/* Reads that the queue has no space for are not under way: the trial of the second way
 * begins after as many as without them. */
static void full_queue(void **state)
{
	enum {
		REFUSED = WF_CHOICE_SPAN_MAX,
		/* Those before the first round, and the first trial. */
		FIRST = 16 + WF_CHOICE_SKIPPED_MAX + WF_CHOICE_SAMPLES,
	};
	struct shm_grant_packet packet = good_copy();
	struct pair *p = *state;
	int reads = 0;

	be_granted(p, &packet);
	p->shm->tx_pending += p->shm->tx_size;
	for (int i = 0; i < REFUSED; i++)
		assert_int_equal(
			fi_read(p->ep, buffer, 4096, NULL, p->addr, 0, ASKED_KEY, NULL),
			-FI_EAGAIN);
	p->shm->tx_pending -= p->shm->tx_size;
	while (read_is_record(p, 4096))
		reads++;
	assert_int_equal(reads, FIRST - REFUSED);
}

/* Answers of a peer that would be dangerous to believe, and one that is not allowed to
 * say so. */
static void lies_about_copies(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 4; i++) {
		struct shm_grant_packet packet = good_copy();

		packet.offset = i == 0 ? 0 : packet.offset;
		packet.offset = i == 1 ? UINT64_MAX - 100 : packet.offset;
		packet.how = i == 2 ? SHM_GRANT_COPY + 1 : SHM_GRANT_COPY;
		be_granted(p, &packet);
		if (i == 3) {
			pair_again(p);
			be_asked(p);
			answer_with(p, &packet, -1);
		}
		assert_true(access_is_record(p, WF_OP_READ, 4096, 0, SHM_COPY_READ));
		pair_again(p);
	}
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
		PAIR_TEST(copied),
		PAIR_TEST(not_copied),
		PAIR_TEST(no_longer_copied),
		PAIR_TEST(copied_in_order),
		PAIR_TEST(acknowledged_before),
		PAIR_TEST(copies_measured),
		PAIR_TEST(full_queue),
		PAIR_TEST(lies_about_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

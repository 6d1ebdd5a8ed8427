/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions of a peer whose memory the kernel copies for the initiator: which reads and
 * writes go so, in which order their bytes are stored, and when they no longer do.
 */
#include "grant_fixture.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

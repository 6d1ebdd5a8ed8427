/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes of the memory of a process that makes no calls meanwhile: it sleeps,
 * or is stopped. RMA-001 RMA-006 RMA-009
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "converse.h"

enum {
	LEN = 8 << 20,
	MAX = 4 << 20,
	PRIVATE = 77, /* keys */
	SHARED,
	READABLE,
	SLOTS = 4, /* segments */
};

/* The private memory of the target. */
static uint8_t memory[LEN];

/* ---- the target ---- */

struct target {
	uint16_t port, initiator;
	pid_t pid;
	struct signal_pipe ready, rest, resting, wake;
	bool hesitates;
	uint8_t *shared; /* of both processes */
	int fd;
};

static struct fid_mr *target_region(
	struct node *node, void *mem, uint64_t access, uint64_t key)
{
	struct fid_mr *mr;

	CHECK_OK(fi_mr_reg(node->domain, mem, LEN, access, 0, key, 0, &mr, NULL));
	return mr;
}

/* Serve now and then: requests are withdrawn while some of them are read. */
static void hesitate(struct node *node, struct target *target)
{
	struct timespec pause = { 0 };

	for (unsigned int i = 1; !pipe_told(&target->wake); i = i * 75 % 65537) {
		pause.tv_nsec = i % 64 * 2000;
		(void)fi_cq_read(node->cq, NULL, 0);
		(void)nanosleep(&pause, NULL);
	}
}

/* Serve until told to rest; then make no call until told to wake. */
static void target_run(void *arg)
{
	const uint64_t both = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct target *target = arg;
	struct fid_mr *mr[3];
	struct node node;

	fill(memory, LEN, 3);
	fill(target->shared, LEN, 3);
	CHECK_OK(node_try(&node, target->port, FI_RMA | FI_ATOMIC));
	/* A peer that is not known is reached by sockets. */
	(void)node_peer(&node, target->initiator);
	mr[0] = target_region(&node, memory, both, PRIVATE);
	mr[1] = target_region(&node, target->shared, both, SHARED);
	mr[2] = target_region(&node, memory, FI_REMOTE_READ, READABLE);
	pipe_tell(&target->ready);
	node_drive_until(&node, &target->rest);
	/* Both ends of tcp find that they share memory. */
	node_idle(&node, 300);
	pipe_tell(&target->resting);
	if (target->hesitates)
		hesitate(&node, target);
	else
		pipe_wait(&target->wake);
	node_idle(&node, 100);
	for (int i = 0; i < 3; i++)
		CHECK_OK(fi_close(&mr[i]->fid));
	node_close(&node);
}

static uint8_t *shared_memory(int *ret_fd)
{
	uint8_t *mem;

	*ret_fd = memfd_create("silent_rma", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(*ret_fd >= 0);
	CHECK(!ftruncate(*ret_fd, LEN));
	CHECK(!fcntl(*ret_fd, F_ADD_SEALS, F_SEAL_SHRINK));
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	CHECK(mem != MAP_FAILED);
	return mem;
}

/* ---- the initiator ---- */

static uint8_t out[LEN], in[LEN];
static struct fi_context2 context;

/* An operation of @count segments of @len bytes, each behind a gap of the same
 * length. */
static void access_some(struct node *node, fi_addr_t to, bool reads, uint64_t key,
	uint64_t at, size_t len, size_t count)
{
	struct iovec iov = { reads ? in : out, len * count };
	struct fi_rma_iov seg[SLOTS];
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = to,
		.rma_iov = seg,
		.rma_iov_count = count,
		.context = &context };
	uint64_t deadline = now_ms() + (uint64_t)LIMIT_MS;
	ssize_t ret;

	for (size_t i = 0; i < count; i++)
		seg[i] = (struct fi_rma_iov){ at + 2 * i * len, len, key };
	do {
		ret = reads ? fi_readmsg(node->ep, &msg, FI_COMPLETION)
			    : fi_writemsg(node->ep, &msg, FI_COMPLETION);
		if (ret == -FI_EAGAIN)
			(void)fi_cq_read(node->cq, NULL, 0);
		CHECK(now_ms() < deadline);
	} while (ret == -FI_EAGAIN);
	CHECK_OK(ret);
}

/* The operation ends, with the error @want or without one. */
static void ends(struct node *node, int want)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(node, &entry, &err, LIMIT_MS);

	CHECK(got == (want ? -1 : 1));
	CHECK((want ? err.op_context : entry.op_context) == (void *)&context);
	CHECK(err.err == want);
}

static void open_pair(
	struct node *node, struct target *target, fi_addr_t *ret_to, bool hesitates)
{
	target->hesitates = hesitates;
	target->port = free_port();
	target->initiator = free_port();
	target->shared = shared_memory(&target->fd);
	pipe_open(&target->ready);
	pipe_open(&target->rest);
	pipe_open(&target->resting);
	pipe_open(&target->wake);
	target->pid = child(target_run, target, 120);
	pipe_wait(&target->ready);
	CHECK_OK(node_try(node, target->initiator, FI_RMA | FI_ATOMIC));
	*ret_to = node_peer(node, target->port);
	access_some(node, *ret_to, true, READABLE, 0, 8, 1);
	ends(node, 0);
	pipe_tell(&target->rest);
	node_drive_until(node, &target->resting);
}

static void open_both(struct node *node, struct target *target, fi_addr_t *ret_to)
{
	open_pair(node, target, ret_to, false);
}

static void close_both(struct node *node, struct target *target)
{
	pipe_tell(&target->wake);
	node_idle(node, 50);
	join(target->pid);
	node_close(node);
	munmap(target->shared, LEN);
	close(target->fd);
}

/* Writes and reads of all lengths, which the reads find. */
static void all_lengths(struct node *node, fi_addr_t to, uint64_t key, size_t count)
{
	static const size_t lens[] = { 8, 64, 500, 2000, 4096, 65536, 1 << 20, MAX };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i] / count;

		for (unsigned int round = 0; round < 5; round++) {
			fill(out, lens[i], i + 10 * round);
			access_some(node, to, false, key, 8 * i, len, count);
			ends(node, 0);
			memset(in, 0, lens[i]);
			access_some(node, to, true, key, 8 * i, len, count);
			ends(node, 0);
			CHECK(!memcmp(in, out, lens[i]));
		}
	}
}

static void silent(uint64_t key, bool stopped)
{
	struct target target;
	struct node node;
	fi_addr_t to;

	open_both(&node, &target, &to);
	if (stopped) {
		int status;

		CHECK(!kill(target.pid, SIGSTOP));
		CHECK(waitpid(target.pid, &status, WUNTRACED) == target.pid);
		CHECK(WIFSTOPPED(status));
	}
	for (size_t count = 1; count <= SLOTS; count *= 2)
		all_lengths(&node, to, key, count);
	CHECK(!stopped || !kill(target.pid, SIGCONT));
	close_both(&node, &target);
}

static void private_memory_of_a_process_that_sleeps(void)
{
	silent(PRIVATE, false);
}

static void shared_memory_of_a_process_that_sleeps(void)
{
	silent(SHARED, false);
}

static void private_memory_of_a_process_that_is_stopped(void)
{
	silent(PRIVATE, true);
}

static void shared_memory_of_a_process_that_is_stopped(void)
{
	silent(SHARED, true);
}

/* The order of operations of all lengths: the last one wins. */
static void many_at_once(void)
{
	enum { OPS = 8 };
	static const size_t lens[OPS] = { MAX, 8, 4096, 2 << 20, 8, 8, 65536, 8 };
	struct target target;
	struct node node;
	fi_addr_t to;

	open_both(&node, &target, &to);
	for (unsigned int round = 0; round < 4; round++) {
		fill(out, MAX, round);
		for (int i = 0; i < OPS; i++)
			access_some(&node, to, false, round % 2 ? SHARED : PRIVATE, 0,
				lens[i], 1);
		memset(in, 0, MAX);
		access_some(&node, to, true, round % 2 ? SHARED : PRIVATE, 0, MAX, 1);
		for (int i = 0; i < OPS + 1; i++)
			ends(&node, 0);
		CHECK(!memcmp(in, out, MAX));
	}
	close_both(&node, &target);
}

/* Each read finds what the write before it has written, whoever performed them. */
static void a_target_that_hesitates(void)
{
	enum { ROUNDS = 4000, WRITES = 6 };
	struct target target;
	struct node node;
	fi_addr_t to;
	uint64_t value, found;

	open_pair(&node, &target, &to, true);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < WRITES; i++) {
			value = round * WRITES + i;
			memcpy(out + 8 * i, &value, sizeof(value));
			/* From different places, as writes that wait may be read
			 * late. */
			CHECK_OK(fi_write(node.ep, out + 8 * i, 8, NULL, to, 0, PRIVATE,
				&context));
		}
		access_some(&node, to, true, PRIVATE, 0, 8, 1);
		for (unsigned int i = 0; i < WRITES + 1; i++)
			ends(&node, 0);
		memcpy(&found, in, sizeof(found));
		CHECK(found == value);
	}
	close_both(&node, &target);
}

/* Refused without the target. */
static void refused_at_once(void)
{
	static const size_t lens[] = { 8, 4096, MAX };
	struct target target;
	struct node node;
	fi_addr_t to;

	open_both(&node, &target, &to);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		access_some(&node, to, false, 1234, 0, lens[i], 1);
		ends(&node, FI_EKEYREJECTED);
		access_some(&node, to, true, PRIVATE, LEN - lens[i] + 1, lens[i], 1);
		ends(&node, FI_EINVAL);
		access_some(&node, to, false, READABLE, 0, lens[i], 1);
		ends(&node, FI_EACCES);
		/* The first segment is not written. */
		access_some(&node, to, true, PRIVATE, LEN - 2 * lens[i], lens[i], 2);
		ends(&node, FI_EINVAL);
	}
	access_some(&node, to, true, PRIVATE, 0, MAX, 1);
	ends(&node, 0);
	CHECK(filled(in, MAX, 3));
	close_both(&node, &target);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "private_memory_of_a_process_that_sleeps",
			private_memory_of_a_process_that_sleeps, 120 },
		{ "shared_memory_of_a_process_that_sleeps",
			shared_memory_of_a_process_that_sleeps, 120 },
		{ "private_memory_of_a_process_that_is_stopped",
			private_memory_of_a_process_that_is_stopped, 120 },
		{ "shared_memory_of_a_process_that_is_stopped",
			shared_memory_of_a_process_that_is_stopped, 120 },
		{ "many_at_once", many_at_once, 120 },
		{ "a_target_that_hesitates", a_target_that_hesitates, 120 },
		{ "refused_at_once", refused_at_once, 120 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

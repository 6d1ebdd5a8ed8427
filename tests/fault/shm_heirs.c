/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that take the name of a killed process. Nothing of the killed process
 * prevents it, and messages to the name that it never processed are for them.
 * FAULT_ROUNDS: how often.
 */
#include <dirent.h>
#include <linux/sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "confine.h"
#include "converse.h"

static unsigned int seed = 4711;

static unsigned int below(unsigned int limit)
{
	return (unsigned int)rand_r(&seed) % limit;
}

/* ---- killed while opening, connecting and closing ---- */

struct beginner {
	uint16_t number, hub;
	struct signal_pipe started;
};

static void begin_again_and_again(void *arg)
{
	struct beginner *b = arg;

	pipe_tell(&b->started);
	for (;;) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		struct fi_context2 tx;
		static uint8_t buf[20000];
		struct node node;

		node_open(&node, b->number);
		CHECK(node_send(&node, node_peer(&node, b->hub), buf, sizeof(buf), 5,
			&tx, LIMIT_MS));
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		node_close(&node);
	}
}

static unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The hub receives all messages, also those that are not complete. */
static void take_for(struct node *hub, uint8_t *buf, size_t len, uint64_t ms)
{
	static struct fi_context2 rx;
	static bool posted;
	uint64_t end = now_ms() + ms;

	do {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		if (!posted)
			node_receive_exact(hub, buf, len, 5, &rx);
		posted = node_wait(hub, &entry, &err, 1) == 0;
	} while (now_ms() < end);
}

static void killed_while_beginning(void)
{
	static uint8_t buf[20000];
	unsigned int rounds = setting("FAULT_ROUNDS", 60), before = 0, after;
	bool alone = own_shm_if_permitted();
	struct beginner b;
	struct node hub, again;
	uint64_t deadline;

	node_open(&hub, 0);
	b.hub = node_port(&hub);
	b.number = free_port();
	for (unsigned int r = 0; r < rounds; r++) {
		pid_t pid;

		pipe_open(&b.started);
		pid = child(begin_again_and_again, &b, 60);
		pipe_wait(&b.started);
		take_for(&hub, buf, sizeof(buf), below(12));
		(void)usleep(below(1000));
		kill_and_reap(pid);
		pipe_close(&b.started);
		/* Its name, at the first try. */
		node_open(&again, b.number);
		node_close(&again);
		if (r == 5) {
			take_for(&hub, buf, sizeof(buf), 1000);
			before = open_descriptors();
		}
	}
	/* Nothing of them is kept. */
	deadline = now_ms() + LIMIT_MS;
	do {
		take_for(&hub, buf, sizeof(buf), 100);
		after = open_descriptors();
	} while (before && after > before + 2 && now_ms() < deadline);
	CHECK(!before || after <= before + 2);
	node_close(&hub);
	CHECK(!alone || !anything_left());
}

/* ---- messages that the dead one never took ---- */

/* As many messages as fit into the shared memory, while the reader is busy or dead. */
enum { LETTERS = 120, LETTER_MAX = 1200, AHEAD = 112 };

struct letters {
	uint16_t number, hub;
	bool dies;               /* takes its time, and never comes to an end */
	_Atomic int first, last; /* -1: none */
	struct signal_pipe ready;
};

static size_t letter_length(int number)
{
	return sizeof(number) + (size_t)number * 7919 % (LETTER_MAX - sizeof(number));
}

/* Reads them in their order, without a gap or one twice, up to the last. */
static void read_letters(void *arg)
{
	static uint8_t in[LETTER_MAX];
	static struct fi_context2 rx;
	struct letters *l = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node node;
	int number;

	node_open(&node, l->number);
	pipe_tell(&l->ready);
	do {
		node_receive_exact(&node, in, sizeof(in), 1, &rx);
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		memcpy(&number, in, sizeof(number));
		CHECK(entry.len == letter_length(number));
		CHECK(filled(in + sizeof(number), entry.len - sizeof(number),
			(uint64_t)number));
		CHECK(!(number % 2) == !(entry.flags & FI_REMOTE_CQ_DATA));
		CHECK(number % 2 == 0 || entry.data == (uint64_t)number);
		CHECK(l->last < 0 || number == l->last + 1);
		if (l->first < 0)
			l->first = number;
		l->last = number;
		if (l->dies)
			(void)usleep(below(300));
	} while (number != LETTERS - 1);
	while (l->dies)
		(void)pause();
	node_idle(&node, 20);
	node_close(&node);
}

static pid_t start_reader(struct letters *l, bool dies)
{
	pid_t pid;

	l->dies = dies;
	l->first = l->last = -1;
	seed += dies;
	pid = child(read_letters, l, 60);
	pipe_wait(&l->ready);
	return pid;
}

static void write_letters(struct node *hub, fi_addr_t to, int from, int end)
{
	uint8_t out[LETTER_MAX];

	for (int i = from; i < end; i++) {
		size_t len = letter_length(i);

		memcpy(out, &i, sizeof(i));
		fill(out + sizeof(i), len - sizeof(i), (uint64_t)i);
		if (i % 2)
			CHECK_OK(fi_tinjectdata(hub->ep, out, len, (uint64_t)i, to, 1));
		else
			CHECK_OK(fi_tinject(hub->ep, out, len, to, 1));
	}
}

/* A few to begin with, so that both are connected. */
static int begin_to_write(struct node *hub, fi_addr_t to, struct letters *l)
{
	enum { FEW = 3 };
	uint64_t deadline = now_ms() + LIMIT_MS;

	write_letters(hub, to, 0, FEW);
	while (l->last < FEW - 1) {
		CHECK(fi_cq_read(hub->cq, NULL, 0) == -FI_EAGAIN);
		CHECK(now_ms() < deadline);
	}
	return FEW;
}

/* The other messages are written without a check: while the reader reads, when it is
 * dead, and when it has a successor. */
static void what_was_not_taken_goes_to_the_next(void)
{
	unsigned int rounds = setting("FAULT_ROUNDS", 30);
	struct letters *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct node hub;
	fi_addr_t to;

	CHECK(l != MAP_FAILED);
	node_open(&hub, 0);
	l->hub = node_port(&hub);
	pipe_open(&l->ready);
	for (unsigned int r = 0; r < rounds; r++) {
		int at, last, status, turn[2];
		pid_t pid;

		l->number = free_port();
		to = node_peer(&hub, l->number);
		pid = start_reader(l, true);
		at = begin_to_write(&hub, to, l);
		turn[0] = at + (int)below((unsigned int)(LETTERS - at));
		turn[1] = turn[0] + (int)below((unsigned int)(LETTERS - turn[0]));
		write_letters(&hub, to, at, turn[0]);
		(void)usleep(below(3000));
		kill_and_reap(pid);
		last = l->last;
		write_letters(&hub, to, turn[0], turn[1]);
		pid = start_reader(l, false);
		write_letters(&hub, to, turn[1], LETTERS);
		while (waitpid(pid, &status, WNOHANG) == 0)
			CHECK(fi_cq_read(hub.cq, NULL, 0) == -FI_EAGAIN);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		/* Messages that the reader processed, but that the application had not
		 * received, are lost. */
		CHECK(last < LETTERS - 1 || l->first < 0);
		CHECK(l->first > last && l->first <= last + 1 + AHEAD);
		CHECK(l->first <= turn[0]);
		CHECK(l->last == LETTERS - 1);
	}
	node_close(&hub);
}

/* ---- accesses to memory that is no more ---- */

static void have_memory(void *arg)
{
	static uint64_t memory[64];
	struct letters *l = arg;
	struct node node = { .caps = FI_RMA };
	struct fid_mr *mr;

	node_open_as(&node, l->number);
	CHECK_OK(fi_mr_reg(node.domain, memory, sizeof(memory), FI_REMOTE_WRITE, 0, 9,
		0, &mr, NULL));
	pipe_tell(&l->ready);
	while (!l->last)
		(void)fi_cq_read(node.cq, NULL, 0);
	pipe_tell(&l->ready);
	for (;;)
		(void)pause();
}

/* They were injected, so no completion is written: that they are never executed is an
 * error for each, which names the peer. */
static void writes_to_the_dead_fail(void)
{
	enum { WRITES = 20 };
	struct letters *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct node hub = { .caps = FI_RMA };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 context;
	uint64_t word = 1;
	fi_addr_t to;
	pid_t pid;

	CHECK(l != MAP_FAILED);
	node_open_as(&hub, 0);
	l->number = free_port();
	pipe_open(&l->ready);
	pid = child(have_memory, l, 60);
	pipe_wait(&l->ready);
	to = node_peer(&hub, l->number);
	CHECK_OK(fi_write(hub.ep, &word, sizeof(word), NULL, to, 0, 9, &context));
	CHECK(node_wait(&hub, &entry, &err, LIMIT_MS) == 1);
	/* It takes these, and none from then on. */
	CHECK_OK(fi_inject_write(hub.ep, &word, sizeof(word), to, 0, 9));
	(void)usleep(20000);
	l->last = 1;
	pipe_wait(&l->ready);
	for (int i = 0; i < WRITES; i++)
		CHECK_OK(fi_inject_write(hub.ep, &word, sizeof(word), to, 0, 9));
	kill_and_reap(pid);
	for (int i = 0; i < WRITES; i++) {
		CHECK(node_wait(&hub, &entry, &err, LIMIT_MS) == -1);
		CHECK(err.op_context == hub.ep->fid.context && err.src_addr == to);
		CHECK(err.err > 0 && err.flags == (FI_RMA | FI_WRITE));
	}
	node_idle(&hub, 50);
	node_close(&hub);
}

/* ---- a stranger under the number of the dead one ---- */

enum { SECRET = 2, MESSAGE = 1, LARGE_TAG = 1, SMALL_TAG = 2 };

static uint8_t large[1 << 20]; /* at the same place in all of them */

struct impostor {
	uint16_t hub;
	struct signal_pipe ready, refused;
};

static void send_and_die(void *arg)
{
	struct impostor *im = arg;
	static struct fi_context2 tx[2];
	struct node node;
	fi_addr_t to;

	node_open(&node, 0);
	to = node_peer(&node, im->hub);
	fill(large, sizeof(large), MESSAGE);
	CHECK(node_send(&node, to, large, sizeof(large), LARGE_TAG, &tx[0], LIMIT_MS));
	CHECK(node_send(&node, to, large, 1, SMALL_TAG, &tx[1], LIMIT_MS));
	for (;;)
		(void)fi_cq_read(node.cq, NULL, 0);
}

/* A fork that gets number @pid in the innermost process namespace. */
static pid_t fork_as(pid_t pid)
{
	uint64_t numbers = (uintptr_t)&pid;
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = numbers, .set_tid_size = 1
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void meet_an_impostor(void *arg)
{
	struct impostor *im = arg;
	static struct fi_context2 rx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node hub;
	uint8_t word;
	pid_t pid;

	CHECK(!setenv("FI_SHM_CMA_SIZE", "4097", 1));
	node_open(&hub, 0);
	im->hub = node_port(&hub);
	node_receive_exact(&hub, &word, 1, SMALL_TAG, &rx);
	pid = child(send_and_die, im, 60);
	CHECK(node_wait(&hub, &entry, &err, LIMIT_MS) == 1);
	kill_and_reap(pid);
	pid = fork_as(pid);
	if (pid < 0) {
		pipe_tell(&im->refused);
		return;
	}
	if (!pid) {
		(void)alarm(limit_s(60));
		fill(large, sizeof(large), SECRET);
		pipe_tell(&im->ready);
		for (;;)
			(void)pause();
	}
	pipe_wait(&im->ready);
	node_receive_exact(&hub, large, sizeof(large), LARGE_TAG, &rx);
	CHECK(node_wait(&hub, &entry, &err, LIMIT_MS) == -1);
	CHECK(err.op_context == &rx && err.err > 0);
	kill_and_reap(pid);
	node_close(&hub);
}

/* The memory of the process that has the process id now is not used. */
static void its_number_is_used_again(void)
{
	struct impostor im;

	pipe_open(&im.ready);
	pipe_open(&im.refused);
	own_process_namespace();
	join(child(meet_an_impostor, &im, 60));
	if (pipe_told(&im.refused))
		skip("no choice of process numbers");
	/* No leak checker, as in in_pid_namespace. */
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "killed_while_beginning", killed_while_beginning, 3600 },
		{ "what_was_not_taken_goes_to_the_next",
			what_was_not_taken_goes_to_the_next, 600 },
		{ "writes_to_the_dead_fail", writes_to_the_dead_fail, 60 },
		{ "its_number_is_used_again", its_number_is_used_again, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

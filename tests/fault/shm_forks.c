/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that fork: both go on, what a child inherited keeps nothing of a parent
 * that is killed, and programs that are executed inherit nothing.
 */
#include <sys/wait.h>

#include "confine.h"
#include "converse.h"

/* A second is promised; the machine may be busy. */
/* ---- both go on ---- */

struct answerer {
	uint16_t number, client;
	struct signal_pipe ready;
};

/* Answers each number with the next one; the tag is the number of the sender. */
static void answer(void *arg)
{
	static struct fi_context2 rx, tx[64];
	static uint32_t in, out[64];
	struct answerer *a = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	unsigned int count = 0;
	struct node node;

	node_open(&node, a->number);
	node_receive(&node, &in, sizeof(in), 0, &rx);
	pipe_tell(&a->ready);
	for (;;) {
		int got = node_wait(&node, &entry, &err, 60000);
		uint16_t client = (uint16_t)entry.tag;

		CHECK(got);
		if (got < 0 || entry.op_context != &rx)
			continue;
		count++;
		out[count % 64] = in + 1;
		CHECK_OK(fi_trecv(node.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 0,
			UINT64_MAX, &rx));
		(void)node_send(&node, node_peer(&node, client), &out[count % 64],
			sizeof(in), client, &tx[count % 64], LIMIT_MS);
	}
}

static void ask(struct node *node, fi_addr_t to, uint32_t value)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx, tx;
	uint16_t me = node_port(node);
	uint32_t in = 0;

	node_receive_exact(node, &in, sizeof(in), me, &rx);
	CHECK(node_send(node, to, &value, sizeof(value), me, &tx, LIMIT_MS));
	for (int i = 0; i < 2; i++)
		CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
	CHECK(in == value + 1);
}

static pid_t start_answerer(struct answerer *a)
{
	pid_t pid;

	a->number = free_port();
	pipe_open(&a->ready);
	pid = child(answer, a, 60);
	pipe_wait(&a->ready);
	return pid;
}

static struct {
	struct node node;
	fi_addr_t to;
	struct answerer a;
} parent;

static void child_opens_its_own(void *arg)
{
	struct node own;
	fi_addr_t to;

	(void)arg;
	node_open(&own, 0);
	to = node_peer(&own, parent.a.number);
	for (uint32_t i = 0; i < 100; i++)
		ask(&own, to, i);
	node_close(&own);
}

static void child_closes_everything(void *arg)
{
	(void)arg;
	node_close(&parent.node);
	/* Connections are the parent's and stay; a leak checker would miss them. */
	_exit(0);
}

static void child_does_nothing(void *arg)
{
	(void)arg;
}

static void child_executes(void *arg)
{
	(void)arg;
	(void)execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void fork_and_go_on(void (*run)(void *))
{
	pid_t pid;

	for (int round = 0; round < 5; round++) {
		ask(&parent.node, parent.to, 1);
		pid = child(run, NULL, 60);
		for (uint32_t i = 0; i < 200; i++)
			ask(&parent.node, parent.to, i);
		join(pid);
		for (uint32_t i = 0; i < 200; i++)
			ask(&parent.node, parent.to, i);
	}
}

static void parents_go_on(void)
{
	bool alone = own_shm_if_permitted();
	pid_t pid = start_answerer(&parent.a);
	struct node next;

	node_open(&parent.node, 0);
	parent.to = node_peer(&parent.node, parent.a.number);
	fork_and_go_on(child_does_nothing);
	fork_and_go_on(child_opens_its_own);
	fork_and_go_on(child_closes_everything);
	fork_and_go_on(child_executes);
	/* With others that connect for the first time. */
	child_opens_its_own(NULL);
	kill_and_reap(pid);
	node_close(&parent.node);
	node_open(&next, 0);
	node_close(&next);
	CHECK(!alone || !anything_left());
}

/* Number of descriptors in a program that is executed, without files and pipes. */
static unsigned int inherited(void)
{
	static const char list[] =
		"for f in /proc/self/fd/*; do readlink $f; done; true";
	unsigned int count = 0;
	char line[256];
	FILE *out = popen(list, "r");

	CHECK(out);
	while (fgets(line, sizeof(line), out))
		count += strstr(line, "socket:") || strstr(line, "memfd") ||
			 strstr(line, "anon_inode") || strstr(line, "/dev/shm");
	CHECK(pclose(out) == 0);
	return count;
}

static void programs_inherit_nothing(void)
{
	pid_t pid = start_answerer(&parent.a);
	unsigned int before = inherited();

	node_open(&parent.node, 0);
	parent.to = node_peer(&parent.node, parent.a.number);
	ask(&parent.node, parent.to, 1);
	CHECK(inherited() == before);
	node_close(&parent.node);
	kill_and_reap(pid);
}

/* ---- a child outlives its parent ---- */

struct forker {
	uint16_t number, hub;
	struct signal_pipe ready;
};

static void fork_and_be_killed(void *arg)
{
	struct forker *f = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx;
	struct node node;
	uint32_t word = 1;

	node_open(&node, f->number);
	CHECK(node_send(&node, node_peer(&node, f->hub), &word, sizeof(word), 5, &tx,
		LIMIT_MS));
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	if (fork() == 0) {
		(void)alarm(limit_s(60));
		pipe_tell(&f->ready);
		for (;;)
			(void)pause();
	}
	for (;;)
		(void)fi_cq_read(node.cq, NULL, 0);
}

static pid_t hear_of_forker(struct forker *f, struct node *hub)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	static struct fi_context2 rx;
	uint32_t word;
	pid_t pid;

	pipe_open(&f->ready);
	node_receive_exact(hub, &word, sizeof(word), 5, &rx);
	pid = child(fork_and_be_killed, f, 60);
	CHECK(node_wait(hub, &entry, &err, LIMIT_MS) == 1);
	while (!pipe_told(&f->ready))
		(void)fi_cq_read(hub->cq, NULL, 0);
	pipe_close(&f->ready);
	return pid;
}

/* Operations that wait for it end, although its child holds all inherited
 * descriptors. */
static void outlive(struct node *hub, fi_addr_t to, pid_t pid)
{
	static uint8_t large[1 << 20];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	static struct fi_context2 tx;

	CHECK(node_send(hub, to, large, sizeof(large), 6, &tx, LIMIT_MS));
	node_idle(hub, 20);
	CHECK(!kill(pid, SIGKILL));
	CHECK(node_wait(hub, &entry, &err, LIMIT_MS) == -1);
	CHECK(err.op_context == &tx && err.err > 0 && err.src_addr == to);
}

static void killed_while_a_child_lives(void)
{
	struct forker f;
	struct node hub;

	node_open(&hub, 0);
	f.hub = node_port(&hub);
	for (int round = 0; round < 5; round++) {
		pid_t pid;

		f.number = free_port();
		pid = hear_of_forker(&f, &hub);
		outlive(&hub, node_peer(&hub, f.number), pid);
		CHECK(waitpid(pid, NULL, 0) == pid);
	}
	node_close(&hub);
}

/* Children that live do not keep its name from the next process. */
static void the_name_of_one_whose_child_lives(void)
{
	struct forker f = { .number = free_port() };
	struct node hub;
	fi_addr_t to;

	node_open(&hub, 0);
	f.hub = node_port(&hub);
	to = node_peer(&hub, f.number);
	for (int round = 0; round < 5; round++) {
		pid_t pid = hear_of_forker(&f, &hub);

		outlive(&hub, to, pid);
		CHECK(waitpid(pid, NULL, 0) == pid);
	}
	node_close(&hub);
}

/* ---- in another process namespace ---- */

static void elsewhere(void *arg)
{
	/* The first one there: with it dies all the namespace. */
	in_pid_namespace(fork_and_be_killed, arg);
}

static void killed_in_another_process_namespace(void)
{
	struct forker f = { .number = free_port() };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	static struct fi_context2 rx;
	struct node hub;
	uint32_t word;
	pid_t pid;

	node_open(&hub, 0);
	f.hub = node_port(&hub);
	pipe_open(&f.ready);
	node_receive_exact(&hub, &word, sizeof(word), 5, &rx);
	pid = child(elsewhere, &f, 60);
	while (node_wait(&hub, &entry, &err, 100) == 0)
		if (waitpid(pid, NULL, WNOHANG) == pid)
			skip("no process namespaces");
	outlive(&hub, node_peer(&hub, f.number), child_of(pid));
	CHECK(waitpid(pid, NULL, 0) == pid);
	node_close(&hub);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "parents_go_on", parents_go_on, 120 },
		{ "programs_inherit_nothing", programs_inherit_nothing, 60 },
		{ "killed_while_a_child_lives", killed_while_a_child_lives, 120 },
		{ "the_name_of_one_whose_child_lives",
			the_name_of_one_whose_child_lives, 120 },
		{ "killed_in_another_process_namespace",
			killed_in_another_process_namespace, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

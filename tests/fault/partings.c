/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints that are closed, and processes that end, with messages for peers that are
 * dead, stopped or late; and sends that are cancelled while they wait for one.
 */
#include "fault.h"

#include <pthread.h>
#include <sys/wait.h>

#include "../sanitizer.h"

enum { LEN = 100 };

static void set_all(const char *name, const char *value)
{
	char variable[64];

	snprintf(variable, sizeof(variable), "FI_TCP_%s", name);
	CHECK(!setenv(variable, value, 1));
	snprintf(variable, sizeof(variable), "FI_SHM_%s", name);
	CHECK(!setenv(variable, value, 1));
	snprintf(variable, sizeof(variable), "FI_OFI_RXM_%s", name);
	CHECK(!setenv(variable, value, 1));
}

/* What waits for these time limits takes longer than any test may (LIMIT_MS). */
static void be_patient(void)
{
	CHECK(!setenv("FI_FLUSH_TIMEOUT", "3600000", 1));
	set_all("REFUSED_TIMEOUT", "3600000");
	set_all("CONNECT_TIMEOUT", "3600000");
}

static void inject(struct node *node, fi_addr_t to, uint64_t tag)
{
	static const uint8_t buf[LEN];

	CHECK_OK(fi_tinject(node->ep, buf, sizeof(buf), to, tag));
}

/* ---- the dead ---- */

static void inject_and_exit(void *arg)
{
	static struct node node;

	sanitizer_allow_leaks();
	node_open(&node, 0);
	inject(&node, node_peer(&node, *(uint16_t *)arg), 1);
	exit(0);
}

static void the_dead_are_not_waited_for(void)
{
	uint16_t unused = free_port();
	uint64_t begin = now_ms();
	struct node node;

	be_patient();
	node_open(&node, 0);
	inject(&node, node_peer(&node, unused), 1);
	node_close(&node);
	join(child(inject_and_exit, &unused, 60));
	CHECK(now_ms() - begin < (uint64_t)LIMIT_MS);
}

/* ---- the stopped ---- */

struct stopped {
	uint16_t number;
	struct signal_pipe ready;
	bool meets; /* a sender, before it stops */
};

static void stop(void *arg)
{
	struct stopped *stopped = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx;
	struct node node;
	uint8_t in[LEN];

	node_open(&node, stopped->number);
	pipe_tell(&stopped->ready);
	if (stopped->meets) {
		node_receive(&node, in, sizeof(in), 1, &rx);
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	}
	CHECK(!raise(SIGSTOP));
	_exit(1);
}

static pid_t start_stopped(struct stopped *stopped)
{
	pid_t pid;

	stopped->number = free_port();
	pipe_open(&stopped->ready);
	pid = child(stop, stopped, 60);
	pipe_wait(&stopped->ready);
	return pid;
}

static void wait_until_stopped(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(WIFSTOPPED(status));
}

/* As many as the way to a peer that does nothing takes. */
static void inject_all(struct node *node, fi_addr_t to)
{
	static const uint8_t buf[LEN];

	for (int tries = 0; tries < 100;)
		tries = fi_tinject(node->ep, buf, sizeof(buf), to, 1) ? tries + 1 : 0;
}

static void the_stopped_are_not_waited_for_long(void)
{
	struct stopped stopped = { 0 };
	struct node node;
	uint64_t begin;

	CHECK(!setenv("FI_FLUSH_TIMEOUT", "300", 1));
	set_all("TX_SIZE", "64");
	for (int round = 0; round < 2; round++) {
		pid_t pid;

		stopped.meets = round;
		pid = start_stopped(&stopped);
		node_open(&node, 0);
		inject(&node, node_peer(&node, stopped.number), 1);
		if (round) {
			node_idle(&node, 100);
			wait_until_stopped(pid);
			inject_all(&node, node_peer(&node, stopped.number));
		} else {
			wait_until_stopped(pid);
		}
		begin = now_ms();
		node_close(&node);
		CHECK(now_ms() - begin < (uint64_t)LIMIT_MS);
		kill_and_reap(pid);
		pipe_close(&stopped.ready);
	}
}

/* ---- forked children ---- */

struct listener {
	uint16_t number;
	struct signal_pipe ready, go;
	int messages;
};

static void listen_late(void *arg)
{
	struct listener *listener = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx;
	struct node node;
	uint8_t in[LEN];

	node_open(&node, listener->number);
	pipe_tell(&listener->ready);
	pipe_wait(&listener->go);
	for (int i = 0; i < listener->messages; i++) {
		node_receive(&node, in, sizeof(in), 1, &rx);
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	}
	node_receive(&node, in, sizeof(in), 1, &rx);
	node_idle(&node, 100);
	node_close(&node);
}

static void leave(void *arg)
{
	(void)arg;
	exit(0);
}

static void a_forked_child_leaves_messages_to_its_parent(void)
{
	struct listener listener = { .number = free_port(), .messages = 1 };
	uint64_t begin = now_ms();
	struct node node;
	pid_t pid;

	be_patient();
	pipe_open(&listener.ready);
	pipe_open(&listener.go);
	pid = child(listen_late, &listener, 60);
	pipe_wait(&listener.ready);
	sanitizer_allow_leaks(); /* in the child */
	node_open(&node, 0);
	inject(&node, node_peer(&node, listener.number), 1);
	join(child(leave, NULL, 60));
	CHECK(now_ms() - begin < (uint64_t)LIMIT_MS);
	pipe_tell(&listener.go);
	node_close(&node);
	join(pid);
}

/* ---- cancelling ---- */

static void the_others_go_to_who_comes_late(void)
{
	static struct fi_context2 contexts[3];
	static uint8_t out[LEN];
	struct listener listener = { .number = free_port(), .messages = 2 };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node node;
	fi_addr_t peer;
	pid_t pid;

	be_patient();
	node_open(&node, 0);
	peer = node_peer(&node, listener.number);
	for (int i = 0; i < 3; i++)
		CHECK(node_send(&node, peer, out, LEN, 1, &contexts[i], LIMIT_MS));
	CHECK_OK(fi_cancel(&node.ep->fid, &contexts[1]));
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == -1);
	CHECK(err.err == FI_ECANCELED && err.op_context == &contexts[1]);
	pipe_open(&listener.ready);
	pipe_open(&listener.go);
	pid = child(listen_late, &listener, 60);
	pipe_wait(&listener.ready);
	pipe_tell(&listener.go);
	for (int i = 0; i < 2; i++) {
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		CHECK(entry.op_context == &contexts[2 * i]);
	}
	node_close(&node);
	join(pid);
}

static void *sleep_on(void *arg)
{
	struct fi_cq_tagged_entry entry;
	struct node *node = arg;

	CHECK(fi_cq_sread(node->cq, &entry, 1, NULL, LIMIT_MS) == -FI_EAVAIL);
	return NULL;
}

static void a_cancel_wakes_who_sleeps(void)
{
	struct node node = { .sleeps = true };
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	static uint8_t out[LEN];
	pthread_t thread;

	be_patient();
	node_open_as(&node, 0);
	CHECK(node_send(
		&node, node_peer(&node, free_port()), out, LEN, 1, &context, LIMIT_MS));
	CHECK(!pthread_create(&thread, NULL, sleep_on, &node));
	(void)usleep(20000);
	CHECK_OK(fi_cancel(&node.ep->fid, &context));
	CHECK(!pthread_join(thread, NULL));
	CHECK(fi_cq_readerr(node.cq, &err, 0) == 1);
	CHECK(err.err == FI_ECANCELED && err.op_context == &context);
	node_close(&node);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "the_dead_are_not_waited_for", the_dead_are_not_waited_for, 100 },
		{ "the_stopped_are_not_waited_for_long",
			the_stopped_are_not_waited_for_long, 60 },
		{ "a_forked_child_leaves_messages_to_its_parent",
			a_forked_child_leaves_messages_to_its_parent, 60 },
		{ "the_others_go_to_who_comes_late", the_others_go_to_who_comes_late,
			60 },
		{ "a_cancel_wakes_who_sleeps", a_cancel_wakes_who_sleeps, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

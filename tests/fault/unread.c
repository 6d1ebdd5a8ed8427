/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are reached by memory, where a message is complete before it is read: what
 * a process that dies has not read goes to the next one at its address, once, in order,
 * and before what was sent later.
 */
#include "fault.h"

#include <sys/wait.h>

enum { GREETINGS = 50, LEFT = 5, LATER = 3 };

struct server {
	uint16_t port;
	uint16_t client;
	struct signal_pipe met;
};

static void take(struct node *node, uint64_t tag)
{
	static struct fi_context2 context;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	uint64_t in = 0;

	node_receive_exact(node, &in, sizeof(in), tag, &context);
	CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
	CHECK(in == tag);
}

static void give(struct node *node, fi_addr_t to, uint64_t tag)
{
	static struct fi_context2 context;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	CHECK(node_send(node, to, &tag, sizeof(tag), tag, &context, LIMIT_MS));
	CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
}

/* Exchange messages until both directions use memory, and make no progress from then
 * on. */
static void greet_and_rest(void *arg)
{
	struct server *server = arg;
	static struct node node;
	fi_addr_t client;

	node_open(&node, server->port);
	client = node_peer(&node, server->client);
	for (uint64_t i = 0; i < GREETINGS; i++) {
		take(&node, 1000 + i);
		give(&node, client, 2000 + i);
	}
	pipe_tell(&server->met);
	for (;;)
		pause();
}

/* The next process: all messages, one after the other, and no other one. */
static void take_all(void *arg)
{
	struct server *server = arg;
	static struct fi_context2 context;
	static uint64_t in;
	struct node node;

	node_open(&node, server->port);
	for (uint64_t tag = 1; tag <= LEFT + LATER; tag++) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		/* Any message: the order counts. */
		node_receive(&node, &in, sizeof(in), 0, &context);
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		CHECK(in == tag && entry.tag == tag);
	}
	node_receive(&node, &in, sizeof(in), 0, &context);
	node_idle(&node, 100);
	pipe_tell(&server->met);
	node_close(&node);
}

static void unread_goes_to_the_next(void)
{
	static struct fi_context2 contexts[LATER];
	static uint64_t later[LATER];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct server server;
	struct node node;
	fi_addr_t to;
	pid_t pid;

	server.port = free_port();
	node_open(&node, 0);
	server.client = node_port(&node);
	pipe_open(&server.met);
	pid = child(greet_and_rest, &server, 60);
	to = node_peer(&node, server.port);
	for (uint64_t i = 0; i < GREETINGS; i++) {
		give(&node, to, 1000 + i);
		take(&node, 2000 + i);
	}
	pipe_wait(&server.met);
	for (uint64_t tag = 1; tag <= LEFT; tag++)
		give(&node, to, tag);
	kill_and_reap(pid);
	for (int i = 0; i < LATER; i++) {
		later[i] = LEFT + 1 + (uint64_t)i;
		CHECK(node_send(&node, to, &later[i], sizeof(later[i]), later[i],
			&contexts[i], LIMIT_MS));
	}
	pid = child(take_all, &server, 60);
	for (int i = 0; i < LATER; i++)
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	node_drive_until(&node, &server.met);
	/* The ends of the first five are not reported again. */
	CHECK(node_wait(&node, &entry, &err, 100) == 0);
	join(pid);
	node_close(&node);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "unread_goes_to_the_next", unread_goes_to_the_next, 100 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

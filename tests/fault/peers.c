/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that die, come back, come late, stall, and come all at once. */
#include "fault.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* The documented limit of the time that a peer may take to appear. */
static void give_up_soon(void)
{
	(void)setenv("FI_TCP_CONNECT_TIMEOUT", "1000", 1);
	(void)setenv("FI_SHM_CONNECT_TIMEOUT", "1000", 1);
}

/* ---- echo: answers each message with its value plus one ---- */

struct service {
	uint16_t port;
	struct signal_pipe ready;
	uint16_t client; /* where answers go */
};

static void echo(void *arg)
{
	struct service *service = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 contexts[2];
	uint32_t in, out;
	struct node node;
	fi_addr_t client;

	node_open(&node, service->port);
	client = node_peer(&node, service->client);
	pipe_tell(&service->ready);
	node_receive(&node, &in, sizeof(in), 0, &contexts[0]);
	for (;;) {
		int got = node_wait(&node, &entry, &err, 60000);

		CHECK(got);
		/* An answer that could not be sent does not end the service. */
		if (got < 0 || entry.op_context != &contexts[0])
			continue;
		out = in + 1;
		node_receive(&node, &in, sizeof(in), 0, &contexts[0]);
		(void)node_send(
			&node, client, &out, sizeof(out), 1, &contexts[1], 1000);
	}
}

static pid_t start_service(struct service *service, uint16_t port, struct node *node)
{
	pid_t pid;

	service->port = port;
	service->client = node_port(node);
	pipe_open(&service->ready);
	pid = child(echo, service, 60);
	pipe_wait(&service->ready);
	return pid;
}

/* Ask until it answers; how many questions ended in an error is returned. A question
 * that a dying server took with it gets no answer: it is asked again. */
static int ask(struct node *node, fi_addr_t to, uint32_t value)
{
	enum { PATIENCE_MS = 300, QUESTIONS = 750 };
	static struct fi_context2 rx, tx[QUESTIONS];
	static uint32_t in, out[QUESTIONS];
	static bool posted;
	static int asked;
	uint64_t deadline = now_ms() + LIMIT_MS;
	bool waiting = false; /* for the end of the last question */
	int errors = 0, got = 0;

	if (!posted)
		node_receive(node, &in, sizeof(in), 0, &rx);
	posted = true;
	for (;;) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		if (got == 0 && !waiting) {
			int at = asked++ % QUESTIONS;

			out[at] = value;
			CHECK(node_send(node, to, &out[at], sizeof(value), 0, &tx[at],
				LIMIT_MS));
			waiting = true;
		}
		got = node_wait(node, &entry, &err, PATIENCE_MS);
		CHECK(now_ms() < deadline);
		if (got > 0 && entry.op_context == &rx) {
			if (in == value + 1) {
				posted = false;
				return errors;
			}
			/* To a question before. */
			node_receive(node, &in, sizeof(in), 0, &rx);
		} else if (got > 0) {
			waiting = false;
		} else if (got < 0) {
			CHECK(err.op_context != &rx && err.err > 0);
			waiting = false;
			errors++;
			got = 0;
			(void)usleep(20000);
		}
	}
}

static void a_server_restarts_on_its_port(void)
{
	struct service service;
	struct node node;
	uint16_t port = free_port();
	fi_addr_t server;

	node_open(&node, 0);
	server = node_peer(&node, port);
	for (uint32_t round = 0; round < 5; round++) {
		pid_t pid = start_service(&service, port, &node);

		for (uint32_t i = 0; i < 5; i++)
			(void)ask(&node, server, round * 100 + i);
		kill_and_reap(pid);
	}
	node_close(&node);
}

/* Between two messages the server is killed and restarted, without a progress call of
 * the client meanwhile. The next message arrives at the new server, at the first
 * attempt. */
static void a_restart_is_noticed_before_sending(void)
{
	struct service service;
	struct node node;
	uint16_t port = free_port();
	fi_addr_t server;
	pid_t pid;

	node_open(&node, 0);
	server = node_peer(&node, port);
	pid = start_service(&service, port, &node);
	for (uint32_t round = 0; round < 30; round++) {
		struct fi_context2 rx, tx;
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		uint32_t in, out = round * 10;

		node_receive(&node, &in, sizeof(in), 0, &rx);
		CHECK_OK(fi_tsend(node.ep, &out, sizeof(out), NULL, server, 0, &tx));
		for (int i = 0; i < 2; i++)
			CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		CHECK(in == out + 1);
		kill_and_reap(pid);
		pid = start_service(&service, port, &node);
		(void)usleep(20000); /* a pause, as applications make */
	}
	kill_and_reap(pid);
	node_close(&node);
}

/* The client sends before there is a server: the message waits, or fails in time. */
static void a_client_starts_before_its_server(void)
{
	struct service service;
	struct node node;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx;
	uint16_t port = free_port();
	uint32_t value = 1;
	fi_addr_t server;
	pid_t pid;

	node_open(&node, 0);
	server = node_peer(&node, port);
	if (node_send(&node, server, &value, sizeof(value), 0, &tx, 500))
		(void)node_wait(&node, &entry, &err, 500);
	pid = start_service(&service, port, &node);
	(void)ask(&node, server, 100);
	CHECK(ask(&node, server, 200) == 0);
	kill_and_reap(pid);
	node_close(&node);
}

/* ---- a peer that dies in the middle of traffic ---- */

struct victim {
	uint16_t port;
	struct signal_pipe ready;
	bool stall; /* never reads */
};

static void swallow(void *arg)
{
	struct victim *victim = arg;
	static uint8_t buf[1 << 20];
	struct fi_context2 context;
	struct node node;

	node_open(&node, victim->port);
	pipe_tell(&victim->ready);
	while (!victim->stall) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		node_receive(&node, buf, sizeof(buf), 0, &context);
		if (node_wait(&node, &entry, &err, 60000) < 0)
			CHECK(err.err > 0);
	}
	/* Connections are made, then nothing is ever received. */
	for (int i = 0; i < 200; i++) {
		(void)fi_cq_read(node.cq, NULL, 0);
		(void)usleep(1000);
	}
	for (;;)
		(void)pause();
}

static pid_t start_victim(struct victim *victim, bool stall)
{
	pid_t pid;

	victim->port = free_port();
	victim->stall = stall;
	pipe_open(&victim->ready);
	pid = child(swallow, victim, 60);
	pipe_wait(&victim->ready);
	return pid;
}

enum { WINDOW = 32 };

struct stream {
	fi_addr_t to;
	struct fi_context2 contexts[WINDOW];
	bool busy[WINDOW];
	int done, failed;
};

static void pump(struct node *node, struct stream *s, const void *buf, size_t len)
{
	for (int i = 0; i < WINDOW; i++) {
		if (s->busy[i])
			continue;
		if (fi_tsend(node->ep, buf, len, NULL, s->to, 0, &s->contexts[i]))
			return;
		s->busy[i] = true;
	}
}

static void account(
	struct stream *streams, int count, const void *context, bool ok, int err)
{
	for (int k = 0; k < count; k++) {
		const struct fi_context2 *c = context;
		long at = c - streams[k].contexts;

		if (c < streams[k].contexts || at >= WINDOW)
			continue;
		CHECK(streams[k].busy[at]);
		streams[k].busy[at] = false;
		streams[k].done += ok;
		streams[k].failed += !ok;
		CHECK(ok || err > 0);
		return;
	}
	CHECK(!"a completion of nobody");
}

static int in_flight(const struct stream *s)
{
	int n = 0;

	for (int i = 0; i < WINDOW; i++)
		n += s->busy[i];
	return n;
}

/* All operations to the killed peer end, with errors that name it; the other peer does
 * not notice. */
static void a_killed_peer_fails_alone(size_t len)
{
	static uint8_t buf[1 << 20];
	static struct stream streams[2];
	struct victim victims[2];
	pid_t pids[2];
	struct node node;
	uint64_t deadline = now_ms() + LIMIT_MS;
	bool killed = false;
	int after = 0;

	give_up_soon();
	node_open(&node, 0);
	for (int k = 0; k < 2; k++) {
		pids[k] = start_victim(&victims[k], false);
		streams[k].to = node_peer(&node, victims[k].port);
	}
	while (after < 500 || in_flight(&streams[0])) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		int got;

		if (!killed)
			pump(&node, &streams[0], buf, len);
		if (after < 500)
			pump(&node, &streams[1], buf, len);
		got = node_wait(&node, &entry, &err, LIMIT_MS);
		CHECK(got && now_ms() < deadline);
		if (got > 0) {
			account(streams, 2, entry.op_context, true, 0);
			after += killed;
		} else {
			account(streams, 2, err.op_context, false, err.err);
			CHECK(streams[1].failed == 0);
			if (!getenv("FAULT_API_1_17"))
				CHECK(err.src_addr == streams[0].to ||
					err.src_addr == FI_ADDR_NOTAVAIL);
		}
		if (!killed && streams[0].done > 100 && streams[1].done > 100) {
			pump(&node, &streams[0], buf, len);
			kill_and_reap(pids[0]);
			killed = true;
		}
	}
	/* New sends to it fail as well, soon. */
	pump(&node, &streams[0], buf, 8);
	while (in_flight(&streams[0]) || in_flight(&streams[1])) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		int got;

		if (!streams[0].failed)
			pump(&node, &streams[0], buf, 8);
		got = node_wait(&node, &entry, &err, LIMIT_MS);
		CHECK(got && now_ms() < deadline);
		account(streams, 2, got > 0 ? entry.op_context : err.op_context,
			got > 0, err.err);
	}
	CHECK(streams[1].failed == 0);
	CHECK(streams[0].failed > 0);
	kill_and_reap(pids[1]);
	node_close(&node);
}

static void a_peer_killed_under_small_messages(void)
{
	a_killed_peer_fails_alone(64);
}

static void a_peer_killed_under_large_messages(void)
{
	a_killed_peer_fails_alone(1 << 20);
}

/* One peer that stopped reading holds up its own messages only. */
static void a_stalled_peer_holds_up_itself_only(void)
{
	static uint8_t buf[1 << 18];
	static struct stream streams[2];
	struct victim victims[2];
	pid_t pids[2];
	struct node node;
	uint64_t deadline = now_ms() + LIMIT_MS;

	node_open(&node, 0);
	for (int k = 0; k < 2; k++) {
		pids[k] = start_victim(&victims[k], k == 0);
		streams[k].to = node_peer(&node, victims[k].port);
	}
	while (streams[1].done < 2000) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;

		pump(&node, &streams[0], buf, sizeof(buf));
		pump(&node, &streams[1], buf, 1000);
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		CHECK(now_ms() < deadline);
		account(streams, 2, entry.op_context, true, 0);
	}
	/* Closing does not wait for it either. */
	node_close(&node);
	CHECK(now_ms() < deadline);
	kill_and_reap(pids[0]);
	kill_and_reap(pids[1]);
}

/* ---- all to all, at the same moment ---- */

enum { NODES = 8, MESSAGES = 20 };

struct crowd {
	struct signal_pipe ready, go;
	uint16_t ports[NODES];
	int index; /* of the member that is being started */
	atomic_bool over;
};

static void member(void *arg)
{
	struct crowd *crowd = arg;
	int me = crowd->index;
	static uint32_t in[NODES * MESSAGES], out[MESSAGES];
	static struct fi_context2 rx[NODES * MESSAGES], tx[NODES * MESSAGES];
	int received = 0, sent = 0, from[NODES] = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node node;

	node_open(&node, crowd->ports[me]);
	for (int i = 0; i < NODES; i++)
		node.peer[i] = node_peer(&node, crowd->ports[i]);
	for (int i = 0; i < NODES * MESSAGES; i++)
		node_receive(&node, &in[i], 4, 0, &rx[i]);
	pipe_tell(&crowd->ready);
	pipe_wait(&crowd->go);
	for (int m = 0; m < MESSAGES; m++) {
		out[m] = (uint32_t)(me * 1000 + m);
		/* Each begins with another peer; itself is one of them. */
		for (int i = 0; i < NODES; i++) {
			int to = (me + i) % NODES;

			CHECK(node_send(&node, node.peer[to], &out[m], 4, (uint64_t)me,
				&tx[m * NODES + to], LIMIT_MS));
		}
	}
	while (received < NODES * MESSAGES || sent < NODES * MESSAGES) {
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		if (entry.flags & FI_RECV) {
			long at = (struct fi_context2 *)entry.op_context - rx;
			uint32_t who = in[at] / 1000;

			CHECK(who < NODES && entry.tag == who);
			CHECK(in[at] % 1000 == (uint32_t)from[who]++);
			received++;
		} else {
			sent++;
		}
	}
	/* Everyone stays until all have everything. */
	pipe_tell(&crowd->ready);
	while (!atomic_load(&crowd->over)) {
		(void)fi_cq_read(node.cq, NULL, 0);
		(void)usleep(100);
	}
	node_close(&node);
}

static void crossed_connects(void)
{
	pid_t pids[NODES];

	for (int round = 0; round < 5; round++) {
		struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		CHECK(crowd != MAP_FAILED);
		pipe_open(&crowd->ready);
		pipe_open(&crowd->go);
		different_ports(crowd->ports, NODES);
		for (int i = 0; i < NODES; i++) {
			crowd->index = i;
			pids[i] = child(member, crowd, 30);
			pipe_wait(&crowd->ready);
		}
		for (int i = 0; i < NODES; i++)
			pipe_tell(&crowd->go);
		for (int i = 0; i < NODES; i++)
			pipe_wait(&crowd->ready);
		atomic_store(&crowd->over, true);
		for (int i = 0; i < NODES; i++)
			join(pids[i]);
		pipe_close(&crowd->ready);
		pipe_close(&crowd->go);
		(void)munmap(crowd, sizeof(*crowd));
	}
}

/* ---- random cycles ---- */

/* A server with clients that connect, exchange messages and are killed or close,
 * repeatedly. Every client that lives gets an answer. FAULT_CYCLES: how many
 * clients. */
static void visitor(void *arg)
{
	struct service *service = arg;
	struct node node;
	fi_addr_t server;

	node_open(&node, service->client);
	server = node_peer(&node, service->port);
	pipe_tell(&service->ready);
	for (uint32_t i = 0; i < 1000; i++)
		(void)ask(&node, server, i * 10);
	for (;;)
		(void)pause();
}

static void random_connects_and_kills(void)
{
	const char *text = getenv("FAULT_CYCLES");
	int cycles = text ? atoi(text) : 200;
	unsigned int seed = 4711;
	struct service service, *shared;
	struct node probe;
	uint16_t visitors = free_port();
	int surprises = 0;
	fi_addr_t server;
	pid_t pid;

	node_open(&probe, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	service.port = free_port();
	service.client = visitors;
	pipe_open(&service.ready);
	pid = child(echo, &service, 3600);
	pipe_wait(&service.ready);
	server = node_peer(&probe, service.port);
	for (int i = 0; i < cycles; i++) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		struct fi_context2 tx;
		uint32_t value = 1;
		pid_t guest;
		int got;

		*shared = service;
		guest = child(visitor, shared, 60);
		pipe_wait(&service.ready);
		(void)usleep((useconds_t)(rand_r(&seed) % 10000));
		kill_and_reap(guest);
		/* Another client gets answers all the time. It notices only once that
		 * the server is another process: at the first or the second message. */
		do {
			CHECK(node_send(&probe, server, &value, sizeof(value), 0, &tx,
				LIMIT_MS));
			got = node_wait(&probe, &entry, &err, LIMIT_MS);
			CHECK(got > 0 || (got < 0 && surprises-- > 0));
		} while (got < 0);
		if (i % 20)
			continue;
		/* And from time to time the server dies instead. */
		kill_and_reap(pid);
		surprises = 1;
		pid = child(echo, &service, 3600);
		pipe_wait(&service.ready);
	}
	kill_and_reap(pid);
	node_close(&probe);
}

/* ---- nobody there ---- */

static void a_send_to_nobody_ends(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx;
	struct node node;
	uint32_t value = 1;
	fi_addr_t nobody;

	give_up_soon();
	node_open(&node, 0);
	nobody = node_peer(&node, free_port());
	if (node_send(&node, nobody, &value, sizeof(value), 0, &tx, LIMIT_MS)) {
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == -1);
		CHECK(err.op_context == &tx && err.err > 0);
	}
	node_idle(&node, 50);
	node_close(&node);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "a_server_restarts_on_its_port", a_server_restarts_on_its_port, 60 },
		{ "a_restart_is_noticed_before_sending",
			a_restart_is_noticed_before_sending, 60 },
		{ "a_client_starts_before_its_server",
			a_client_starts_before_its_server, 60 },
		{ "a_peer_killed_under_small_messages",
			a_peer_killed_under_small_messages, 60 },
		{ "a_peer_killed_under_large_messages",
			a_peer_killed_under_large_messages, 60 },
		{ "a_stalled_peer_holds_up_itself_only",
			a_stalled_peer_holds_up_itself_only, 60 },
		{ "crossed_connects", crossed_connects, 120 },
		{ "random_connects_and_kills", random_connects_and_kills, 3600 },
		{ "a_send_to_nobody_ends", a_send_to_nobody_ends, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

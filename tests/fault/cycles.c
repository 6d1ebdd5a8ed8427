/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random cycles: two that connect to each other at once, a client that is there before
 * its server, a server that is killed and comes back on its port, a client that is
 * killed in the middle of a message. No process hangs, and between two processes that
 * live no message is lost, doubled or out of order.
 *
 * FAULT_CYCLES says how many, FAULT_SEED which ones.
 */
#include "fault.h"

#include <stdatomic.h>
#include <sys/mman.h>

static unsigned int seed;

static unsigned int below(unsigned int n)
{
	return (unsigned int)rand_r(&seed) % n;
}

static void *shared_memory(size_t len)
{
	void *p = mmap(
		NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* ---- two that send to each other ---- */

enum { MESSAGES_MAX = 16 };

struct duo {
	struct signal_pipe ready, go;
	atomic_bool over;
	uint16_t port[2];
	unsigned int seed[2], delay_us[2];
	int count[2];        /* messages that each one sends */
	bool together, late; /* begin together; receives are posted late */
	size_t len[2][MESSAGES_MAX];
	int index; /* index of the process that is being started */
};

static uint8_t pattern(int who, int message, size_t at)
{
	return (uint8_t)((size_t)who * 101 + (size_t)message * 31 + at * 7 + at / 251);
}

static void drive_until(struct node *node, const atomic_bool *over)
{
	while (!atomic_load(over)) {
		(void)fi_cq_read(node->cq, NULL, 0);
		(void)usleep(50);
	}
}

struct talk {
	struct node node;
	fi_addr_t to;
	const struct duo *duo;
	int me, sent, received;
	uint8_t *in[MESSAGES_MAX], *out[MESSAGES_MAX];
	struct fi_context2 rx[MESSAGES_MAX], tx[MESSAGES_MAX];
};

static void talk_receive(struct talk *t, int m)
{
	size_t len = t->duo->len[!t->me][m];

	t->in[m] = malloc(len + 1);
	CHECK(t->in[m]);
	node_receive(&t->node, t->in[m], len, 0, &t->rx[m]);
}

static void talk_send(struct talk *t, int m)
{
	size_t len = t->duo->len[t->me][m];

	t->out[m] = malloc(len + 1);
	CHECK(t->out[m]);
	for (size_t i = 0; i < len; i++)
		t->out[m][i] = pattern(t->me, m, i);
	CHECK(node_send(
		&t->node, t->to, t->out[m], len, (uint64_t)m, &t->tx[m], LIMIT_MS));
}

/* Messages match in the order in which they were sent; large ones may complete behind
 * small ones. */
static void talk_received(struct talk *t, const struct fi_cq_tagged_entry *entry)
{
	long m = (struct fi_context2 *)entry->op_context - t->rx;

	CHECK(m >= 0 && m < t->duo->count[!t->me] && t->in[m]);
	CHECK(entry->tag == (uint64_t)m);
	CHECK(entry->len == t->duo->len[!t->me][m]);
	for (size_t i = 0; i < entry->len; i++)
		CHECK(t->in[m][i] == pattern(!t->me, (int)m, i));
	free(t->in[m]);
	t->in[m] = NULL;
	t->received++;
}

static void talk_wait(struct talk *t)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(&t->node, &entry, &err, LIMIT_MS);

	if (got != 1)
		fprintf(stderr, "%d: got %d, error %d, sent %d, received %d\n", t->me,
			got, err.err, t->sent, t->received);
	CHECK(got == 1);
	if (entry.flags & FI_SEND)
		t->sent++;
	else
		talk_received(t, &entry);
}

static void talk(void *arg)
{
	struct duo *duo = arg;
	static struct talk t;
	int me = duo->index;

	t.me = me;
	t.duo = duo;
	if (!duo->together)
		pipe_tell(&duo->ready);
	(void)usleep(duo->delay_us[me]);
	node_open(&t.node, duo->port[me]);
	t.to = node_peer(&t.node, duo->port[!me]);
	if (duo->together) {
		pipe_tell(&duo->ready);
		pipe_wait(&duo->go);
	}
	for (int m = 0; !duo->late && m < duo->count[!me]; m++)
		talk_receive(&t, m);
	for (int m = 0; m < duo->count[me]; m++)
		talk_send(&t, m);
	for (int m = 0; duo->late && m < duo->count[!me]; m++)
		talk_receive(&t, m);
	while (t.sent < duo->count[me] || t.received < duo->count[!me])
		talk_wait(&t);
	/* Everyone stays until all have everything. */
	pipe_tell(&duo->ready);
	drive_until(&t.node, &duo->over);
	node_close(&t.node);
}

static size_t some_length(void)
{
	static const unsigned int limits[] = { 17, 300, 5000, 100000, 1000000 };
	unsigned int which = below(20);

	return below(limits[which < 8    ? 0
			    : which < 12 ? 1
			    : which < 16 ? 2
			    : which < 19 ? 3
					 : 4]);
}

static void two_talk(bool together)
{
	struct duo *duo = shared_memory(sizeof(*duo));
	int first = (int)below(2);
	pid_t pids[2];

	pipe_open(&duo->ready);
	pipe_open(&duo->go);
	duo->together = together;
	duo->late = below(2);
	different_ports(duo->port, 2);
	for (int k = 0; k < 2; k++) {
		duo->count[k] = (int)below(MESSAGES_MAX + 1);
		for (int m = 0; m < duo->count[k]; m++)
			duo->len[k][m] = some_length();
	}
	if (!together) {
		duo->delay_us[!first] = below(20000);
		duo->count[first] += !duo->count[first];
	}
	for (int k = 0; k < 2; k++) {
		duo->index = k ? !first : first;
		pids[k] = child(talk, duo, 60);
		pipe_wait(&duo->ready);
	}
	for (int k = 0; together && k < 2; k++)
		pipe_tell(&duo->go);
	for (int k = 0; k < 2; k++)
		pipe_wait(&duo->ready);
	atomic_store(&duo->over, true);
	join(pids[0]);
	join(pids[1]);
	pipe_close(&duo->ready);
	pipe_close(&duo->go);
	(void)munmap(duo, sizeof(*duo));
}

static void crossed(void)
{
	two_talk(true);
}

static void client_first(void)
{
	two_talk(false);
}

/* ---- a server that is killed and comes back ---- */

/* A question and its answer. */
struct word {
	uint32_t number;
	uint32_t life; /* of the server, in an answer */
};

struct service {
	struct signal_pipe ready;
	uint16_t port, client;
	uint32_t life;
	atomic_uint alive; /* the life of the server that is up; 0: none, or dying */
	atomic_bool over;
	atomic_uint lost, errors;
};

static void serve(void *arg)
{
	enum { ANSWERS = 64 };
	static struct fi_context2 rx, tx[ANSWERS];
	static struct word in, out[ANSWERS];
	struct service *service = arg;
	uint32_t life = service->life;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	unsigned int count = 0;
	struct node node;
	fi_addr_t client;

	node_open(&node, service->port);
	client = node_peer(&node, service->client);
	node_receive(&node, &in, sizeof(in), 0, &rx);
	pipe_tell(&service->ready);
	for (;;) {
		int got = node_wait(&node, &entry, &err, 60000);
		struct word *answer = &out[count % ANSWERS];

		CHECK(got);
		/* An answer that could not be sent does not end the service. */
		if (got < 0 || entry.op_context != &rx)
			continue;
		CHECK(entry.len == sizeof(in));
		*answer = (struct word){ in.number, life };
		node_receive(&node, &in, sizeof(in), 0, &rx);
		(void)node_send(&node, client, answer, sizeof(*answer), 1,
			&tx[count++ % ANSWERS], LIMIT_MS);
	}
}

/* True: answered. False: an error, which is permitted. */
static bool ask_one(struct node *node, struct service *service, fi_addr_t to,
	uint32_t number, uint64_t level)
{
	enum { SOON_MS = 100 };
	uint64_t patience_ms = (uint64_t)limit_ms(4000);
	static struct word in, out[4096];
	static struct fi_context2 rx, tx[4096];
	static bool posted;
	uint32_t life = atomic_load(&service->alive);
	struct word *question = &out[number % 4096];
	void *context = &tx[number % 4096];
	uint64_t begin = now_ms();
	bool sent = false;

	if (!posted)
		node_receive(node, &in, sizeof(in), 0, &rx);
	posted = true;
	*question = (struct word){ .number = number };
	node_send_level(node, to, question, sizeof(*question), 0, context, level);
	for (;;) {
		struct fi_cq_tagged_entry entry;
		struct fi_cq_err_entry err;
		int got = node_wait(node, &entry, &err, 10);
		bool same = life && life == atomic_load(&service->alive);
		uint64_t waited = now_ms() - begin;

		if (got > 0 && entry.op_context == &rx) {
			CHECK(in.number <= number);
			if (in.number == number) {
				posted = false;
				return true;
			}
			node_receive(node, &in, sizeof(in), 0, &rx);
		} else if (got > 0) {
			sent = sent || entry.op_context == context;
		} else if (got < 0) {
			CHECK(err.op_context != &rx && err.err > 0);
			if (err.op_context != context)
				continue;
			atomic_fetch_add(&service->errors, same);
			return false;
		} else if (!same && sent && waited > SOON_MS) {
			return false; /* the server took it with it */
		} else if (waited > patience_ms && same) {
			/* Reported as sent, to one that has lived since before. */
			CHECK(sent);
			CHECK(!(level & FI_TRANSMIT_COMPLETE));
			atomic_fetch_add(&service->lost, 1);
			return false;
		}
		CHECK(waited < (uint64_t)LIMIT_MS);
	}
}

static void client_of(void *arg)
{
	struct service *service = arg;
	struct node node;
	fi_addr_t server;
	uint32_t number = 0, pause_us = (service->port * 7u) % 500u;
	uint64_t level = service->port % 2 ? FI_TRANSMIT_COMPLETE : 0;

	node_open(&node, service->client);
	server = node_peer(&node, service->port);
	pipe_tell(&service->ready);
	while (!atomic_load(&service->over)) {
		(void)ask_one(&node, service, server, ++number, level);
		(void)usleep(pause_us);
	}
	/* The last one that came up lives on: it answers, at the second attempt at the
	 * latest. */
	if (!ask_one(&node, service, server, ++number, FI_TRANSMIT_COMPLETE))
		CHECK(ask_one(&node, service, server, ++number, FI_TRANSMIT_COMPLETE));
	node_close(&node);
}

static unsigned int lost, errors;

static pid_t start_server(struct service *service)
{
	pid_t pid;

	service->life++;
	pid = child(serve, service, 60);
	pipe_wait(&service->ready);
	atomic_store(&service->alive, service->life);
	return pid;
}

static void server_restarts(void)
{
	struct service *service = shared_memory(sizeof(*service));
	pid_t client, server;
	uint16_t ports[2];

	pipe_open(&service->ready);
	different_ports(ports, 2);
	service->port = ports[0];
	service->client = ports[1];
	server = start_server(service);
	client = child(client_of, service, 60);
	pipe_wait(&service->ready);
	for (unsigned int i = 1 + below(3); i; i--) {
		(void)usleep(below(8000));
		atomic_store(&service->alive, 0);
		kill_and_reap(server);
		(void)usleep(below(4) ? 0 : below(5000));
		server = start_server(service);
	}
	(void)usleep(below(4000));
	atomic_store(&service->over, true);
	join(client);
	kill_and_reap(server);
	lost += atomic_load(&service->lost);
	errors += atomic_load(&service->errors);
	pipe_close(&service->ready);
	(void)munmap(service, sizeof(*service));
}

/* ---- a client that is killed in the middle of a message ---- */

static struct service *home; /* lives through all cycles */
static pid_t home_pid;
static struct node probe;
static fi_addr_t to_home;

static void flood(void *arg)
{
	static uint8_t buf[4 << 20];
	static struct fi_context2 tx[8];
	struct service *service = arg;
	size_t len = service->life ? sizeof(buf) : sizeof(struct word);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node node;
	fi_addr_t server;

	node_open(&node, 0);
	server = node_peer(&node, service->port);
	pipe_tell(&service->ready);
	for (unsigned int i = 0;; i++) {
		/* Large ones are matched, and then too long, in part or not at all. */
		CHECK(node_send(
			&node, server, buf, len >> i % 12, 0, &tx[i % 8], LIMIT_MS));
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	}
}

/* Receives any message, and answers questions with tag 2. */
static void host(void *arg)
{
	enum { SIZE = 4 << 20 };
	struct service *service = arg;
	struct fi_context2 rx[2], tx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	uint8_t *buf = malloc(SIZE);
	struct word question, answer;
	struct node node;
	fi_addr_t client;

	CHECK(buf);
	node_open(&node, service->port);
	client = node_peer(&node, service->client);
	CHECK_OK(fi_trecv(node.ep, &question, sizeof(question), NULL, FI_ADDR_UNSPEC, 2,
		0, &rx[1]));
	node_receive_exact(&node, buf, SIZE, 0, &rx[0]);
	pipe_tell(&service->ready);
	for (;;) {
		int got = node_wait(&node, &entry, &err, 600000);
		void *context = got < 0 ? err.op_context : entry.op_context;

		CHECK(got);
		if (context == &rx[0]) {
			node_receive_exact(&node, buf, SIZE, 0, &rx[0]);
		} else if (context == &rx[1]) {
			CHECK(got > 0);
			answer = question;
			node_receive_exact(
				&node, &question, sizeof(question), 2, &rx[1]);
			CHECK(node_send(&node, client, &answer, sizeof(answer), 1, &tx,
				LIMIT_MS));
		} else {
			CHECK(got > 0);
		}
	}
}

static void start_home(void)
{
	node_open(&probe, 0);
	home = shared_memory(sizeof(*home));
	pipe_open(&home->ready);
	home->port = free_port();
	home->client = node_port(&probe);
	home_pid = child(host, home, 7200);
	pipe_wait(&home->ready);
	to_home = node_peer(&probe, home->port);
}

/* Another process gets answers all the time, at the first attempt. */
static void probe_home(void)
{
	static uint32_t number;
	struct word question = { .number = ++number }, in;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx, tx;

	node_receive(&probe, &in, sizeof(in), 0, &rx);
	CHECK(node_send(
		&probe, to_home, &question, sizeof(question), 2, &tx, LIMIT_MS));
	for (int i = 0; i < 2; i++)
		CHECK(node_wait(&probe, &entry, &err, LIMIT_MS) == 1);
	CHECK(in.number == number);
}

static void client_dies_in_a_message(void)
{
	pid_t pid;

	if (!home)
		start_home();
	probe_home();
	home->life = below(2);
	pid = child(flood, home, 60);
	pipe_wait(&home->ready);
	(void)usleep(below(8000));
	kill_and_reap(pid);
	probe_home();
}

/* ---- all of it ---- */

static void random_cycles(void)
{
	static void (*const cycles[])(void) = { crossed, client_first, server_restarts,
		client_dies_in_a_message };
	static const char *const names[] = { "crossed", "client first",
		"server restarts", "client dies" };
	unsigned int count = setting("FAULT_CYCLES", 200);
	unsigned int done[4] = { 0 };

	seed = setting("FAULT_SEED", 4711);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int which = below(4);

		cycles[which]();
		done[which]++;
		if (count > 1000 && i % 1000 == 999) {
			printf("# %u cycles\n", i + 1);
			fflush(stdout);
		}
	}
	if (home_pid)
		kill_and_reap(home_pid);
	for (int k = 0; k < 4; k++)
		printf("# %s: %u\n", names[k], done[k]);
	printf("# reported as sent and lost: %u; errors after a restart: %u\n", lost,
		errors);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "random_cycles", random_cycles, 7200 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

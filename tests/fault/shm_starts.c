/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that start in any order: one that sends before its peer exists, and many
 * that send to all as the first thing they do, while others are still to come.
 * FAULT_PROCESSES, FAULT_ROUNDS and FAULT_SPREAD_MS: how many, how often, and over what
 * time they start (64, 200 and 2000 are asked for).
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "converse.h"

enum { MOST = MAX_PEERS };

/* A machine with more to do than these processes may run one of them, or none, for
 * longer than the usual limits. */
#define PATIENCE_MS (4 * LIMIT_MS)

static void *shared_memory(size_t len)
{
	void *mem = mmap(
		NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED);
	return mem;
}

/* ---- before it exists ---- */

struct late {
	uint16_t number;
	size_t len;
	unsigned int after_ms;
};

static void come_late(void *arg)
{
	const struct late *late = arg;
	uint8_t *in = malloc(late->len);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx;
	struct node node;

	CHECK(in);
	(void)usleep(late->after_ms * 1000);
	node_open(&node, late->number);
	node_receive_exact(&node, in, late->len, 3, &rx);
	CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	CHECK(entry.len == late->len && filled(in, late->len, late->number));
	/* Nothing came twice. */
	node_idle(&node, 20);
	node_close(&node);
	free(in);
}

static void sent_before_its_peer_exists(void)
{
	static const size_t sizes[] = { 8, 4000, 100000, 2 << 20 };
	static const unsigned int delays[] = { 0, 5, 50, 300 };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx;
	struct late late;

	for (int i = 0; i < 16; i++) {
		uint8_t *out = malloc(sizes[i % 4]);
		struct node node;
		pid_t pid;

		CHECK(out);
		late = (struct late){ free_port(), sizes[i % 4], delays[i / 4] };
		fill(out, late.len, late.number);
		pid = child(come_late, &late, 60);
		node_open(&node, 0);
		CHECK(node_send(&node, node_peer(&node, late.number), out, late.len, 3,
			&tx, LIMIT_MS));
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
		join(pid);
		node_close(&node);
		free(out);
	}
}

/* ---- all to all ---- */

struct crowd {
	uint16_t numbers[MOST];
	unsigned int count;
	size_t len;
	atomic_uint done;
};

/* Each process has its own copy. */
struct start {
	struct crowd *crowd;
	unsigned int me, delay_us;
};

struct member {
	struct crowd *crowd;
	unsigned int me, sent, received;
	struct node node;
	struct fi_context2 tx[MOST], rx[MOST];
	uint8_t *in, *out; /* a message of each, one for all */
	bool heard[MOST];
};

static void received(struct member *m, const struct fi_cq_tagged_entry *entry)
{
	size_t at = (size_t)((struct fi_context2 *)entry->op_context - m->rx);
	const uint8_t *in = m->in + at * m->crowd->len;

	CHECK(at < m->crowd->count && entry->tag < m->crowd->count);
	CHECK(!m->heard[entry->tag] && entry->len == m->crowd->len);
	CHECK(filled(in, m->crowd->len, entry->tag));
	m->heard[entry->tag] = true;
	m->received++;
}

static void step(struct member *m)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(&m->node, &entry, &err, (int)PATIENCE_MS);

	if (got != 1)
		fprintf(stderr, "%u of %u: got %d (%s), sent %u, received %u\n", m->me,
			m->crowd->count, got, fi_strerror(err.err), m->sent,
			m->received);
	CHECK(got == 1);
	if (entry.flags & FI_SEND)
		m->sent++;
	else
		received(m, &entry);
}

static void member_open(struct member *m, const struct start *start)
{
	struct crowd *crowd = start->crowd;

	m->crowd = crowd;
	m->me = start->me;
	(void)usleep(start->delay_us);
	m->in = malloc(crowd->count * crowd->len);
	m->out = malloc(crowd->len);
	CHECK(m->in && m->out);
	fill(m->out, crowd->len, m->me);
	node_open(&m->node, crowd->numbers[m->me]);
	for (unsigned int i = 0; i < crowd->count; i++) {
		m->node.peer[i] = node_peer(&m->node, crowd->numbers[i]);
		CHECK_OK(fi_trecv(m->node.ep, m->in + i * crowd->len, crowd->len, NULL,
			FI_ADDR_UNSPEC, 0, UINT64_MAX, &m->rx[i]));
	}
}

static void member(void *arg)
{
	static struct member m;
	const struct start *start = arg;
	struct crowd *crowd = start->crowd;

	member_open(&m, start);
	for (unsigned int i = 0; i < crowd->count; i++) {
		unsigned int to = (m.me + i) % crowd->count;

		CHECK(node_send(&m.node, m.node.peer[to], m.out, crowd->len, m.me,
			&m.tx[to], LIMIT_MS));
	}
	while (m.sent < crowd->count || m.received < crowd->count)
		step(&m);
	/* Everyone stays until all have everything. */
	atomic_fetch_add(&crowd->done, 1);
	while (atomic_load(&crowd->done) < crowd->count) {
		(void)fi_cq_read(m.node.cq, NULL, 0);
		(void)usleep(200);
	}
	node_close(&m.node);
}

static void all_to_all(void)
{
	static const size_t sizes[] = { 8, 1000, 20000 };
	unsigned int count = setting("FAULT_PROCESSES", 64);
	unsigned int rounds = setting("FAULT_ROUNDS", 3);
	unsigned int spread_us = setting("FAULT_SPREAD_MS", 300) * 1000 + 1;
	unsigned int seed = setting("FAULT_SEED", 4711);
	struct crowd *crowd = shared_memory(sizeof(*crowd));
	pid_t pids[MOST];

	CHECK(count > 0 && count <= MOST);
	for (unsigned int r = 0; r < rounds; r++) {
		uint64_t begin = now_ms();

		memset(crowd, 0, sizeof(*crowd));
		crowd->count = count;
		crowd->len = sizes[r % 3];
		different_ports(crowd->numbers, (int)count);
		for (unsigned int i = 0; i < count; i++) {
			struct start start = { crowd, i, rand_r(&seed) % spread_us };

			pids[i] = child(member, &start, 400);
		}
		for (unsigned int i = 0; i < count; i++)
			join(pids[i]);
		printf("# round %u: %u processes, %zu bytes each to each, %llu ms\n", r,
			count, crowd->len, (unsigned long long)(now_ms() - begin));
	}
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "sent_before_its_peer_exists", sent_before_its_peer_exists, 120 },
		{ "all_to_all", all_to_all, 7200 },
	};

	char patience[16];

	snprintf(patience, sizeof(patience), "%u", (unsigned int)PATIENCE_MS);
	CHECK(!setenv("FI_SHM_REFUSED_TIMEOUT", patience, 1));
	CHECK(!setenv("FI_SHM_CONNECT_TIMEOUT", patience, 1));
	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

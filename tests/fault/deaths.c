/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that are killed at any instant under traffic of all kinds. What others had
 * with them ends in errors that name them, nothing of them is left, and their names can
 * be had again at once. FAULT_ROUNDS: how often.
 */
#include <rdma/fi_atomic.h>

#include "confine.h"
#include "converse.h"

/* A second is promised; the machine may be busy. */
static unsigned int seed = 4711;

static unsigned int below(unsigned int limit)
{
	return (unsigned int)rand_r(&seed) % limit;
}

/* ---- traffic of all kinds with several peers ---- */

enum {
	PEERS = 3,
	DEPTH = 6, /* in flight to each peer */
	RECEIVES = 6,
	HEARD = 1 << 14,
	LARGEST = 1 << 20,
	WINDOW = 1 << 16,
	WINDOW_KEY = 7,
	REST_MS = 20,
	CAPS = FI_RMA | FI_ATOMIC,
};

struct header {
	uint64_t life; /* of the sender: a restarted one has another */
	uint32_t who, number, len, zero;
};

struct slot {
	struct fi_context2 context;
	bool busy;
	const char *what;
	uint8_t *buf;
};

struct traffic {
	struct node node;
	uint32_t me, count; /* of peers */
	uint64_t life;
	fi_addr_t to[PEERS];
	struct slot tx[PEERS][DEPTH], rx[RECEIVES];
	uint32_t sent[PEERS]; /* messages */
	/* The messages that were received from each process: its instance, and the
	 * messages of that instance. Small messages may overtake large ones, but none
	 * arrives twice. */
	struct {
		uint64_t life;
		uint32_t number[HEARD];
	} heard[PEERS + 1];
	unsigned long done, received;
	struct fid_mr *mr;
	uint8_t window[WINDOW];
};

static uint32_t some_length(void)
{
	static const uint32_t sizes[] = { 24, 64, 200, 4000, 9000, 70000, LARGEST };

	return sizes[below(sizeof(sizes) / sizeof(sizes[0]))];
}

static void receive(struct traffic *t, struct slot *slot)
{
	CHECK_OK(fi_trecv(t->node.ep, slot->buf, LARGEST, NULL, FI_ADDR_UNSPEC, 0,
		UINT64_MAX, &slot->context));
}

static void traffic_open(struct traffic *t, uint32_t me, uint16_t number,
	const uint16_t *peers, uint32_t count)
{
	memset(t, 0, sizeof(*t));
	t->me = me;
	t->count = count;
	t->life = now_ms() << 20 | (uint64_t)getpid();
	CHECK_OK(node_try(&t->node, number, CAPS));
	CHECK_OK(fi_mr_reg(t->node.domain, t->window, WINDOW,
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, WINDOW_KEY, 0, &t->mr, NULL));
	for (uint32_t p = 0; p < count; p++) {
		t->to[p] = node_peer(&t->node, peers[p]);
		for (int i = 0; i < DEPTH; i++)
			t->tx[p][i].buf = malloc(LARGEST);
	}
	for (int i = 0; i < RECEIVES; i++) {
		t->rx[i].buf = malloc(LARGEST);
		receive(t, &t->rx[i]);
	}
}

static ssize_t start_message(struct traffic *t, uint32_t peer, struct slot *slot)
{
	struct header header = { t->life, t->me, t->sent[peer], some_length(), 0 };
	ssize_t ret;

	memcpy(slot->buf, &header, sizeof(header));
	fill(slot->buf + sizeof(header), header.len - sizeof(header), header.number);
	ret = fi_tsend(t->node.ep, slot->buf, header.len, NULL, t->to[peer], 1,
		&slot->context);
	t->sent[peer] += !ret;
	return ret;
}

static ssize_t start_something(struct traffic *t, uint32_t peer, struct slot *slot)
{
	static uint64_t one = 1;
	size_t len = (size_t)1 << below(17);

	switch (below(8)) {
	case 0:
		slot->what = "write";
		return fi_write(t->node.ep, slot->buf, len, NULL, t->to[peer], 0,
			WINDOW_KEY, &slot->context);
	case 1:
		slot->what = "read";
		return fi_read(t->node.ep, slot->buf, len, NULL, t->to[peer], 0,
			WINDOW_KEY, &slot->context);
	case 2:
		slot->what = "fetch-add";
		return fi_fetch_atomic(t->node.ep, &one, 1, NULL, slot->buf, NULL,
			t->to[peer], 0, WINDOW_KEY, FI_UINT64, FI_SUM, &slot->context);
	default:
		slot->what = "message";
		return start_message(t, peer, slot);
	}
}

static void pump(struct traffic *t, uint32_t peer)
{
	for (int i = 0; i < DEPTH; i++) {
		struct slot *slot = &t->tx[peer][i];
		ssize_t ret;

		if (slot->busy)
			continue;
		ret = start_something(t, peer, slot);
		if (ret == -FI_EAGAIN)
			return;
		CHECK_OK(ret);
		slot->busy = true;
	}
}

/* The message is complete, and was not received before. */
static void look_at(struct traffic *t, const uint8_t *buf, size_t len)
{
	struct header h;
	uint32_t *last;

	CHECK(len >= sizeof(h));
	memcpy(&h, buf, sizeof(h));
	CHECK(h.len == len && h.who <= PEERS && !h.zero);
	CHECK(filled(buf + sizeof(h), len - sizeof(h), h.number));
	if (t->heard[h.who].life != h.life)
		memset(&t->heard[h.who], 0, sizeof(t->heard[h.who]));
	t->heard[h.who].life = h.life;
	last = &t->heard[h.who].number[h.number % HEARD];
	CHECK(*last < h.number + 1);
	*last = h.number + 1;
	t->received++;
}

static bool is_receive(const struct traffic *t, const void *context)
{
	return context >= (const void *)t->rx &&
	       context < (const void *)(t->rx + RECEIVES);
}

/* The peer that an operation went to. */
static uint32_t finished(struct traffic *t, void *context)
{
	for (uint32_t p = 0; p < t->count; p++)
		for (int i = 0; i < DEPTH; i++)
			if (context == &t->tx[p][i].context) {
				CHECK(t->tx[p][i].busy);
				t->tx[p][i].busy = false;
				t->done++;
				return p;
			}
	CHECK(!"a completion of nobody");
	return 0;
}

/* @dead: the one whose operations may fail; PEERS: none. */
static void attend(struct traffic *t, uint32_t dead)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret = fi_cq_read(t->node.cq, &entry, 1);
	struct slot *slot;
	bool failed;

	if (ret == -FI_EAGAIN)
		return;
	failed = ret == -FI_EAVAIL;
	CHECK(ret == 1 || failed);
	if (failed) {
		CHECK(fi_cq_readerr(t->node.cq, &err, 0) == 1);
		if (dead >= PEERS || err.err <= 0)
			fprintf(stderr, "operation %#llx: %s\n",
				(unsigned long long)err.flags, fi_strerror(err.err));
		CHECK(dead < PEERS && err.err > 0);
		entry.op_context = err.op_context;
	}
	slot = entry.op_context;
	if (is_receive(t, slot)) {
		if (!failed)
			look_at(t, slot->buf, entry.len);
		receive(t, slot);
		return;
	}
	if (finished(t, slot) == dead || !failed) {
		CHECK(!failed || err.src_addr == t->to[dead]);
		return;
	}
	CHECK(!"an operation with one that lives failed");
}

static bool in_flight(const struct traffic *t, uint32_t peer)
{
	for (int i = 0; i < DEPTH; i++)
		if (t->tx[peer][i].busy)
			return true;
	return false;
}

/* ---- killed in the middle of it ---- */

struct victims {
	uint16_t hub, numbers[PEERS];
	uint32_t index;
	struct signal_pipe ready;
};

static void be_victim(void *arg)
{
	static struct traffic t;
	struct victims *v = arg;

	seed += (unsigned int)getpid();
	traffic_open(&t, v->index, v->numbers[v->index], &v->hub, 1);
	pipe_tell(&v->ready);
	for (;;) {
		pump(&t, 0);
		attend(&t, PEERS);
	}
}

static pid_t start_victim(struct victims *v, uint32_t index)
{
	pid_t pid;

	v->index = index;
	pid = child(be_victim, v, 120);
	pipe_wait(&v->ready);
	return pid;
}

static void all_with(struct traffic *t, uint32_t dead)
{
	for (uint32_t p = 0; p < PEERS; p++)
		if (p != dead)
			pump(t, p);
	attend(t, dead);
}

/* All that was in flight ends; the others go on meanwhile. Returns how long it took. */
static uint64_t survive(struct traffic *t, uint32_t dead)
{
	uint64_t begin = now_ms(), took;
	unsigned long before;

	while (in_flight(t, dead)) {
		all_with(t, dead);
		if (now_ms() - begin < (uint64_t)LIMIT_MS)
			continue;
		for (int i = 0; i < DEPTH; i++)
			if (t->tx[dead][i].busy)
				fprintf(stderr, "no end: %s\n", t->tx[dead][i].what);
		_exit(1);
	}
	took = now_ms() - begin;
	for (before = t->done; t->done < before + 200;) {
		all_with(t, dead);
		CHECK(now_ms() - begin < (uint64_t)LIMIT_MS);
	}
	return took;
}

/* The new one is talked to by the same address; that it is new may cost what was begun
 * before that was known. */
static void meet(struct traffic *t, uint32_t peer, uint64_t life)
{
	uint64_t deadline = now_ms() + LIMIT_MS;

	while (t->heard[peer].life == life) {
		pump(t, peer);
		all_with(t, peer);
		CHECK(now_ms() < deadline);
	}
	while (in_flight(t, peer)) {
		all_with(t, peer);
		CHECK(now_ms() < deadline);
	}
}

/* Send no message for a while: peers of tcp that share memory are reached through it
 * from then on (docs/design/local.md). */
static void rest(struct traffic *t)
{
	uint64_t deadline = now_ms() + LIMIT_MS, until = now_ms() + REST_MS;

	for (uint32_t p = 0; p < PEERS; p++)
		while (in_flight(t, p) || now_ms() < until) {
			attend(t, PEERS);
			CHECK(now_ms() < deadline);
		}
}

static void killed_in_traffic(void)
{
	static struct traffic t;
	unsigned int rounds = setting("FAULT_ROUNDS", 15);
	bool alone = own_shm_if_permitted();
	struct victims v;
	uint64_t longest = 0;
	pid_t pids[PEERS];
	struct node next;

	pipe_open(&v.ready);
	different_ports(v.numbers, PEERS);
	v.hub = free_port();
	traffic_open(&t, PEERS, v.hub, v.numbers, PEERS);
	for (uint32_t p = 0; p < PEERS; p++)
		pids[p] = start_victim(&v, p);
	/* What is sent to one that was never there waits for it. */
	for (uint32_t p = 0; p < PEERS; p++)
		meet(&t, p, 0);
	for (unsigned int r = 0; r < rounds; r++) {
		uint32_t dead = below(PEERS);
		uint64_t instant, took, life;

		if (r % 2)
			rest(&t);
		instant = now_ms() + below(30);
		while (now_ms() < instant)
			all_with(&t, PEERS);
		(void)usleep(below(1000));
		kill_and_reap(pids[dead]);
		life = t.heard[dead].life;
		took = survive(&t, dead);
		longest = took > longest ? took : longest;
		pids[dead] = start_victim(&v, dead);
		meet(&t, dead, life);
	}
	printf("# %lu operations, %lu messages in; noticed within %llu ms\n", t.done,
		t.received, (unsigned long long)longest);
	for (uint32_t p = 0; p < PEERS; p++)
		kill_and_reap(pids[p]);
	CHECK_OK(fi_close(&t.mr->fid));
	node_close(&t.node);
	/* The next one to open clears what may be left. */
	node_open(&next, 0);
	node_close(&next);
	CHECK(!alone || !anything_left());
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "killed_in_traffic", killed_in_traffic, 3600 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

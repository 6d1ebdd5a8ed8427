/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Much of it: messages that nobody waits for, one large transfer, many idle peers.
 *
 *   FAULT_SMALL      unexpected messages of 512 bytes (1000000 are asked for)
 *   FAULT_LARGE      unexpected messages of 1 MiB (1000)
 *   FAULT_HUGE_MIB   length of the large transfer (5120)
 *   FAULT_IDLE       idle peers (100)
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "converse.h"

enum { MIB = 1 << 20 };

/* Bytes of this process that are its own or shared with others, in MiB. */
static unsigned int memory_mib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long kib = 0, value;
	char line[256];

	CHECK(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %lu", &value) == 1 ||
			sscanf(line, "RssShmem: %lu", &value) == 1)
			kib += value;
	fclose(status);
	return (unsigned int)(kib / 1024);
}

static void bounded(const char *who, unsigned int before_mib, unsigned int limit_mib)
{
	unsigned int grown = memory_mib() - before_mib;

	if ((int)grown < 0)
		grown = 0;
	printf("# %s: %u MiB more\n", who, grown);
	fflush(stdout);
	CHECK(grown <= limit_mib);
}

/* ---- messages without receives ---- */

/*
 * The sender sends all of them; meanwhile the receiver makes progress and posts
 * nothing, until all are sent or nothing moves any more. Then it receives them: small
 * ones in their order, large ones backwards, after a message behind them all.
 */
struct flood {
	uint16_t numbers[2];
	uint32_t count;
	size_t len;
	bool backwards;
	_Atomic uint32_t sent; /* taken by fi_tsend */
};

enum { URGENT = 1 << 30, CONTEXTS = 2048, KINDS = 8 };

/* Limits: a receiver uses at most half as much memory again as the small messages that
 * wait, and a kilobyte for each message that waits at its sender; the sender does not
 * use more than usual. */
enum { USUAL_MIB = 16, EAGER = 8192, ANNOUNCED = 1024 };

static unsigned int limit_mib(const struct flood *f)
{
	uint64_t each = f->len <= EAGER ? f->len + f->len / 2 : ANNOUNCED;

	return USUAL_MIB + (unsigned int)(f->count * each / MIB);
}

static void flood_sender(void *arg)
{
	static struct fi_context2 tx[CONTEXTS];
	static uint8_t *out[KINDS];
	static uint32_t word = 7;
	struct flood *f = arg;
	struct fi_cq_tagged_entry entry;
	uint32_t started = 0, done = 0;
	unsigned int base;
	struct node node;
	fi_addr_t to;

	node_open(&node, f->numbers[0]);
	to = node_peer(&node, f->numbers[1]);
	for (int i = 0; i < KINDS; i++) {
		out[i] = malloc(f->len);
		CHECK(out[i]);
		fill(out[i], f->len, (uint64_t)i);
	}
	base = memory_mib();
	while (done <= f->count) {
		bool last = started == f->count;
		ssize_t ret = -FI_EAGAIN;

		if (started <= f->count)
			ret = fi_tsend(node.ep,
				last ? (void *)&word : out[started % KINDS],
				last ? sizeof(word) : f->len, NULL, to,
				last ? URGENT : started, &tx[started % CONTEXTS]);
		CHECK(ret == 0 || ret == -FI_EAGAIN || started > f->count);
		if (!ret)
			atomic_store(&f->sent, ++started);
		ret = fi_cq_read(node.cq, &entry, 1);
		CHECK(ret == 1 || ret == -FI_EAGAIN);
		done += ret == 1;
	}
	bounded("sender", base, USUAL_MIB);
	node_close(&node);
}

/* Progress until all is there, or nothing has moved for a while. */
static void let_it_come(struct flood *f, struct node *node)
{
	enum { STILL_MS = 1000, SETTLED_MS = 100 };
	uint64_t moved = now_ms(), still = 0;
	uint32_t last = 0;

	while (still < (last > f->count ? SETTLED_MS : STILL_MS)) {
		uint32_t sent = atomic_load(&f->sent);

		CHECK(fi_cq_read(node->cq, NULL, 0) == -FI_EAGAIN);
		if (sent != last || !sent)
			moved = now_ms();
		last = sent;
		still = now_ms() - moved;
	}
	printf("# %u of %u were taken before any was received\n", last, f->count + 1);
}

static void receive_one(struct flood *f, struct node *node, uint64_t tag, uint8_t *in)
{
	static struct fi_context2 rx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	size_t len = tag == URGENT ? sizeof(uint32_t) : f->len;

	node_receive_exact(node, in, len, tag, &rx);
	CHECK(node_wait(node, &entry, &err, LIMIT_MS) == 1);
	CHECK(entry.tag == tag && entry.len == len);
	CHECK(tag == URGENT || filled(in, len, tag % KINDS));
}

static void flood_receiver(void *arg)
{
	struct flood *f = arg;
	uint8_t *in = calloc(1, f->len);
	unsigned int base;
	struct node node;

	CHECK(in);
	node_open(&node, f->numbers[1]);
	base = memory_mib();
	let_it_come(f, &node);
	bounded("receiver", base, limit_mib(f));
	if (f->backwards)
		receive_one(f, &node, URGENT, in);
	for (uint32_t i = 0; i < f->count; i++)
		receive_one(f, &node, f->backwards ? f->count - 1 - i : i, in);
	if (!f->backwards)
		receive_one(f, &node, URGENT, in);
	node_idle(&node, 20);
	node_close(&node);
	free(in);
}

static void flood_of(uint32_t count, size_t len, bool backwards)
{
	struct flood *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[2];

	CHECK(f != MAP_FAILED);
	f->count = count;
	f->len = len;
	f->backwards = backwards;
	different_ports(f->numbers, 2);
	pids[0] = child(flood_sender, f, 1200);
	pids[1] = child(flood_receiver, f, 1200);
	join(pids[0]);
	join(pids[1]);
}

static void small_ones_unexpected(void)
{
	flood_of(setting("FAULT_SMALL", 200000), 512, false);
}

/* One that is asked for is not held up by large ones that are not. */
static void large_ones_unexpected(void)
{
	flood_of(setting("FAULT_LARGE", 100), MIB, true);
}

/* ---- one large transfer ---- */

struct huge {
	struct partner p;
	uint16_t numbers[2];
	unsigned int me;
	size_t len;
};

static void *memory(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(mem != MAP_FAILED);
	return mem;
}

enum { HUGE_KEY = 9, MESSAGE_TAG = 1, DONE_TAG = 2, HUGE_LIMIT_MS = 600000 };

static void say(struct partner *p, void *buf, size_t len, uint64_t tag)
{
	static struct fi_context2 tx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	CHECK(node_send(&p->node, p->to, buf, len, tag, &tx, LIMIT_MS));
	CHECK(node_wait(&p->node, &entry, &err, HUGE_LIMIT_MS) == 1);
}

static void hear(struct partner *p, void *buf, size_t len, uint64_t tag)
{
	static struct fi_context2 rx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;

	node_receive_exact(&p->node, buf, len, tag, &rx);
	CHECK(node_wait(&p->node, &entry, &err, HUGE_LIMIT_MS) == 1);
	CHECK(entry.len == len);
}

/* A message, a write, and a read of the same length, in buffers that are not
 * aligned. */
static void huge_source(struct huge *h, uint8_t *buf)
{
	static struct fi_context2 context;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	uint8_t word;

	fill(buf, h->len, 1);
	say(&h->p, buf, h->len, MESSAGE_TAG);
	hear(&h->p, &word, 1, DONE_TAG);
	fill(buf, h->len, 2);
	CHECK_OK(fi_write(
		h->p.node.ep, buf, h->len, NULL, h->p.to, 0, HUGE_KEY, &context));
	CHECK(node_wait(&h->p.node, &entry, &err, HUGE_LIMIT_MS) == 1);
	say(&h->p, &word, 1, DONE_TAG);
	hear(&h->p, &word, 1, DONE_TAG);
	CHECK_OK(fi_read(
		h->p.node.ep, buf, h->len, NULL, h->p.to, 0, HUGE_KEY, &context));
	CHECK(node_wait(&h->p.node, &entry, &err, HUGE_LIMIT_MS) == 1);
	CHECK(filled(buf, h->len, 3));
	say(&h->p, &word, 1, DONE_TAG);
}

static void huge_sink(struct huge *h, uint8_t *buf)
{
	struct fid_mr *mr;
	uint8_t word = 0;

	CHECK_OK(fi_mr_reg(h->p.node.domain, buf, h->len,
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, HUGE_KEY, 0, &mr, NULL));
	hear(&h->p, buf, h->len, MESSAGE_TAG);
	CHECK(filled(buf, h->len, 1));
	say(&h->p, &word, 1, DONE_TAG);
	hear(&h->p, &word, 1, DONE_TAG);
	CHECK(filled(buf, h->len, 2));
	fill(buf, h->len, 3);
	say(&h->p, &word, 1, DONE_TAG);
	hear(&h->p, &word, 1, DONE_TAG);
	CHECK_OK(fi_close(&mr->fid));
}

static void huge_one(void *arg)
{
	struct huge *h = arg;
	uint8_t *buf = memory(h->len + 64);

	partner_open(&h->p, h->me, h->numbers);
	if (h->me)
		huge_sink(h, buf + 24);
	else
		huge_source(h, buf + 1);
	partner_close(&h->p);
}

static void one_large_transfer(void)
{
	static struct huge h;
	pid_t pids[2];

	h.len = ((size_t)setting("FAULT_HUGE_MIB", 64) << 20) + 13;
	different_ports(h.numbers, 2);
	for (h.me = 0; h.me < 2; h.me++)
		pids[h.me] = child(huge_one, &h, 1800);
	for (int i = 0; i < 2; i++)
		join(pids[i]);
}

/* ---- idle peers ---- */

struct idle {
	uint16_t hub, number;
	struct signal_pipe ready;
};

static void be_idle(void *arg)
{
	struct idle *idle = arg;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 tx, rx;
	uint32_t out = idle->number, in = 0;
	struct node node;

	node_open(&node, idle->number);
	node_receive_exact(&node, &in, sizeof(in), 2, &rx);
	CHECK(node_send(&node, node_peer(&node, idle->hub), &out, sizeof(out), 1, &tx,
		LIMIT_MS));
	for (int i = 0; i < 2; i++)
		CHECK(node_wait(&node, &entry, &err, LIMIT_MS) == 1);
	CHECK(in == out + 1);
	pipe_tell(&idle->ready);
	for (;;)
		(void)pause();
}

/* Every process is answered; later one that was silent sends again. */
static void greet(struct node *hub, uint16_t number)
{
	static struct fi_context2 tx, rx;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	uint32_t in = 0, out;

	node_receive_exact(hub, &in, sizeof(in), 1, &rx);
	CHECK(node_wait(hub, &entry, &err, LIMIT_MS) == 1);
	CHECK(in == number);
	out = in + 1;
	CHECK(node_send(
		hub, node_peer(hub, number), &out, sizeof(out), 2, &tx, LIMIT_MS));
	CHECK(node_wait(hub, &entry, &err, LIMIT_MS) == 1);
}

static void many_idle_peers(void)
{
	enum { ACTIVE_ROUNDS = 3 };
	unsigned int count = setting("FAULT_IDLE", 100), before;
	pid_t *pids = calloc(count, sizeof(*pids));
	struct idle idle;
	struct node hub;

	CHECK(pids);
	node_open(&hub, 0);
	idle.hub = node_port(&hub);
	pipe_open(&idle.ready);
	before = memory_mib();
	for (unsigned int i = 0; i < count; i++) {
		idle.number = free_port();
		pids[i] = child(be_idle, &idle, 120);
		greet(&hub, idle.number);
		pipe_wait(&idle.ready);
	}
	printf("# %u peers: %u MiB\n", count, memory_mib() - before);
	fflush(stdout);
	/* The processes die one after the other; that is no error for the hub, and
	 * processes that start are answered as before. */
	for (unsigned int i = 0; i < count; i++) {
		kill_and_reap(pids[i]);
		if (i % (count / ACTIVE_ROUNDS + 1))
			continue;
		idle.number = free_port();
		pids[i] = child(be_idle, &idle, 120);
		greet(&hub, idle.number);
		pipe_wait(&idle.ready);
		kill_and_reap(pids[i]);
	}
	node_idle(&hub, 200);
	node_close(&hub);
	free(pids);
}

/* Memory of an endpoint without peers: at most 2 MiB. */
static void idle_endpoints_are_small(void)
{
	enum { COUNT = 20, EACH_MIB = 2 };
	static struct node nodes[COUNT];
	unsigned int before;

	node_open(&nodes[0], 0);
	before = memory_mib();
	for (int i = 1; i < COUNT; i++)
		node_open(&nodes[i], 0);
	bounded("20 idle endpoints", before, COUNT * EACH_MIB);
	for (int i = 0; i < COUNT; i++)
		node_close(&nodes[i]);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "small_ones_unexpected", small_ones_unexpected, 1200 },
		{ "large_ones_unexpected", large_ones_unexpected, 1200 },
		{ "one_large_transfer", one_large_transfer, 1800 },
		{ "many_idle_peers", many_idle_peers, 300 },
		{ "idle_endpoints_are_small", idle_endpoints_are_small, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "converse.h"

#include <rdma/fi_atomic.h>

enum { WINDOW = 1 << 20, LARGEST = 4 << 20, ADDS = 10 };

/* Half of the window is written by the peer, in the other half it adds. */
static uint8_t window[WINDOW + sizeof(uint64_t)];
static uint8_t out[LARGEST], in[LARGEST];

void fill(void *buf, size_t len, uint64_t seed)
{
	uint8_t *bytes = buf;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t word = pattern(seed, i);

		memcpy(bytes + i, &word, 8);
	}
	for (; i < len; i++)
		bytes[i] = (uint8_t)pattern(seed, i);
}

bool filled(const void *buf, size_t len, uint64_t seed)
{
	const uint8_t *bytes = buf;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t word = pattern(seed, i);

		if (memcmp(bytes + i, &word, 8))
			return false;
	}
	for (; i < len; i++)
		if (bytes[i] != (uint8_t)pattern(seed, i))
			return false;
	return true;
}

void partner_open(struct partner *p, unsigned int me, const uint16_t numbers[2])
{
	p->me = me;
	CHECK_OK(node_try(&p->node, numbers[me], CONVERSE_CAPS));
	p->to = node_peer(&p->node, numbers[!me]);
	CHECK_OK(fi_mr_reg(p->node.domain, window, sizeof(window),
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1 + me, 0, &p->mr, NULL));
}

void partner_close(struct partner *p)
{
	CHECK_OK(fi_close(&p->mr->fid));
	node_close(&p->node);
}

static void finish(struct partner *p, int count)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };

	while (count--) {
		int got = node_wait(&p->node, &entry, &err, LIMIT_MS);

		if (got < 0)
			fprintf(stderr, "operation %#llx: %s\n",
				(unsigned long long)err.flags, fi_strerror(err.err));
		CHECK(got == 1);
	}
}

static void exchange(struct partner *p, size_t len, uint64_t tag)
{
	static struct fi_context2 tx, rx;

	fill(out, len, 2 * tag + p->me);
	memset(in, 0, len);
	node_receive_exact(&p->node, in, len, tag, &rx);
	CHECK(node_send(&p->node, p->to, out, len, tag, &tx, LIMIT_MS));
	finish(p, 2);
	CHECK(filled(in, len, 2 * tag + !p->me));
}

/* Until the call is taken, and done. */
#define DONE(p, call)                                                                  \
	do {                                                                           \
		uint64_t deadline_ = now_ms() + LIMIT_MS;                              \
		ssize_t got_;                                                          \
                                                                                       \
		while ((got_ = (call)) == -FI_EAGAIN) {                                \
			(void)fi_cq_read((p)->node.cq, NULL, 0);                       \
			CHECK(now_ms() < deadline_);                                   \
		}                                                                      \
		CHECK_OK(got_);                                                        \
		finish(p, 1);                                                          \
	} while (0)

static void write_and_read(struct partner *p)
{
	static struct fi_context2 context;
	uint64_t key = 1 + !p->me;

	memset(window, 0, sizeof(window));
	exchange(p, 1, 100);
	fill(out, WINDOW, 1000 + p->me);
	/* A message that follows a write means that the write has arrived. */
	DONE(p, fi_write(p->node.ep, out, WINDOW, NULL, p->to, 0, key, &context));
	exchange(p, 1, 101);
	CHECK(filled(window, WINDOW, 1000 + !p->me));
	memset(in, 0, WINDOW);
	DONE(p, fi_read(p->node.ep, in, WINDOW, NULL, p->to, 0, key, &context));
	CHECK(filled(in, WINDOW, 1000 + p->me));
}

static void add(struct partner *p)
{
	static struct fi_context2 context;
	static uint64_t one = 1, found;
	uint64_t sum;

	for (uint64_t i = 0; i < ADDS; i++) {
		DONE(p, fi_fetch_atomic(p->node.ep, &one, 1, NULL, &found, NULL, p->to,
				WINDOW, 1 + !p->me, FI_UINT64, FI_SUM, &context));
		CHECK(found == i);
	}
	exchange(p, 1, 102);
	memcpy(&sum, window + WINDOW, sizeof(sum));
	CHECK(sum == ADDS);
}

void converse(struct partner *p)
{
	static const size_t sizes[] = { 0, 1, 8, 64, 1000, 4096, 4097, 16384, 65536,
		300000, 1 << 20, LARGEST };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		exchange(p, sizes[i], i);
	write_and_read(p);
	add(p);
}

/* ---- in two processes ---- */

struct two {
	uint16_t numbers[2];
	unsigned int me;
	void (*confine)(unsigned int me);
};

static void one_of_two(void *arg)
{
	const struct two *two = arg;
	struct partner p;

	if (two->confine)
		two->confine(two->me);
	partner_open(&p, two->me, two->numbers);
	for (int i = 0; i < 3; i++)
		converse(&p);
	partner_close(&p);
}

void converse_in_two(void (*confine)(unsigned int me))
{
	struct two two = { .confine = confine };
	pid_t pids[2];

	different_ports(two.numbers, 2);
	for (two.me = 0; two.me < 2; two.me++)
		pids[two.me] = child(one_of_two, &two, 90);
	for (int i = 0; i < 2; i++)
		join(pids[i]);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that use one pair of endpoints for everything at once. */
#include <pthread.h>
#include <stdatomic.h>

#include "suites.h"

enum { THREADS = 4, ROUNDS = 150, LEN = 3000, LARGE = 100000 };

struct shared {
	struct cf_env env;
	struct cf_region region;
	uint64_t deadline;
	/* Completions are handed to the thread that waits for them, by context. */
	atomic_int done[2 * THREADS];
	struct fi_context2 contexts[2 * THREADS];
};

struct worker {
	struct shared *shared;
	int index;
};

static void thread_safe(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_SAFE;
}

static void read_all(struct shared *s)
{
	struct fi_cq_tagged_entry entries[8];

	for (int i = 0; i < 2; i++) {
		struct fid_cq *cqs[] = { s->env.side[i].tx_cq, s->env.side[i].rx_cq };

		for (int q = 0; q < 2; q++) {
			ssize_t n = fi_cq_read(cqs[q], entries, 8);

			CHECK(n > 0 || n == -FI_EAGAIN);
			for (ssize_t e = 0; e < n; e++) {
				long at = (struct fi_context2 *)entries[e].op_context -
					  s->contexts;

				CHECK(at >= 0 && at < 2 * THREADS);
				atomic_fetch_add(&s->done[at], 1);
			}
		}
	}
	CHECK(cf_now_ms() < s->deadline);
}

static void await(struct shared *s, int at)
{
	while (!atomic_load(&s->done[at]))
		read_all(s);
	atomic_store(&s->done[at], 0);
}

#define POST(s, call)                                                                  \
	do {                                                                           \
		ssize_t started_;                                                      \
		while ((started_ = (call)) == -FI_EAGAIN)                              \
			read_all(s);                                                   \
		CHECK_OK(started_);                                                    \
	} while (0)

/* Half of the threads in each direction, each with a tag of its own. */
static void *send_and_receive(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	int me = w->index;
	struct cf_side *from = &s->env.side[me % 2], *to = &s->env.side[!(me % 2)];
	uint8_t *out = malloc(LARGE), *in = malloc(LARGE);

	CHECK(out && in);
	for (int round = 0; round < ROUNDS; round++) {
		size_t len = round % 10 ? 8 + (size_t)round : LARGE;

		cf_fill(out, len, (unsigned int)(me * ROUNDS + round));
		if (round % 2)
			POST(s, fi_trecv(to->ep, in, len, NULL, FI_ADDR_UNSPEC,
					(uint64_t)me, 0, &s->contexts[me]));
		POST(s, fi_tsend(from->ep, out, len, NULL, from->peer, (uint64_t)me,
				&s->contexts[THREADS + me]));
		if (!(round % 2))
			POST(s, fi_trecv(to->ep, in, len, NULL, FI_ADDR_UNSPEC,
					(uint64_t)me, 0, &s->contexts[me]));
		await(s, me);
		await(s, THREADS + me);
		cf_verify(in, len, (unsigned int)(me * ROUNDS + round));
	}
	free(out);
	free(in);
	return NULL;
}

/* Each thread has a part of the region. */
static void *write_and_read(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	int me = w->index;
	struct cf_side *from = &s->env.side[0];
	uint64_t addr = s->region.addr + (uint64_t)me * LEN;
	uint8_t out[LEN], in[LEN];

	for (int round = 0; round < ROUNDS; round++) {
		cf_fill(out, LEN, (unsigned int)(me * ROUNDS + round));
		POST(s, fi_write(from->ep, out, LEN, NULL, from->peer, addr,
				s->region.key, &s->contexts[me]));
		await(s, me);
		POST(s, fi_read(from->ep, in, LEN, NULL, from->peer, addr,
				s->region.key, &s->contexts[THREADS + me]));
		await(s, THREADS + me);
		cf_verify(in, LEN, (unsigned int)(me * ROUNDS + round));
	}
	return NULL;
}

static void run(uint64_t caps, void *(*even)(void *), void *(*odd)(void *))
{
	static struct shared s;
	struct cf_options options = { .caps = caps,
		.cq_format = FI_CQ_FORMAT_TAGGED,
		.split_cqs = true,
		.adjust = thread_safe };
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	if (!cf_offers(&options))
		SKIP("not offered thread safe");
	cf_open_pair(&s.env, &options);
	if (caps & FI_RMA)
		cf_open_region(&s.env, 1, &s.region, NULL, THREADS * LEN,
			FI_REMOTE_READ | FI_REMOTE_WRITE);
	s.deadline = cf_now_ms() + 8 * CF_TIMEOUT_MS;
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ &s, i };
		CHECK_OK(pthread_create(
			&threads[i], NULL, i < THREADS / 2 ? even : odd, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	if (caps & FI_RMA)
		cf_close_region(&s.region);
	cf_close(&s.env);
}

static void tagged_messages_in_both_directions(void)
{
	run(FI_TAGGED, send_and_receive, send_and_receive);
}

static void remote_access_beside_messages(void)
{
	run(FI_TAGGED | FI_RMA, send_and_receive, write_and_read);
}

CF_SUITE(threads_rma, CF_CASE(tagged_messages_in_both_directions, "THR-001", FI_TAGGED),
	CF_CASE(remote_access_beside_messages, "THR-001 THR-008", FI_TAGGED | FI_RMA));

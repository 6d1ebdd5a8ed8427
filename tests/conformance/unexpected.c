/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that arrive long before their receives. */
#include <unistd.h>

#include "suites.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { INSTRUMENTED = 1 };
#else
enum { INSTRUMENTED = 0 };
#endif

enum { SMALL = 512, LARGE = 1 << 20, DESCRIPTION = 512 };

static const struct cf_options options = {
	.caps = FI_TAGGED, .cq_format = FI_CQ_FORMAT_TAGGED, .split_cqs = true
};

static size_t resident(void)
{
	unsigned long pages = 0, unused;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f);
	CHECK_EQ(fscanf(f, "%lu %lu", &unused, &pages), 2);
	(void)fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Send all of them and let them travel: nobody receives. @sent counts completions. */
static void flood(struct cf_env *env, const void *buf, size_t len, uint64_t count,
	struct fi_context2 *contexts, uint64_t *completed)
{
	struct cf_side *from = &env->side[0];
	struct fi_cq_tagged_entry entry;
	uint64_t deadline = cf_now_ms() + 6 * CF_TIMEOUT_MS;

	for (uint64_t i = 0; i < count; i++) {
		ssize_t ret;

		while ((ret = fi_tsend(from->ep, buf, len, NULL, from->peer, i,
				&contexts[i])) == -FI_EAGAIN) {
			if (fi_cq_read(from->tx_cq, &entry, 1) == 1)
				++*completed;
			cf_progress();
			if (cf_now_ms() > deadline)
				cf_fail(__FILE__, __LINE__, "stuck at message %llu",
					(unsigned long long)i);
		}
		CHECK_OK(ret);
	}
	for (int i = 0; i < 2000; i++) {
		if (fi_cq_read(from->tx_cq, &entry, 1) == 1)
			++*completed;
		cf_progress();
	}
}

static void receive(struct cf_env *env, void *buf, size_t len, uint64_t tag)
{
	struct cf_side *to = &env->side[1];
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;

	CF_RETRY(to->rx_cq,
		fi_trecv(to->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, &context));
	cf_cq_wait(to->rx_cq, &entry);
	CHECK(entry.op_context == &context);
	CHECK(entry.tag == tag);
	CHECK_EQ(entry.len, len);
}

static void finish(struct cf_env *env, uint64_t count, uint64_t completed)
{
	struct fi_cq_tagged_entry entry;

	for (; completed < count; completed++)
		cf_cq_wait(env->side[0].tx_cq, &entry);
	cf_exchange(env, 64);
}

/* The one that came last is the first to be wanted, then the rest from both ends. */
static void the_last_one_first(uint64_t count, size_t len)
{
	struct fi_context2 *contexts = calloc(count, sizeof(*contexts));
	uint8_t *out = malloc(len), *in = malloc(len);
	uint64_t completed = 0, low = 0, high = count;
	struct cf_env env;

	CHECK(contexts && out && in);
	cf_fill(out, len, 1);
	cf_open_pair(&env, &options);
	flood(&env, out, len, count, contexts, &completed);
	while (low < high) {
		uint64_t tag = high % 3 || low + 1 == high ? --high : low++;

		memset(in, 0, len);
		receive(&env, in, len, tag);
		if (tag % 64 == 0 || len == LARGE)
			cf_verify(in, len, 1);
	}
	finish(&env, count, completed);
	cf_close(&env);
	free(contexts);
	free(out);
	free(in);
}

static void many_small_ones(void)
{
	the_last_one_first(INSTRUMENTED ? 5000 : 30000, SMALL);
}

static void many_large_ones(void)
{
	the_last_one_first(INSTRUMENTED ? 30 : 1000, LARGE);
}

static void sizes_are_mixed(void)
{
	enum { COUNT = 600 };
	static const size_t sizes[] = { 0, 1, 100, 4000, 9000, 33000, 66000, 300000 };
	static struct fi_context2 contexts[COUNT];
	struct cf_side *from;
	struct fi_cq_tagged_entry entry;
	struct cf_env env;
	uint8_t *out = malloc(300000), *in = malloc(300000);
	uint64_t completed = 0;

	CHECK(out && in);
	cf_fill(out, 300000, 2);
	cf_open_pair(&env, &options);
	from = &env.side[0];
	for (uint64_t i = 0; i < COUNT; i++) {
		ssize_t ret;

		while ((ret = fi_tsend(from->ep, out, sizes[i % 8], NULL, from->peer, i,
				&contexts[i])) == -FI_EAGAIN) {
			if (fi_cq_read(from->tx_cq, &entry, 1) == 1)
				completed++;
			cf_progress();
		}
		CHECK_OK(ret);
	}
	/* A stride that visits all of them. */
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t tag = (i * 7 + 3) % COUNT;

		memset(in, 0, sizes[tag % 8]);
		receive(&env, in, sizes[tag % 8], tag);
		cf_verify(in, sizes[tag % 8], 2);
	}
	finish(&env, COUNT, completed);
	cf_close(&env);
	free(out);
	free(in);
}

static void memory_stays_near_the_payload(void)
{
	enum { COUNT = 50000 };
	struct fi_context2 *contexts = calloc(COUNT, sizeof(*contexts));
	static uint8_t out[SMALL], in[SMALL];
	uint64_t completed = 0;
	struct cf_env env;
	size_t before, grown;

	if (INSTRUMENTED)
		SKIP("memory is not measured under a sanitizer");
	CHECK(contexts);
	memset(contexts, 1, COUNT * sizeof(*contexts));
	cf_open_pair(&env, &options);
	cf_exchange(&env, 64);
	before = resident();
	flood(&env, out, SMALL, COUNT, contexts, &completed);
	grown = resident() - before;
	/* Ten per cent, what describes a message, and a socket's worth of sends. */
	if (grown > (size_t)COUNT * (SMALL * 11 / 10 + DESCRIPTION) + (8 << 20))
		cf_fail(__FILE__, __LINE__, "%zu bytes for %zu", grown,
			(size_t)COUNT * SMALL);
	receive(&env, in, SMALL, COUNT - 1);
	for (uint64_t i = 0; i < COUNT - 1; i++)
		receive(&env, in, SMALL, i);
	finish(&env, COUNT, completed);
	cf_close(&env);
	free(contexts);
}

static void large_ones_wait_at_the_sender(void)
{
	enum { COUNT = 150 };
	static struct fi_context2 contexts[COUNT];
	uint8_t *out = malloc(LARGE), *in = malloc(LARGE);
	uint64_t completed = 0;
	struct cf_env env;
	size_t before, grown;

	if (INSTRUMENTED)
		SKIP("memory is not measured under a sanitizer");
	CHECK(out && in);
	cf_fill(out, LARGE, 3);
	memset(in, 0, LARGE);
	cf_open_pair(&env, &options);
	cf_exchange(&env, 64);
	before = resident();
	flood(&env, out, LARGE, COUNT, contexts, &completed);
	grown = resident() - before;
	if (grown > (size_t)COUNT * LARGE / 4)
		cf_fail(__FILE__, __LINE__, "%zu bytes for %zu", grown,
			(size_t)COUNT * LARGE);
	for (uint64_t i = COUNT; i-- > 0;)
		receive(&env, in, LARGE, i);
	cf_verify(in, LARGE, 3);
	finish(&env, COUNT, completed);
	cf_close(&env);
	free(out);
	free(in);
}

static void untagged_ones_wait_too(void)
{
	enum { COUNT = 2000 };
	static uint8_t in[SMALL];
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	uint8_t out[SMALL];

	cf_open_pair(&env, &options);
	for (unsigned int i = 0; i < COUNT; i++) {
		cf_fill(out, 100, i);
		CF_RETRY(env.side[0].tx_cq,
			fi_inject(env.side[0].ep, out, 100, env.side[0].peer));
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		cf_post_recv(&env, in, SMALL, &context);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK_EQ(entry.len, 100);
		cf_verify(in, 100, i);
	}
	cf_close(&env);
}

CF_SUITE(unexpected, CF_CASE(many_small_ones, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(many_large_ones, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(sizes_are_mixed, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(memory_stays_near_the_payload, "MSG-018", FI_TAGGED),
	CF_CASE(large_ones_wait_at_the_sender, "MSG-018", FI_TAGGED),
	CF_CASE(untagged_ones_wait_too, "MSG-012 MSG-018", FI_MSG | FI_TAGGED));

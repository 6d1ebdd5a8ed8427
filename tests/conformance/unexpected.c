/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that arrive long before their receives: a million small ones and a thousand
 * large ones; a two-hundredth and a thirtieth with limit_amount. WEFT_UNEXPECTED_SMALL
 * and WEFT_UNEXPECTED_LARGE set other numbers.
 *
 * A small one may take its 512 bytes and a tenth more, all in all: 40 describe it, the
 * rest is the unused end of what it comes from. (The entry that fi_peer(3) gives a
 * message has 96 bytes alone.) Once one was searched for, all stand in a hash table:
 * PLACE of these.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../sanitizer.h"
#include "suites.h"

enum { SMALL = 512, LARGE = 1 << 20, DESCRIPTION = 44, PLACE = 7, WINDOW = 1000 };

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

static uint64_t number(const char *name, uint64_t all, uint64_t few)
{
	const char *text = getenv(name);

	if (text)
		return strtoull(text, NULL, 0);
	return limit_amount() ? few : all;
}

/* What has been taken since @before is at most @most bytes, and a few that are always
 * there: queues, sockets, memory for the next burst, and rings that both ends share,
 * which this process maps twice. */
static void check_memory(size_t before, uint64_t most, const char *when)
{
	size_t now = resident();

	if (!SANITIZED && now > before + most + (20 << 20))
		cf_fail(__FILE__, __LINE__, "%zu bytes %s, expected %llu", now - before,
			when, (unsigned long long)most);
}

static void poll_sender(struct cf_side *from, uint64_t *completed)
{
	struct fi_cq_tagged_entry entry[16];
	ssize_t ret = fi_cq_read(from->tx_cq, entry, 16);

	if (ret > 0)
		*completed += (uint64_t)ret;
	cf_progress();
}

/* Send all messages and let them arrive; no receive is posted. @completed counts. At
 * most @window of them are under way, so that the memory of the receiver and not of the
 * sender is measured. */
static void flood(struct cf_env *env, const void *buf, size_t len, uint64_t count,
	struct fi_context2 *contexts, uint64_t window, uint64_t *completed)
{
	struct cf_side *from = &env->side[0];
	uint64_t deadline = cf_now_ms() + 6 * CF_TIMEOUT_MS;
	ssize_t ret = 0;

	for (uint64_t i = 0; i < count; i += !ret) {
		if (cf_now_ms() > deadline)
			cf_fail(__FILE__, __LINE__, "stuck at message %llu",
				(unsigned long long)i);
		ret = fi_tsend(from->ep, buf, len, NULL, from->peer, i, &contexts[i]);
		CHECK(!ret || ret == -FI_EAGAIN);
		while (ret || i + 1 - *completed > window) {
			poll_sender(from, completed);
			if (ret)
				break;
			CHECK(cf_now_ms() < deadline);
		}
	}
	while (*completed + window < count)
		poll_sender(from, completed);
	for (int i = 0; i < 2000; i++)
		poll_sender(from, completed);
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

/* The last message that arrived is received first, then the others from both ends.
 * While they wait, each takes up to @each bytes, and up to @place bytes more after that
 * search; in the end all memory is freed. */
static void the_last_one_first(uint64_t count, size_t len, size_t each, size_t place)
{
	struct fi_context2 *contexts = malloc(count * sizeof(*contexts));
	uint8_t *out = malloc(len), *in = malloc(len);
	uint64_t completed = 0, low = 0, high = count;
	struct cf_env env;
	size_t before;

	CHECK(contexts && out && in);
	memset(contexts, 1, count * sizeof(*contexts));
	memset(in, 1, len);
	cf_fill(out, len, 1);
	cf_open_pair(&env, &options);
	cf_exchange(&env, 64);
	before = resident();
	flood(&env, out, len, count, contexts, len == SMALL ? WINDOW : count,
		&completed);
	check_memory(before, count * each, "while they wait");
	receive(&env, in, len, --high);
	check_memory(before, count * (each + place), "when one was found");
	while (low < high) {
		uint64_t tag = high % 3 || low + 1 == high ? --high : low++;

		memset(in, 0, len);
		receive(&env, in, len, tag);
		if (tag % 64 == 0 || len == LARGE)
			cf_verify(in, len, 1);
	}
	finish(&env, count, completed);
	check_memory(before, 0, "after all");
	cf_close(&env);
	free(contexts);
	free(out);
	free(in);
}

static void many_small_ones(void)
{
	the_last_one_first(number("WEFT_UNEXPECTED_SMALL", 1000000, 5000), SMALL,
		SMALL + DESCRIPTION, PLACE);
}

static void many_large_ones(void)
{
	the_last_one_first(
		number("WEFT_UNEXPECTED_LARGE", 1000, 30), LARGE, LARGE / 100, 0);
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

static fi_addr_t source_of_next(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	fi_addr_t src = 0;
	ssize_t ret;

	while ((ret = fi_cq_readfrom(cq, entry, 1, &src)) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		cf_progress();
	}
	CHECK_EQ(ret, 1);
	return src;
}

/* Insert an endpoint that has not been opened yet into @to's AV. */
static struct fid_ep *insert_another(
	struct cf_env *env, struct cf_side *to, fi_addr_t *ret_addr)
{
	struct fid_ep *ep = cf_new_ep(env);
	char name[256];
	size_t len = sizeof(name);

	CHECK_OK(fi_ep_bind(ep, &to->tx_cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_ep_bind(ep, &to->av->fid, 0));
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(to->av, name, 1, ret_addr, 0, NULL), 1);
	return ep;
}

/* Its messages wait, and its index is given to another endpoint: they are not reported
 * as that endpoint's. */
static void an_address_goes_before_its_messages(void)
{
	static const struct cf_options directed = { .caps = FI_TAGGED | FI_SOURCE |
							    FI_DIRECTED_RECV,
		.cq_format = FI_CQ_FORMAT_TAGGED };
	struct fi_context2 contexts[4];
	struct fi_cq_tagged_entry entry;
	char out[16] = "from the first", in[3][16] = { "", "", "" };
	struct cf_env env;
	struct cf_side *from = &env.side[0], *to = &env.side[1];
	struct fid_ep *another;
	fi_addr_t addr;

	cf_need_connectionless();
	if (!cf_offers(&directed))
		SKIP("no FI_DIRECTED_RECV");
	cf_open_pair(&env, &directed);
	for (uint64_t tag = 0; tag < 2; tag++) {
		CF_RETRY(from->tx_cq, fi_tsend(from->ep, out, sizeof(out), NULL,
					      from->peer, tag, &contexts[0]));
		cf_cq_wait(from->tx_cq, &entry);
	}
	/* The second has arrived, and so the first waits. */
	CF_RETRY(to->rx_cq, fi_trecv(to->ep, in[0], sizeof(in[0]), NULL, to->peer, 1, 0,
				    &contexts[1]));
	cf_cq_wait(to->rx_cq, &entry);
	CHECK_OK(fi_av_remove(to->av, &to->peer, 1, 0));
	another = insert_another(&env, to, &addr);
	CF_RETRY(to->rx_cq,
		fi_trecv(to->ep, in[1], sizeof(in[1]), NULL, addr, 0, 0, &contexts[2]));
	cf_cq_quiet(to->rx_cq);
	CHECK(!in[1][0]);
	CF_RETRY(to->rx_cq, fi_trecv(to->ep, in[2], sizeof(in[2]), NULL, FI_ADDR_UNSPEC,
				    0, 0, &contexts[3]));
	CHECK(source_of_next(to->rx_cq, &entry) == FI_ADDR_NOTAVAIL);
	CHECK(entry.op_context == &contexts[3]);
	CHECK(!memcmp(in[2], out, sizeof(out)));
	CF_CLOSE(another);
	cf_close(&env);
}

/* The same for messages that come afterwards, over a connection that is known. */
static void an_address_goes_and_its_messages_come(void)
{
	static const struct cf_options told = { .caps = FI_TAGGED | FI_SOURCE,
		.cq_format = FI_CQ_FORMAT_TAGGED };
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	struct fid_ep *another = NULL;
	char out = 1, in;
	struct cf_env env;
	struct cf_side *from = &env.side[0], *to = &env.side[1];
	fi_addr_t addr = FI_ADDR_NOTAVAIL, source;

	cf_need_connectionless();
	cf_open_pair(&env, &told);
	for (int round = 0; round < 2; round++) {
		if (round) {
			CHECK_OK(fi_av_remove(to->av, &to->peer, 1, 0));
			another = insert_another(&env, to, &addr);
			/* The endpoint notes what was removed. */
			cf_cq_quiet(to->rx_cq);
		}
		CF_RETRY(to->rx_cq, fi_trecv(to->ep, &in, 1, NULL, FI_ADDR_UNSPEC, 0, 0,
					    &contexts[0]));
		CF_RETRY(from->tx_cq,
			fi_tsend(from->ep, &out, 1, NULL, from->peer, 0, &contexts[1]));
		source = source_of_next(to->rx_cq, &entry);
		CHECK(entry.op_context == &contexts[0]);
		CHECK_EQ(source, round ? FI_ADDR_NOTAVAIL : to->peer);
		cf_cq_wait(from->tx_cq, &entry);
	}
	CF_CLOSE(another);
	cf_close(&env);
}

/* A peer that is not in the AV sends, and has a source from its insertion on. */
static void an_address_comes_after_its_messages(void)
{
	static const struct cf_options told = { .caps = FI_TAGGED | FI_SOURCE,
		.cq_format = FI_CQ_FORMAT_TAGGED };
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	char out = 1, in, name[256];
	size_t len = sizeof(name);
	struct cf_env env;
	struct cf_side *from = &env.side[0], *to = &env.side[1];
	fi_addr_t source, wanted = FI_ADDR_NOTAVAIL;

	cf_need_connectionless();
	cf_open_pair(&env, &told);
	CHECK_OK(fi_getname(&from->ep->fid, name, &len));
	CHECK_OK(fi_av_remove(to->av, &to->peer, 1, 0));
	for (int round = 0; round < 3; round++) {
		CF_RETRY(from->tx_cq,
			fi_tsend(from->ep, &out, 1, NULL, from->peer, 0, &contexts[1]));
		cf_cq_wait(from->tx_cq, &entry);
		if (round == 1) {
			CHECK_EQ(fi_av_insert(to->av, name, 1, &to->peer, 0, NULL), 1);
			wanted = to->peer;
		}
		CF_RETRY(to->rx_cq, fi_trecv(to->ep, &in, 1, NULL, FI_ADDR_UNSPEC, 0, 0,
					    &contexts[0]));
		source = source_of_next(to->rx_cq, &entry);
		CHECK(entry.op_context == &contexts[0]);
		/* The second message may have arrived before the insertion. */
		CHECK(source == wanted || (round == 1 && source == FI_ADDR_NOTAVAIL));
	}
	cf_close(&env);
}

CF_SUITE(unexpected, CF_CASE(many_small_ones, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(many_large_ones, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(sizes_are_mixed, "MSG-018 TAG-002", FI_TAGGED),
	CF_CASE(untagged_ones_wait_too, "MSG-012 MSG-018", FI_MSG | FI_TAGGED),
	CF_CASE(an_address_goes_before_its_messages, "AV-032 MSG-011", FI_TAGGED),
	CF_CASE(an_address_goes_and_its_messages_come, "AV-032 CQ-014",
		FI_TAGGED | FI_SOURCE),
	CF_CASE(an_address_comes_after_its_messages, "CQ-014", FI_TAGGED | FI_SOURCE));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers between contexts of scalable endpoints. */
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "scalable.h"

enum { LARGE = 3 << 20 };

static struct sc_pair pair;

static void tags_and_sources(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[4];
	uint32_t out = 1, in[2] = { 0 };
	struct sc_end *from, *to;
	fi_addr_t src, self;
	char name[256];
	size_t len = sizeof(name);
	ssize_t ret;

	sc_open_pair(&pair, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	from = &pair.end[0];
	to = &pair.end[1];
	CHECK_OK(fi_getname(&to->sep->fid, name, &len));
	CHECK_EQ(fi_av_insert(to->av, name, 1, &self, 0, NULL), 1);
	/* The first one matches other messages only, whatever context they are for. */
	CHECK_OK(fi_trecv(to->rx[1], &in[0], 4, NULL, self, 5, 0, &contexts[0]));
	CHECK_OK(fi_trecv(to->rx[1], &in[1], 4, NULL, to->peer, 5, 0, &contexts[1]));
	SC_RETRY(&pair, fi_tsend(from->tx[1], &out, 4, NULL, sc_addr(from, 1), 5,
				&contexts[2]));
	sc_wait_for(&pair, from->tx_cq[1], &contexts[2]);
	while ((ret = fi_cq_readfrom(to->rx_cq[1], &entry, 1, &src)) == -FI_EAGAIN)
		sc_progress(&pair);
	CHECK_EQ(ret, 1);
	CHECK(entry.op_context == &contexts[1]);
	CHECK_EQ(src, to->peer);
	CHECK_EQ(in[1], 1);

	/* A receive of another context does not see it. */
	CHECK_OK(fi_trecv(
		to->rx[0], &in[0], 4, NULL, FI_ADDR_UNSPEC, 5, 0, &contexts[2]));
	out = 2;
	SC_RETRY(&pair, fi_tsend(to->tx[0], &out, 4, NULL, fi_rx_addr(self, 1, SC_BITS),
				5, &contexts[3]));
	sc_wait_for(&pair, to->rx_cq[1], &contexts[0]);
	CHECK_EQ(in[0], 2);
	sc_wait_for(&pair, to->tx_cq[0], &contexts[3]);
	CHECK_OK(fi_cancel(&to->rx[0]->fid, &contexts[2]));
	struct fi_cq_err_entry err;
	sc_wait_err(&pair, to->rx_cq[0], &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &contexts[2]);
	sc_close_pair(&pair);
}

static void memory_is_the_domains(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_region region;
	uint8_t out[64], in[64];

	sc_open_pair(&pair, FI_RMA);
	cf_open_region(
		&pair.env, 1, &region, NULL, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (int t = 0; t < SC_CONTEXTS; t++) {
		for (int r = 0; r < SC_CONTEXTS; r++) {
			struct sc_end *end = &pair.end[0];
			uint64_t at = region.addr + 64u * (unsigned)(2 * t + r);
			fi_addr_t to = sc_addr(end, r);

			cf_fill(out, 64, (unsigned)(2 * t + r));
			SC_RETRY(&pair, fi_writedata(end->tx[t], out, 64, NULL,
						(uint64_t)(2 * t + r), to, at,
						region.key, &context));
			sc_wait_for(&pair, end->tx_cq[t], &context);
			/* The context that was addressed gets the completion. */
			sc_wait(&pair, pair.end[1].rx_cq[r], &entry);
			CHECK(entry.flags & FI_REMOTE_CQ_DATA);
			CHECK_EQ(entry.data, 2 * t + r);
			SC_RETRY(&pair, fi_read(end->tx[t], in, 64, NULL, to, at,
						region.key, &context));
			sc_wait_for(&pair, end->tx_cq[t], &context);
			cf_verify(in, 64, (unsigned)(2 * t + r));
		}
	}
	/* A range that is not there fails on the context that asked. */
	struct fi_cq_err_entry err;
	SC_RETRY(&pair,
		fi_read(pair.end[0].tx[1], in, 64, NULL, sc_addr(&pair.end[0], 1),
			region.addr + 4090, region.key, &context));
	sc_wait_err(&pair, pair.end[0].tx_cq[1], &err);
	CHECK(err.op_context == &context);
	cf_close_region(&region);
	sc_close_pair(&pair);
}

static void atomics_from_any_context(void)
{
	uint64_t one = 1, before = 99;
	struct fi_context2 context;
	struct cf_region region;

	sc_open_pair(&pair, FI_ATOMIC);
	cf_open_region(
		&pair.env, 1, &region, NULL, 64, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (int i = 0; i < 10; i++) {
		struct sc_end *end = &pair.end[0];

		SC_RETRY(&pair, fi_fetch_atomic(end->tx[i % 2], &one, 1, NULL, &before,
					NULL, sc_addr(end, i / 2 % 2), region.addr,
					region.key, FI_UINT64, FI_SUM, &context));
		sc_wait_for(&pair, end->tx_cq[i % 2], &context);
		CHECK_EQ(before, i);
	}
	cf_close_region(&region);
	sc_close_pair(&pair);
}

static void one_sided(struct fi_info *hints)
{
	sc_several(hints);
	hints->caps = FI_RMA | FI_ATOMIC;
}

/* An end whose receive contexts have no queue. */
static void open_one_sided_end(struct cf_env *env, struct sc_end *end)
{
	memset(end, 0, sizeof(*end));
	CHECK_OK(fi_scalable_ep(env->domain, env->info, &end->sep, NULL));
	end->av = cf_new_av(env);
	CHECK_OK(fi_scalable_ep_bind(end->sep, &end->av->fid, 0));
	CHECK_OK(fi_enable(end->sep));
	for (int i = 0; i < SC_CONTEXTS; i++) {
		end->tx_cq[i] = cf_new_cq(env, FI_WAIT_NONE);
		CHECK_OK(fi_tx_context(end->sep, i, NULL, &end->tx[i], NULL));
		CHECK_OK(fi_ep_bind(end->tx[i], &end->tx_cq[i]->fid, FI_TRANSMIT));
		CHECK_OK(fi_enable(end->tx[i]));
		CHECK_OK(fi_rx_context(end->sep, i, NULL, &end->rx[i], NULL));
		CHECK_OK(fi_enable(end->rx[i]));
	}
}

/* What completes nothing at its target needs no queue there: the target makes progress
 * by the queues of its transmit contexts. */
static void targets_have_no_queue(void)
{
	struct cf_options options = { .adjust = one_sided };
	uint64_t one = 1, before = 99, value = 7;
	struct fi_context2 context;
	struct cf_region region;
	struct sc_end *end = &pair.end[0];

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	cf_open_domain(&pair.env, &options);
	CHECK(!(pair.env.info->caps & (FI_SEND | FI_RECV)));
	for (int i = 0; i < 2; i++)
		open_one_sided_end(&pair.env, &pair.end[i]);
	sc_introduce(end, pair.end[1].sep);
	cf_open_region(
		&pair.env, 1, &region, NULL, 64, FI_REMOTE_READ | FI_REMOTE_WRITE);
	SC_RETRY(&pair, fi_write(end->tx[0], &value, 8, NULL, end->peer, region.addr,
				region.key, &context));
	sc_wait_for(&pair, end->tx_cq[0], &context);
	SC_RETRY(&pair,
		fi_fetch_atomic(end->tx[1], &one, 1, NULL, &before, NULL, end->peer,
			region.addr, region.key, FI_UINT64, FI_SUM, &context));
	sc_wait_for(&pair, end->tx_cq[1], &context);
	CHECK_EQ(before, 7);
	/* There is no queue that takes the data, either. */
	SC_RETRY(&pair, fi_writedata(end->tx[0], &value, 8, NULL, 5, end->peer,
				region.addr, region.key, &context));
	sc_wait_for(&pair, end->tx_cq[0], &context);
	SC_RETRY(&pair, fi_read(end->tx[1], &before, 8, NULL, end->peer, region.addr,
				region.key, &context));
	sc_wait_for(&pair, end->tx_cq[1], &context);
	CHECK_EQ(before, 7);
	cf_close_region(&region);
	sc_close_pair(&pair);
}

static void counters_of_contexts(void)
{
	struct fid_cntr *sent[2], *received[2];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	uint32_t value = 0;

	sc_open_domain(&pair.env, FI_MSG);
	for (int i = 0; i < 2; i++) {
		sc_open_end(&pair.env, &pair.end[i], FI_WAIT_NONE);
		sent[i] = cf_new_cntr(&pair.env, FI_WAIT_NONE);
		received[i] = cf_new_cntr(&pair.env, FI_WAIT_NONE);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_OK(fi_ep_bind(pair.end[0].tx[i], &sent[i]->fid, FI_SEND));
		CHECK_OK(fi_ep_bind(pair.end[1].rx[i], &received[i]->fid, FI_RECV));
		CHECK_EQ(fi_ep_bind(pair.end[0].tx[i], &received[i]->fid, FI_RECV),
			-FI_EINVAL);
	}
	sc_enable_end(&pair.end[0]);
	sc_enable_end(&pair.end[1]);
	sc_introduce(&pair.end[0], pair.end[1].sep);
	for (int i = 0; i < 6; i++) {
		CHECK_OK(fi_recv(pair.end[1].rx[i % 3 == 0], &value, 4, NULL,
			FI_ADDR_UNSPEC, NULL));
		SC_RETRY(&pair, fi_inject(pair.end[0].tx[i % 3 == 0], &value, 4,
					sc_addr(&pair.end[0], i % 3 == 0)));
	}
	while (fi_cntr_read(received[0]) < 4 || fi_cntr_read(received[1]) < 2 ||
		fi_cntr_read(sent[0]) < 4 || fi_cntr_read(sent[1]) < 2) {
		CHECK(cf_now_ms() < deadline);
		sc_progress(&pair);
	}
	CHECK_EQ(fi_cntr_read(received[0]), 4);
	CHECK_EQ(fi_cntr_read(sent[1]), 2);
	sc_close_end(&pair.end[0]);
	sc_close_end(&pair.end[1]);
	for (int i = 0; i < 2; i++) {
		CF_CLOSE(sent[i]);
		CF_CLOSE(received[i]);
	}
	cf_close(&pair.env);
}

static void send_and_check(int tx, int rx, size_t len)
{
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(len), *in = calloc(1, len);

	CHECK(out && in);
	cf_fill(out, len, (unsigned)len);
	SC_RETRY(&pair, fi_send(pair.end[0].tx[tx], out, len, NULL,
				sc_addr(&pair.end[0], rx), &contexts[0]));
	CHECK_OK(fi_recv(
		pair.end[1].rx[rx], in, len, NULL, FI_ADDR_UNSPEC, &contexts[1]));
	sc_wait_for(&pair, pair.end[1].rx_cq[rx], &contexts[1]);
	sc_wait_for(&pair, pair.end[0].tx_cq[tx], &contexts[0]);
	cf_verify(in, len, (unsigned)len);
	free(out);
	free(in);
}

static void early_messages_wait_for_their_context(void)
{
	uint8_t *big = cf_map(LARGE), *in = cf_map(LARGE);
	static uint8_t small[100];
	struct fi_context2 contexts[3];
	struct sc_end *to = &pair.end[1];

	sc_open_domain(&pair.env, FI_MSG);
	sc_open_end(&pair.env, &pair.end[0], FI_WAIT_NONE);
	sc_open_end(&pair.env, to, FI_WAIT_NONE);
	sc_enable_end(&pair.end[0]);
	CHECK_OK(fi_enable(to->rx[0]));
	sc_introduce(&pair.end[0], to->sep);
	cf_fill(small, sizeof(small), 1);
	cf_fill(big, LARGE, 2);
	SC_RETRY(&pair,
		fi_inject(pair.end[0].tx[0], small, 8, sc_addr(&pair.end[0], 1)));
	SC_RETRY(&pair, fi_send(pair.end[0].tx[0], big, LARGE, NULL,
				sc_addr(&pair.end[0], 1), &contexts[0]));
	/* They do not delay other contexts. */
	send_and_check(1, 0, 1000);
	CHECK_OK(fi_enable(to->rx[1]));
	CHECK_OK(fi_recv(to->rx[1], in, 8, NULL, FI_ADDR_UNSPEC, &contexts[1]));
	sc_wait_for(&pair, to->rx_cq[1], &contexts[1]);
	cf_verify(in, 8, 1);
	CHECK_OK(fi_recv(to->rx[1], in, LARGE, NULL, FI_ADDR_UNSPEC, &contexts[2]));
	sc_wait_for(&pair, to->rx_cq[1], &contexts[2]);
	cf_verify(in, LARGE, 2);
	sc_wait_for(&pair, pair.end[0].tx_cq[0], &contexts[0]);
	sc_close_pair(&pair);
}

static void messages_of_any_size(void)
{
	static const size_t sizes[] = { 1, 64, 2048, 2049, 65536, 1 << 20, LARGE };

	sc_open_pair(&pair, FI_MSG);
	for (size_t i = 0; i < CF_COUNT(sizes); i++)
		for (int r = 0; r < SC_CONTEXTS; r++)
			send_and_check((int)i % 2, r, sizes[i]);
	sc_close_pair(&pair);
}

/* Messages and operations that one context leaves behind do not affect the others, and
 * the buffers that it was given are not accessed: they are unmapped. */
static void a_transmit_context_closes_in_the_middle(void)
{
	struct fi_context2 contexts[8];
	struct cf_region region;
	struct sc_end *from = &pair.end[0];

	sc_open_pair(&pair, FI_MSG | FI_RMA);
	cf_open_region(
		&pair.env, 1, &region, NULL, LARGE, FI_REMOTE_READ | FI_REMOTE_WRITE);
	send_and_check(0, 0, 10);
	for (int round = 0; round < 20; round++) {
		uint8_t *buf = cf_map(4 * LARGE);

		for (int i = 0; i < 4; i++)
			CHECK_OK(fi_send(from->tx[0], buf + i * LARGE,
				round % 2 ? LARGE : 5000, NULL, sc_addr(from, i % 2),
				&contexts[i]));
		CHECK_OK(fi_write(from->tx[0], buf, LARGE, NULL, sc_addr(from, 0),
			region.addr, region.key, &contexts[4]));
		CHECK_OK(fi_read(from->tx[0], buf, LARGE, NULL, sc_addr(from, 0),
			region.addr, region.key, &contexts[5]));
		CHECK_OK(fi_send(
			from->tx[0], buf, 10, NULL, sc_addr(from, 0), &contexts[6]));
		for (int i = 0; i < round; i++)
			sc_progress(&pair);
		CF_CLOSE(from->tx[0]);
		CHECK_OK(munmap(buf, 4 * LARGE));
		while (fi_cq_read(from->tx_cq[0], contexts, 1) == 1)
			;
		/* Whatever arrived before. */
		CF_CLOSE(pair.end[1].rx[1]);
		CHECK_OK(fi_rx_context(
			pair.end[1].sep, 1, NULL, &pair.end[1].rx[1], NULL));
		CHECK_OK(fi_ep_bind(
			pair.end[1].rx[1], &pair.end[1].rx_cq[1]->fid, FI_RECV));
		sc_progress(&pair);
		CHECK_OK(fi_tx_context(from->sep, 0, NULL, &from->tx[0], NULL));
		CHECK_OK(fi_ep_bind(from->tx[0], &from->tx_cq[0]->fid, FI_TRANSMIT));
		CHECK_OK(fi_enable(from->tx[0]));
		/* The next context with that index gets nothing of them. */
		for (int i = 0; i < 200; i++)
			sc_progress(&pair);
		CHECK_OK(fi_enable(pair.end[1].rx[1]));
		send_and_check(1, 1, 1000);
		send_and_check(0, 1, LARGE);
	}
	cf_close_region(&region);
	sc_close_pair(&pair);
}

static void a_receive_context_closes_in_the_middle(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 sent[4], posted[2];
	uint8_t *out = cf_map(LARGE);

	sc_open_pair(&pair, FI_MSG);
	send_and_check(0, 0, 10);
	for (int round = 0; round < 20; round++) {
		struct sc_end *from = &pair.end[0], *to = &pair.end[1];
		uint8_t *buf = cf_map(2 * LARGE);
		int ended = 0;

		for (int i = 0; i < 2; i++)
			CHECK_OK(fi_recv(to->rx[1], buf + i * LARGE, LARGE, NULL,
				FI_ADDR_UNSPEC, &posted[i]));
		for (int i = 0; i < 4; i++)
			CHECK_OK(fi_send(from->tx[0], out, i % 2 ? LARGE : 9000, NULL,
				sc_addr(from, 1), &sent[i]));
		for (int i = 0; i < round; i++)
			sc_progress(&pair);
		CF_CLOSE(to->rx[1]);
		CHECK_OK(munmap(buf, 2 * LARGE));
		while (fi_cq_read(to->rx_cq[1], &entry, 1) == 1)
			;
		/* The senders get their completions, matched or not. */
		for (uint64_t end = cf_now_ms() + CF_TIMEOUT_MS; ended < 4;) {
			CHECK(cf_now_ms() < end);
			ended += fi_cq_read(from->tx_cq[0], &entry, 1) == 1;
			sc_progress(&pair);
		}
		send_and_check(0, 0, 100);
		CHECK_OK(fi_rx_context(to->sep, 1, NULL, &to->rx[1], NULL));
		CHECK_OK(fi_ep_bind(to->rx[1], &to->rx_cq[1]->fid, FI_RECV));
		CHECK_OK(fi_enable(to->rx[1]));
		send_and_check(1, 1, LARGE);
	}
	sc_close_pair(&pair);
}

/* ---- threads ---- */

enum { ROUNDS = 1000 };

struct lane {
	int index;
	uint64_t deadline;
};

/* Both ends are ours to drive. */
static void lane_wait(struct lane *lane, struct fid_cq *cq, struct fid_cq *other)
{
	struct fi_cq_data_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
		(void)fi_cq_read(other, NULL, 0);
		CHECK(cf_now_ms() < lane->deadline);
	}
	CHECK_EQ(ret, 1);
}

/* Both ends of a lane, on a context of each of the four kinds. */
static void *run_lane(void *arg)
{
	struct lane *lane = arg;
	struct fi_context2 contexts[2];
	uint32_t in, out;
	ssize_t ret;

	for (int i = 0; i < ROUNDS; i++) {
		struct sc_end *from = &pair.end[i % 2], *to = &pair.end[!(i % 2)];

		out = (uint32_t)(i * 10 + lane->index);
		CHECK_OK(fi_recv(to->rx[lane->index], &in, 4, NULL, FI_ADDR_UNSPEC,
			&contexts[0]));
		while ((ret = fi_send(from->tx[lane->index], &out, 4, NULL,
				sc_addr(from, lane->index), &contexts[1])) ==
			-FI_EAGAIN)
			CHECK(cf_now_ms() < lane->deadline);
		CHECK_OK(ret);
		lane_wait(lane, to->rx_cq[lane->index], from->tx_cq[lane->index]);
		lane_wait(lane, from->tx_cq[lane->index], to->rx_cq[lane->index]);
		CHECK_EQ(in, out);
	}
	return NULL;
}

static void run_lanes(void)
{
	struct lane lanes[SC_CONTEXTS];
	pthread_t threads[SC_CONTEXTS];

	for (int i = 0; i < SC_CONTEXTS; i++) {
		lanes[i] = (struct lane){ i, cf_now_ms() + 30000 };
		CHECK_OK(pthread_create(&threads[i], NULL, run_lane, &lanes[i]));
	}
	for (int i = 0; i < SC_CONTEXTS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
}

static void a_thread_for_each_context(void)
{
	sc_open_pair(&pair, FI_MSG);
	run_lanes();
	sc_close_pair(&pair);
}

static void threads_that_share_no_queue(void)
{
	struct cf_options options = { .caps = FI_NAMED_RX_CTX,
		.adjust = sc_serialised };

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	cf_open_domain(&pair.env, &options);
	for (int i = 0; i < 2; i++) {
		sc_open_end(&pair.env, &pair.end[i], FI_WAIT_NONE);
		sc_enable_end(&pair.end[i]);
	}
	sc_introduce(&pair.end[0], pair.end[1].sep);
	sc_introduce(&pair.end[1], pair.end[0].sep);
	run_lanes();
	sc_close_pair(&pair);
}

static void *sleep_on_queue(void *arg)
{
	struct fi_cq_data_entry entry;

	for (int i = 0; i < 20; i++)
		CHECK_EQ(fi_cq_sread(arg, &entry, 1, NULL, 20000), 1);
	return NULL;
}

/* Wait for @thread. Without the thread of the library, what the sender's contexts have
 * completed may leave only while they are driven. */
static void join_and_drive(pthread_t thread, struct sc_end *from)
{
	struct fi_cq_data_entry entry;
	int err;

	while ((err = pthread_tryjoin_np(thread, NULL)) == EBUSY) {
		for (int i = 0; i < 2; i++)
			CHECK_EQ(fi_cq_read(from->tx_cq[i], &entry, 1), -FI_EAGAIN);
		(void)usleep(1000);
	}
	CHECK_EQ(err, 0);
}

static void a_reader_of_one_context_sleeps(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[20];
	uint32_t in[20], out = 1;
	pthread_t thread;

	sc_open_domain(&pair.env, FI_MSG);
	sc_open_end(&pair.env, &pair.end[0], FI_WAIT_NONE);
	sc_open_end(&pair.env, &pair.end[1], FI_WAIT_UNSPEC);
	sc_enable_end(&pair.end[0]);
	sc_enable_end(&pair.end[1]);
	sc_introduce(&pair.end[0], pair.end[1].sep);
	for (int i = 0; i < 20; i++)
		CHECK_OK(fi_recv(pair.end[1].rx[1], &in[i], 4, NULL, FI_ADDR_UNSPEC,
			&contexts[i]));
	CHECK_OK(pthread_create(&thread, NULL, sleep_on_queue, pair.end[1].rx_cq[1]));
	for (int i = 0; i < 20; i++) {
		struct sc_end *from = &pair.end[0];
		uint64_t end = cf_now_ms() + CF_TIMEOUT_MS;
		ssize_t ret;

		CHECK_OK(fi_send(
			from->tx[i % 2], &out, 4, NULL, sc_addr(from, 1), NULL));
		while ((ret = fi_cq_read(from->tx_cq[i % 2], &entry, 1)) == -FI_EAGAIN)
			CHECK(cf_now_ms() < end);
		CHECK_EQ(ret, 1);
	}
	join_and_drive(thread, &pair.end[0]);
	sc_close_pair(&pair);
}

CF_SUITE(scalable_data,
	CF_CASE(tags_and_sources, "SHC-006 CQ-019 EP-033", FI_TAGGED | FI_SOURCE),
	CF_CASE(memory_is_the_domains, "SHC-001 RMA-001", FI_MSG | FI_RMA),
	CF_CASE(atomics_from_any_context, "SHC-001", FI_MSG | FI_ATOMIC),
	CF_CASE(targets_have_no_queue, "SHC-001 EP-019", FI_RMA | FI_ATOMIC),
	CF_CASE(counters_of_contexts, "SHC-001 EP-010", FI_MSG),
	CF_CASE(early_messages_wait_for_their_context, "SHC-006 MSG-018", FI_MSG),
	CF_CASE(messages_of_any_size, "SHC-001 SHC-006", FI_MSG),
	CF_CASE(a_transmit_context_closes_in_the_middle, "EP-027 SHC-001",
		FI_MSG | FI_RMA),
	CF_CASE(a_receive_context_closes_in_the_middle, "EP-027 SHC-001", FI_MSG),
	CF_CASE(a_thread_for_each_context, "SHC-001 THR-001", FI_MSG),
	CF_CASE(threads_that_share_no_queue, "SHC-001 THR-002", FI_MSG),
	CF_CASE(a_reader_of_one_context_sleeps, "SHC-001", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Several threads: one shared queue, objects of their own, control calls. */
#include <pthread.h>
#include <stdatomic.h>

#include "suites.h"

static void start(
	pthread_t *threads, int count, void *(*run)(void *), void *args, size_t size)
{
	for (int i = 0; i < count; i++)
		CHECK_OK(pthread_create(
			&threads[i], NULL, run, (char *)args + (size_t)i * size));
}

static void finish(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
}

/* ---- FI_THREAD_SAFE: senders and readers on the same endpoints and queues ---- */

enum { SENDERS = 2, READERS = 2, PER_SENDER = 400, IN_FLIGHT = 32, POSTED = 64 };
enum { TOTAL = SENDERS * PER_SENDER };

struct slot {
	struct fi_context2 context;
	uint32_t value;
};

struct traffic {
	struct cf_env env;
	struct slot slots[POSTED];
	atomic_int sent, completed, received;
	atomic_int seen[TOTAL];
	uint64_t deadline;
};

struct worker {
	struct traffic *traffic;
	int index;
};

static void check_time(const struct traffic *traffic)
{
	if (cf_now_ms() >= traffic->deadline)
		cf_fail(__FILE__, __LINE__, "sent %d, completed %d, received %d of %d",
			atomic_load(&traffic->sent), atomic_load(&traffic->completed),
			atomic_load(&traffic->received), TOTAL);
}

static void post_slot(struct traffic *traffic, struct slot *slot)
{
	struct cf_side *side = &traffic->env.side[1];
	ssize_t ret;

	while ((ret = fi_recv(side->ep, &slot->value, sizeof(slot->value), NULL,
			FI_ADDR_UNSPEC, &slot->context)) == -FI_EAGAIN)
		check_time(traffic);
	CHECK_OK(ret);
}

static void read_sent(struct traffic *traffic)
{
	struct fi_cq_data_entry entries[4];
	ssize_t ret = fi_cq_read(traffic->env.side[0].tx_cq, entries, 4);

	CHECK(ret > 0 || ret == -FI_EAGAIN);
	if (ret > 0)
		atomic_fetch_add(&traffic->completed, (int)ret);
}

static void *send_share(void *arg)
{
	struct worker *worker = arg;
	struct traffic *traffic = worker->traffic;
	struct cf_side *side = &traffic->env.side[0];
	struct fi_context2 *contexts = calloc(PER_SENDER, sizeof(*contexts));
	uint32_t *values = calloc(PER_SENDER, sizeof(*values));

	CHECK(contexts && values);
	for (int i = 0; i < PER_SENDER; i++) {
		ssize_t ret;

		while (atomic_load(&traffic->sent) - atomic_load(&traffic->received) >=
			IN_FLIGHT) {
			read_sent(traffic);
			check_time(traffic);
		}
		atomic_fetch_add(&traffic->sent, 1);
		values[i] = (uint32_t)(worker->index * PER_SENDER + i);
		while ((ret = fi_send(side->ep, &values[i], sizeof(values[i]), NULL,
				side->peer, &contexts[i])) == -FI_EAGAIN) {
			read_sent(traffic);
			check_time(traffic);
		}
		CHECK_OK(ret);
	}
	while (atomic_load(&traffic->completed) < TOTAL) {
		read_sent(traffic);
		check_time(traffic);
	}
	free(contexts);
	free(values);
	return NULL;
}

static void *read_share(void *arg)
{
	struct worker *worker = arg;
	struct traffic *traffic = worker->traffic;

	while (atomic_load(&traffic->received) < TOTAL) {
		struct fi_cq_data_entry entries[4];
		ssize_t ret = fi_cq_read(traffic->env.side[1].rx_cq, entries, 4);

		check_time(traffic);
		if (ret == -FI_EAGAIN)
			continue;
		CHECK(ret > 0);
		for (ssize_t i = 0; i < ret; i++) {
			struct slot *slot = entries[i].op_context;

			CHECK_EQ(entries[i].len, sizeof(slot->value));
			CHECK(slot->value < TOTAL);
			CHECK_EQ(atomic_fetch_add(&traffic->seen[slot->value], 1), 0);
			atomic_fetch_add(&traffic->received, 1);
			post_slot(traffic, slot);
		}
	}
	return NULL;
}

static void any_thread_may_do_anything(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_SAFE;
}

static void threads_share_endpoints_and_queues(void)
{
	struct cf_options options = { .adjust = any_thread_may_do_anything };
	static struct traffic traffic;
	struct worker senders[SENDERS], readers[READERS];
	pthread_t send_threads[SENDERS], read_threads[READERS];

	cf_open_pair(&traffic.env, &options);
	if (traffic.env.info->rx_attr->size < POSTED)
		SKIP("too few receives can be posted");
	traffic.deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;
	for (int i = 0; i < POSTED; i++)
		post_slot(&traffic, &traffic.slots[i]);
	for (int i = 0; i < SENDERS; i++)
		senders[i] = (struct worker){ &traffic, i };
	for (int i = 0; i < READERS; i++)
		readers[i] = (struct worker){ &traffic, i };
	start(read_threads, READERS, read_share, readers, sizeof(readers[0]));
	start(send_threads, SENDERS, send_share, senders, sizeof(senders[0]));
	finish(send_threads, SENDERS);
	finish(read_threads, READERS);
	for (int i = 0; i < TOTAL; i++)
		CHECK_EQ(atomic_load(&traffic.seen[i]), 1);
	cf_close(&traffic.env);
}

/* ---- one object set per thread ---- */

enum { OWN_THREADS = 3, OWN_ROUNDS = 100 };

static void one_per_domain(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
}

static void *exchange_in_own_domain(void *arg)
{
	struct cf_options options = { .counters = true, .adjust = one_per_domain };
	struct cf_env *env = arg;

	cf_open_pair(env, &options);
	for (int i = 0; i < OWN_ROUNDS; i++)
		cf_exchange(env, 64);
	CHECK_EQ(fi_cntr_read(env->side[1].rx_cntr), OWN_ROUNDS);
	cf_close(env);
	return NULL;
}

static void threads_have_domains_of_their_own(void)
{
	struct cf_env envs[OWN_THREADS];
	pthread_t threads[OWN_THREADS];

	start(threads, OWN_THREADS, exchange_in_own_domain, envs, sizeof(envs[0]));
	finish(threads, OWN_THREADS);
}

/* An endpoint that sends to itself, with a queue that no other endpoint uses. */
struct own_set {
	struct fid_ep *ep;
	struct fid_cq *cq;
	fi_addr_t self;
};

static void one_per_queue(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_COMPLETION;
}

static void *exchange_on_own_queue(void *arg)
{
	struct own_set *set = arg;
	uint64_t deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;

	for (int i = 0; i < OWN_ROUNDS; i++) {
		struct fi_cq_data_entry entry;
		struct fi_context2 contexts[2];
		int in = -1, completions = 0;

		CHECK_OK(fi_recv(
			set->ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, &contexts[0]));
		CF_RETRY(set->cq,
			fi_send(set->ep, &i, sizeof(i), NULL, set->self, &contexts[1]));
		while (completions < 2) {
			ssize_t ret = fi_cq_read(set->cq, &entry, 1);

			CHECK(cf_now_ms() < deadline);
			if (ret == -FI_EAGAIN)
				continue;
			CHECK_EQ(ret, 1);
			completions++;
		}
		CHECK_EQ(in, i);
	}
	return NULL;
}

static void threads_have_queues_of_their_own(void)
{
	struct cf_options options = { .adjust = one_per_queue };
	struct own_set sets[OWN_THREADS];
	pthread_t threads[OWN_THREADS];
	struct fid_av *av;
	struct cf_env env;

	if (cf_target.type == FI_EP_MSG)
		SKIP("needs connectionless endpoints");
	cf_open_domain(&env, &options);
	av = cf_new_av(&env);
	for (int i = 0; i < OWN_THREADS; i++) {
		char name[256];
		size_t len = sizeof(name);

		sets[i].ep = cf_new_ep(&env);
		sets[i].cq = cf_new_cq(&env, FI_WAIT_NONE);
		CHECK_OK(fi_ep_bind(
			sets[i].ep, &sets[i].cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_ep_bind(sets[i].ep, &av->fid, 0));
		CHECK_OK(fi_enable(sets[i].ep));
		CHECK_OK(fi_getname(&sets[i].ep->fid, name, &len));
		CHECK_EQ(fi_av_insert(av, name, 1, &sets[i].self, 0, NULL), 1);
	}
	start(threads, OWN_THREADS, exchange_on_own_queue, sets, sizeof(sets[0]));
	finish(threads, OWN_THREADS);
	for (int i = 0; i < OWN_THREADS; i++) {
		CF_CLOSE(sets[i].ep);
		CF_CLOSE(sets[i].cq);
	}
	CF_CLOSE(av);
	cf_close(&env);
}

/* ---- control calls ---- */

enum { CONTROL_THREADS = 3, CONTROL_ROUNDS = 40 };

static void *open_and_close(void *arg)
{
	struct cf_env *env = *(struct cf_env **)arg;

	for (int i = 0; i < CONTROL_ROUNDS; i++) {
		struct fid_cq *cq = cf_new_cq(env, FI_WAIT_NONE);
		struct fid_av *av = cf_new_av(env);
		struct fid_ep *ep = cf_new_ep(env);
		char name[256];
		size_t len = sizeof(name);
		struct fid_mr *mr;

		CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
		CHECK_OK(fi_enable(ep));
		CHECK_OK(fi_getname(&ep->fid, name, &len));
		CHECK_EQ(fi_av_insert(av, name, 1, NULL, 0, NULL), 1);
		CHECK_OK(fi_mr_reg(env->domain, name, sizeof(name), FI_SEND, 0,
			(uint64_t)(uintptr_t)name, 0, &mr, NULL));
		CF_CLOSE(mr);
		CF_CLOSE(ep);
		CF_CLOSE(av);
		CF_CLOSE(cq);
	}
	return NULL;
}

static void control_calls_run_beside_each_other(void)
{
	struct cf_env env, *envs[CONTROL_THREADS];
	pthread_t threads[CONTROL_THREADS];

	if (cf_target.type == FI_EP_MSG)
		SKIP("needs connectionless endpoints");
	cf_open_domain(&env, NULL);
	for (int i = 0; i < CONTROL_THREADS; i++)
		envs[i] = &env;
	start(threads, CONTROL_THREADS, open_and_close, envs, sizeof(envs[0]));
	finish(threads, CONTROL_THREADS);
	cf_close(&env);
}

struct inserter {
	struct cf_env *env;
	atomic_bool stop;
};

static void *insert_and_remove(void *arg)
{
	struct inserter *inserter = arg;
	struct cf_side *side = &inserter->env->side[0];
	void *addrs = cf_addrs(inserter->env->info, 25000, 64);
	fi_addr_t out[64];

	while (!atomic_load(&inserter->stop)) {
		CHECK_EQ(fi_av_insert(side->av, addrs, 64, out, 0, NULL), 64);
		CHECK_OK(fi_av_remove(side->av, out, 64, 0));
	}
	free(addrs);
	return NULL;
}

static void addresses_change_while_messages_flow(void)
{
	struct inserter inserter = { .stop = false };
	pthread_t thread;
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, &(struct cf_options){ .caps = FI_SOURCE });
	inserter.env = &env;
	CHECK_OK(pthread_create(&thread, NULL, insert_and_remove, &inserter));
	for (int i = 0; i < OWN_ROUNDS; i++)
		cf_exchange(&env, 32);
	atomic_store(&inserter.stop, true);
	CHECK_OK(pthread_join(thread, NULL));
	cf_close(&env);
}

/* ---- several waiters ---- */

static void *wait_for_one(void *arg)
{
	struct fid_cq *cq = *(struct fid_cq **)arg;
	struct fi_cq_data_entry entry;

	CHECK_EQ(fi_cq_sread(cq, &entry, 1, NULL, -1), 1);
	return NULL;
}

static void each_message_wakes_a_waiter(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_UNSPEC, .split_cqs = true };
	struct fid_cq *cqs[READERS];
	pthread_t threads[READERS];
	struct fi_context2 contexts[READERS], tx;
	struct fi_cq_data_entry entry;
	struct cf_env env;
	char in[READERS], out = 1;

	cf_open_pair(&env, &options);
	for (int i = 0; i < READERS; i++) {
		cqs[i] = env.side[1].rx_cq;
		cf_post_recv(&env, &in[i], 1, &contexts[i]);
	}
	start(threads, READERS, wait_for_one, cqs, sizeof(cqs[0]));
	for (int i = 0; i < READERS; i++) {
		cf_post_send(&env, &out, 1, &tx);
		cf_cq_wait(env.side[0].tx_cq, &entry);
	}
	finish(threads, READERS);
	cf_close(&env);
}

CF_SUITE(threads, CF_CASE(threads_share_endpoints_and_queues, "THR-001", FI_MSG),
	CF_CASE(threads_have_domains_of_their_own, "THR-003", FI_MSG),
	CF_CASE(threads_have_queues_of_their_own, "THR-002", FI_MSG),
	CF_CASE(control_calls_run_beside_each_other, "THR-005", FI_MSG),
	CF_CASE(addresses_change_while_messages_flow, "THR-001 THR-005",
		FI_MSG | FI_SOURCE),
	CF_CASE(each_message_wakes_a_waiter, "THR-001 CQ-020", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that come while a thread waits. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "suites.h"

struct disturber {
	pthread_t victim, thread;
	atomic_bool stop;
};

static void ignore(int number)
{
}

/* One signal could come before the wait begins: send them until it has ended. */
static void *disturb(void *arg)
{
	struct disturber *disturber = arg;

	while (!atomic_load(&disturber->stop)) {
		(void)pthread_kill(disturber->victim, SIGUSR1);
		(void)usleep(2000);
	}
	return NULL;
}

static void start(struct disturber *disturber)
{
	struct sigaction action = { .sa_handler = ignore }; /* no SA_RESTART */

	CHECK_OK(sigaction(SIGUSR1, &action, NULL));
	disturber->victim = pthread_self();
	atomic_init(&disturber->stop, false);
	CHECK_OK(pthread_create(&disturber->thread, NULL, disturb, disturber));
}

static void stop(struct disturber *disturber)
{
	atomic_store(&disturber->stop, true);
	CHECK_OK(pthread_join(disturber->thread, NULL));
}

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD };

static void a_signal_ends_the_wait_for_completions(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
			.wait_obj = wait_objs[i] };
		struct fi_cq_data_entry entry;
		struct disturber disturber;
		struct fid_cq *cq;
		struct cf_env env;
		ssize_t ret;

		cf_open_domain(&env, NULL);
		if (fi_cq_open(env.domain, &attr, &cq, NULL))
			SKIP("queues cannot be waited on");
		start(&disturber);
		ret = fi_cq_sread(cq, &entry, 1, NULL, -1);
		stop(&disturber);
		CHECK_EITHER(ret, -FI_EAGAIN, -FI_EINTR);
		CF_CLOSE(cq);
		cf_close(&env);
	}
}

static void a_signal_ends_the_wait_for_events(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_eq_attr attr = { .wait_obj = wait_objs[i] };
		struct fi_eq_entry entry;
		struct disturber disturber;
		struct cf_env env;
		uint32_t event;
		ssize_t ret;

		cf_open_fabric(&env, NULL);
		CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
		start(&disturber);
		ret = fi_eq_sread(env.eq, &event, &entry, sizeof(entry), -1, 0);
		stop(&disturber);
		CHECK_EITHER(ret, -FI_EAGAIN, -FI_EINTR);
		cf_close(&env);
	}
}

static void signals_do_not_lose_messages(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_UNSPEC, .split_cqs = true };
	struct disturber disturber;
	struct cf_env env;

	cf_open_pair(&env, &options);
	start(&disturber);
	for (int i = 0; i < 50; i++) {
		struct fi_context2 contexts[2];
		struct fi_cq_data_entry entry;
		uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
		int in = -1;
		ssize_t ret;

		cf_post_recv(&env, &in, sizeof(in), &contexts[0]);
		cf_post_send(&env, &i, sizeof(i), &contexts[1]);
		cf_cq_wait(env.side[0].tx_cq, &entry);
		do {
			ret = fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, -1);
		} while ((ret == -FI_EAGAIN || ret == -FI_EINTR) &&
			 cf_now_ms() < deadline);
		CHECK_EQ(ret, 1);
		CHECK_EQ(in, i);
	}
	stop(&disturber);
	cf_close(&env);
}

CF_SUITE(interrupt, CF_CASE(a_signal_ends_the_wait_for_completions, "CQ-020", 0),
	CF_CASE(a_signal_ends_the_wait_for_events, "EQ-013", 0),
	CF_CASE(signals_do_not_lose_messages, "CQ-020 MSG-012", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that are cancelled while they wait: the object keeps working for others. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "suites.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_MUTEX_COND };

struct waiter {
	pthread_t thread;
	void *(*wait)(void *arg); /* returns NULL when it was woken as expected */
	atomic_bool begun;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_wait *set;
};

static void begin(struct waiter *waiter)
{
	atomic_init(&waiter->begun, false);
	CHECK_OK(pthread_create(&waiter->thread, NULL, waiter->wait, waiter));
	while (!atomic_load(&waiter->begun))
		(void)sched_yield();
}

/* Cancelled at once and when it is most likely asleep: it ends either way. */
static void begin_and_cancel(struct waiter *waiter, bool at_once)
{
	const struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	void *ret;

	begin(waiter);
	if (!at_once)
		(void)nanosleep(&nap, NULL);
	CHECK_OK(pthread_cancel(waiter->thread));
	CHECK_OK(pthread_join(waiter->thread, &ret));
	CHECK(ret == PTHREAD_CANCELED);
}

static void cancel_some(struct waiter *waiter)
{
	begin_and_cancel(waiter, false);
	begin_and_cancel(waiter, true);
	begin_and_cancel(waiter, false);
}

static void end(struct waiter *waiter)
{
	struct timespec until;
	void *ret;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2 * CF_TIMEOUT_MS / 1000;
	if (pthread_timedjoin_np(waiter->thread, &ret, &until))
		cf_fail(__FILE__, __LINE__, "the next waiter was not woken");
	CHECK(!ret);
}

static void *wait_for_entry(void *arg)
{
	struct waiter *waiter = arg;
	struct fi_cq_data_entry entry;

	atomic_store(&waiter->begun, true);
	return fi_cq_sread(waiter->cq, &entry, 1, NULL, -1) == 1 ? NULL : arg;
}

static void *wait_for_count(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->begun, true);
	return fi_cntr_wait(waiter->cntr, 1, -1) ? arg : NULL;
}

static void *wait_for_event(void *arg)
{
	struct waiter *waiter = arg;
	struct fi_eq_entry entry;
	uint32_t event;

	atomic_store(&waiter->begun, true);
	return fi_eq_sread(waiter->eq, &event, &entry, sizeof(entry), -1, 0) ==
			       sizeof(entry)
		       ? NULL
		       : arg;
}

static void *wait_for_set(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->begun, true);
	return fi_wait(waiter->set, -1) ? arg : NULL;
}

/* A pair whose queues and counters wait on @wait_obj; false where it is not offered. */
static bool open_waiting(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	struct cf_options options = {
		.wait_obj = wait_obj, .split_cqs = true, .counters = true
	};

	return cf_open_waiting_pair(env, &options);
}

/* A message wakes a waiter of side 1 after others were cancelled. */
static void cancel_then_send(struct cf_env *env, struct waiter *waiter)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	char in = 0, out = 4;

	cancel_some(waiter);
	cf_post_recv(env, &in, 1, &contexts[0]);
	begin(waiter);
	cf_post_send(env, &out, 1, &contexts[1]);
	cf_cq_wait(env->side[0].tx_cq, &entry);
	end(waiter);
	CHECK_EQ(in, 4);
}

static void a_queue_outlives_its_waiters(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct waiter waiter = { .wait = wait_for_entry };
		struct cf_env env;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		waiter.cq = env.side[1].rx_cq;
		cancel_then_send(&env, &waiter);
		cf_close(&env);
	}
}

static void a_counter_outlives_its_waiters(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct waiter waiter = { .wait = wait_for_count };
		struct fi_cq_data_entry entry;
		struct cf_env env;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		waiter.cntr = env.side[1].rx_cntr;
		cancel_then_send(&env, &waiter);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		cf_close(&env);
	}
}

static void write_event(struct fid_eq *eq)
{
	struct fi_eq_entry entry = { 0 };

	CHECK_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
}

static void an_event_queue_outlives_its_waiters(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_eq_attr attr = { .flags = FI_WRITE,
			.wait_obj = wait_objs[i] };
		struct waiter waiter = { .wait = wait_for_event };
		struct cf_env env;

		cf_open_fabric(&env, NULL);
		CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
		waiter.eq = env.eq;
		cancel_some(&waiter);
		begin(&waiter);
		write_event(env.eq);
		end(&waiter);
		cf_close(&env);
	}
}

static void a_wait_set_outlives_its_waiters(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_wait_attr set_attr = { .wait_obj = wait_objs[i] };
		struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_SET };
		struct waiter waiter = { .wait = wait_for_set };
		struct cf_env env;
		int ret;

		cf_open_fabric(&env, NULL);
		ret = fi_wait_open(env.fabric, &set_attr, &waiter.set);
		if (ret == -FI_ENOSYS)
			SKIP("wait sets are not offered");
		CHECK_OK(ret);
		attr.wait_set = waiter.set;
		CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
		cancel_some(&waiter);
		begin(&waiter);
		write_event(env.eq);
		end(&waiter);
		CF_CLOSE(env.eq);
		CF_CLOSE(waiter.set);
		cf_close(&env);
	}
}

static void exchange_all(struct cf_env *env)
{
	static uint8_t out[1 << 20], in[sizeof(out)];
	const size_t sizes[] = { 1, 100, 3000, 40000, sizeof(out) };
	struct fi_context2 contexts[2];

	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		if (sizes[i] > env->info->ep_attr->max_msg_size)
			break;
		cf_fill(out, sizes[i], (unsigned int)i);
		cf_post_recv(env, in, sizes[i], &contexts[0]);
		cf_post_send(env, out, sizes[i], &contexts[1]);
		(void)cf_cq_wait_for(env->side[0].tx_cq, &contexts[1]);
		(void)cf_cq_wait_for(env->side[1].rx_cq, &contexts[0]);
		cf_verify(in, sizes[i], (unsigned int)i);
	}
}

/* Everything from discovery to the last close. The thread is cancelled before it
 * begins, so it would end in the first call that is a cancellation point. */
static void *live_cancelled(void *arg)
{
	struct cf_options options = { .split_cqs = true };
	struct cf_region region;
	struct cf_env env;

	CHECK_OK(pthread_cancel(pthread_self()));
	cf_open_pair(&env, &options);
	exchange_all(&env);
	cf_close(&env);
	options.caps = FI_RMA;
	if (!cf_offers(&options))
		return NULL;
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE);
	exchange_all(&env);
	cf_close_region(&region);
	cf_close(&env);
	return NULL;
}

/* Only where it sleeps may a thread be cancelled: anywhere else it may hold a lock, or
 * have done half of something. */
static void no_call_but_a_sleep_ends_a_thread(void)
{
	pthread_t thread;
	void *ret;

	CHECK_OK(pthread_create(&thread, NULL, live_cancelled, NULL));
	CHECK_OK(pthread_join(thread, &ret));
	CHECK(ret != PTHREAD_CANCELED);
}

CF_SUITE(cancelled, CF_CASE(a_queue_outlives_its_waiters, "CQ-020", FI_MSG),
	CF_CASE(a_counter_outlives_its_waiters, "CNT-012", FI_MSG),
	CF_CASE(an_event_queue_outlives_its_waiters, "EQ-013", 0),
	CF_CASE(a_wait_set_outlives_its_waiters, "POL-007", 0),
	CF_CASE(no_call_but_a_sleep_ends_a_thread, "THR-001", FI_MSG));

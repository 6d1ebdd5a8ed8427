/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A forked child may only close what it inherited: all else is refused, and the parent
 * goes on.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>

#include "suites.h"

enum { LEN = 64 };

static void check_messages(struct cf_side *side, uint8_t *buf)
{
	struct fi_context2 context;

	CHECK_EQ(fi_send(side->ep, buf, LEN, NULL, side->peer, &context),
		-FI_EOPBADSTATE);
	CHECK_EQ(fi_inject(side->ep, buf, 8, side->peer), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recv(side->ep, buf, LEN, NULL, FI_ADDR_UNSPEC, &context),
		-FI_EOPBADSTATE);
	CHECK_EQ(fi_cancel(&side->ep->fid, &context), -FI_EOPBADSTATE);
}

static void check_other_transfers(
	struct cf_side *side, const struct fi_info *info, uint8_t *buf)
{
	struct fi_context2 context;

	if (info->caps & FI_TAGGED) {
		CHECK_EQ(fi_tsend(side->ep, buf, LEN, NULL, side->peer, 1, &context),
			-FI_EOPBADSTATE);
		CHECK_EQ(fi_trecv(side->ep, buf, LEN, NULL, FI_ADDR_UNSPEC, 1, 0,
				 &context),
			-FI_EOPBADSTATE);
	}
	if (info->caps & FI_RMA) {
		CHECK_EQ(fi_write(side->ep, buf, 8, NULL, side->peer, 0, 1, &context),
			-FI_EOPBADSTATE);
		CHECK_EQ(fi_read(side->ep, buf, LEN, NULL, side->peer, 0, 1, &context),
			-FI_EOPBADSTATE);
	}
	if (info->caps & FI_ATOMIC)
		CHECK_EQ(fi_atomic(side->ep, buf, 1, NULL, side->peer, 0, 1, FI_UINT64,
				 FI_SUM, &context),
			-FI_EOPBADSTATE);
}

static void check_queues(struct cf_side *side)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };

	CHECK_EQ(fi_cq_read(side->tx_cq, &entry, 1), -FI_EOPBADSTATE);
	CHECK_EQ(fi_cq_read(side->rx_cq, &entry, 1), -FI_EOPBADSTATE);
	CHECK_EQ(fi_cq_readerr(side->rx_cq, &err, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_cq_sread(side->rx_cq, &entry, 1, NULL, 10), -FI_EOPBADSTATE);
	(void)fi_cntr_read(side->rx_cntr);
	CHECK_EQ(fi_cntr_add(side->rx_cntr, 1), -FI_EOPBADSTATE);
	CHECK_EQ(fi_cntr_wait(side->rx_cntr, 1 << 20, 10), -FI_EOPBADSTATE);
}

/* Ends with 0; otherwise a check has failed. */
static _Noreturn void be_a_child(struct cf_env *env, struct cf_region *region)
{
	uint8_t buf[LEN] = { 0 };
	struct fi_eq_err_entry event;
	uint32_t kind;

	for (int i = 0; i < 2; i++) {
		check_messages(&env->side[i], buf);
		check_other_transfers(&env->side[i], env->info, buf);
		check_queues(&env->side[i]);
	}
	CHECK_EQ(fi_eq_read(env->eq, &kind, &event, sizeof(event), 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_eq_sread(env->eq, &kind, &event, sizeof(event), 10, 0),
		-FI_EOPBADSTATE);
	cf_close_region(region);
	cf_close(env);
	_exit(0);
}

static void child_is_refused(const struct cf_options *options)
{
	struct cf_region region = { .mr = NULL };
	struct cf_env env;
	int status;
	pid_t pid;

	cf_open_pair(&env, options);
	if (options->caps & FI_RMA)
		cf_open_region(
			&env, 1, &region, NULL, LEN, FI_REMOTE_WRITE | FI_REMOTE_READ);
	cf_meet(&env);
	for (int i = 0; i < 3; i++) {
		cf_exchange(&env, LEN);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			be_a_child(&env, &region);
		for (int j = 0; j < 20; j++)
			cf_exchange(&env, LEN);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		for (int j = 0; j < 20; j++)
			cf_exchange(&env, LEN);
	}
	cf_close_region(&region);
	cf_close(&env);
}

static void a_child_may_only_close(void)
{
	struct cf_options options = { .caps = cf_target.type == FI_EP_DGRAM
						      ? 0
						      : FI_TAGGED | FI_RMA | FI_ATOMIC,
		.wait_obj = FI_WAIT_UNSPEC,
		.split_cqs = true,
		.counters = true,
		.bind_eq = true };

	if (cf_target.type == FI_EP_MSG)
		options.caps &= ~FI_ATOMIC;
	child_is_refused(&options);
}

/* Forked at any moment while the endpoints connect. */
static void a_child_of_one_that_connects(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_UNSPEC,
		.split_cqs = true,
		.counters = true,
		.bind_eq = true };
	struct cf_region region = { .mr = NULL };
	uint8_t buf[LEN] = { 0 };

	cf_need_connectionless();
	for (int polls = 0; polls < 12; polls++) {
		struct fi_context2 contexts[2];
		struct cf_env env;
		int status;
		pid_t pid;

		cf_open_pair(&env, &options);
		cf_post_recv(&env, buf, LEN, &contexts[0]);
		cf_post_send(&env, buf, LEN, &contexts[1]);
		for (int i = 0; i < polls; i++) {
			(void)fi_cntr_read(env.side[0].tx_cntr);
			(void)fi_cntr_read(env.side[1].rx_cntr);
		}
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			be_a_child(&env, &region);
		(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		cf_close(&env);
	}
}

/* What a child closes leaves the sets of descriptors that its parent sleeps on. */
static void a_child_does_not_wake_or_silence_sleepers(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_FD,
		.split_cqs = true,
		.counters = true,
		.bind_eq = true };
	struct cf_region region = { .mr = NULL };
	uint8_t in[LEN], out[LEN] = { 5 };
	struct cf_env env;

	if (!cf_open_waiting_pair(&env, &options))
		SKIP("no waiting with descriptors");
	for (int i = 0; i < 3; i++) {
		struct fi_context2 contexts[2];
		struct fi_cq_data_entry entry;
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (!pid)
			be_a_child(&env, &region);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		cf_post_recv(&env, in, LEN, &contexts[0]);
		cf_post_send(&env, out, LEN, &contexts[1]);
		CHECK_EQ(fi_cq_sread(env.side[0].tx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
			1);
		CHECK(entry.op_context == &contexts[1]);
		CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
			1);
		CHECK(entry.op_context == &contexts[0]);
	}
	cf_close(&env);
}

CF_SUITE(forked, CF_CASE(a_child_may_only_close, "THR-014", FI_MSG),
	CF_CASE(a_child_does_not_wake_or_silence_sleepers, "THR-014", FI_MSG),
	CF_CASE(a_child_of_one_that_connects, "THR-014", FI_MSG));

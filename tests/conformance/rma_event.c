/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of remote memory access, at both ends. */
#include <rdma/fi_atomic.h>

#include "suites.h"

enum { LEN = 256, EVENTS = 4 };

static const uint64_t events[EVENTS] = { FI_READ, FI_WRITE, FI_REMOTE_READ,
	FI_REMOTE_WRITE };

static struct fid_cntr *counters[2][EVENTS]; /* by side */

static void bind_counters(struct cf_env *env, struct cf_side *side)
{
	struct fid_cntr **mine = counters[side == &env->side[1]];

	for (int i = 0; i < EVENTS; i++) {
		if (events[i] & (FI_REMOTE_READ | FI_REMOTE_WRITE) &&
			!(env->info->caps & FI_RMA_EVENT))
			continue;
		mine[i] = cf_new_cntr(env, FI_WAIT_NONE);
		CHECK_OK(fi_ep_bind(side->ep, &mine[i]->fid, events[i]));
	}
}

static void open_counted(struct cf_env *env, struct cf_region *region, uint64_t caps)
{
	struct cf_options options = {
		.caps = caps, .split_cqs = true, .bind = bind_counters
	};

	cf_open_pair(env, &options);
	cf_open_region(env, 1, region, NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
}

static void close_counted(struct cf_env *env, struct cf_region *region)
{
	cf_close_region(region);
	for (int side = 0; side < 2; side++) {
		CF_CLOSE(env->side[side].ep);
		for (int i = 0; i < EVENTS; i++)
			CF_CLOSE(counters[side][i]);
	}
	cf_close(env);
}

static void check_counter(struct fid_cntr *cntr, uint64_t wanted)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (fi_cntr_read(cntr) < wanted && cf_now_ms() < deadline)
		cf_progress();
	for (int i = 0; i < 100; i++)
		cf_progress();
	CHECK_EQ(fi_cntr_read(cntr), wanted);
}

static void do_rma(struct cf_env *env, struct cf_region *region, int writes, int reads)
{
	static struct fi_context2 context;
	static uint8_t buf[LEN];
	struct cf_side *from = &env->side[0];

	for (int i = 0; i < writes; i++) {
		CF_RETRY(from->tx_cq, fi_write(from->ep, buf, LEN, NULL, from->peer,
					      region->addr, region->key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
	}
	for (int i = 0; i < reads; i++) {
		CF_RETRY(from->tx_cq, fi_read(from->ep, buf, LEN, NULL, from->peer,
					      region->addr, region->key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
	}
}

static void do_atomics(struct cf_env *env, struct cf_region *region)
{
	static struct fi_context2 context;
	struct cf_side *from = &env->side[0];
	uint64_t one = 1, compare = 0, result;

	CF_RETRY(from->tx_cq,
		fi_atomic(from->ep, &one, 1, NULL, from->peer, region->addr,
			region->key, FI_UINT64, FI_SUM, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CF_RETRY(from->tx_cq,
		fi_fetch_atomic(from->ep, &one, 1, NULL, &result, NULL, from->peer,
			region->addr, region->key, FI_UINT64, FI_SUM, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CF_RETRY(from->tx_cq, fi_compare_atomic(from->ep, &one, 1, NULL, &compare, NULL,
				      &result, NULL, from->peer, region->addr,
				      region->key, FI_UINT64, FI_CSWAP, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
}

static void the_initiator_counts(void)
{
	struct cf_region region;
	struct cf_env env;

	open_counted(&env, &region, FI_RMA);
	do_rma(&env, &region, 3, 2);
	check_counter(counters[0][0], 2);
	check_counter(counters[0][1], 3);
	check_counter(counters[1][0], 0);
	check_counter(counters[1][1], 0);
	close_counted(&env, &region);
}

static void injected_writes_count(void)
{
	struct cf_region region;
	struct cf_env env;
	uint8_t buf[8] = { 1 };

	open_counted(&env, &region, FI_RMA);
	for (int i = 0; i < 5; i++)
		CF_RETRY(env.side[0].tx_cq,
			fi_inject_write(env.side[0].ep, buf, sizeof(buf),
				env.side[0].peer, region.addr, region.key));
	check_counter(counters[0][1], 5);
	cf_cq_quiet(env.side[0].tx_cq);
	close_counted(&env, &region);
}

static void atomics_count_as_reads_and_writes(void)
{
	struct cf_region region;
	struct cf_env env;

	open_counted(&env, &region, FI_ATOMIC);
	do_atomics(&env, &region);
	check_counter(counters[0][0], 2);
	check_counter(counters[0][1], 1);
	close_counted(&env, &region);
}

static void a_refused_access_counts_as_error(void)
{
	struct fi_context2 context;
	struct fi_cq_err_entry err = { 0 };
	struct cf_region region;
	struct cf_env env;
	uint8_t buf[8];

	open_counted(&env, &region, FI_RMA);
	CF_RETRY(env.side[0].tx_cq,
		fi_read(env.side[0].ep, buf, sizeof(buf), NULL, env.side[0].peer,
			region.addr + LEN, region.key, &context));
	cf_cq_wait_err(env.side[0].tx_cq, &err);
	CHECK_EQ(fi_cntr_readerr(counters[0][0]), 1);
	CHECK_EQ(fi_cntr_read(counters[0][0]), 0);
	close_counted(&env, &region);
}

static void the_target_counts(void)
{
	struct cf_region region;
	struct cf_env env;

	open_counted(&env, &region, FI_RMA | FI_RMA_EVENT);
	do_rma(&env, &region, 3, 2);
	check_counter(counters[1][2], 2);
	check_counter(counters[1][3], 3);
	check_counter(counters[0][2], 0);
	check_counter(counters[0][3], 0);
	/* Without remote data nothing comes through the queue. */
	cf_cq_quiet(env.side[1].rx_cq);
	close_counted(&env, &region);
}

static void the_target_counts_atomics(void)
{
	struct cf_region region;
	struct cf_env env;

	open_counted(&env, &region, FI_ATOMIC | FI_RMA_EVENT);
	do_atomics(&env, &region);
	/* An update is a write; one that fetches is a read, too, or instead. */
	check_counter(counters[0][0], 2);
	CHECK(fi_cntr_read(counters[1][2]) + fi_cntr_read(counters[1][3]) >= 3);
	close_counted(&env, &region);
}

/* However a long message goes from one memory to the other. */
static void messages_are_no_remote_events(void)
{
	enum { LONG = 1 << 20 };
	struct cf_region region;
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(LONG), *in = calloc(1, LONG);
	struct cf_env env;

	CHECK(out && in);
	open_counted(&env, &region, FI_MSG | FI_RMA | FI_RMA_EVENT);
	for (int i = 0; i < 3; i++) {
		cf_fill(out, LONG, (unsigned int)i);
		cf_post_recv(&env, in, LONG, &contexts[0]);
		cf_post_send(&env, out, LONG, &contexts[1]);
		(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
		(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
		cf_verify(in, LONG, (unsigned int)i);
	}
	for (int side = 0; side < 2; side++) {
		check_counter(counters[side][2], 0);
		check_counter(counters[side][3], 0);
	}
	do_rma(&env, &region, 1, 1);
	check_counter(counters[1][2], 1);
	check_counter(counters[1][3], 1);
	free(out);
	free(in);
	close_counted(&env, &region);
}

/* @flags: of the registration. */
static void region_counts(uint64_t flags)
{
	struct cf_options options = { .caps = FI_RMA | FI_RMA_EVENT,
		.split_cqs = true };
	struct cf_region regions[2];
	struct fid_cntr *cntr;
	struct cf_env env;
	int ret;

	cf_open_pair(&env, &options);
	if (!flags && env.info->domain_attr->mr_mode & FI_MR_RMA_EVENT)
		SKIP("regions that count are registered as such");
	cf_open_region(
		&env, 1, &regions[0], NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	cf_open_region(
		&env, 1, &regions[1], NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	CF_CLOSE(regions[1].mr);
	CHECK_OK(fi_mr_reg(env.domain, regions[1].bytes, LEN,
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 77777, flags, &regions[1].mr,
		NULL));
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	ret = fi_mr_bind(regions[1].mr, &cntr->fid, FI_REMOTE_WRITE);
	if (ret == -FI_ENOSYS)
		SKIP("regions bind no counters");
	CHECK_OK(ret);
	if (env.info->domain_attr->mr_mode & (FI_MR_ENDPOINT | FI_MR_RMA_EVENT))
		CHECK_OK(fi_mr_enable(regions[1].mr));
	regions[1].key = fi_mr_key(regions[1].mr);
	do_rma(&env, &regions[0], 2, 1);
	do_rma(&env, &regions[1], 3, 1);
	check_counter(cntr, 3);
	CHECK_EQ(fi_close(&cntr->fid), -FI_EBUSY);
	cf_close_region(&regions[1]);
	cf_close_region(&regions[0]);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void a_region_counts(void)
{
	region_counts(FI_RMA_EVENT);
}

/* Also one that was registered like any other, where FI_MR_RMA_EVENT is not set. */
static void a_plain_region_counts(void)
{
	region_counts(0);
}

/* Whatever changes the region, those that bring back what was there, too. */
static void a_region_counts_atomics(void)
{
	struct cf_options options = { .caps = FI_ATOMIC | FI_RMA_EVENT,
		.split_cqs = true };
	struct fi_context2 context;
	struct cf_region region;
	uint64_t none, result;
	struct fid_cntr *cntr;
	struct cf_env env;
	struct cf_side *from = &env.side[0];

	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	if (env.info->domain_attr->mr_mode & FI_MR_RMA_EVENT ||
		fi_mr_bind(region.mr, &cntr->fid, FI_REMOTE_WRITE))
		SKIP("plain regions bind no counters");
	CF_RETRY(from->tx_cq,
		fi_fetch_atomic(from->ep, &none, 1, NULL, &result, NULL, from->peer,
			region.addr, region.key, FI_UINT64, FI_ATOMIC_READ, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	do_atomics(&env, &region);
	check_counter(cntr, 3);
	cf_close_region(&region);
	CF_CLOSE(cntr);
	cf_close(&env);
}

/* Nothing else is read: looking at the counter moves what it counts. */
static void the_counter_of_a_region_is_waited_for(void)
{
	struct cf_options options = { .caps = FI_RMA | FI_RMA_EVENT,
		.split_cqs = true };
	const enum fi_wait_obj objects[] = { FI_WAIT_NONE, FI_WAIT_UNSPEC };
	uint64_t one = 1;

	for (unsigned int i = 0; i < 2; i++) {
		struct fi_context2 context;
		struct cf_region region;
		struct fid_cntr *cntr;
		struct cf_env env;
		struct cf_side *from = &env.side[0];

		cf_open_pair(&env, &options);
		cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_WRITE);
		cf_meet(&env);
		cntr = cf_new_cntr(&env, objects[i]);
		if (env.info->domain_attr->mr_mode & FI_MR_RMA_EVENT ||
			fi_mr_bind(region.mr, &cntr->fid, FI_REMOTE_WRITE))
			SKIP("plain regions bind no counters");
		for (uint64_t count = 1; count <= 3; count++) {
			CF_RETRY(from->tx_cq,
				fi_write(from->ep, &one, sizeof(one), NULL, from->peer,
					region.addr, region.key, &context));
			CHECK_OK(fi_cntr_wait(cntr, count, CF_TIMEOUT_MS));
			CHECK_EQ(fi_cntr_read(cntr), count);
			(void)cf_cq_wait_for(from->tx_cq, &context);
		}
		cf_close_region(&region);
		CF_CLOSE(cntr);
		cf_close(&env);
	}
}

CF_SUITE(rma_event, CF_CASE(the_initiator_counts, "CNT-018 CNT-021", FI_RMA),
	CF_CASE(injected_writes_count, "RMA-007 CS-007", FI_RMA),
	CF_CASE(atomics_count_as_reads_and_writes, "CNT-018", FI_ATOMIC),
	CF_CASE(a_refused_access_counts_as_error, "EP-038 CNT-009 RMA-006", FI_RMA),
	CF_CASE(the_target_counts, "CNT-020 EP-012 RMA-004", FI_RMA | FI_RMA_EVENT),
	CF_CASE(messages_are_no_remote_events, "RMA-004",
		FI_MSG | FI_RMA | FI_RMA_EVENT),
	CF_CASE(the_target_counts_atomics, "CNT-020", FI_ATOMIC | FI_RMA_EVENT),
	CF_CASE(a_region_counts, "MR-015 MR-026 CNT-022", FI_RMA | FI_RMA_EVENT),
	CF_CASE(a_plain_region_counts, "MR-015 MR-026", FI_RMA | FI_RMA_EVENT),
	CF_CASE(a_region_counts_atomics, "MR-026", FI_ATOMIC | FI_RMA_EVENT),
	CF_CASE(the_counter_of_a_region_is_waited_for, "MR-026 CNT-008",
		FI_MSG | FI_RMA | FI_RMA_EVENT));

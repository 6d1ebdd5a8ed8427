/* SPDX-License-Identifier: BSD-2-Clause */
/* What the target refuses: keys, rights and ranges. */
#include <rdma/fi_atomic.h>

#include "suites.h"

enum { LEN = 4096 };

enum step { WRITE, READ, WRITE_DATA, ATOMIC, FETCH };

struct attempt {
	const char *name;
	enum step step;
	uint64_t access; /* of the region */
	int64_t addr;    /* from its start */
	size_t len;
	uint64_t key; /* changed by */
	bool closed;  /* the region was closed before */
};

enum { ALL = 0 };

static const struct attempt attempts[] = {
	{ "write, unknown key", WRITE, ALL, 0, 64, 0x5a5a0000, false },
	{ "read, unknown key", READ, ALL, 0, 64, 0x5a5a0000, false },
	{ "write with data, unknown key", WRITE_DATA, ALL, 0, 64, 0x5a5a0000, false },
	{ "write, no right", WRITE, FI_REMOTE_READ, 0, 64, 0, false },
	{ "read, no right", READ, FI_REMOTE_WRITE, 0, 64, 0, false },
	{ "write, over the end", WRITE, ALL, LEN - 63, 64, 0, false },
	{ "read, over the end", READ, ALL, LEN - 63, 64, 0, false },
	{ "write, before the start", WRITE, ALL, -1, 64, 0, false },
	{ "read, before the start", READ, ALL, -1, 64, 0, false },
	{ "write, far away", WRITE, ALL, INT64_MAX, 64, 0, false },
	{ "write, around the end of addresses", WRITE, ALL, -32, 64, 0, false },
	{ "write, larger than the region", WRITE, ALL, 0, LEN + 1, 0, false },
	{ "read, larger than the region", READ, ALL, 0, LEN + 1, 0, false },
	{ "write, region is closed", WRITE, ALL, 0, 64, 0, true },
	{ "read, region is closed", READ, ALL, 0, 64, 0, true },
	{ "large write, unknown key", WRITE, ALL, 0, 1 << 20, 0x5a5a0000, false },
	{ "large read, unknown key", READ, ALL, 0, 1 << 20, 0x5a5a0000, false },
	{ "atomic, unknown key", ATOMIC, ALL, 0, 8, 0x5a5a0000, false },
	{ "atomic, no right", ATOMIC, FI_REMOTE_READ, 0, 8, 0, false },
	{ "atomic, over the end", ATOMIC, ALL, LEN - 4, 8, 0, false },
	{ "fetch, unknown key", FETCH, ALL, 0, 8, 0x5a5a0000, false },
	{ "fetch, no right", FETCH, FI_REMOTE_WRITE, 0, 8, 0, false },
	{ "fetch, over the end", FETCH, ALL, LEN - 4, 8, 0, false },
};

static ssize_t start(struct cf_side *from, const struct attempt *a, uint64_t addr,
	uint64_t key, void *buf, void *result, void *context)
{
	switch (a->step) {
	case WRITE:
		return fi_write(
			from->ep, buf, a->len, NULL, from->peer, addr, key, context);
	case READ:
		return fi_read(
			from->ep, buf, a->len, NULL, from->peer, addr, key, context);
	case WRITE_DATA:
		return fi_writedata(
			from->ep, buf, a->len, NULL, 7, from->peer, addr, key, context);
	case ATOMIC:
		return fi_atomic(from->ep, buf, 1, NULL, from->peer, addr, key,
			FI_UINT64, FI_SUM, context);
	case FETCH:
		return fi_fetch_atomic(from->ep, buf, 1, NULL, result, NULL, from->peer,
			addr, key, FI_UINT64, FI_SUM, context);
	}
	return -FI_EINVAL;
}

static void check_error(
	const struct attempt *a, struct cf_side *from, const void *context)
{
	struct fi_cq_err_entry err = { 0 };

	cf_cq_wait_err(from->tx_cq, &err);
	if (err.op_context != context || err.err <= 0)
		cf_fail(__FILE__, __LINE__, "%s: error %d of another operation",
			a->name, err.err);
}

/* False if the call refuses it: devices take no atomics at odd addresses. */
static bool try_start(struct cf_env *env, const struct attempt *a,
	const struct cf_region *region, void *buf, void *result, void *context)
{
	uint64_t addr = region->addr + (uint64_t)a->addr;
	uint64_t key = region->key ^ a->key;
	bool odd = (a->step == ATOMIC || a->step == FETCH) && a->addr % 8;
	ssize_t ret = 0;

	CF_RETRY(env->side[0].tx_cq, (ret = start(&env->side[0], a, addr, key, buf,
					      result, context)) == -FI_EINVAL &&
						     odd
					     ? 0
					     : ret);
	return !ret;
}

/* The attempt ends in an error, whichever completion level is asked for, and nothing
 * around the region has changed. */
static void try_one(const struct attempt *a, uint64_t caps, bool delivery)
{
	struct cf_options options = { .caps = caps,
		.split_cqs = true,
		.adjust = delivery ? cf_delivered : NULL };
	struct fi_context2 context;
	struct cf_region region;
	struct cf_env env;
	bool refused = false;
	uint64_t access = a->access ? a->access : FI_REMOTE_READ | FI_REMOTE_WRITE;
	uint8_t *space = malloc(3 * LEN), *buf = malloc(a->len), result[8];

	CHECK(space && buf);
	memset(space, 0x77, 3 * LEN);
	memset(buf, 0x11, a->len);
	cf_open_pair(&env, &options);
	if (env.info->tx_attr->inject_size && a->step == WRITE_DATA &&
		!env.info->domain_attr->cq_data_size)
		SKIP("no data for the queue");
	cf_open_region(&env, 1, &region, space + LEN, LEN, access);
	if (a->closed)
		CF_CLOSE(region.mr);
	if (a->step == WRITE_DATA && env.info->mode & FI_RX_CQ_DATA)
		cf_post_recvs(&env, 1);
	if (!try_start(&env, a, &region, buf, result, &context))
		refused = true;
	else
		check_error(a, &env.side[0], &context);
	for (int i = 0; i < 1000; i++)
		cf_progress();
	for (size_t i = 0; i < 3 * LEN; i++) {
		if (space[i] != 0x77)
			cf_fail(__FILE__, __LINE__, "%s: byte %zu changed", a->name, i);
	}
	if (a->step == READ) {
		for (size_t i = 0; i < a->len; i++)
			CHECK_EQ(buf[i], 0x11);
	}
	/* A connectionless endpoint goes on, with this peer too. */
	if (cf_target.type != FI_EP_MSG && (delivery || refused))
		cf_exchange(&env, 64);
	cf_close_region(&region);
	cf_close(&env);
	free(space);
	free(buf);
}

static void try_all(bool atomics)
{
	for (size_t i = 0; i < CF_COUNT(attempts); i++) {
		const struct attempt *a = &attempts[i];

		uint64_t caps = FI_MSG | (atomics ? FI_ATOMIC : FI_RMA);

		if ((a->step == ATOMIC || a->step == FETCH) != atomics)
			continue;
		try_one(a, caps, true);
		try_one(a, caps, false);
	}
}

static void bad_transfers_change_nothing(void)
{
	try_all(false);
}

static void bad_atomics_change_nothing(void)
{
	try_all(true);
}

/* Of those that were injected the entry has the context of the endpoint. */
static void injected_ones_that_fail_are_told(void)
{
	struct cf_options options = { .caps = FI_RMA | FI_ATOMIC, .split_cqs = true };
	struct cf_region region;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	uint64_t one = 1;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_WRITE | FI_REMOTE_READ);
	cf_meet(&env);
	for (int i = 0; i < 3; i++) {
		struct fi_cq_err_entry err = { 0 };

		CF_RETRY(from->tx_cq,
			fi_inject_write(from->ep, &one, sizeof(one), from->peer,
				region.addr + LEN - 1, region.key));
		cf_cq_wait_err(from->tx_cq, &err);
		CHECK(err.op_context == from->ep->fid.context && err.err > 0);
		CHECK(err.flags & FI_RMA && err.flags & FI_WRITE);
		if (cf_target.version >= FI_VERSION(1, 20))
			CHECK(err.src_addr == from->peer ||
				err.src_addr == FI_ADDR_NOTAVAIL);
		CF_RETRY(from->tx_cq,
			fi_inject_atomic(from->ep, &one, 1, from->peer, region.addr,
				~region.key, FI_UINT64, FI_SUM));
		err = (struct fi_cq_err_entry){ 0 };
		cf_cq_wait_err(from->tx_cq, &err);
		CHECK(err.op_context == from->ep->fid.context && err.err > 0);
		CHECK(err.flags & FI_ATOMIC && err.flags & FI_WRITE);
	}
	for (size_t i = 0; i < LEN; i++)
		CHECK_EQ(region.bytes[i], 0);
	cf_exchange(&env, 64);
	cf_close_region(&region);
	cf_close(&env);
}

/* The next entry, of whichever kind, is of @context. */
static void ends(struct cf_side *from, const void *context)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_tagged_entry entry = { 0 };
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret;

	do {
		ret = fi_cq_read(from->tx_cq, &entry, 1);
		cf_progress();
	} while (ret == -FI_EAGAIN && cf_now_ms() < deadline);
	if (ret == 1) {
		CHECK(entry.op_context == context);
		return;
	}
	CHECK_EQ(ret, -FI_EAVAIL);
	CHECK_EQ(fi_cq_readerr(from->tx_cq, &err, 0), 1);
	CHECK(err.op_context == context);
}

/* Also one that need not be complete at the target. */
static void each_that_is_refused_ends_once(void)
{
	struct cf_options options = { .caps = FI_RMA, .split_cqs = true };
	uint64_t one = 1;
	struct iovec iov = { &one, sizeof(one) };
	struct fi_rma_iov rma = { .len = sizeof(one) };
	struct fi_context2 context;
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = &context };
	struct cf_region region;
	struct cf_env env;
	struct cf_side *from = &env.side[0];

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_WRITE);
	cf_meet(&env);
	msg.addr = from->peer;
	rma.addr = region.addr + LEN - 1;
	rma.key = region.key;
	for (int i = 0; i < 3; i++) {
		CF_RETRY(from->tx_cq, fi_writemsg(from->ep, &msg,
					      FI_COMPLETION | FI_INJECT_COMPLETE));
		ends(from, &context);
		CF_RETRY(from->tx_cq, fi_write(from->ep, &one, sizeof(one), NULL,
					      msg.addr, rma.addr, rma.key, &context));
		ends(from, &context);
	}
	cf_cq_quiet(from->tx_cq);
	cf_close_region(&region);
	cf_close(&env);
}

/* After refusals, good transfers to the same region work. */
static void the_target_serves_on(void)
{
	struct cf_options options = { .caps = FI_RMA, .split_cqs = true };
	struct fi_context2 context;
	struct cf_region region;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	uint8_t buf[64];

	cf_need_connectionless();
	options.adjust = cf_delivered;
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_WRITE | FI_REMOTE_READ);
	for (unsigned int i = 0; i < 5; i++) {
		struct fi_cq_err_entry err = { 0 };

		CF_RETRY(from->tx_cq,
			fi_write(from->ep, buf, sizeof(buf), NULL, from->peer,
				region.addr + LEN, region.key, &context));
		cf_cq_wait_err(from->tx_cq, &err);
		cf_fill(buf, sizeof(buf), i);
		CF_RETRY(from->tx_cq,
			fi_write(from->ep, buf, sizeof(buf), NULL, from->peer,
				region.addr, region.key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
		memset(buf, 0, sizeof(buf));
		CF_RETRY(from->tx_cq,
			fi_read(from->ep, buf, sizeof(buf), NULL, from->peer,
				region.addr, region.key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
		cf_verify(buf, sizeof(buf), i);
	}
	cf_close_region(&region);
	cf_close(&env);
}

/* The last byte of a region is inside, also when reached through several pieces. */
static void the_whole_region_is_allowed(void)
{
	struct cf_options options = { .caps = FI_RMA, .split_cqs = true };
	struct fi_context2 context;
	struct cf_region region;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	static uint8_t buf[LEN];

	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, LEN, FI_REMOTE_READ);
	cf_fill(region.bytes, LEN, 6);
	CF_RETRY(from->tx_cq, fi_read(from->ep, buf, LEN, NULL, from->peer, region.addr,
				      region.key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	cf_verify(buf, LEN, 6);
	CF_RETRY(from->tx_cq, fi_read(from->ep, buf, 1, NULL, from->peer,
				      region.addr + LEN - 1, region.key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CHECK_EQ(buf[0], region.bytes[LEN - 1]);
	cf_close_region(&region);
	cf_close(&env);
}

CF_SUITE(rma_check,
	CF_CASE(bad_transfers_change_nothing, "RMA-006 MR-031 MR-032 MR-034",
		FI_MSG | FI_RMA),
	CF_CASE(bad_atomics_change_nothing, "ATM-017 MR-031 MR-032",
		FI_MSG | FI_ATOMIC),
	CF_CASE(injected_ones_that_fail_are_told, "RMA-007 CQ-044",
		FI_MSG | FI_RMA | FI_ATOMIC),
	CF_CASE(each_that_is_refused_ends_once, "RMA-006 CS-013", FI_MSG | FI_RMA),
	CF_CASE(the_target_serves_on, "RMA-006 MR-034", FI_MSG | FI_RMA),
	CF_CASE(the_whole_region_is_allowed, "RMA-006", FI_MSG | FI_RMA));

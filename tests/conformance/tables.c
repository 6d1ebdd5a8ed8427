/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations tables: applications call most slots without looking, so every table
 * that can be reached from an open object is full, up to the size that it states.
 */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_trigger.h>

#include "suites.h"

/* A table is its size, then pointers to functions. @known: size in our headers. */
static void check_table(const char *name, const void *table, size_t known)
{
	typedef void (*slot)(void);
	const slot *slots = table;
	size_t size;

	if (!table)
		cf_fail(__FILE__, __LINE__, "%s is missing", name);
	size = *(const size_t *)table;
	/* An older library has shorter tables; ours has those of its headers. */
	if (size % sizeof(slot) || size > known ||
		(size < known && cf_target.version >= FI_VERSION(2, 6)))
		cf_fail(__FILE__, __LINE__, "%s: size %zu, wanted %zu", name, size,
			known);
	for (size_t i = 1; i < size / sizeof(slot); i++) {
		if (!slots[i])
			cf_fail(__FILE__, __LINE__, "%s: slot %zu is NULL", name, i);
	}
}

#define CHECK_TABLE(table) check_table(#table, table, sizeof(*(table)))

static void fabric_and_domain(void)
{
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_TABLE(env.fabric->fid.ops);
	CHECK_TABLE(env.fabric->ops);
	CHECK_TABLE(env.domain->fid.ops);
	CHECK_TABLE(env.domain->ops);
	CHECK_TABLE(env.domain->mr);
	cf_close(&env);
}

static void check_endpoint(struct fid_ep *ep)
{
	CHECK_TABLE(ep->fid.ops);
	CHECK_TABLE(ep->ops);
	CHECK_TABLE(ep->cm);
	CHECK_TABLE(ep->msg);
	CHECK_TABLE(ep->rma);
	CHECK_TABLE(ep->tagged);
	CHECK_TABLE(ep->atomic);
	CHECK_TABLE(ep->collective);
}

static void endpoint_before_and_after_enable(void)
{
	struct cf_options options = { .not_enabled = true };
	struct cf_env env;

	cf_open_pair(&env, &options);
	check_endpoint(env.side[0].ep);
	CHECK_OK(fi_enable(env.side[0].ep));
	check_endpoint(env.side[0].ep);
	cf_close(&env);
}

static void queues_and_counters(void)
{
	struct cf_options options = { .counters = true, .bind_eq = true };
	struct cf_env env;

	cf_open_pair(&env, &options);
	CHECK_TABLE(env.side[0].tx_cq->fid.ops);
	CHECK_TABLE(env.side[0].tx_cq->ops);
	CHECK_TABLE(env.side[0].tx_cntr->fid.ops);
	CHECK_TABLE(env.side[0].tx_cntr->ops);
	CHECK_TABLE(env.eq->fid.ops);
	CHECK_TABLE(env.eq->ops);
	cf_close(&env);
}

static void vectors_and_sets(void)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set;
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	av = cf_new_av(&env);
	CHECK_TABLE(av->fid.ops);
	CHECK_TABLE(av->ops);
	if (fi_av_set(av, &attr, &set, NULL) == 0) {
		CHECK_TABLE(set->fid.ops);
		CHECK_TABLE(set->ops);
		CF_CLOSE(set);
	}
	CF_CLOSE(av);
	cf_close(&env);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void regions_polls_and_waits(void)
{
	struct fi_poll_attr poll_attr = { 0 };
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_poll *poll;
	struct fid_wait *wait;
	struct fid_mr *mr;
	struct cf_env env;
	char buf[16];

	cf_open_domain(&env, NULL);
	CHECK_OK(fi_mr_reg(env.domain, buf, sizeof(buf), FI_SEND, 0, 1, 0, &mr, NULL));
	CHECK_TABLE(mr->fid.ops);
	CF_CLOSE(mr);
	if (fi_poll_open(env.domain, &poll_attr, &poll) == 0) {
		CHECK_TABLE(poll->fid.ops);
		CHECK_TABLE(poll->ops);
		CF_CLOSE(poll);
	}
	if (fi_wait_open(env.fabric, &wait_attr, &wait) == 0) {
		CHECK_TABLE(wait->fid.ops);
		CHECK_TABLE(wait->ops);
		CF_CLOSE(wait);
	}
	cf_close(&env);
}

/* Calls for capabilities that the endpoint was opened without exist, and return an
 * error. */
static void missing_transfers_answer(void)
{
	struct cf_env env;
	struct fid_ep *ep;
	uint64_t value = 0, result = 0;
	size_t count = 0;
	ssize_t ret;

	cf_open_pair(&env, NULL);
	ep = env.side[0].ep;
	if (env.info->caps & (FI_RMA | FI_TAGGED | FI_ATOMIC | FI_COLLECTIVE))
		SKIP("the endpoint has more than messages");
	ret = fi_write(ep, &value, 8, NULL, env.side[0].peer, 0, 1, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_read(ep, &value, 8, NULL, env.side[0].peer, 0, 1, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_tsend(ep, &value, 8, NULL, env.side[0].peer, 1, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_trecv(ep, &value, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_atomic(
		ep, &value, 1, NULL, env.side[0].peer, 0, 1, FI_UINT64, FI_SUM, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_fetch_atomic(ep, &value, 1, NULL, &result, NULL, env.side[0].peer, 0,
		1, FI_UINT64, FI_SUM, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_atomicvalid(ep, FI_UINT64, FI_SUM, &count);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_barrier(ep, 0, NULL);
	CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void missing_domain_calls_answer(void)
{
	struct fi_atomic_attr atomic;
	struct fi_deferred_work work = { .op_type = (enum fi_op_type)99 };
	struct fi_collective_attr collective = { .op = FI_NOOP, .datatype = FI_VOID };
	struct cf_env env;
	int ret;

	cf_open_domain(&env, NULL);
	ret = fi_query_atomic(env.domain, FI_UINT64, FI_SUM, &atomic, 0);
	if (!cf_offers(&(struct cf_options){ .caps = FI_ATOMIC }))
		CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_query_collective(env.domain, FI_BARRIER, &collective, 0);
	if (!cf_provider_has(FI_COLLECTIVE))
		CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	ret = fi_control(&env.domain->fid, FI_QUEUE_WORK, &work);
	/* No such work, where there is work; a domain need not know whether its
	 * endpoints have FI_TRIGGER. */
	if (ret != -FI_EINVAL) {
		CHECK(!cf_offers(&(struct cf_options){ .caps = FI_TRIGGER }));
		CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
	}
	cf_close(&env);
}

static void deprecated_slots_answer(void)
{
	struct cf_env env;

	cf_open_pair(&env, NULL);
	/* A number or an error, but no crash. */
	CHECK(fi_rx_size_left(env.side[0].ep) >= -4095);
	CHECK(fi_tx_size_left(env.side[0].ep) >= -4095);
	cf_close(&env);
}

CF_SUITE(tables, CF_CASE(fabric_and_domain, "VER-016 VER-017", 0),
	CF_CASE(endpoint_before_and_after_enable, "VER-016 VER-017", FI_MSG),
	CF_CASE(queues_and_counters, "VER-016 VER-017", FI_MSG),
	CF_CASE(vectors_and_sets, "VER-016 VER-017", 0),
	CF_CASE(regions_polls_and_waits, "VER-016 VER-017", 0),
	CF_CASE(missing_transfers_answer, "VER-017 RMA-010 COL-015", FI_MSG),
	CF_CASE(missing_domain_calls_answer, "ATM-014 COL-011 TRG-008", 0),
	CF_CASE(deprecated_slots_answer, "EP-039", FI_MSG));

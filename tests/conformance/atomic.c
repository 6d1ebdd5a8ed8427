/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomic operations: each type with each operation, computed here once more. */
#include "../model/atomic_model.h"
#include "suites.h"

enum { ELEMENTS = 10, SPACE = 512 };

static const enum fi_op last_op = FI_DIFF;

struct work {
	struct cf_env env;
	struct cf_region region;
	struct fi_context2 context;
	/* Of the initiator, and what must come out. */
	_Alignas(16) uint8_t operand[SPACE], compare[SPACE], result[SPACE];
	_Alignas(16) uint8_t before[SPACE], after[SPACE];
	_Alignas(16) uint8_t memory[SPACE];
};

static void open_work(struct work *w)
{
	struct cf_options options = {
		.caps = FI_ATOMIC, .split_cqs = true, .adjust = cf_delivered
	};

	memset(w, 0, sizeof(*w));
	cf_open_pair(&w->env, &options);
	cf_open_region(&w->env, 1, &w->region, w->memory, SPACE,
		FI_REMOTE_READ | FI_REMOTE_WRITE);
}

static void close_work(struct work *w)
{
	cf_close_region(&w->region);
	cf_close(&w->env);
}

/* Zeros, signs, equal and unequal neighbours. */
static void prepare(struct work *w, const struct am_type *type, enum fi_op op)
{
	static const int targets[ELEMENTS] = { 0, 1, -1, 2, 3, 5, -7, 11, 0, 6 };
	static const int operands[ELEMENTS] = { 0, 3, 2, -1, 3, 0, -7, 4, 9, 5 };
	static const int compares[ELEMENTS] = { 0, 2, -1, 1, 3, 7, 3, 11, -2, 4 };

	for (size_t i = 0; i < ELEMENTS; i++) {
		type->set(w->memory, i, targets[i]);
		type->set(w->operand, i, operands[i]);
		type->set(w->compare, i, compares[i]);
	}
	memset(w->result, 0, SPACE);
	memcpy(w->before, w->memory, SPACE);
	memcpy(w->after, w->memory, SPACE);
	for (size_t i = 0; i < ELEMENTS; i++)
		type->apply(op, w->after, w->operand, w->compare, i);
}

static ssize_t start(struct work *w, const struct am_type *type, enum fi_op op,
	enum am_kind kind, size_t count)
{
	struct cf_side *from = &w->env.side[0];

	switch (kind) {
	case AM_BASE:
		return fi_atomic(from->ep, w->operand, count, NULL, from->peer,
			w->region.addr, w->region.key, type->datatype, op, &w->context);
	case AM_FETCH:
		return fi_fetch_atomic(from->ep,
			op == FI_ATOMIC_READ ? NULL : w->operand, count, NULL,
			w->result, NULL, from->peer, w->region.addr, w->region.key,
			type->datatype, op, &w->context);
	default:
		return fi_compare_atomic(from->ep, w->operand, count, NULL, w->compare,
			NULL, w->result, NULL, from->peer, w->region.addr,
			w->region.key, type->datatype, op, &w->context);
	}
}

static void run(struct work *w, const struct am_type *type, enum fi_op op,
	enum am_kind kind, size_t count)
{
	struct fid_cq *cq = w->env.side[0].tx_cq;
	uint64_t flags, wanted = FI_ATOMIC | (kind == AM_BASE ? FI_WRITE : FI_READ);

	prepare(w, type, op);
	CF_RETRY(cq, start(w, type, op, kind, count));
	flags = cf_cq_wait_for(cq, &w->context);
	CHECK_EQ(flags & (FI_ATOMIC | FI_READ | FI_WRITE | FI_RMA), wanted);
	for (size_t i = 0; i < ELEMENTS; i++) {
		const void *memory = i < count ? w->after : w->before;

		if (!type->equal(w->memory, memory, i))
			cf_fail(__FILE__, __LINE__, "%s, op %d, kind %d: element %zu",
				type->name, op, kind, i);
		if (kind != AM_BASE && i < count &&
			!type->equal(w->result, w->before, i))
			cf_fail(__FILE__, __LINE__, "%s, op %d, kind %d: result %zu",
				type->name, op, kind, i);
	}
}

static void run_kind(enum am_kind kind)
{
	static struct work w;
	size_t tried = 0;

	open_work(&w);
	for (size_t t = 0; t < am_type_count; t++) {
		for (enum fi_op op = 0; op <= last_op; op++) {
			const struct am_type *type = &am_types[t];
			struct fi_atomic_attr attr;
			size_t count;

			if (op == FI_DIFF && cf_target.version < FI_VERSION(2, 0))
				continue;
			if (fi_query_atomic(w.env.domain, type->datatype, op, &attr,
				    am_kind_flags[kind]))
				continue;
			count = attr.count < ELEMENTS ? attr.count : ELEMENTS;
			run(&w, type, op, kind, count);
			run(&w, type, op, kind, 1);
			tried++;
		}
	}
	CHECK(tried > 0);
	close_work(&w);
}

static void base_operations_compute(void)
{
	run_kind(AM_BASE);
}

static void fetching_operations_compute(void)
{
	run_kind(AM_FETCH);
}

static void comparing_operations_compute(void)
{
	run_kind(AM_COMPARE);
}

/* ---- what is offered ---- */

static int valid(struct fid_ep *ep, enum am_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
{
	switch (kind) {
	case AM_BASE:
		return fi_atomicvalid(ep, datatype, op, count);
	case AM_FETCH:
		return fi_fetch_atomicvalid(ep, datatype, op, count);
	default:
		return fi_compare_atomicvalid(ep, datatype, op, count);
	}
}

/* The provider, or one below, has the wire of ofi_rxm, whose other implementations
 * execute operations on up to 8 bytes. */
static bool is_small_only(const struct work *w)
{
	const char *links = getenv("FI_LNX_PROV_LINKS");

	return w->env.info->ep_attr->protocol == FI_PROTO_RXM ||
	       (links && strstr(links, "ofi_rxm"));
}

static void check_offer(
	struct work *w, const struct am_type *type, enum fi_op op, enum am_kind kind)
{
	struct fi_atomic_attr attr = { 0 };
	size_t count = 0;
	int query = fi_query_atomic(
		w->env.domain, type->datatype, op, &attr, am_kind_flags[kind]);
	int ask = valid(w->env.side[0].ep, kind, type->datatype, op, &count);

	if (query != ask)
		cf_fail(__FILE__, __LINE__, "%s, op %d, kind %d: query %d, valid %d",
			type->name, op, kind, query, ask);
	if (!am_valid(type, op, kind) && query != -FI_EOPNOTSUPP)
		cf_fail(__FILE__, __LINE__, "%s, op %d, kind %d: %d", type->name, op,
			kind, query);
	/* What compares and adds in a device is what the device has. */
	if (am_valid(type, op, kind) && query && !type->optional && op != FI_DIFF &&
		!(type->size > sizeof(uint64_t) && is_small_only(w)) &&
		!(w->env.info->domain_attr->mr_mode & FI_MR_PROV_KEY))
		cf_fail(__FILE__, __LINE__, "%s, op %d, kind %d: %d", type->name, op,
			kind, query);
	if (query)
		return;
	CHECK_EQ(attr.size, type->size);
	CHECK_EQ(attr.count, count);
	CHECK(count >= 1);
}

static void the_matrix_is_complete(void)
{
	static struct work w;

	open_work(&w);
	for (size_t t = 0; t < am_type_count; t++) {
		for (enum fi_op op = 0; op <= last_op; op++) {
			if (op == FI_DIFF && cf_target.version < FI_VERSION(2, 0))
				continue;
			for (enum am_kind kind = 0; kind < AM_KINDS; kind++)
				check_offer(&w, &am_types[t], op, kind);
		}
	}
	close_work(&w);
}

static void small_floats_are_not_offered(void)
{
	static const enum fi_datatype types[] = { FI_FLOAT16, FI_BFLOAT16,
		FI_FLOAT8_E4M3, FI_FLOAT8_E5M2 };
	static struct work w;
	size_t count;

	NEED_API(2, 0);
	open_work(&w);
	for (size_t i = 0; i < CF_COUNT(types); i++) {
		CHECK_EQ(fi_atomicvalid(w.env.side[0].ep, types[i], FI_SUM, &count),
			-FI_EOPNOTSUPP);
		CHECK_EQ(fi_atomic(w.env.side[0].ep, w.operand, 1, NULL,
				 w.env.side[0].peer, w.region.addr, w.region.key,
				 types[i], FI_SUM, NULL),
			-FI_EOPNOTSUPP);
	}
	close_work(&w);
}

static void odd_questions_are_refused(void)
{
	static struct work w;
	struct fi_atomic_attr attr;
	struct fid_domain *domain;
	size_t count;
	int ret;

	open_work(&w);
	domain = w.env.domain;
	CHECK_EQ(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr,
			 FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
		-FI_EBADFLAGS);
	CHECK_EQ(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_SEND),
		-FI_EBADFLAGS);
	ret = fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED);
	CHECK(ret == -FI_ENOSYS || ret == -FI_EINVAL || ret == -FI_EOPNOTSUPP);
	CHECK_EQ(fi_query_atomic(domain, FI_UINT64, FI_ATOMIC_READ, &attr, 0),
		-FI_EOPNOTSUPP);
	CHECK_EQ(fi_atomicvalid(w.env.side[0].ep, FI_UINT64, FI_CSWAP, &count),
		-FI_EOPNOTSUPP);
	CHECK_EQ(
		fi_atomicvalid(w.env.side[0].ep, (enum fi_datatype)100, FI_SUM, &count),
		-FI_EOPNOTSUPP);
	CHECK_EQ(fi_atomicvalid(w.env.side[0].ep, FI_UINT64, (enum fi_op)100, &count),
		-FI_EOPNOTSUPP);
	close_work(&w);
}

static void bad_operations_are_refused(void)
{
	static struct work w;
	struct fid_ep *ep;
	uint8_t *much;
	fi_addr_t peer;
	ssize_t ret;
	size_t count;

	open_work(&w);
	ep = w.env.side[0].ep;
	peer = w.env.side[0].peer;
	memset(w.memory, 7, SPACE);
	CHECK_OK(fi_atomicvalid(ep, FI_UINT64, FI_SUM, &count));
	much = calloc(count + 1, 8);
	CHECK(much);
	CHECK_EQ(fi_atomic(ep, much, count + 1, NULL, peer, w.region.addr, w.region.key,
			 FI_UINT64, FI_SUM, NULL),
		-FI_EMSGSIZE);
	ret = fi_atomic(ep, much, 0, NULL, peer, w.region.addr, w.region.key, FI_UINT64,
		FI_SUM, NULL);
	CHECK_EITHER(ret, -FI_EMSGSIZE, -FI_EINVAL);
	CHECK_EQ(fi_atomic(ep, much, 1, NULL, peer, w.region.addr, w.region.key,
			 FI_FLOAT, FI_BOR, NULL),
		-FI_EOPNOTSUPP);
	CHECK_EQ(fi_atomic(ep, much, 1, NULL, peer, w.region.addr, w.region.key,
			 FI_UINT64, FI_CSWAP, NULL),
		-FI_EOPNOTSUPP);
	CHECK_EQ(fi_compare_atomic(ep, much, 1, NULL, much, NULL, w.result, NULL, peer,
			 w.region.addr, w.region.key, FI_UINT64, FI_SUM, NULL),
		-FI_EOPNOTSUPP);
	cf_cq_quiet(w.env.side[0].tx_cq);
	for (size_t i = 0; i < SPACE; i++)
		CHECK_EQ(w.memory[i], 7);
	free(much);
	close_work(&w);
}

/* ---- each of the calls ---- */

static uint64_t value_at(const struct work *w, size_t i)
{
	uint64_t value;

	memcpy(&value, w->memory + 8 * i, 8);
	return value;
}

static void vectors_and_messages(void)
{
	static struct work w;
	struct fi_ioc operand[2] = { { w.operand, 1 }, { w.operand + 8, 3 } };
	struct fi_ioc compare[2] = { { w.compare, 2 }, { w.compare + 16, 2 } };
	struct fi_ioc result[2] = { { w.result, 3 }, { w.result + 24, 1 } };
	struct fi_rma_ioc target[2];
	struct fi_msg_atomic msg = { .msg_iov = operand,
		.iov_count = 2,
		.rma_iov = target,
		.rma_iov_count = 2,
		.datatype = FI_UINT64,
		.op = FI_SUM };
	uint64_t *operands = (uint64_t *)(void *)w.operand;
	uint64_t *compares = (uint64_t *)(void *)w.compare;
	uint64_t *results = (uint64_t *)(void *)w.result;
	struct fid_ep *ep;
	struct fid_cq *cq;

	open_work(&w);
	if (w.env.info->tx_attr->iov_limit < 2 ||
		w.env.info->tx_attr->rma_iov_limit < 2)
		SKIP("atomics take one buffer");
	ep = w.env.side[0].ep;
	cq = w.env.side[0].tx_cq;
	target[0] = (struct fi_rma_ioc){ w.region.addr + 80, 2, w.region.key };
	target[1] = (struct fi_rma_ioc){ w.region.addr, 2, w.region.key };
	msg.addr = w.env.side[0].peer;
	msg.context = &w.context;
	for (uint64_t i = 0; i < 4; i++)
		operands[i] = 100 + i;
	CF_RETRY(cq, fi_atomicv(ep, operand, NULL, 2, msg.addr, w.region.addr + 160,
			     w.region.key, FI_UINT64, FI_SUM, msg.context));
	(void)cf_cq_wait_for(cq, &w.context);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(value_at(&w, 20 + i), 100 + i);
	CF_RETRY(cq, fi_atomicmsg(ep, &msg, FI_DELIVERY_COMPLETE));
	(void)cf_cq_wait_for(cq, &w.context);
	CHECK_EQ(value_at(&w, 10), 100);
	CHECK_EQ(value_at(&w, 11), 101);
	CHECK_EQ(value_at(&w, 0), 102);
	CHECK_EQ(value_at(&w, 1), 103);
	CHECK_EQ(value_at(&w, 2), 0);
	CF_RETRY(cq, fi_fetch_atomicmsg(ep, &msg, result, NULL, 2, 0));
	(void)cf_cq_wait_for(cq, &w.context);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(results[i], 100 + i);
	CHECK_EQ(value_at(&w, 1), 206);
	CF_RETRY(cq, fi_fetch_atomicv(ep, operand, NULL, 2, result, NULL, 2, msg.addr,
			     w.region.addr + 160, w.region.key, FI_UINT64,
			     FI_ATOMIC_WRITE, msg.context));
	(void)cf_cq_wait_for(cq, &w.context);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(results[i], 100 + i);
	msg.op = FI_CSWAP;
	for (uint64_t i = 0; i < 4; i++) {
		compares[i] = i % 2 ? 200 + 2 * i : 0;
		operands[i] = i;
	}
	CF_RETRY(cq,
		fi_compare_atomicmsg(ep, &msg, compare, NULL, 2, result, NULL, 2, 0));
	(void)cf_cq_wait_for(cq, &w.context);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(results[i], 200 + 2 * i);
	CHECK_EQ(value_at(&w, 10), 200);
	CHECK_EQ(value_at(&w, 11), 1);
	CHECK_EQ(value_at(&w, 0), 204);
	CHECK_EQ(value_at(&w, 1), 3);
	CF_RETRY(cq, fi_compare_atomicv(ep, operand, NULL, 2, compare, NULL, 2, result,
			     NULL, 2, msg.addr, w.region.addr + 160, w.region.key,
			     FI_UINT64, FI_CSWAP_NE, msg.context));
	(void)cf_cq_wait_for(cq, &w.context);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(value_at(&w, 20 + i), i);
	close_work(&w);
}

static void injected_ones_arrive(void)
{
	static struct work w;
	struct cf_side *from = &w.env.side[0];
	uint64_t one = 1, result = 0;

	open_work(&w);
	for (int i = 0; i < 10; i++)
		CF_RETRY(from->tx_cq,
			fi_inject_atomic(from->ep, &one, 1, from->peer, w.region.addr,
				w.region.key, FI_UINT64, FI_SUM));
	/* Atomics of one pair are in order where the provider says so; ask until. */
	for (int i = 0; i < 1000 && result != 10; i++) {
		CF_RETRY(from->tx_cq,
			fi_fetch_atomic(from->ep, NULL, 1, NULL, &result, NULL,
				from->peer, w.region.addr, w.region.key, FI_UINT64,
				FI_ATOMIC_READ, &w.context));
		(void)cf_cq_wait_for(from->tx_cq, &w.context);
	}
	CHECK_EQ(result, 10);
	cf_cq_quiet(from->tx_cq);
	close_work(&w);
}

/* Before there is a connection, and with buffers that are overwritten when the calls
 * have returned, as FI_INJECT permits. The result buffers stay. */
static void injected_before_a_connection(void)
{
	static struct work w;
	static struct fi_context2 contexts[3];
	struct cf_side *from = &w.env.side[0];
	uint64_t operands[2] = { 5, 6 }, compares[2] = { 0, 0 };
	uint64_t kept[2] = { 1, 2 }, swapped[2] = { 9, 9 }, fetched[2] = { 9, 9 };
	struct fi_ioc operand[2] = { { &operands[0], 1 }, { &operands[1], 1 } };
	struct fi_ioc compare[2] = { { &compares[0], 1 }, { &compares[1], 1 } };
	struct fi_ioc swap[2] = { { &swapped[0], 1 }, { &swapped[1], 1 } };
	struct fi_ioc fetch = { fetched, 2 }, keep = { kept, 2 };
	struct fi_rma_ioc target = { .count = 2 };
	struct fi_cq_tagged_entry entry;
	struct fi_msg_atomic msg = { .msg_iov = operand,
		.iov_count = 2,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = FI_CSWAP,
		.context = &contexts[0] };

	open_work(&w);
	msg.addr = from->peer;
	target.key = w.region.key;
	target.addr = w.region.addr;
	CF_RETRY(from->tx_cq, fi_compare_atomicmsg(from->ep, &msg, compare, NULL, 2,
				      swap, NULL, 2, FI_INJECT | FI_COMPLETION));
	operands[0] = compares[0] = 77;
	operands[1] = 4;
	compares[1] = 78;
	msg.op = FI_SUM;
	msg.context = &contexts[1];
	target.addr = w.region.addr + 16;
	CF_RETRY(from->tx_cq, fi_fetch_atomicmsg(from->ep, &msg, &fetch, NULL, 1,
				      FI_INJECT | FI_COMPLETION));
	operands[0] = operands[1] = 99;
	msg.msg_iov = &keep;
	msg.iov_count = 1;
	msg.context = &contexts[2];
	target.addr = w.region.addr + 32;
	CF_RETRY(from->tx_cq,
		fi_atomicmsg(from->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	for (size_t i = 0; i < CF_COUNT(contexts); i++)
		cf_cq_wait(from->tx_cq, &entry);
	CHECK(!swapped[0] && !swapped[1] && !fetched[0] && !fetched[1]);
	CHECK(value_at(&w, 0) == 5 && value_at(&w, 1) == 6);
	CHECK(value_at(&w, 2) == 77 && value_at(&w, 3) == 4);
	CHECK(value_at(&w, 4) == 1 && value_at(&w, 5) == 2);
	close_work(&w);
}

static void many_in_flight_all_count(void)
{
	enum { COUNT = 500 };
	static struct work w;
	static struct fi_context2 contexts[COUNT];
	struct cf_side *from = &w.env.side[0];
	struct fi_cq_data_entry entry;
	uint64_t *seen = calloc(COUNT, 8), one = 1;
	int done = 0;

	CHECK(seen);
	open_work(&w);
	for (int i = 0; i < COUNT; i++) {
		ssize_t ret;

		while ((ret = fi_fetch_atomic(from->ep, &one, 1, NULL, &seen[i], NULL,
				from->peer, w.region.addr, w.region.key, FI_UINT64,
				FI_SUM, &contexts[i])) == -FI_EAGAIN) {
			if (fi_cq_read(from->tx_cq, &entry, 1) == 1)
				done++;
			cf_progress();
		}
		CHECK_OK(ret);
	}
	for (; done < COUNT; done++)
		cf_cq_wait(from->tx_cq, &entry);
	CHECK_EQ(value_at(&w, 0), COUNT);
	/* Each of them saw another value. */
	for (uint64_t value = 0; value < COUNT; value++) {
		int found = 0;

		for (int i = 0; i < COUNT; i++)
			found += seen[i] == value;
		CHECK_EQ(found, 1);
	}
	free(seen);
	close_work(&w);
}

CF_SUITE(atomic, CF_CASE(base_operations_compute, "ATM-001 ATM-006 CQ-040", FI_ATOMIC),
	CF_CASE(fetching_operations_compute, "ATM-002 ATM-010 ATM-018 CQ-040",
		FI_ATOMIC),
	CF_CASE(comparing_operations_compute, "ATM-003 ATM-004 ATM-005 ATM-018",
		FI_ATOMIC),
	CF_CASE(the_matrix_is_complete, "ATM-007 ATM-008 ATM-011 ATM-012", FI_ATOMIC),
	CF_CASE(small_floats_are_not_offered, "ATM-009", FI_ATOMIC),
	CF_CASE(odd_questions_are_refused, "ATM-010 ATM-012 ATM-013", FI_ATOMIC),
	CF_CASE(bad_operations_are_refused, "ATM-011 ATM-015", FI_ATOMIC),
	CF_CASE(vectors_and_messages, "ATM-001 ATM-002 ATM-003", FI_ATOMIC),
	CF_CASE(injected_ones_arrive, "ATM-019 CS-006", FI_ATOMIC),
	CF_CASE(injected_before_a_connection, "ATM-019 CS-006", FI_ATOMIC),
	CF_CASE(many_in_flight_all_count, "ATM-016 ATM-018", FI_ATOMIC));

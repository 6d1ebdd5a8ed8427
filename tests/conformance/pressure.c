/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints whose memory is full: senders and requesters wait, and everything arrives.
 * The limits are the smallest there are, and read once by the library, so these cases
 * ask it for nothing before.
 */
#include <rdma/fi_atomic.h>

#include "suites.h"

enum { SIZES = 3, TOTAL = 6 << 20 };

/* Below and above what is kept of one message. */
static const size_t sizes[SIZES] = { 600, 4000, 60000 };

static const struct cf_options options = {
	.caps = FI_TAGGED, .cq_format = FI_CQ_FORMAT_TAGGED, .split_cqs = true
};

static void set_limits(void)
{
	CHECK_OK(setenv("FI_TCP_UNEXPECTED_SIZE", "1048576", 1));
	CHECK_OK(setenv("FI_TCP_ANSWER_SIZE", "1048576", 1));
	CHECK_OK(setenv("FI_SHM_UNEXPECTED_SIZE", "1048576", 1));
}

/* One direction of traffic: what was posted and what has completed. */
struct flow {
	struct cf_side *from, *to;
	size_t len, count, posted, sent, received;
	uint8_t *in, *out;
	struct fi_context2 context;
};

static void flow_open(
	struct flow *flow, struct cf_side *from, struct cf_side *to, size_t len)
{
	*flow = (struct flow){
		.from = from, .to = to, .len = len, .count = TOTAL / len
	};
	flow->in = malloc(len);
	flow->out = malloc(len);
	CHECK(flow->in && flow->out);
}

static void flow_close(struct flow *flow)
{
	free(flow->in);
	free(flow->out);
}

static void reap(struct fid_cq *cq, size_t *count)
{
	struct fi_cq_tagged_entry entry[16];
	ssize_t ret = fi_cq_read(cq, entry, 16);

	CHECK(ret > 0 || ret == -FI_EAGAIN);
	if (ret > 0)
		*count += (size_t)ret;
}

/* As many as the endpoint takes, each with the number of its message. */
static void push(struct flow *flow)
{
	ssize_t ret = 0;

	while (!ret && flow->posted < flow->count) {
		/* Sent from one buffer, so of one content; the tag is the number. */
		ret = fi_tsend(flow->from->ep, flow->out, flow->len, NULL,
			flow->from->peer, flow->posted, &flow->context);
		CHECK(!ret || ret == -FI_EAGAIN);
		flow->posted += !ret;
	}
	reap(flow->from->tx_cq, &flow->sent);
}

static void drive(struct flow *flows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		push(&flows[i]);
		reap(flows[i].to->rx_cq, &flows[i].received);
	}
}

/* The next message of @flow, by its number. */
static void receive(struct flow *flows, size_t count, struct flow *flow, uint64_t tag)
{
	uint64_t deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;
	size_t before = flow->received;
	struct fi_context2 context;
	ssize_t ret;

	memset(flow->in, 0, flow->len);
	do {
		ret = fi_trecv(flow->to->ep, flow->in, flow->len, NULL, FI_ADDR_UNSPEC,
			tag, 0, &context);
		CHECK(!ret || ret == -FI_EAGAIN);
		drive(flows, count);
		CHECK(cf_now_ms() < deadline);
	} while (ret);
	while (flow->received == before) {
		drive(flows, count);
		CHECK(cf_now_ms() < deadline);
	}
	cf_verify(flow->in, flow->len, 1);
}

/* Both ends send until nothing moves any more, then receive in the order of sending. */
static void senders_wait_for_receives(void)
{
	if (cf_target.type == FI_EP_DGRAM)
		SKIP("datagrams are dropped");
	set_limits();
	if (!cf_offers(&options))
		SKIP("no tagged messages");
	for (size_t s = 0; s < SIZES; s++) {
		struct flow flows[2];
		uint64_t until;
		struct cf_env env;

		cf_open_pair(&env, &options);
		for (int i = 0; i < 2; i++) {
			flow_open(&flows[i], &env.side[i], &env.side[!i], sizes[s]);
			cf_fill(flows[i].out, sizes[s], 1);
		}
		until = cf_now_ms() + 100;
		while (cf_now_ms() < until)
			drive(flows, 2);
		for (size_t n = 0; n < flows[0].count; n++)
			for (int i = 0; i < 2; i++)
				receive(flows, 2, &flows[i], n);
		while (flows[0].sent < flows[0].count || flows[1].sent < flows[1].count)
			drive(flows, 2);
		for (int i = 0; i < 2; i++)
			flow_close(&flows[i]);
		cf_close(&env);
	}
}

/* ---- requests whose answers take more than the responder keeps ---- */

enum { FETCHES = 3000, ELEMENTS = 512 };

static const struct cf_options fetching = { .caps = FI_MSG | FI_RMA | FI_ATOMIC,
	.split_cqs = true };

/* As many elements as one operation may have, up to ELEMENTS. */
static size_t elements(struct cf_side *side)
{
	size_t count;

	CHECK_OK(fi_fetch_atomicvalid(side->ep, FI_UINT64, FI_ATOMIC_READ, &count));
	return count < ELEMENTS ? count : ELEMENTS;
}

static void fetch_all(struct cf_env *env, const struct cf_region *region,
	uint64_t (*results)[ELEMENTS], struct fi_context2 *context)
{
	size_t count = elements(&env->side[0]);
	size_t posted[2] = { 0 }, done[2] = { 0 };
	uint64_t deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;

	while (done[0] + done[1] < 2 * FETCHES) {
		for (int i = 0; i < 2; i++) {
			struct cf_side *side = &env->side[i];
			ssize_t ret = posted[i] == FETCHES;

			while (!ret) {
				ret = fi_fetch_atomic(side->ep, NULL, count, NULL,
					results[i * FETCHES + posted[i]], NULL,
					side->peer, region[!i].addr, region[!i].key,
					FI_UINT64, FI_ATOMIC_READ, context);
				CHECK(!ret || ret == -FI_EAGAIN);
				posted[i] += !ret;
				if (posted[i] == FETCHES)
					break;
			}
			reap(side->tx_cq, &done[i]);
		}
		CHECK(cf_now_ms() < deadline);
	}
}

/* Each end has more answers to give than it keeps, and none stops reading for ever. */
static void requesters_of_each_other_get_all_answers(void)
{
	uint64_t(*results)[ELEMENTS] = calloc(2 * FETCHES, sizeof(*results));
	struct cf_region region[2];
	struct fi_context2 context;
	struct fi_atomic_attr attr;
	struct cf_env env;

	CHECK(results);
	set_limits();
	if (!cf_offers(&fetching))
		SKIP("no atomics");
	cf_open_pair(&env, &fetching);
	if (fi_query_atomic(
		    env.domain, FI_UINT64, FI_ATOMIC_READ, &attr, FI_FETCH_ATOMIC) ||
		attr.count < ELEMENTS)
		SKIP("no such atomics");
	for (int i = 0; i < 2; i++) {
		cf_open_region(&env, i, &region[i], NULL, sizeof(*results),
			FI_REMOTE_READ | FI_REMOTE_WRITE);
		cf_fill(region[i].bytes, sizeof(*results), (unsigned int)i);
	}
	fetch_all(&env, region, results, &context);
	for (size_t i = 0; i < 2 * FETCHES; i++)
		cf_verify(results[i], elements(&env.side[0]) * sizeof(**results),
			i < FETCHES);
	for (int i = 0; i < 2; i++)
		cf_close_region(&region[i]);
	cf_close(&env);
	free(results);
}

CF_SUITE(pressure,
	CF_CASE(senders_wait_for_receives, "MSG-003 MSG-018 TAG-002 THR-010", 0),
	CF_CASE(requesters_of_each_other_get_all_answers, "RMA-001", 0));

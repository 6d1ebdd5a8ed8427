/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives of several endpoints from one shared context. */
#include "suites.h"

enum { COUNT = 12 };

static void open_shared(struct cf_env *env, uint64_t caps)
{
	struct cf_options options = { .caps = caps,
		.cq_format = FI_CQ_FORMAT_TAGGED,
		.split_cqs = true,
		.one_av = true,
		.shared_rx = true };

	if (!cf_offers(&options))
		SKIP("shared receive contexts are not offered");
	cf_open_pair(env, &options);
	CHECK_EQ(env->srx->fid.fclass, FI_CLASS_SRX_CTX);
}

/* From side @from to the other. */
static void send_value(struct cf_env *env, int from, uint32_t value)
{
	struct cf_side *side = &env->side[from];

	CF_RETRY(side->tx_cq, fi_inject(side->ep, &value, sizeof(value), side->peer));
}

static void send_tagged(struct cf_env *env, int from, uint32_t value, uint64_t tag)
{
	struct cf_side *side = &env->side[from];

	CF_RETRY(side->tx_cq,
		fi_tinject(side->ep, &value, sizeof(value), side->peer, tag));
}

static void each_endpoint_takes_the_next(void)
{
	struct fi_context2 contexts[COUNT];
	struct fi_cq_tagged_entry entry;
	uint32_t in[COUNT];
	struct cf_env env;

	open_shared(&env, 0);
	for (int i = 0; i < COUNT; i++)
		CHECK_OK(fi_recv(
			env.srx, &in[i], 4, NULL, FI_ADDR_UNSPEC, &contexts[i]));
	for (uint32_t i = 0; i < COUNT; i++) {
		int from = i % 3 == 0;

		send_value(&env, from, i);
		cf_cq_wait(env.side[!from].rx_cq, &entry);
		CHECK(entry.op_context == &contexts[i]);
		CHECK_EQ(entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
		CHECK_EQ(in[i], i);
	}
	cf_cq_quiet(env.side[0].rx_cq);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static void early_messages_wait_for_it(void)
{
	struct fi_context2 context;
	struct fi_cq_tagged_entry entry;
	struct cf_env env;
	int seen[2] = { 0 };
	uint32_t in;

	open_shared(&env, 0);
	for (uint32_t i = 0; i < COUNT; i++)
		send_value(&env, i % 2, i);
	for (int i = 0; i < COUNT; i++) {
		uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
		int at = 0;

		CHECK_OK(fi_recv(env.srx, &in, 4, NULL, FI_ADDR_UNSPEC, &context));
		while (fi_cq_read(env.side[at].rx_cq, &entry, 1) != 1) {
			CHECK(cf_now_ms() < deadline);
			at = !at;
		}
		CHECK(entry.op_context == &context);
		/* Side 1 gets the even values in order, side 0 the odd ones. */
		CHECK_EQ(in, 2 * seen[at] + !at);
		seen[at]++;
	}
	CHECK_EQ(seen[0], COUNT / 2);
	cf_close(&env);
}

static void tags_match_across_endpoints(void)
{
	struct fi_context2 contexts[3];
	struct fi_cq_tagged_entry entry;
	uint32_t in[3] = { 0 };
	struct cf_env env;

	open_shared(&env, FI_TAGGED);
	CHECK_OK(
		fi_trecv(env.srx, &in[0], 4, NULL, FI_ADDR_UNSPEC, 1, 0, &contexts[0]));
	CHECK_OK(fi_trecv(
		env.srx, &in[1], 4, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, &contexts[1]));
	CHECK_OK(
		fi_trecv(env.srx, &in[2], 4, NULL, FI_ADDR_UNSPEC, 2, 0, &contexts[2]));
	send_tagged(&env, 0, 12, 2);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[1]);
	CHECK(entry.tag == 2);
	send_tagged(&env, 1, 22, 2);
	cf_cq_wait(env.side[0].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[2]);
	send_tagged(&env, 0, 11, 1);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EQ(in[0], 11);
	CHECK_EQ(in[1], 12);
	CHECK_EQ(in[2], 22);
	cf_close(&env);
}

static void large_messages_too(void)
{
	enum { LEN = 1 << 20 };
	struct fi_context2 contexts[2], tx[2];
	struct fi_cq_tagged_entry entry;
	uint8_t *in[2], *out = malloc(LEN);
	struct cf_env env;

	CHECK(out);
	cf_fill(out, LEN, 4);
	open_shared(&env, 0);
	for (int i = 0; i < 2; i++) {
		in[i] = calloc(1, LEN);
		CHECK(in[i]);
		CHECK_OK(fi_recv(
			env.srx, in[i], LEN, NULL, FI_ADDR_UNSPEC, &contexts[i]));
	}
	for (int i = 0; i < 2; i++)
		CF_RETRY(env.side[i].tx_cq, fi_send(env.side[i].ep, out, LEN, NULL,
						    env.side[i].peer, &tx[i]));
	for (int i = 0; i < 2; i++) {
		cf_cq_wait(env.side[i].tx_cq, &entry);
		CHECK(entry.op_context == &tx[i]);
		cf_cq_wait(env.side[i].rx_cq, &entry);
		CHECK_EQ(entry.len, LEN);
	}
	for (int i = 0; i < 2; i++) {
		cf_verify(in[i], LEN, 4);
		free(in[i]);
	}
	free(out);
	cf_close(&env);
}

static void a_buffer_for_many_messages(void)
{
	enum { MIN_FREE = 64 };
	static uint8_t buf[COUNT * 4 + MIN_FREE - 1];
	struct iovec iov = { buf, sizeof(buf) };
	struct fi_context2 context;
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &context };
	struct fi_cq_tagged_entry entry;
	size_t min = MIN_FREE;
	struct cf_env env;

	open_shared(&env, FI_MULTI_RECV);
	if (fi_setopt(&env.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min,
		    sizeof(min)))
		SKIP("the context takes no option");
	CHECK_OK(fi_recvmsg(env.srx, &msg, FI_MULTI_RECV));
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t value;

		send_value(&env, i % 2, i);
		cf_cq_wait(env.side[!(i % 2)].rx_cq, &entry);
		CHECK(entry.op_context == &context);
		CHECK((uint8_t *)entry.buf >= buf && entry.len == 4);
		memcpy(&value, entry.buf, 4);
		CHECK_EQ(value, i);
	}
	/* With the last one, or behind it. */
	if (!(entry.flags & FI_MULTI_RECV))
		cf_cq_wait(env.side[!((COUNT - 1) % 2)].rx_cq, &entry);
	CHECK(entry.flags & FI_MULTI_RECV);
	cf_close(&env);
}

static void a_receive_can_be_cancelled(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	uint32_t in[2] = { 0 };
	struct cf_env env;

	open_shared(&env, 0);
	for (int i = 0; i < 2; i++)
		CHECK_OK(fi_recv(
			env.srx, &in[i], 4, NULL, FI_ADDR_UNSPEC, &contexts[i]));
	cf_cancel(&env.srx->fid, &contexts[0]);
	send_value(&env, 0, 9);
	/* Where the cancelled one is reported is open; the other one takes it. */
	for (int tries = 0; tries < 3; tries++) {
		uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
		ssize_t ret;

		while ((ret = fi_cq_read(env.side[1].rx_cq, &entry, 1)) == -FI_EAGAIN) {
			cf_progress();
			CHECK(cf_now_ms() < deadline);
		}
		if (ret == 1)
			break;
		CHECK_EQ(ret, -FI_EAVAIL);
		CHECK_EQ(fi_cq_readerr(
				 env.side[1].rx_cq, &(struct fi_cq_err_entry){ 0 }, 0),
			1);
	}
	CHECK(entry.op_context == &contexts[1]);
	CHECK_EQ(in[1], 9);
	CHECK_EQ(in[0], 0);
	cf_close(&env);
}

static void the_rules_of_sharing(void)
{
	struct fi_context2 context;
	uint32_t in;
	struct cf_env env;

	open_shared(&env, 0);
	CHECK_EQ(fi_close(&env.srx->fid), -FI_EBUSY);
	CHECK_FAILS(fi_recv(env.side[0].ep, &in, 4, NULL, FI_ADDR_UNSPEC, &context));
	cf_close(&env);
}

CF_SUITE(srx,
	CF_CASE(each_endpoint_takes_the_next, "SHC-007 SHC-008 SHC-009 EP-015", FI_MSG),
	CF_CASE(early_messages_wait_for_it, "SHC-008 MSG-018", FI_MSG),
	CF_CASE(tags_match_across_endpoints, "SHC-008 TAG-002", FI_TAGGED),
	CF_CASE(large_messages_too, "SHC-008", FI_MSG),
	CF_CASE(a_buffer_for_many_messages, "SHC-008 MRV-002", FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_receive_can_be_cancelled, "SHC-008 EP-033", FI_MSG),
	CF_CASE(the_rules_of_sharing, "SHC-010 SHC-013", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking for a tagged message that waits: peek, claim, discard. */
#include "suites.h"

enum { LEN = 48 };

static const struct cf_options options = {
	.caps = FI_TAGGED, .cq_format = FI_CQ_FORMAT_TAGGED, .split_cqs = true
};

static void send_one(struct cf_env *env, uint64_t tag, unsigned int seed)
{
	struct cf_side *from = &env->side[0];
	uint8_t out[LEN];

	cf_fill(out, LEN, seed);
	CF_RETRY(from->tx_cq, fi_tinject(from->ep, out, LEN, from->peer, tag));
}

/* Post with @flags; true when its completion is a success, put into @entry. */
static bool ask(struct cf_env *env, uint64_t tag, uint64_t flags, void *context,
	void *buf, struct fi_cq_tagged_entry *entry)
{
	struct cf_side *to = &env->side[1];
	struct iovec iov = { buf, buf ? LEN : 0 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = buf ? 1 : 0,
		.addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.context = context };
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	CF_RETRY(to->rx_cq, fi_trecvmsg(to->ep, &msg, flags));
	while ((ret = fi_cq_read(to->rx_cq, entry, 1)) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		cf_progress();
	}
	if (ret == -FI_EAVAIL) {
		struct fi_cq_err_entry err = { 0 };

		CHECK_EQ(fi_cq_readerr(to->rx_cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ENOMSG);
		CHECK(err.op_context == context);
		CHECK(err.tag == tag);
		CHECK_EQ(err.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
		return false;
	}
	CHECK_EQ(ret, 1);
	CHECK(entry->op_context == context);
	return true;
}

/* Peek until the message has arrived. */
static void look_for(struct cf_env *env, uint64_t tag, uint64_t flags, void *context,
	struct fi_cq_tagged_entry *entry)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (!ask(env, tag, FI_PEEK | flags, context, NULL, entry)) {
		CHECK(cf_now_ms() < deadline);
		cf_progress(); /* of the sender, too */
	}
	CHECK_EQ(entry->len, LEN);
	CHECK(entry->tag == tag);
	CHECK_EQ(entry->flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
}

static void receive(struct cf_env *env, uint64_t tag, unsigned int seed)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	uint8_t in[LEN] = { 0 };

	CHECK(ask(env, tag, 0, &context, in, &entry));
	CHECK_EQ(entry.len, LEN);
	cf_verify(in, LEN, seed);
}

static void a_miss_is_an_error_entry(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;

	cf_open_pair(&env, &options);
	CHECK(!ask(&env, 7, FI_PEEK, &context, NULL, &entry));
	CHECK(!ask(&env, 7, FI_PEEK | FI_CLAIM, &context, NULL, &entry));
	CHECK(!ask(&env, 7, FI_PEEK | FI_DISCARD, &context, NULL, &entry));
	send_one(&env, 8, 1);
	look_for(&env, 8, 0, &context, &entry);
	CHECK(!ask(&env, 7, FI_PEEK, &context, NULL, &entry));
	/* No receive was posted by any of them. */
	send_one(&env, 7, 2);
	look_for(&env, 7, 0, &context, &entry);
	receive(&env, 7, 2);
	receive(&env, 8, 1);
	cf_close(&env);
}

static void a_hit_leaves_the_message(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;

	cf_open_pair(&env, &options);
	send_one(&env, 7, 1);
	send_one(&env, 7, 2);
	for (int i = 0; i < 3; i++)
		look_for(&env, 7, 0, &context, &entry);
	receive(&env, 7, 1);
	receive(&env, 7, 2);
	CHECK(!ask(&env, 7, FI_PEEK, &context, NULL, &entry));
	cf_close(&env);
}

static void remote_data_is_seen(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	uint8_t out[LEN];

	cf_open_pair(&env, &options);
	if (env.info->domain_attr->cq_data_size < 4)
		SKIP("messages carry no data for the queue");
	cf_fill(out, LEN, 3);
	CF_RETRY(env.side[0].tx_cq,
		fi_tinjectdata(env.side[0].ep, out, LEN, 4711, env.side[0].peer, 9));
	look_for(&env, 9, 0, &context, &entry);
	CHECK(entry.flags & FI_REMOTE_CQ_DATA);
	CHECK_EQ(entry.data, 4711);
	receive(&env, 9, 3);
	cf_close(&env);
}

static void a_claimed_message_is_reserved(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 claim, other;
	struct cf_env env;
	uint8_t in[LEN] = { 0 };

	cf_open_pair(&env, &options);
	send_one(&env, 7, 1);
	look_for(&env, 7, FI_CLAIM, &claim, &entry);
	CHECK(!ask(&env, 7, FI_PEEK, &other, NULL, &entry));
	send_one(&env, 7, 2);
	receive(&env, 7, 2);
	CHECK(ask(&env, 7, FI_CLAIM, &claim, in, &entry));
	CHECK(!(entry.flags & (FI_CLAIM | FI_MORE)));
	CHECK_EQ(entry.len, LEN);
	CHECK(entry.tag == 7);
	cf_verify(in, LEN, 1);
	cf_close(&env);
}

static void several_claims_do_not_mix(void)
{
	enum { COUNT = 5 };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 claims[COUNT];
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (unsigned int i = 0; i < COUNT; i++)
		send_one(&env, 7, i);
	for (int i = 0; i < COUNT; i++)
		look_for(&env, 7, FI_CLAIM, &claims[i], &entry);
	for (int i = COUNT; i-- > 0;) {
		uint8_t in[LEN] = { 0 };

		CHECK(ask(&env, 7, FI_CLAIM, &claims[i], in, &entry));
		cf_verify(in, LEN, (unsigned int)i);
	}
	cf_close(&env);
}

static void a_discarded_message_is_gone(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;

	cf_open_pair(&env, &options);
	send_one(&env, 7, 1);
	send_one(&env, 7, 2);
	look_for(&env, 7, FI_DISCARD, &context, &entry);
	receive(&env, 7, 2);
	CHECK(!ask(&env, 7, FI_PEEK, &context, NULL, &entry));
	cf_close(&env);
}

static void a_claimed_message_can_be_discarded(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 context;
	struct cf_env env;

	cf_open_pair(&env, &options);
	send_one(&env, 7, 1);
	send_one(&env, 7, 2);
	look_for(&env, 7, FI_CLAIM, &context, &entry);
	CHECK(ask(&env, 7, FI_CLAIM | FI_DISCARD, &context, NULL, &entry));
	receive(&env, 7, 2);
	CHECK(!ask(&env, 7, FI_PEEK, &context, NULL, &entry));
	cf_close(&env);
}

/* Larger than any eager limit: the payload may still be at the sender. */
static void large_messages_are_found_and_dropped(void)
{
	const size_t len = 1 << 20;
	struct fi_cq_tagged_entry entry;
	struct fi_context2 contexts[2], tx;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	uint8_t *out = malloc(len), *in = calloc(1, len);
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	CHECK(out && in);
	cf_open_pair(&env, &options);
	cf_fill(out, len, 5);
	for (uint64_t tag = 1; tag <= 2; tag++)
		CF_RETRY(from->tx_cq,
			fi_tsend(from->ep, out, len, NULL, from->peer, tag, &tx));
	while (!ask(&env, 1, FI_PEEK | FI_DISCARD, &contexts[0], NULL, &entry)) {
		CHECK(cf_now_ms() < deadline);
		cf_progress();
	}
	CHECK_EQ(entry.len, len);
	CF_RETRY(env.side[1].rx_cq, fi_trecv(env.side[1].ep, in, len, NULL,
					    FI_ADDR_UNSPEC, 2, 0, &contexts[1]));
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[1]);
	CHECK_EQ(entry.len, len);
	cf_verify(in, len, 5);
	/* A dropped message is sent as far as its sender is concerned. */
	cf_cq_wait(from->tx_cq, &entry);
	cf_cq_wait(from->tx_cq, &entry);
	free(out);
	free(in);
	cf_close(&env);
}

static void senseless_flags_are_refused(void)
{
	struct iovec iov;
	struct fi_msg_tagged msg = { .msg_iov = &iov, .addr = FI_ADDR_UNSPEC };
	struct fi_context2 context = { 0 };
	struct cf_env env;

	cf_open_pair(&env, &options);
	msg.context = &context;
	CHECK_FAILS(fi_trecvmsg(env.side[1].ep, &msg, FI_DISCARD));
	CHECK_FAILS(fi_trecvmsg(env.side[1].ep, &msg, FI_CLAIM));
	cf_close(&env);
}

CF_SUITE(tagged_peek, CF_CASE(a_miss_is_an_error_entry, "TAG-004 TAG-006", FI_TAGGED),
	CF_CASE(a_hit_leaves_the_message, "TAG-004 TAG-005 TAG-007", FI_TAGGED),
	CF_CASE(remote_data_is_seen, "TAG-005", FI_TAGGED),
	CF_CASE(a_claimed_message_is_reserved, "TAG-008 TAG-009 TAG-010 CQ-043",
		FI_TAGGED),
	CF_CASE(several_claims_do_not_mix, "TAG-008 TAG-009", FI_TAGGED),
	CF_CASE(a_discarded_message_is_gone, "TAG-011", FI_TAGGED),
	CF_CASE(a_claimed_message_can_be_discarded, "TAG-012", FI_TAGGED),
	CF_CASE(large_messages_are_found_and_dropped, "TAG-005 TAG-011", FI_TAGGED),
	CF_CASE(senseless_flags_are_refused, "TAG-013", FI_TAGGED));

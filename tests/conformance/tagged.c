/* SPDX-License-Identifier: BSD-2-Clause */
/* Tagged messages: which receive gets which message. */
#include "suites.h"

static const struct cf_options options = {
	.caps = FI_TAGGED, .cq_format = FI_CQ_FORMAT_TAGGED, .split_cqs = true
};

static void post(struct cf_env *env, void *buf, size_t len, uint64_t tag,
	uint64_t ignore, void *context)
{
	struct cf_side *to = &env->side[1];

	CF_RETRY(to->rx_cq,
		fi_trecv(to->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, ignore, context));
}

static void inject(struct cf_env *env, uint32_t value, uint64_t tag)
{
	struct cf_side *from = &env->side[0];

	CF_RETRY(from->tx_cq,
		fi_tinject(from->ep, &value, sizeof(value), from->peer, tag));
}

/* The next receive completion is @context's, of a message with @tag. */
static void check_next(struct cf_env *env, const void *context, uint64_t tag)
{
	struct fi_cq_tagged_entry entry;

	cf_cq_wait(env->side[1].rx_cq, &entry);
	CHECK(entry.op_context == context);
	CHECK_EQ(entry.flags & (FI_RECV | FI_TAGGED | FI_MSG), FI_RECV | FI_TAGGED);
	CHECK(entry.tag == tag);
	CHECK_EQ(entry.len, sizeof(uint32_t));
}

static void tags_select_receives(void)
{
	struct fi_context2 contexts[3];
	uint32_t in[3] = { 0 };
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (uint64_t i = 0; i < 3; i++)
		post(&env, &in[i], sizeof(in[i]), 10 + i, 0, &contexts[i]);
	inject(&env, 102, 12);
	inject(&env, 100, 10);
	inject(&env, 101, 11);
	check_next(&env, &contexts[2], 12);
	check_next(&env, &contexts[0], 10);
	check_next(&env, &contexts[1], 11);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(in[i], 100 + i);
	cf_close(&env);
}

static void ignored_bits_do_not_count(void)
{
	static const struct {
		uint64_t send, receive, ignore;
		bool match;
	} rows[] = {
		{ 0, 0, 0, true },
		{ 0, UINT64_MAX, UINT64_MAX, true },
		{ UINT64_MAX, 0, UINT64_MAX, true },
		{ 0x12345678, 0x12345678, 0, true },
		{ 0x12345678, 0x12345679, 1, true },
		{ 0x12345678, 0x12345679, 2, false },
		{ 1ULL << 32, 0, 0xffffffff, false },
		{ 1ULL << 32, 0, 1ULL << 32, true },
		{ 0x00ff00ff, 0x0f0f0f0f, 0x0ff00ff0, true },
		{ 0x00ff00fe, 0x0f0f0f0f, 0x0ff00ff0, false },
	};
	enum { OTHER = 77 };
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (size_t i = 0; i < CF_COUNT(rows); i++) {
		struct fi_context2 contexts[2];
		uint32_t in[2] = { 0 };

		/* Once with the receive first, once with the message first. */
		for (int late = 0; late < 2; late++) {
			if (late)
				inject(&env, 1, rows[i].send);
			post(&env, &in[0], sizeof(in[0]), rows[i].receive,
				rows[i].ignore, &contexts[0]);
			if (!late)
				inject(&env, 1, rows[i].send);
			if (rows[i].match) {
				check_next(&env, &contexts[0], rows[i].send);
				CHECK_EQ(in[0], 1);
				continue;
			}
			/* A receive for just this message takes it. */
			post(&env, &in[1], sizeof(in[1]), rows[i].send, 0,
				&contexts[1]);
			check_next(&env, &contexts[1], rows[i].send);
			inject(&env, 2, rows[i].receive);
			check_next(&env, &contexts[0], rows[i].receive);
		}
	}
	cf_close(&env);
}

static void the_first_posted_match_wins(void)
{
	struct fi_context2 contexts[5];
	uint32_t in[5] = { 0 };
	struct cf_env env;

	cf_open_pair(&env, &options);
	post(&env, &in[0], 4, 1, 0, &contexts[0]);
	post(&env, &in[1], 4, 0, UINT64_MAX, &contexts[1]);
	post(&env, &in[2], 4, 2, 0, &contexts[2]);
	post(&env, &in[3], 4, 0, 3, &contexts[3]);
	post(&env, &in[4], 4, 2, 0, &contexts[4]);
	for (uint32_t i = 0; i < 4; i++)
		inject(&env, i, 2);
	check_next(&env, &contexts[1], 2);
	check_next(&env, &contexts[2], 2);
	check_next(&env, &contexts[3], 2);
	check_next(&env, &contexts[4], 2);
	inject(&env, 4, 1);
	check_next(&env, &contexts[0], 1);
	CHECK_EQ(in[1], 0);
	CHECK_EQ(in[2], 1);
	CHECK_EQ(in[3], 2);
	CHECK_EQ(in[4], 3);
	CHECK_EQ(in[0], 4);
	cf_close(&env);
}

static void early_messages_match_in_order_of_arrival(void)
{
	enum { COUNT = 20 };
	struct fi_context2 context;
	struct cf_env env;
	uint32_t in;

	cf_open_pair(&env, &options);
	for (uint32_t i = 0; i < COUNT; i++)
		inject(&env, i, i % 2);
	/* All odd ones in order, then the rest by a wildcard. */
	for (uint32_t i = 1; i < COUNT; i += 2) {
		post(&env, &in, sizeof(in), 1, 0, &context);
		check_next(&env, &context, 1);
		CHECK_EQ(in, i);
	}
	for (uint32_t i = 0; i < COUNT; i += 2) {
		post(&env, &in, sizeof(in), 0, UINT64_MAX, &context);
		check_next(&env, &context, 0);
		CHECK_EQ(in, i);
	}
	cf_close(&env);
}

static void tagged_and_untagged_never_meet(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	uint32_t in[2] = { 0 }, value = 5;
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (int late = 0; late < 2; late++) {
		if (late) {
			inject(&env, 6, 0);
			CF_RETRY(env.side[0].tx_cq,
				fi_inject(env.side[0].ep, &value, 4, env.side[0].peer));
		}
		post(&env, &in[0], 4, 0, UINT64_MAX, &contexts[0]);
		cf_post_recv(&env, &in[1], 4, &contexts[1]);
		if (!late) {
			CF_RETRY(env.side[0].tx_cq,
				fi_inject(env.side[0].ep, &value, 4, env.side[0].peer));
			inject(&env, 6, 0);
		}
		for (int i = 0; i < 2; i++) {
			bool tagged;

			cf_cq_wait(env.side[1].rx_cq, &entry);
			tagged = entry.op_context == &contexts[0];
			CHECK(tagged || entry.op_context == &contexts[1]);
			CHECK_EQ(entry.flags & (FI_TAGGED | FI_MSG),
				tagged ? FI_TAGGED : FI_MSG);
		}
		CHECK_EQ(in[0], 6);
		CHECK_EQ(in[1], 5);
	}
	cf_close(&env);
}

/* ---- each of the calls ---- */

enum { LEN = 300 };

struct exchange {
	struct cf_env env;
	struct fi_context2 contexts[2];
	char out[LEN], in[LEN];
};

static void begin(struct exchange *x, unsigned int seed)
{
	cf_fill(x->out, LEN, seed);
	memset(x->in, 0, LEN);
	post(&x->env, x->in, LEN, 0xabcdef, 0, &x->contexts[0]);
}

static void end(struct exchange *x, unsigned int seed, bool reports, uint64_t data)
{
	struct fi_cq_tagged_entry entry;
	size_t size = x->env.info->domain_attr->cq_data_size;
	uint64_t mask = size < 8 ? (1ULL << (8 * size)) - 1 : UINT64_MAX;

	cf_cq_wait(x->env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &x->contexts[0]);
	CHECK_EQ(entry.len, LEN);
	CHECK(entry.tag == 0xabcdef);
	CHECK_EQ(!!(entry.flags & FI_REMOTE_CQ_DATA), data != 0);
	if (data)
		CHECK((entry.data & mask) == (data & mask));
	cf_verify(x->in, LEN, seed);
	if (!reports)
		return;
	cf_cq_wait(x->env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &x->contexts[1]);
	CHECK_EQ(entry.flags & (FI_SEND | FI_TAGGED | FI_MSG), FI_SEND | FI_TAGGED);
}

static void every_call_sends(void)
{
	static struct exchange x;
	struct iovec iov[2] = { { x.out, 7 }, { x.out + 7, LEN - 7 } };
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.tag = 0xabcdef,
		.context = &x.contexts[1],
		.data = 0x1122334455667788 };
	struct cf_side *from = &x.env.side[0];
	bool inject_fits, carries_data;

	cf_open_pair(&x.env, &options);
	msg.addr = from->peer;
	msg.iov_count = x.env.info->tx_attr->iov_limit < 2 ? 1 : 2;
	inject_fits = x.env.info->tx_attr->inject_size >= LEN;
	carries_data = x.env.info->domain_attr->cq_data_size > 0;
	if (msg.iov_count == 1)
		iov[0].iov_len = LEN;
	begin(&x, 1);
	CF_RETRY(from->tx_cq,
		fi_tsend(from->ep, x.out, LEN, NULL, from->peer, msg.tag, msg.context));
	end(&x, 1, true, 0);
	begin(&x, 2);
	CF_RETRY(from->tx_cq, fi_tsendv(from->ep, iov, NULL, msg.iov_count, from->peer,
				      msg.tag, msg.context));
	end(&x, 2, true, 0);
	begin(&x, 3);
	CF_RETRY(from->tx_cq, fi_tsendmsg(from->ep, &msg, 0));
	end(&x, 3, true, 0);
	if (inject_fits) {
		begin(&x, 4);
		CF_RETRY(from->tx_cq,
			fi_tinject(from->ep, x.out, LEN, from->peer, msg.tag));
		end(&x, 4, false, 0);
	}
	if (carries_data) {
		begin(&x, 5);
		CF_RETRY(from->tx_cq, fi_tsenddata(from->ep, x.out, LEN, NULL, msg.data,
					      from->peer, msg.tag, msg.context));
		end(&x, 5, true, msg.data);
		begin(&x, 6);
		CF_RETRY(from->tx_cq, fi_tsendmsg(from->ep, &msg, FI_REMOTE_CQ_DATA));
		end(&x, 6, true, msg.data);
	}
	if (carries_data && inject_fits) {
		begin(&x, 7);
		CF_RETRY(from->tx_cq, fi_tinjectdata(from->ep, x.out, LEN, msg.data,
					      from->peer, msg.tag));
		end(&x, 7, false, msg.data);
	}
	cf_close(&x.env);
}

static void every_call_receives(void)
{
	static struct exchange x;
	struct iovec iov[2] = { { x.in, 9 }, { x.in + 9, LEN - 9 } };
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.iov_count = 2,
		.addr = FI_ADDR_UNSPEC,
		.tag = 0xab0000,
		.ignore = 0xffff,
		.context = &x.contexts[0] };
	struct cf_side *from = &x.env.side[0], *to = &x.env.side[1];

	cf_open_pair(&x.env, &options);
	if (x.env.info->rx_attr->iov_limit < 2)
		SKIP("receives take one buffer");
	for (unsigned int i = 0; i < 2; i++) {
		cf_fill(x.out, LEN, i);
		memset(x.in, 0, LEN);
		if (i)
			CF_RETRY(to->rx_cq, fi_trecvmsg(to->ep, &msg, 0));
		else
			CF_RETRY(to->rx_cq,
				fi_trecvv(to->ep, iov, NULL, 2, FI_ADDR_UNSPEC, msg.tag,
					msg.ignore, msg.context));
		CF_RETRY(from->tx_cq, fi_tsend(from->ep, x.out, LEN, NULL, from->peer,
					      0xabcdef, &x.contexts[1]));
		end(&x, i, true, 0);
	}
	cf_close(&x.env);
}

static void empty_messages_have_tags(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	struct cf_env env;
	struct cf_side *from = &env.side[0];

	cf_open_pair(&env, &options);
	for (uint64_t tag = 0; tag < 3; tag++)
		CF_RETRY(from->tx_cq, fi_tsend(from->ep, NULL, 0, NULL, from->peer, tag,
					      &contexts[0]));
	for (uint64_t tag = 3; tag-- > 0;) {
		post(&env, NULL, 0, tag, 0, &contexts[1]);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.tag == tag);
		CHECK_EQ(entry.len, 0);
	}
	for (int i = 0; i < 3; i++)
		cf_cq_wait(from->tx_cq, &entry);
	cf_close(&env);
}

static void truncation_is_told_either_way(void)
{
	static const size_t sizes[] = { 64, 5000, 300000 };
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	uint8_t *out = malloc(sizes[2]), in[32];

	CHECK(out);
	cf_open_pair(&env, &options);
	for (int row = 0; row < 6; row++) {
		struct fi_cq_err_entry err = { 0 };
		size_t len = sizes[row / 2];
		bool late = row % 2;

		cf_fill(out, len, 1);
		memset(in, '#', sizeof(in));
		if (!late)
			post(&env, in, 24, 5, 0, &contexts[0]);
		CF_RETRY(from->tx_cq, fi_tsend(from->ep, out, len, NULL, from->peer, 5,
					      &contexts[1]));
		for (int i = 0; late && i < 1000; i++)
			cf_progress();
		if (late)
			post(&env, in, 24, 5, 0, &contexts[0]);
		cf_cq_wait_err(env.side[1].rx_cq, &err);
		CHECK_EQ(err.err, FI_ETRUNC);
		CHECK(err.op_context == &contexts[0]);
		CHECK_EQ(err.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
		CHECK(err.tag == 5);
		CHECK_EQ(err.len, 24);
		CHECK_EQ(err.olen, len - 24);
		cf_verify(in, 24, 1);
		CHECK(in[24] == '#');
		cf_cq_wait(from->tx_cq, &entry);
	}
	inject(&env, 1, 9);
	post(&env, in, 4, 9, 0, &contexts[0]);
	check_next(&env, &contexts[0], 9);
	free(out);
	cf_close(&env);
}

static void a_cancelled_receive_tells_its_kind(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_err_entry err = { 0 };
	struct cf_env env;
	uint32_t in[2] = { 0 };

	cf_open_pair(&env, &options);
	post(&env, &in[0], 4, 1, 0, &contexts[0]);
	post(&env, &in[1], 4, 1, 0, &contexts[1]);
	CHECK_OK(fi_cancel(&env.side[1].ep->fid, &contexts[0]));
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &contexts[0]);
	CHECK_EQ(err.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
	inject(&env, 8, 1);
	check_next(&env, &contexts[1], 1);
	CHECK_EQ(in[0], 0);
	CHECK_EQ(in[1], 8);
	cf_close(&env);
}

CF_SUITE(tagged, CF_CASE(tags_select_receives, "TAG-001 CQ-038 CQ-039", FI_TAGGED),
	CF_CASE(ignored_bits_do_not_count, "TAG-001", FI_TAGGED),
	CF_CASE(the_first_posted_match_wins, "TAG-002 EPA-034", FI_TAGGED),
	CF_CASE(early_messages_match_in_order_of_arrival, "TAG-002 MSG-018", FI_TAGGED),
	CF_CASE(tagged_and_untagged_never_meet, "TAG-003", FI_TAGGED | FI_MSG),
	CF_CASE(every_call_sends, "TAG-016 MSG-001 MSG-007 CQ-039", FI_TAGGED),
	CF_CASE(every_call_receives, "TAG-016", FI_TAGGED),
	CF_CASE(empty_messages_have_tags, "TAG-016 MSG-004", FI_TAGGED),
	CF_CASE(truncation_is_told_either_way, "CQ-045", FI_TAGGED),
	CF_CASE(a_cancelled_receive_tells_its_kind, "EP-033", FI_TAGGED));

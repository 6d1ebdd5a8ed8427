/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: the ways to send and receive, sizes, order. */
#include "suites.h"

static void largest(const struct cf_env *env, size_t *len)
{
	*len = env->info->ep_attr->max_msg_size;
	if (*len > 1 << 20)
		*len = 1 << 20;
}

static void sizes_up_to_the_largest(void)
{
	struct cf_env env;
	size_t most;

	cf_open_pair(&env, NULL);
	largest(&env, &most);
	for (size_t len = 1; len < most; len *= 3)
		cf_exchange(&env, len);
	cf_exchange(&env, most);
	cf_close(&env);
}

static void empty_messages(void)
{
	struct fi_msg msg = { .iov_count = 0 };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;

	cf_open_pair(&env, NULL);
	cf_post_recv(&env, NULL, 0, &contexts[0]);
	cf_post_send(&env, NULL, 0, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &contexts[1]);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EQ(entry.len, 0);
	/* Without any vector, and injected. */
	msg.addr = env.side[0].peer;
	msg.context = &contexts[1];
	cf_post_recv(&env, NULL, 0, &contexts[0]);
	CF_RETRY(env.side[0].tx_cq, fi_sendmsg(env.side[0].ep, &msg, 0));
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK_EQ(entry.len, 0);
	cf_post_recv(&env, NULL, 0, &contexts[0]);
	CF_RETRY(env.side[0].tx_cq,
		fi_inject(env.side[0].ep, NULL, 0, env.side[0].peer));
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK_EQ(entry.len, 0);
	cf_close(&env);
}

static void too_large_is_refused(void)
{
	struct cf_env env;
	struct iovec iov[2];
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2 };
	size_t most;
	char *buf;

	cf_open_pair(&env, NULL);
	most = env.info->ep_attr->max_msg_size;
	if (most > 1 << 24 || env.info->tx_attr->iov_limit < 2)
		SKIP("there is no message too large to build");
	buf = calloc(1, most + 1);
	CHECK(buf);
	iov[0] = (struct iovec){ buf, most };
	iov[1] = (struct iovec){ buf, 1 };
	msg.addr = env.side[0].peer;
	CHECK_EQ(fi_send(env.side[0].ep, buf, most + 1, NULL, msg.addr, NULL),
		-FI_EMSGSIZE);
	CHECK_EQ(fi_sendv(env.side[0].ep, iov, NULL, 2, msg.addr, NULL), -FI_EMSGSIZE);
	CHECK_EQ(fi_sendmsg(env.side[0].ep, &msg, 0), -FI_EMSGSIZE);
	CHECK_EQ(fi_sendmsg(env.side[0].ep, &msg, FI_INJECT), -FI_EMSGSIZE);
	cf_cq_quiet(env.side[0].tx_cq);
	free(buf);
	cf_close(&env);
}

/* Cut @len bytes of @buf into @count pieces of different sizes. */
static void cut(struct iovec *iov, size_t count, char *buf, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		size_t part = i + 1 == count ? len - at : i + 1;

		iov[i] = (struct iovec){ buf + at, part };
		at += part;
	}
}

static void vectors_gather_and_scatter(void)
{
	enum { LEN = 200 };
	char out[LEN], in[LEN];
	struct iovec tx_iov[8], rx_iov[8];
	struct fi_msg tx = { .msg_iov = tx_iov }, rx = { .msg_iov = rx_iov };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;

	cf_open_pair(&env, NULL);
	tx.iov_count = env.info->tx_attr->iov_limit;
	rx.iov_count = env.info->rx_attr->iov_limit;
	CHECK(tx.iov_count >= 1 && rx.iov_count >= 1);
	if (tx.iov_count > 8)
		tx.iov_count = 8;
	if (rx.iov_count > 8)
		rx.iov_count = 8;
	cut(tx_iov, tx.iov_count, out, LEN);
	/* Cut elsewhere, so that the pieces do not line up. */
	cut(rx_iov, rx.iov_count > 1 ? rx.iov_count - 1 : 1, in, LEN);
	if (rx.iov_count > 1)
		rx.iov_count--;
	tx.addr = env.side[0].peer;
	rx.addr = FI_ADDR_UNSPEC;
	tx.context = &contexts[1];
	rx.context = &contexts[0];
	for (unsigned int round = 0; round < 2; round++) {
		cf_fill(out, LEN, round);
		memset(in, 0, LEN);
		if (round) {
			CF_RETRY(env.side[1].rx_cq, fi_recvmsg(env.side[1].ep, &rx, 0));
			CF_RETRY(env.side[0].tx_cq, fi_sendmsg(env.side[0].ep, &tx, 0));
		} else {
			CF_RETRY(env.side[1].rx_cq,
				fi_recvv(env.side[1].ep, rx_iov, NULL, rx.iov_count,
					FI_ADDR_UNSPEC, rx.context));
			CF_RETRY(env.side[0].tx_cq,
				fi_sendv(env.side[0].ep, tx_iov, NULL, tx.iov_count,
					tx.addr, tx.context));
		}
		cf_cq_wait(env.side[0].tx_cq, &entry);
		CHECK(entry.op_context == &contexts[1]);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &contexts[0]);
		CHECK_EQ(entry.len, LEN);
		CHECK_EQ(
			entry.flags & (FI_RECV | FI_MSG | FI_MULTICAST | FI_MULTI_RECV),
			FI_RECV | FI_MSG);
		cf_verify(in, LEN, round);
	}
	cf_close(&env);
}

static void too_long_vectors_are_refused(void)
{
	struct iovec *iov;
	struct cf_env env;
	size_t limit;
	char buf[8] = "";

	cf_open_pair(&env, NULL);
	limit = env.info->tx_attr->iov_limit;
	if (env.info->rx_attr->iov_limit > limit)
		limit = env.info->rx_attr->iov_limit;
	iov = calloc(limit + 1, sizeof(*iov));
	CHECK(iov);
	for (size_t i = 0; i <= limit; i++)
		iov[i] = (struct iovec){ buf, 1 };
	CHECK_EQ(fi_sendv(env.side[0].ep, iov, NULL, limit + 1, env.side[0].peer, NULL),
		-FI_EINVAL);
	CHECK_EQ(fi_recvv(env.side[1].ep, iov, NULL, limit + 1, FI_ADDR_UNSPEC, NULL),
		-FI_EINVAL);
	free(iov);
	cf_close(&env);
}

static void order_and_boundaries_are_kept(void)
{
	enum { COUNT = 32 };
	static char in[COUNT][COUNT + 1];
	struct fi_context2 contexts[COUNT], tx;
	struct fi_cq_data_entry entry;
	struct cf_env env;
	char out[COUNT];

	cf_open_pair(&env, &(struct cf_options){ .split_cqs = true });
	for (int i = 0; i < COUNT; i++)
		cf_post_recv(&env, in[i], sizeof(in[i]), &contexts[i]);
	for (int i = 0; i < COUNT; i++) {
		memset(out, i, sizeof(out));
		cf_post_send(&env, out, (size_t)i, &tx);
		cf_cq_wait(env.side[0].tx_cq, &entry);
	}
	for (int i = 0; i < COUNT; i++) {
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &contexts[i]);
		CHECK_EQ(entry.len, i);
		for (int j = 0; j < i; j++)
			CHECK_EQ(in[i][j], i);
	}
	cf_close(&env);
}

static void remote_data_is_delivered_or_refused(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	uint64_t data = 0x8877665544332211, mask = UINT64_MAX;
	size_t size;
	char out[4] = "cqd", in[4];

	cf_open_pair(&env, NULL);
	size = env.info->domain_attr->cq_data_size;
	if (!size) {
		CHECK_FAILS(fi_senddata(env.side[0].ep, out, sizeof(out), NULL, data,
			env.side[0].peer, &contexts[1]));
		CHECK_FAILS(fi_injectdata(
			env.side[0].ep, out, sizeof(out), data, env.side[0].peer));
		cf_exchange(&env, 4);
		cf_close(&env);
		return;
	}
	if (size < 8)
		mask = (1ULL << (8 * size)) - 1;
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	CF_RETRY(env.side[0].tx_cq, fi_senddata(env.side[0].ep, out, sizeof(out), NULL,
					    data, env.side[0].peer, &contexts[1]));
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.flags & FI_REMOTE_CQ_DATA);
	CHECK((entry.data & mask) == (data & mask));
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	CF_RETRY(env.side[0].tx_cq, fi_injectdata(env.side[0].ep, out, sizeof(out),
					    data, env.side[0].peer));
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK((entry.data & mask) == (data & mask));
	/* A plain message carries none. */
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	cf_post_send(&env, out, sizeof(out), &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(!(entry.flags & FI_REMOTE_CQ_DATA));
	cf_close(&env);
}

/* Of a message that waits at its sender for a receive, and for one that was posted. */
static void large_messages_carry_data(void)
{
	enum { LARGE = 300000, ROUNDS = 4 };
	struct cf_options options = { .caps = FI_TAGGED };
	uint8_t *out = malloc(LARGE), *in = malloc(LARGE);
	static struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct cf_env env;

	CHECK(out && in);
	if (cf_target.type == FI_EP_DGRAM || !cf_offers(&options))
		SKIP("no large messages, or no tagged ones");
	cf_open_pair(&env, &options);
	if (env.info->domain_attr->cq_data_size < 8)
		SKIP("no remote CQ data of 8 bytes");
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct cf_side *from = &env.side[0], *to = &env.side[1];
		bool tagged = round & 1, early = round & 2;
		uint64_t data = 0x8877665544332211 + round;

		cf_fill(out, LARGE, (unsigned int)round);
		for (int turn = 0; turn < 2; turn++) {
			if ((turn == 0) == early && tagged)
				CHECK_OK(fi_trecv(to->ep, in, LARGE, NULL,
					FI_ADDR_UNSPEC, 7, 0, &contexts[0]));
			else if ((turn == 0) == early)
				cf_post_recv(&env, in, LARGE, &contexts[0]);
			else if (tagged)
				CF_RETRY(from->tx_cq,
					fi_tsenddata(from->ep, out, LARGE, NULL, data,
						from->peer, 7, &contexts[1]));
			else
				CF_RETRY(from->tx_cq,
					fi_senddata(from->ep, out, LARGE, NULL, data,
						from->peer, &contexts[1]));
			if (!early && turn == 0)
				cf_cq_quiet(to->rx_cq);
		}
		cf_cq_wait(to->rx_cq, &entry);
		CHECK(entry.op_context == &contexts[0]);
		CHECK(entry.flags & FI_REMOTE_CQ_DATA);
		CHECK(entry.data == data);
		cf_verify(in, LARGE, (unsigned int)round);
		cf_cq_wait(from->tx_cq, &entry);
	}
	free(out);
	free(in);
	cf_close(&env);
}

/* More receives than a context holds are refused until there is room. */
static void a_full_context_says_again(void)
{
	struct cf_env env;
	struct fi_context2 *contexts;
	size_t posted = 0, most;
	ssize_t ret = 0;
	char in[8];

	cf_open_pair(&env, NULL);
	most = 4 * env.info->rx_attr->size + 4;
	contexts = calloc(most, sizeof(*contexts));
	CHECK(contexts);
	while (posted < most) {
		ret = fi_recv(env.side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
			&contexts[posted]);
		if (ret)
			break;
		posted++;
	}
	CHECK(posted >= env.info->rx_attr->size);
	CHECK_EITHER(ret, 0, -FI_EAGAIN);
	CF_CLOSE(env.side[1].ep);
	free(contexts);
	cf_close(&env);
}

CF_SUITE(msg, CF_CASE(sizes_up_to_the_largest, "MSG-001 CS-020", FI_MSG),
	CF_CASE(empty_messages, "MSG-004", FI_MSG),
	CF_CASE(too_large_is_refused, "MSG-005", FI_MSG),
	CF_CASE(vectors_gather_and_scatter, "MSG-001", FI_MSG),
	CF_CASE(too_long_vectors_are_refused, "MSG-006", FI_MSG),
	CF_CASE(order_and_boundaries_are_kept, "MSG-012", FI_MSG),
	CF_CASE(remote_data_is_delivered_or_refused, "MSG-007 MSG-013 CQ-037", FI_MSG),
	CF_CASE(large_messages_carry_data, "MSG-007 CQ-037", FI_MSG | FI_TAGGED),
	CF_CASE(a_full_context_says_again, "MSG-002 THR-009", FI_MSG));

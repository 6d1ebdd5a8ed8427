/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-receive buffers. */
#include "suites.h"

enum { MESSAGE = 32, MIN_FREE = 64 };

static void set_min(struct cf_env *env, size_t min)
{
	CHECK_OK(fi_setopt(&env->side[1].ep->fid, FI_OPT_ENDPOINT,
		FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
}

/* A pair whose receiver has the smallest free space set. */
static void open_receiver(struct cf_env *env, uint64_t cq_flags)
{
	struct cf_options options = {
		.caps = FI_MULTI_RECV, .cq_flags = cq_flags, .split_cqs = true
	};

	cf_open_pair(env, &options);
	set_min(env, MIN_FREE);
}

static void post(
	struct cf_env *env, void *buf, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = context };

	CF_RETRY(env->side[1].rx_cq,
		fi_recvmsg(env->side[1].ep, &msg, FI_MULTI_RECV | flags));
}

static void send_one(struct cf_env *env, unsigned int seed, size_t len)
{
	static uint8_t out[1024];

	CHECK(len <= sizeof(out));
	cf_fill(out, len, seed);
	CF_RETRY(env->side[0].tx_cq,
		fi_inject(env->side[0].ep, out, len, env->side[0].peer));
}

static void messages_are_packed_and_the_buffer_released(void)
{
	enum { COUNT = 4 };
	uint8_t buf[COUNT * MESSAGE + MIN_FREE - 1];
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	uint8_t *next = buf;

	open_receiver(&env, 0);
	post(&env, buf, sizeof(buf), &context, 0);
	for (unsigned int i = 0; i < COUNT; i++)
		send_one(&env, i, MESSAGE);
	for (unsigned int i = 0; i < COUNT; i++) {
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &context);
		CHECK_EQ(entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
		CHECK_EQ(entry.len, MESSAGE);
		CHECK((uint8_t *)entry.buf >= next);
		CHECK((uint8_t *)entry.buf + MESSAGE <= buf + sizeof(buf));
		cf_verify(entry.buf, MESSAGE, i);
		next = (uint8_t *)entry.buf + MESSAGE;
		if (i + 1 < COUNT)
			CHECK(!(entry.flags & FI_MULTI_RECV));
	}
	/* The last message left too little: with it, or right after it. */
	if (!(entry.flags & FI_MULTI_RECV)) {
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK_EQ(entry.flags & (FI_MULTI_RECV | FI_MSG), FI_MULTI_RECV);
		CHECK(entry.op_context == &context);
	}
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static void the_next_buffer_takes_over(void)
{
	uint8_t bufs[2][MESSAGE + MIN_FREE - 1];
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;

	open_receiver(&env, 0);
	for (int i = 0; i < 2; i++)
		post(&env, bufs[i], sizeof(bufs[i]), &contexts[i], 0);
	for (unsigned int i = 0; i < 2; i++)
		send_one(&env, i, MESSAGE);
	for (unsigned int i = 0; i < 2; i++) {
		do {
			cf_cq_wait(env.side[1].rx_cq, &entry);
		} while (!(entry.flags & FI_RECV));
		CHECK(entry.op_context == &contexts[i]);
		CHECK((uint8_t *)entry.buf >= bufs[i]);
		CHECK((uint8_t *)entry.buf + MESSAGE <= bufs[i] + sizeof(bufs[i]));
		cf_verify(entry.buf, MESSAGE, i);
	}
	cf_close(&env);
}

static void a_large_message_never_overruns(void)
{
	uint8_t space[256], *buf = space;
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct cf_env env;
	size_t len = 128;
	ssize_t ret;

	open_receiver(&env, 0);
	memset(space, '#', sizeof(space));
	post(&env, buf, len, &context, 0);
	send_one(&env, 1, MESSAGE);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	/* More than is left, and at least MIN_FREE is left. */
	send_one(&env, 2, len);
	while ((ret = fi_cq_read(env.side[1].rx_cq, &entry, 1)) == -FI_EAGAIN &&
		cf_now_ms() < deadline && cf_target.type == FI_EP_DGRAM)
		cf_progress();
	if (ret == -FI_EAVAIL) {
		CHECK_EQ(fi_cq_readerr(env.side[1].rx_cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ETRUNC);
		CHECK(err.len <= len - MESSAGE);
	}
	for (size_t i = len; i < sizeof(space); i++)
		CHECK_EQ(space[i], '#');
	cf_close(&env);
}

static void release_is_reported_without_asking(void)
{
	uint8_t buf[MESSAGE + MIN_FREE - 1];
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;

	open_receiver(&env, FI_SELECTIVE_COMPLETION);
	post(&env, buf, sizeof(buf), &context, 0);
	send_one(&env, 3, MESSAGE);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.flags & FI_MULTI_RECV);
	CHECK(entry.op_context == &context);
	cf_close(&env);
}

static void a_new_minimum_counts_for_later_buffers(void)
{
	uint8_t bufs[2][MESSAGE + MIN_FREE - 1];
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;

	open_receiver(&env, 0);
	post(&env, bufs[0], sizeof(bufs[0]), &contexts[0], 0);
	set_min(&env, 1);
	post(&env, bufs[1], sizeof(bufs[1]), &contexts[1], 0);
	send_one(&env, 1, MESSAGE); /* uses the first up */
	send_one(&env, 2, MESSAGE); /* leaves the second with room */
	send_one(&env, 3, MESSAGE);
	for (unsigned int i = 1; i <= 3; i++) {
		do {
			cf_cq_wait(env.side[1].rx_cq, &entry);
		} while (!(entry.flags & FI_RECV));
		CHECK(entry.op_context == &contexts[i > 1]);
		cf_verify(entry.buf, MESSAGE, i);
		if (i > 1)
			CHECK(!(entry.flags & FI_MULTI_RECV));
	}
	cf_close(&env);
}

static void a_buffer_is_one_piece(void)
{
	uint8_t buf[4 * MIN_FREE];
	struct iovec iov[2] = { { buf, MIN_FREE }, { buf + MIN_FREE, MIN_FREE } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC };
	struct cf_env env;

	open_receiver(&env, 0);
	if (env.info->rx_attr->iov_limit < 2)
		SKIP("iov_limit is 1");
	CHECK_EQ(fi_recvmsg(env.side[1].ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	cf_close(&env);
}

static void a_cancelled_buffer_is_reported(void)
{
	uint8_t buf[4 * MIN_FREE];
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;

	open_receiver(&env, 0);
	post(&env, buf, sizeof(buf), &context, 0);
	CHECK_OK(fi_cancel(&env.side[1].ep->fid, &context));
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &context);
	cf_close(&env);
}

CF_SUITE(multi_recv,
	CF_CASE(messages_are_packed_and_the_buffer_released,
		"MRV-001 MRV-002 MRV-003 MRV-004 MRV-006 CQ-036",
		FI_MSG | FI_MULTI_RECV),
	CF_CASE(the_next_buffer_takes_over, "MRV-003 MRV-007", FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_large_message_never_overruns, "MRV-007", FI_MSG | FI_MULTI_RECV),
	CF_CASE(release_is_reported_without_asking, "MRV-005", FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_new_minimum_counts_for_later_buffers, "OPT-005",
		FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_buffer_is_one_piece, "MRV-001", FI_MSG | FI_MULTI_RECV),
	CF_CASE(a_cancelled_buffer_is_reported, "EP-033", FI_MSG | FI_MULTI_RECV));

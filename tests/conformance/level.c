/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion levels: when the completion of a send may be written. */
#include "suites.h"

static uint64_t level; /* of the case, for adjust */

static void by_default(struct fi_info *hints)
{
	hints->tx_attr->op_flags = level;
}

static const struct cf_options options = { .caps = FI_TAGGED,
	.cq_format = FI_CQ_FORMAT_TAGGED,
	.split_cqs = true,
	.adjust = by_default };

static void open_level(struct cf_env *env, uint64_t wanted)
{
	level = wanted;
	if (!cf_offers(&options))
		SKIP("the level is not offered");
	cf_open_pair(env, &options);
}

static void post(struct cf_env *env, void *buf, size_t len, uint64_t tag, void *context)
{
	struct cf_side *to = &env->side[1];

	CF_RETRY(to->rx_cq,
		fi_trecv(to->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, context));
}

static void send_with(struct cf_env *env, const void *buf, size_t len, uint64_t tag,
	void *context, uint64_t flags)
{
	struct cf_side *from = &env->side[0];
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = from->peer,
		.tag = tag,
		.context = context };

	CF_RETRY(from->tx_cq, fi_tsendmsg(from->ep, &msg, flags));
}

static const size_t sizes[] = { 0, 8, 1000, 20000, 1 << 20 };
static const uint64_t levels[] = { FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE,
	FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE };

/* Early and late receives, each level as flag of a call; the buffer is ours again as
 * soon as the send has completed. */
static void each_level_completes(void)
{
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(sizes[4]), *in = malloc(sizes[4]);
	struct cf_env env;

	CHECK(out && in);
	for (size_t l = 0; l < CF_COUNT(levels); l++) {
		level = levels[l];
		if (!cf_offers(&options))
			continue;
		cf_open_pair(&env, &options);
		for (size_t row = 0; row < 2 * CF_COUNT(sizes); row++) {
			size_t len = sizes[row / 2];
			bool late = row % 2;

			cf_fill(out, len, (unsigned int)row);
			if (!late)
				post(&env, in, len, row, &contexts[0]);
			send_with(&env, out, len, row, &contexts[1], levels[l]);
			for (int i = 0; i < 200; i++)
				cf_progress();
			if (late)
				post(&env, in, len, row, &contexts[0]);
			(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
			memset(out, 0, len);
			(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
			cf_verify(in, len, (unsigned int)row);
		}
		cf_close(&env);
	}
	free(out);
	free(in);
}

static void delivery_means_placed(void)
{
	enum { LEN = 5000 };
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(LEN), *in = calloc(1, LEN);
	struct cf_env env;

	CHECK(out && in);
	open_level(&env, FI_DELIVERY_COMPLETE);
	cf_fill(out, LEN, 1);
	post(&env, in, LEN, 1, &contexts[0]);
	send_with(&env, out, LEN, 1, &contexts[1], FI_DELIVERY_COMPLETE);
	(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
	cf_verify(in, LEN, 1); /* before the target's queue was read for it */
	(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
	free(out);
	free(in);
	cf_close(&env);
}

static void match_waits_for_a_receive(void)
{
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(sizes[4]), *in = malloc(sizes[4]);
	struct cf_env env;

	CHECK(out && in);
	open_level(&env, FI_MATCH_COMPLETE);
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		bool as_default = i % 2;

		cf_fill(out, sizes[i], (unsigned int)i);
		if (as_default)
			CF_RETRY(env.side[0].tx_cq,
				fi_tsend(env.side[0].ep, out, sizes[i], NULL,
					env.side[0].peer, i, &contexts[1]));
		else
			send_with(&env, out, sizes[i], i, &contexts[1],
				FI_MATCH_COMPLETE);
		cf_cq_quiet(env.side[0].tx_cq);
		post(&env, in, sizes[i], i, &contexts[0]);
		(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
		(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
		cf_verify(in, sizes[i], (unsigned int)i);
	}
	free(out);
	free(in);
	cf_close(&env);
}

static void a_discarded_message_is_matched(void)
{
	struct fi_context2 contexts[2];
	struct fi_msg_tagged peek = {
		.addr = FI_ADDR_UNSPEC, .tag = 3, .context = &contexts[0]
	};
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_tagged_entry entry;
	struct cf_env env;
	uint8_t out[100] = { 1 };
	ssize_t ret;

	open_level(&env, FI_MATCH_COMPLETE);
	send_with(&env, out, sizeof(out), 3, &contexts[1], FI_MATCH_COMPLETE);
	do {
		CHECK(cf_now_ms() < deadline);
		cf_progress();
		CF_RETRY(env.side[1].rx_cq,
			fi_trecvmsg(env.side[1].ep, &peek, FI_PEEK | FI_DISCARD));
		while ((ret = fi_cq_read(env.side[1].rx_cq, &entry, 1)) == -FI_EAGAIN)
			cf_progress();
		if (ret == -FI_EAVAIL)
			CHECK_EQ(fi_cq_readerr(env.side[1].rx_cq,
					 &(struct fi_cq_err_entry){ 0 }, 0),
				1);
	} while (ret != 1);
	(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
	cf_close(&env);
}

/* A counter counts what a queue would report, not before. */
static void counters_follow_the_level(void)
{
	struct cf_options counted = options;
	struct fi_context2 contexts[2];
	uint8_t *out = malloc(sizes[4]), *in = malloc(sizes[4]);
	struct cf_env env;

	CHECK(out && in);
	counted.counters = true;
	level = FI_MATCH_COMPLETE;
	if (!cf_offers(&counted))
		SKIP("the level is not offered");
	cf_open_pair(&env, &counted);
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

		cf_fill(out, sizes[i], (unsigned int)i);
		send_with(&env, out, sizes[i], i, &contexts[1], FI_MATCH_COMPLETE);
		for (int n = 0; n < 100; n++) {
			cf_progress();
			CHECK_EQ(fi_cntr_read(env.side[0].tx_cntr), i);
			CHECK_EQ(fi_cntr_read(env.side[1].rx_cntr), i);
		}
		post(&env, in, sizes[i], i, &contexts[0]);
		(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
		(void)cf_cq_wait_for(env.side[1].rx_cq, &contexts[0]);
		while (fi_cntr_read(env.side[0].tx_cntr) != i + 1 ||
			fi_cntr_read(env.side[1].rx_cntr) != i + 1)
			CHECK(cf_now_ms() < deadline);
	}
	free(out);
	free(in);
	cf_close(&env);
}

CF_SUITE(level, CF_CASE(each_level_completes, "CS-013 CS-014 CS-015 CS-016", FI_TAGGED),
	CF_CASE(delivery_means_placed, "CS-015", FI_TAGGED),
	CF_CASE(match_waits_for_a_receive, "CS-016 TAG-014", FI_TAGGED),
	CF_CASE(a_discarded_message_is_matched, "CS-016 TAG-014", FI_TAGGED),
	CF_CASE(counters_follow_the_level, "CS-029 CS-016", FI_TAGGED));

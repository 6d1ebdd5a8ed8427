/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: opening, reading, formats, sources, room. */
#include "suites.h"

static void an_empty_queue(void)
{
	struct fi_cq_data_entry entry;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	CHECK_EQ(fi_cq_read(env.side[0].tx_cq, &entry, 1), -FI_EAGAIN);
	CHECK_EQ(fi_cq_readerr(env.side[0].tx_cq, &(struct fi_cq_err_entry){ 0 }, 0),
		-FI_EAGAIN);
	CHECK_EQ(fi_cq_read(env.side[0].tx_cq, NULL, 0), -FI_EAGAIN);
	cf_close(&env);
}

/* A read of no entries makes progress, and tells whether there are any. */
static void a_read_of_none(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx_ctx, rx_ctx;
	uint64_t out = 1, in = 0;
	struct cf_env env;
	ssize_t ret;

	cf_open_pair(&env, NULL);
	cf_post_recv(&env, &in, sizeof(in), &rx_ctx);
	cf_post_send(&env, &out, sizeof(out), &tx_ctx);
	do {
		ret = fi_cq_read(env.side[0].tx_cq, NULL, 0);
		CHECK_EITHER(ret, 0, -FI_EAGAIN);
		(void)fi_cq_read(env.side[1].rx_cq, NULL, 0);
	} while (ret);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &tx_ctx);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &rx_ctx);
	cf_close(&env);
}

static void an_unbound_queue(void)
{
	struct fi_cq_data_entry entry;
	struct fid_cq *cq;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void entry_of_each_format(void)
{
	static const struct {
		enum fi_cq_format format;
		size_t size;
	} rows[] = {
		{ FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry) },
		{ FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry) },
		{ FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry) },
		{ FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry) },
	};

	for (size_t i = 0; i < CF_COUNT(rows); i++) {
		struct cf_options options = { .cq_format = rows[i].format };
		struct fi_cq_tagged_entry entry[2];
		struct fi_context2 tx_ctx, rx_ctx;
		uint64_t out = 0x1122334455667788, in = 0;
		struct cf_env env;
		char *end = (char *)&entry[0] + rows[i].size;

		cf_open_pair(&env, &options);
		memset(entry, '#', sizeof(entry));
		cf_post_recv(&env, &in, sizeof(in), &rx_ctx);
		cf_post_send(&env, &out, sizeof(out), &tx_ctx);
		cf_cq_wait(env.side[0].tx_cq, &entry[0]);
		CHECK(entry[0].op_context == &tx_ctx);
		CHECK(*end == '#');
		if (rows[i].format != FI_CQ_FORMAT_CONTEXT)
			CHECK_EQ(entry[0].flags & (FI_SEND | FI_MSG | FI_RECV),
				FI_SEND | FI_MSG);
		cf_cq_wait(env.side[1].rx_cq, &entry[0]);
		CHECK(entry[0].op_context == &rx_ctx);
		CHECK(*end == '#');
		if (rows[i].format != FI_CQ_FORMAT_CONTEXT) {
			CHECK_EQ(entry[0].flags & (FI_SEND | FI_MSG | FI_RECV),
				FI_RECV | FI_MSG);
			CHECK_EQ(entry[0].len, sizeof(out));
		}
		CHECK(in == out);
		cf_close(&env);
	}
}

static void unspecified_format_works(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_UNSPEC };
	struct fi_cq_tagged_entry entry;
	struct fid_cq *cq;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_OK(fi_cq_open(env.domain, &attr, &cq, NULL));
	CHECK_EQ(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void bad_attributes_are_refused(void)
{
	static const struct fi_cq_attr bad[] = {
		{ .format = (enum fi_cq_format)99 },
		{ .format = FI_CQ_FORMAT_MSG, .wait_obj = (enum fi_wait_obj)99 },
		{ .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_SET },
		{ .format = FI_CQ_FORMAT_MSG,
			.wait_obj = FI_WAIT_UNSPEC,
			.wait_cond = (enum fi_cq_wait_cond)99 },
		{ .format = FI_CQ_FORMAT_MSG, .flags = 1ULL << 3 },
	};
	struct fid_cq *cq;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		struct fi_cq_attr attr = bad[i];
		int ret = fi_cq_open(env.domain, &attr, &cq, NULL);

		if (ret != -FI_EINVAL)
			cf_fail(__FILE__, __LINE__, "row %zu: %d", i, ret);
	}
	cf_close(&env);
}

static void accelerator_calls_are_absent(void)
{
	struct fid_cq *cq;
	struct cf_env env;

	NEED_API(2, 6);
	cf_open_domain(&env, NULL);
	if (env.info->caps & FI_XPU)
		SKIP("the provider works with accelerators");
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EITHER(fi_cq_export_xpu(cq, 0, NULL), -FI_ENOSYS, -FI_EINVAL);
	CF_CLOSE(cq);
	cf_close(&env);
}

/* ---- several entries ---- */

enum { MANY = 24 };

/* @count exchanges of one byte whose completions stay unread. */
static void leave_completions(struct cf_env *env, struct fi_context2 *tx,
	struct fi_context2 *rx, uint8_t *bytes, size_t count)
{
	static uint8_t out[MANY];

	for (size_t i = 0; i < count; i++)
		cf_post_recv(env, &bytes[i], 1, &rx[i]);
	for (size_t i = 0; i < count; i++) {
		out[i] = (uint8_t)i;
		cf_post_send(env, &out[i], 1, &tx[i]);
	}
}

/* Read until @count entries came, at most @batch at a time. */
static void drain(
	struct fid_cq *cq, struct fi_cq_data_entry *entries, size_t count, size_t batch)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	size_t have = 0;

	while (have < count) {
		ssize_t ret = fi_cq_read(cq, entries + have,
			batch < count - have ? batch : count - have);

		if (ret == -FI_EAGAIN) {
			cf_progress();
			if (cf_now_ms() >= deadline)
				cf_fail(__FILE__, __LINE__, "%zu entries of %zu", have,
					count);
			continue;
		}
		CHECK(ret > 0 && (size_t)ret <= batch);
		have += (size_t)ret;
	}
}

static void entries_come_in_batches(void)
{
	struct fi_context2 tx[MANY], rx[MANY];
	struct fi_cq_data_entry entries[MANY];
	uint8_t bytes[MANY];
	struct cf_env env;
	bool seen[MANY] = { false };

	cf_open_pair(&env, NULL);
	leave_completions(&env, tx, rx, bytes, MANY);
	drain(env.side[0].tx_cq, entries, MANY, 5);
	for (size_t i = 0; i < MANY; i++) {
		struct fi_context2 *context = entries[i].op_context;

		CHECK(context >= tx && context < tx + MANY && !seen[context - tx]);
		seen[context - tx] = true;
	}
	drain(env.side[1].rx_cq, entries, MANY, MANY);
	for (size_t i = 0; i < MANY; i++) {
		CHECK(entries[i].op_context == &rx[i]);
		CHECK_EQ(entries[i].len, 1);
	}
	cf_close(&env);
}

/* Resource management is on: a send may have to wait for room, nothing is lost. */
static void a_full_queue_loses_nothing(void)
{
	struct cf_options options = { .cq_size = 2, .split_cqs = true };
	struct fi_context2 tx, rx[4 * MANY];
	struct fi_cq_data_entry entries[4 * MANY];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	uint8_t bytes[4 * MANY], out = 1;
	size_t count = CF_COUNT(rx), sent = 0, completed = 0;
	struct cf_env env;
	struct cf_side *from = &env.side[0];

	cf_open_pair(&env, &options);
	if (env.info->domain_attr->resource_mgmt != FI_RM_ENABLED)
		SKIP("resource management is off");
	if (env.info->rx_attr->size < count)
		count = env.info->rx_attr->size;
	for (size_t i = 0; i < count; i++)
		cf_post_recv(&env, &bytes[i], 1, &rx[i]);
	while (sent < count) {
		ssize_t ret = fi_send(from->ep, &out, 1, NULL, from->peer, &tx);

		if (ret == -FI_EAGAIN) {
			CHECK(cf_now_ms() < deadline);
			completed += fi_cq_read(from->tx_cq, entries, 1) == 1;
			cf_progress();
			continue;
		}
		CHECK_OK(ret);
		sent++;
	}
	CHECK(completed <= count);
	drain(from->tx_cq, entries, count - completed, 3);
	drain(env.side[1].rx_cq, entries, count, 3);
	for (size_t i = 0; i < count; i++)
		CHECK(entries[i].op_context == &rx[i]);
	cf_close(&env);
}

/* ---- sources ---- */

static ssize_t readfrom(struct fid_cq *cq, void *entry, fi_addr_t *from)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	while ((ret = fi_cq_readfrom(cq, entry, 1, from)) == -FI_EAGAIN &&
		cf_now_ms() < deadline)
		cf_progress();
	return ret;
}

/* The source that is reported of a message. */
static fi_addr_t source_of_a_message(struct cf_env *env)
{
	static struct fi_context2 contexts[2];
	static char out = 1, in;
	struct fi_cq_data_entry entry;
	fi_addr_t from = 0;

	cf_post_recv(env, &in, 1, &contexts[0]);
	cf_post_send(env, &out, 1, &contexts[1]);
	CHECK_EQ(readfrom(env->side[1].rx_cq, &entry, &from), 1);
	CHECK(entry.op_context == &contexts[0]);
	return from;
}

static void sources_are_reported(void)
{
	struct cf_options options = { .caps = FI_SOURCE };
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	CHECK_EQ(source_of_a_message(&env), env.side[1].peer);
	cf_close(&env);
}

static void sources_are_not_available_unasked(void)
{
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	if (env.info->caps & FI_SOURCE)
		SKIP("sources come unasked");
	CHECK(source_of_a_message(&env) == FI_ADDR_NOTAVAIL);
	cf_close(&env);
}

/* Also if the endpoint knows the sender well. */
static void a_removed_source_is_not_available(void)
{
	struct cf_options options = { .caps = FI_SOURCE };
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	for (int round = 0; round < 3; round++) {
		if (round == 1)
			CHECK_OK(fi_av_remove(env.side[1].av, &env.side[1].peer, 1, 0));
		CHECK_EQ(source_of_a_message(&env),
			round ? FI_ADDR_NOTAVAIL : env.side[1].peer);
	}
	cf_close(&env);
}

static void an_unknown_source_is_not_available(void)
{
	struct cf_options options = { .caps = FI_SOURCE };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	fi_addr_t from = 0, back = 0;
	char out = 1, in, name[256];
	size_t len = sizeof(name);

	cf_open_pair(&env, &options);
	if (cf_target.type != FI_EP_DGRAM)
		SKIP("reliable transports may know their peers");
	CHECK_OK(fi_av_remove(env.side[1].av, &env.side[1].peer, 1, 0));
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	CHECK_EQ(readfrom(env.side[1].rx_cq, &entry, &from), 1);
	CHECK(from == FI_ADDR_NOTAVAIL);
	/* Nothing was inserted behind the application's back. */
	CHECK_OK(fi_getname(&env.side[0].ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(env.side[1].av, name, 1, &back, 0, NULL), 1);
	CHECK_EQ(back, env.side[1].peer);
	cf_close(&env);
}

CF_SUITE(cq, CF_CASE(an_empty_queue, "CQ-009 CQ-010 CQ-012", FI_MSG),
	CF_CASE(a_read_of_none, "CQ-008 CQ-009", FI_MSG),
	CF_CASE(an_unbound_queue, "CQ-001 CQ-028", 0),
	CF_CASE(entry_of_each_format, "CQ-005 CQ-008 CQ-032 CQ-034 CQ-039", FI_MSG),
	CF_CASE(unspecified_format_works, "CQ-004", 0),
	CF_CASE(bad_attributes_are_refused, "CQ-002 CQ-003 CQ-007", 0),
	CF_CASE(accelerator_calls_are_absent, "CQ-052", 0),
	CF_CASE(entries_come_in_batches, "CQ-008 MSG-012", FI_MSG),
	CF_CASE(a_full_queue_loses_nothing, "CQ-001 CQ-031", FI_MSG),
	CF_CASE(sources_are_reported, "CQ-013", FI_MSG | FI_SOURCE),
	CF_CASE(sources_are_not_available_unasked, "CQ-014", FI_MSG),
	CF_CASE(a_removed_source_is_not_available, "CQ-014", FI_MSG | FI_SOURCE),
	CF_CASE(an_unknown_source_is_not_available, "CQ-014 CQ-019",
		FI_MSG | FI_SOURCE));

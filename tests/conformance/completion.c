/* SPDX-License-Identifier: BSD-2-Clause */
/* Which operations report completion, inject, fence, more. */
#include "suites.h"

static const struct cf_options selective = {
	.cq_flags = FI_SELECTIVE_COMPLETION, .split_cqs = true, .counters = true
};

/* A receive on side 1 for the next message, and the check that it came. */
struct target {
	struct fi_context2 context;
	uint8_t bytes[64];
};

static void expect(struct cf_env *env, struct target *target)
{
	struct iovec iov = { target->bytes, sizeof(target->bytes) };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &target->context };

	memset(target->bytes, 0, sizeof(target->bytes));
	CF_RETRY(env->side[1].rx_cq, fi_recvmsg(env->side[1].ep, &msg, FI_COMPLETION));
}

static void check_arrived(struct cf_env *env, struct target *target, unsigned int seed)
{
	struct fi_cq_data_entry entry;

	cf_cq_wait(env->side[1].rx_cq, &entry);
	CHECK(entry.op_context == &target->context);
	CHECK_EQ(entry.len, sizeof(target->bytes));
	cf_verify(target->bytes, sizeof(target->bytes), seed);
}

static void sendmsg(
	struct cf_env *env, const void *buf, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = env->side[0].peer,
		.context = context };

	CF_RETRY(env->side[0].tx_cq, fi_sendmsg(env->side[0].ep, &msg, flags));
}

static void every_operation_reports_by_default(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct target target;
	struct cf_env env;
	uint8_t out[64];

	cf_open_pair(&env, NULL);
	cf_fill(out, sizeof(out), 1);
	expect(&env, &target);
	/* No flags: those of a sendmsg do not matter on such a queue. */
	sendmsg(&env, out, sizeof(out), &context, 0);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	check_arrived(&env, &target, 1);
	cf_close(&env);
}

static void selected_operations_report(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context, quiet;
	struct target target;
	struct cf_env env;
	uint8_t out[64];

	cf_open_pair(&env, &selective);
	cf_fill(out, sizeof(out), 2);
	expect(&env, &target);
	sendmsg(&env, out, sizeof(out), &quiet, 0);
	check_arrived(&env, &target, 2);
	cf_cq_quiet(env.side[0].tx_cq);
	expect(&env, &target);
	cf_post_send(&env, out, sizeof(out), &quiet);
	check_arrived(&env, &target, 2);
	cf_cq_quiet(env.side[0].tx_cq);
	expect(&env, &target);
	sendmsg(&env, out, sizeof(out), &context, FI_COMPLETION);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	check_arrived(&env, &target, 2);
	/* The counter saw them all. */
	CHECK_OK(fi_cntr_wait(env.side[0].tx_cntr, 3, CF_TIMEOUT_MS));
	cf_close(&env);
}

static void complete_by_default(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->rx_attr->op_flags = FI_COMPLETION;
}

static void default_flags_select(void)
{
	struct cf_options options = selective;
	struct fi_cq_data_entry entry;
	struct fi_context2 context, quiet;
	struct target target;
	struct cf_env env;
	uint8_t out[64];

	options.adjust = complete_by_default;
	cf_open_pair(&env, &options);
	cf_fill(out, sizeof(out), 3);
	expect(&env, &target);
	cf_post_send(&env, out, sizeof(out), &context);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	check_arrived(&env, &target, 3);
	expect(&env, &target);
	/* A call with flags does not look at the default ones. */
	sendmsg(&env, out, sizeof(out), &quiet, 0);
	check_arrived(&env, &target, 3);
	cf_cq_quiet(env.side[0].tx_cq);
	cf_close(&env);
}

static void unselected_receives_are_silent(void)
{
	struct fi_context2 contexts[2];
	struct cf_env env;
	uint8_t out[8], in[8] = { 0 };

	cf_open_pair(&env, &selective);
	cf_meet(&env);
	cf_fill(out, sizeof(out), 4);
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	cf_post_send(&env, out, sizeof(out), &contexts[1]);
	CHECK_OK(fi_cntr_wait(env.side[1].rx_cntr, 1, CF_TIMEOUT_MS));
	cf_verify(in, sizeof(in), 4);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static void unselected_errors_are_reported(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;
	uint8_t in[8];

	cf_open_pair(&env, &selective);
	cf_post_recv(&env, in, sizeof(in), &context);
	cf_cancel(&env.side[1].ep->fid, &context);
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &context);
	cf_close(&env);
}

static void inject_reports_nothing_but_counts(void)
{
	struct cf_options options = { .counters = true, .split_cqs = true };
	struct target target;
	struct cf_env env;
	uint8_t out[64];

	cf_open_pair(&env, &options);
	if (env.info->tx_attr->inject_size < sizeof(out))
		SKIP("inject_size is %zu", env.info->tx_attr->inject_size);
	cf_fill(out, sizeof(out), 5);
	expect(&env, &target);
	CF_RETRY(env.side[0].tx_cq,
		fi_inject(env.side[0].ep, out, sizeof(out), env.side[0].peer));
	memset(out, 0, sizeof(out)); /* ours again at once */
	check_arrived(&env, &target, 5);
	CHECK_OK(fi_cntr_wait(env.side[0].tx_cntr, 1, CF_TIMEOUT_MS));
	CHECK_EQ(fi_cntr_read(env.side[0].tx_cntr), 1);
	cf_cq_quiet(env.side[0].tx_cq);
	cf_close(&env);
}

enum { WITH_LEN = 64 };

/* A message with @flags completes, and arrives. With FI_INJECT its buffer is written
 * when the call has returned. Returns the completion. */
static struct fi_cq_data_entry send_with(struct cf_env *env, uint64_t flags)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct target target;
	uint8_t out[WITH_LEN];

	cf_fill(out, sizeof(out), 6);
	expect(env, &target);
	sendmsg(env, out, sizeof(out), &context, flags);
	if (flags & FI_INJECT)
		memset(out, 0, sizeof(out));
	cf_cq_wait(env->side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	check_arrived(env, &target, 6);
	return entry;
}

static void the_inject_flag_frees_the_buffer(void)
{
	struct cf_env env;

	cf_open_pair(&env, NULL);
	if (env.info->tx_attr->inject_size < WITH_LEN)
		SKIP("inject_size is %zu", env.info->tx_attr->inject_size);
	(void)send_with(&env, FI_INJECT);
	cf_close(&env);
}

static void inject_sizes_are_checked(void)
{
	struct fi_context2 context;
	struct fi_cq_data_entry entry;
	struct cf_env env;
	uint8_t *out, *in;
	size_t most;

	cf_open_pair(&env, NULL);
	most = env.info->tx_attr->inject_size;
	out = calloc(1, most + 1);
	in = calloc(1, most + 1);
	CHECK(out && in);
	cf_fill(out, most, 7);
	cf_post_recv(&env, in, most + 1, &context);
	CF_RETRY(env.side[0].tx_cq,
		fi_inject(env.side[0].ep, out, most, env.side[0].peer));
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK_EQ(entry.len, most);
	cf_verify(in, most, 7);
	CHECK_EQ(fi_inject(env.side[0].ep, out, most + 1, env.side[0].peer),
		-FI_EMSGSIZE);
	free(out);
	free(in);
	cf_close(&env);
}

static void completion_levels_are_accepted(void)
{
	static const uint64_t levels[] = { FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE };

	for (size_t i = 0; i < CF_COUNT(levels); i++) {
		struct cf_env env;

		cf_open_pair(&env, NULL);
		(void)send_with(&env, levels[i]);
		cf_close(&env);
	}
}

static void more_without_a_follow_up_is_not_lost(void)
{
	struct fi_cq_data_entry entry;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	entry = send_with(&env, FI_MORE);
	CHECK(!(entry.flags & FI_MORE));
	cf_close(&env);
}

static void more_is_flushed_by_a_failing_call(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct target target;
	struct cf_env env;
	uint8_t out[64], *large;
	size_t most;

	cf_open_pair(&env, NULL);
	most = env.info->ep_attr->max_msg_size;
	if (most > 1 << 24)
		SKIP("there is no message too large to build");
	large = calloc(1, most + 1);
	CHECK(large);
	cf_fill(out, sizeof(out), 10);
	expect(&env, &target);
	sendmsg(&env, out, sizeof(out), &context, FI_MORE);
	CHECK_EQ(fi_send(env.side[0].ep, large, most + 1, NULL, env.side[0].peer, NULL),
		-FI_EMSGSIZE);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	check_arrived(&env, &target, 10);
	free(large);
	cf_close(&env);
}

static void fence_needs_its_capability(void)
{
	struct iovec iov;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct cf_env env;
	uint8_t out[8] = { 0 };
	ssize_t ret;

	cf_open_pair(&env, NULL);
	if (env.info->caps & FI_FENCE)
		SKIP("the endpoint has fences");
	iov.iov_base = out;
	iov.iov_len = sizeof(out);
	msg.addr = env.side[0].peer;
	msg.context = &env;
	ret = fi_sendmsg(env.side[0].ep, &msg, FI_FENCE);
	CHECK(ret == 0 || ret == -FI_EINVAL || ret == -FI_EOPNOTSUPP ||
		ret == -FI_EBADFLAGS);
	cf_close(&env);
}

CF_SUITE(completion,
	CF_CASE(every_operation_reports_by_default, "CS-001 CS-003 CS-005", FI_MSG),
	CF_CASE(selected_operations_report, "CS-002 CNT-004 CNT-019", FI_MSG),
	CF_CASE(default_flags_select, "CS-002 CS-004", FI_MSG),
	CF_CASE(unselected_receives_are_silent, "CS-002 CNT-004 CNT-012 CS-020",
		FI_MSG),
	CF_CASE(unselected_errors_are_reported, "CS-002 CQ-044", FI_MSG),
	CF_CASE(inject_reports_nothing_but_counts, "CS-006 CS-007", FI_MSG),
	CF_CASE(the_inject_flag_frees_the_buffer, "CS-009", FI_MSG),
	CF_CASE(inject_sizes_are_checked, "CS-010", FI_MSG),
	CF_CASE(completion_levels_are_accepted, "CS-013 CS-014 CS-019", FI_MSG),
	CF_CASE(more_without_a_follow_up_is_not_lost, "CS-028 CQ-043", FI_MSG),
	CF_CASE(more_is_flushed_by_a_failing_call, "CS-027 MSG-005", FI_MSG),
	CF_CASE(fence_needs_its_capability, "CS-026 CAP-018", FI_MSG));

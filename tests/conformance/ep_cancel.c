/* SPDX-License-Identifier: BSD-2-Clause */
/* Cancelling operations, and second handles of an endpoint. */
#include "suites.h"

static void a_cancelled_receive_is_reported(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;
	char buf[8];

	cf_open_pair(&env, NULL);
	cf_post_recv(&env, buf, sizeof(buf), &context);
	cf_cancel(&env.side[1].ep->fid, &context);
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &context);
	CHECK_EQ(err.flags & (FI_RECV | FI_MSG | FI_SEND), FI_RECV | FI_MSG);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void cancel_takes_one_of_several(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_data_entry entry;
	struct fi_context2 shared[2], tx_context;
	struct cf_env env;
	char bufs[3][8], out[8] = "sent";

	cf_open_pair(&env, NULL);
	for (int i = 0; i < 2; i++)
		cf_post_recv(&env, bufs[i], sizeof(bufs[i]), &shared[0]);
	cf_post_recv(&env, bufs[2], sizeof(bufs[2]), &shared[1]);
	cf_cancel(&env.side[1].ep->fid, &shared[0]);
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK(err.op_context == &shared[0]);
	cf_cq_quiet(env.side[1].rx_cq);
	for (int i = 0; i < 2; i++) {
		cf_post_send(&env, out, sizeof(out), &tx_context);
		cf_cq_wait(env.side[0].tx_cq, &entry);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &shared[i]);
	}
	CHECK(!memcmp(bufs[2], out, sizeof(out)));
	cf_close(&env);
}

static void cancel_without_a_match_changes_nothing(void)
{
	struct fi_context2 contexts[2], tx_context;
	struct fi_cq_data_entry entry;
	char buf[8], out[8] = "data";
	struct cf_env env;

	cf_open_pair(&env, NULL);
	cf_post_recv(&env, buf, sizeof(buf), &contexts[0]);
	CHECK_EITHER(cf_try_cancel(&env.side[1].ep->fid, &contexts[1]), 0, -FI_ENOENT);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_post_send(&env, out, sizeof(out), &tx_context);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	/* The message may have arrived when the cancel comes: it completes. */
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EITHER(cf_try_cancel(&env.side[1].ep->fid, &contexts[0]), 0, -FI_ENOENT);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static void an_error_counts(void)
{
	struct cf_options options = { .counters = true };
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;
	char buf[8];

	cf_open_pair(&env, &options);
	cf_post_recv(&env, buf, sizeof(buf), &context);
	cf_cancel(&env.side[1].ep->fid, &context);
	cf_cq_wait_err(env.side[1].rx_cq, &err);
	CHECK_EQ(fi_cntr_readerr(env.side[1].rx_cntr), 1);
	CHECK_EQ(fi_cntr_read(env.side[1].rx_cntr), 0);
	cf_close(&env);
}

/* ---- closing, aliases ---- */

static void close_drops_pending_receives(void)
{
	struct cf_env env;
	char bufs[16][64];

	cf_open_pair(&env, NULL);
	for (size_t i = 0; i < CF_COUNT(bufs); i++)
		cf_post_recv(&env, bufs[i], sizeof(bufs[i]), &env);
	CF_CLOSE(env.side[1].ep);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static struct fid_ep *new_alias(struct cf_env *env, uint64_t flags)
{
	struct fid_ep *alias = NULL;
	int ret = fi_ep_alias(env->side[0].ep, &alias, flags);

	if (ret == -FI_ENOSYS)
		SKIP("endpoints have no aliases");
	CHECK_OK(ret);
	CHECK(alias && alias->fid.fclass == FI_CLASS_EP);
	return alias;
}

static void alias_needs_one_direction(void)
{
	struct fid_ep *alias;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	alias = new_alias(&env, FI_TRANSMIT);
	CF_CLOSE(alias);
	CHECK_EQ(
		fi_ep_alias(env.side[0].ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	CHECK_EQ(fi_ep_alias(env.side[0].ep, &alias, FI_COMPLETION), -FI_EINVAL);
	cf_close(&env);
}

static void alias_has_flags_of_its_own(void)
{
	struct cf_options options = { .cq_flags = FI_SELECTIVE_COMPLETION };
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct fid_ep *alias;
	struct cf_env env;
	char buf[8] = "alias";

	cf_open_pair(&env, &options);
	cf_post_recvs(&env, 3);
	alias = new_alias(&env, FI_TRANSMIT | FI_COMPLETION);
	cf_post_send(&env, buf, sizeof(buf), &context);
	cf_cq_quiet(env.side[0].tx_cq);
	CF_RETRY(env.side[0].tx_cq,
		fi_send(alias, buf, sizeof(buf), NULL, env.side[0].peer, &context));
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	cf_post_send(&env, buf, sizeof(buf), &context);
	cf_cq_quiet(env.side[0].tx_cq);
	CF_CLOSE(alias);
	cf_close(&env);
}

static void an_alias_keeps_the_endpoint(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct fid_ep *alias;
	struct cf_env env;
	char buf[8] = "alias";

	cf_open_pair(&env, NULL);
	cf_post_recvs(&env, 1);
	alias = new_alias(&env, FI_TRANSMIT);
	/* Either the close waits for the alias, or it is refused. */
	if (fi_close(&env.side[0].ep->fid) == 0)
		env.side[0].ep = NULL;
	CF_RETRY(env.side[0].tx_cq,
		fi_send(alias, buf, sizeof(buf), NULL, env.side[0].peer, &context));
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CF_CLOSE(alias);
	cf_close(&env);
}

CF_SUITE(ep_cancel, CF_CASE(a_cancelled_receive_is_reported, "EP-032 EP-033", FI_MSG),
	CF_CASE(cancel_takes_one_of_several, "EP-034", FI_MSG),
	CF_CASE(cancel_without_a_match_changes_nothing, "EP-032 EP-036", FI_MSG),
	CF_CASE(an_error_counts, "EP-038 CNT-009", FI_MSG),
	CF_CASE(close_drops_pending_receives, "EP-027", FI_MSG),
	CF_CASE(alias_needs_one_direction, "EP-030 FAB-020", FI_MSG),
	CF_CASE(alias_has_flags_of_its_own, "EP-031", FI_MSG),
	CF_CASE(an_alias_keeps_the_endpoint, "EP-028", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmit contexts that endpoints share. */
#include "suites.h"

static struct fid_stx *stx;

static void sharing(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void bind_shared(struct cf_env *env, struct cf_side *side)
{
	if (!stx)
		CHECK_OK(fi_stx_context(env->domain, env->info->tx_attr, &stx, NULL));
	CHECK_OK(fi_ep_bind(side->ep, &stx->fid, 0));
}

static const struct cf_options shared = { .adjust = sharing, .bind = bind_shared };

static void need_shared(void)
{
	if (!cf_offers(&shared))
		SKIP("shared transmit contexts are not offered");
}

static void endpoints_share_a_transmit_context(void)
{
	struct cf_env env;

	need_shared();
	cf_open_pair(&env, &shared);
	CHECK_EQ(stx->fid.fclass, FI_CLASS_STX_CTX);
	for (int i = 0; i < 10; i++)
		cf_exchange(&env, 100);
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

/* The endpoints work on, and nothing is left when they are closed. */
static void a_transmit_context_closes_first(void)
{
	struct cf_env env;

	need_shared();
	cf_open_pair(&env, &shared);
	cf_exchange(&env, 100);
	CF_CLOSE(stx);
	cf_exchange(&env, 100);
	cf_close(&env);
}

/* One context is for both directions of sharing. */
static void both_kinds_of_contexts_shared(void)
{
	struct cf_options options = shared;
	struct cf_env env;

	need_shared();
	options.shared_rx = true;
	options.one_av = true;
	if (!cf_offers(&options))
		SKIP("shared receive contexts are not offered");
	cf_open_pair(&env, &options);
	for (uint32_t i = 0; i < 10; i++) {
		struct cf_side *from = &env.side[i % 2], *to = &env.side[!(i % 2)];
		struct fi_context2 contexts[2];
		uint32_t in = 99;

		CHECK_OK(fi_recv(env.srx, &in, 4, NULL, FI_ADDR_UNSPEC, &contexts[0]));
		CF_RETRY(from->tx_cq,
			fi_send(from->ep, &i, 4, NULL, from->peer, &contexts[1]));
		(void)cf_cq_wait_for(to->rx_cq, &contexts[0]);
		(void)cf_cq_wait_for(from->tx_cq, &contexts[1]);
		CHECK_EQ(in, i);
	}
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

static void the_rules_of_sharing(void)
{
	struct fid_domain *other_domain;
	struct fid_stx *other;
	struct fi_tx_attr attr;
	struct fid_ep *ep;
	struct cf_env env;

	need_shared();
	cf_open_domain(&env, &shared);
	attr = *env.info->tx_attr;
	CHECK_OK(fi_domain(env.fabric, env.info, &other_domain, NULL));
	CHECK_OK(fi_stx_context(other_domain, &attr, &other, NULL));
	CHECK_OK(fi_stx_context(env.domain, &attr, &stx, &env));
	CHECK(stx->fid.context == &env);
	ep = cf_new_ep(&env);
	CHECK_EITHER(fi_ep_bind(ep, &other->fid, 0), -FI_EDOMAIN, -FI_EINVAL);
	CHECK_FAILS(fi_ep_bind(ep, &stx->fid, FI_TRANSMIT));
	CHECK_EQ(fi_close(&other->fid), 0);
	CHECK_OK(fi_ep_bind(ep, &stx->fid, 0));
	CHECK_OK(fi_stx_context(env.domain, &attr, &other, NULL));
	CHECK_EQ(fi_ep_bind(ep, &other->fid, 0), -FI_EINVAL);
	CF_CLOSE(other);
	/* It keeps the domain open, too. */
	CF_CLOSE(ep);
	CHECK_EQ(fi_close(&env.domain->fid), -FI_EBUSY);
	CF_CLOSE(stx);
	CF_CLOSE(other_domain);
	cf_close(&env);
}

static void endpoints_have_no_more_than_the_context(void)
{
	struct fi_tx_attr attr;
	struct fid_stx *narrow;
	struct fid_ep *ep;
	struct cf_env env;

	need_shared();
	cf_open_domain(&env, &shared);
	attr = *env.info->tx_attr;
	attr.iov_limit = 100000;
	CHECK_FAILS(fi_stx_context(env.domain, &attr, &narrow, NULL));
	attr.iov_limit = 1;
	CHECK(env.info->tx_attr->iov_limit > 1);
	CHECK_OK(fi_stx_context(env.domain, &attr, &narrow, NULL));
	ep = cf_new_ep(&env);
	CHECK_EQ(fi_ep_bind(ep, &narrow->fid, 0), -FI_EINVAL);
	CF_CLOSE(ep);
	env.info->tx_attr->iov_limit = 1;
	ep = cf_new_ep(&env);
	CHECK_OK(fi_ep_bind(ep, &narrow->fid, 0));
	CF_CLOSE(ep);
	CF_CLOSE(narrow);
	cf_close(&env);
}

/* A context with the domain's attributes is for every endpoint of the domain, also for
 * one that names the receiver's capabilities among those of its transmitter. */
static void a_context_without_attributes_is_for_all(void)
{
	struct fid_ep *ep;
	struct cf_env env;

	need_shared();
	cf_open_domain(&env, &shared);
	CHECK_OK(fi_stx_context(env.domain, NULL, &stx, NULL));
	for (int all = 0; all <= 1; all++) {
		env.info->tx_attr->caps = all ? env.info->caps : 0;
		ep = cf_new_ep(&env);
		CHECK_OK(fi_ep_bind(ep, &stx->fid, 0));
		CF_CLOSE(ep);
	}
	CF_CLOSE(stx);
	cf_close(&env);
}

static void an_endpoint_waits_for_its_context(void)
{
	struct cf_options options = { .adjust = sharing, .not_enabled = true };
	struct cf_env env;

	need_shared();
	cf_open_pair(&env, &options);
	CHECK_EQ(fi_enable(env.side[0].ep), -FI_EINVAL);
	bind_shared(&env, &env.side[0]);
	CHECK_OK(fi_enable(env.side[0].ep));
	CHECK_FAILS(fi_ep_bind(env.side[0].ep, &stx->fid, 0));
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

static void flags_and_options_are_inherited(void)
{
	uint64_t flags = FI_TRANSMIT | FI_INJECT_COMPLETE;
	size_t size = 8, len = sizeof(size);
	struct fid_ep *ep;
	struct cf_env env;

	need_shared();
	cf_open_domain(&env, &shared);
	env.info->tx_attr->op_flags = 0;
	CHECK_OK(fi_stx_context(env.domain, env.info->tx_attr, &stx, NULL));
	CHECK_OK(fi_control(&stx->fid, FI_SETOPSFLAG, &flags));
	CHECK_OK(stx->ops->setopt(&stx->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE,
		&size, sizeof(size)));
	ep = cf_new_ep(&env);
	CHECK_OK(fi_ep_bind(ep, &stx->fid, 0));
	flags = FI_TRANSMIT;
	CHECK_OK(fi_control(&ep->fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags, FI_INJECT_COMPLETE);
	size = 0;
	CHECK_OK(fi_getopt(
		&ep->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE, &size, &len));
	CHECK_EQ(size, 8);
	CF_CLOSE(ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

CF_SUITE(shared_tx,
	CF_CASE(endpoints_share_a_transmit_context,
		"SHC-011 SHC-012 SHC-013 EP-015 EPA-006", FI_MSG),
	CF_CASE(a_transmit_context_closes_first, "SHC-011", FI_MSG),
	CF_CASE(both_kinds_of_contexts_shared, "SHC-007 SHC-011 EP-015", FI_MSG),
	CF_CASE(the_rules_of_sharing, "SHC-011 SHC-013 EP-015 EP-017", FI_MSG),
	CF_CASE(endpoints_have_no_more_than_the_context, "SHC-012", FI_MSG),
	CF_CASE(a_context_without_attributes_is_for_all, "SHC-012", FI_MSG),
	CF_CASE(an_endpoint_waits_for_its_context, "SHC-011 EP-018", FI_MSG),
	CF_CASE(flags_and_options_are_inherited, "SHC-012", FI_MSG));

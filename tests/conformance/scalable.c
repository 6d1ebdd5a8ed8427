/* SPDX-License-Identifier: BSD-2-Clause */
/* Scalable endpoints: their contexts, and how they are named. */
#include "scalable.h"

static void each_context_is_an_endpoint(void)
{
	struct sc_pair pair;

	sc_open_pair(&pair, FI_MSG);
	for (int t = 0; t < SC_CONTEXTS; t++) {
		for (int r = 0; r < SC_CONTEXTS; r++) {
			struct fi_context2 contexts[2];
			uint32_t out = (uint32_t)(t * 10 + r), in = 99;

			CHECK_OK(fi_recv(pair.end[1].rx[r], &in, 4, NULL,
				FI_ADDR_UNSPEC, &contexts[0]));
			SC_RETRY(
				&pair, fi_send(pair.end[0].tx[t], &out, 4, NULL,
					       sc_addr(&pair.end[0], r), &contexts[1]));
			sc_wait_for(&pair, pair.end[1].rx_cq[r], &contexts[0]);
			CHECK_EQ(in, out);
			sc_wait_for(&pair, pair.end[0].tx_cq[t], &contexts[1]);
		}
	}
	CHECK_EQ(fi_close(&pair.end[0].sep->fid), -FI_EBUSY);
	sc_close_pair(&pair);
}

static void only_contexts_that_there_are(void)
{
	struct fid_ep *ctx, *again;
	struct sc_end end;
	struct cf_env env;
	char name[2][256];
	size_t len[2] = { sizeof(name[0]), sizeof(name[1]) };

	sc_open_domain(&env, FI_MSG);
	/* The endpoint itself has one context of each kind. */
	CHECK_FAILS(fi_endpoint(env.domain, env.info, &ctx, NULL));
	sc_open_end(&env, &end, FI_WAIT_NONE);
	CHECK_EQ(fi_tx_context(end.sep, SC_CONTEXTS, NULL, &ctx, NULL), -FI_EINVAL);
	CHECK_EQ(fi_rx_context(end.sep, SC_CONTEXTS, NULL, &ctx, NULL), -FI_EINVAL);
	CHECK_EQ(fi_tx_context(end.sep, -1, NULL, &ctx, NULL), -FI_EINVAL);
	CHECK_EQ(fi_rx_context(end.sep, -1, NULL, &ctx, NULL), -FI_EINVAL);
	CHECK_FAILS(fi_tx_context(end.sep, 0, NULL, &again, NULL));
	CHECK_FAILS(fi_rx_context(end.sep, 0, NULL, &again, NULL));
	CHECK_EQ(end.tx[1]->fid.fclass, FI_CLASS_TX_CTX);
	CHECK_EQ(end.rx[1]->fid.fclass, FI_CLASS_RX_CTX);
	sc_enable_end(&end);
	CHECK_FAILS(fi_enable(end.sep));
	CHECK_FAILS(fi_enable(end.tx[0]));
	CHECK_OK(fi_getname(&end.sep->fid, name[0], &len[0]));
	CHECK_OK(fi_getname(&end.rx[1]->fid, name[1], &len[1]));
	CHECK_EQ(len[0], len[1]);
	CHECK(!memcmp(name[0], name[1], len[0]));

	/* Closed, and opened once more. */
	CF_CLOSE(end.tx[1]);
	CHECK_OK(fi_tx_context(end.sep, 1, NULL, &end.tx[1], &env));
	CHECK(end.tx[1]->fid.context == &env);
	CHECK_EQ(fi_close(&end.sep->fid), -FI_EBUSY);
	sc_close_end(&end);
	cf_close(&env);
}

static void attributes_of_contexts(void)
{
	struct fi_tx_attr tx_attr = { 0 };
	struct fi_rx_attr rx_attr = { 0 };
	struct fid_ep *sep, *ctx;
	struct cf_env env;

	sc_open_domain(&env, FI_MSG);
	CHECK_OK(fi_scalable_ep(env.domain, env.info, &sep, NULL));
	CHECK_OK(fi_tx_context(sep, 0, &tx_attr, &ctx, NULL));
	CHECK_EQ(tx_attr.inject_size, env.info->tx_attr->inject_size);
	CHECK_EQ(tx_attr.size, env.info->tx_attr->size);
	CHECK_EQ(tx_attr.iov_limit, env.info->tx_attr->iov_limit);
	CHECK(tx_attr.caps & FI_SEND && !(tx_attr.caps & FI_RECV));
	CF_CLOSE(ctx);
	CHECK_OK(fi_rx_context(sep, 1, &rx_attr, &ctx, NULL));
	CHECK_EQ(rx_attr.size, env.info->rx_attr->size);
	CHECK(rx_attr.caps & FI_RECV && !(rx_attr.caps & FI_SEND));
	CF_CLOSE(ctx);

	tx_attr.inject_size /= 2;
	tx_attr.size = 7;
	CHECK_OK(fi_tx_context(sep, 0, &tx_attr, &ctx, NULL));
	CHECK_EQ(tx_attr.size, 7);
	CHECK(tx_attr.inject_size <= env.info->tx_attr->inject_size / 2);
	CF_CLOSE(ctx);
	tx_attr.iov_limit = env.info->tx_attr->iov_limit + 1;
	CHECK_FAILS(fi_tx_context(sep, 0, &tx_attr, &ctx, NULL));
	rx_attr.size = env.info->rx_attr->size + 1;
	CHECK_FAILS(fi_rx_context(sep, 0, &rx_attr, &ctx, NULL));
	rx_attr = (struct fi_rx_attr){ .caps = FI_TAGGED | FI_RECV };
	CHECK_FAILS(fi_rx_context(sep, 0, &rx_attr, &ctx, NULL));
	CF_CLOSE(sep);
	cf_close(&env);
}

static void what_is_bound_where(void)
{
	struct fid_ep *sep, *tx, *rx, *alias;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;
	uint32_t value = 0;

	sc_open_domain(&env, FI_MSG);
	CHECK_OK(fi_scalable_ep(env.domain, env.info, &sep, NULL));
	CHECK_OK(fi_tx_context(sep, 0, NULL, &tx, NULL));
	CHECK_OK(fi_rx_context(sep, 0, NULL, &rx, NULL));
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	CHECK_EQ(fi_ep_bind(sep, &cq->fid, FI_TRANSMIT), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(tx, &cq->fid, FI_RECV), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(rx, &cq->fid, FI_TRANSMIT), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(tx, &av->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(tx, &cq->fid, FI_WRITE), -FI_EBADFLAGS);
	CHECK_EQ(fi_enable(sep), -FI_ENOAV);
	CHECK_OK(fi_ep_bind(rx, &cq->fid, FI_RECV));
	CHECK_EQ(fi_enable(rx), -FI_ENOAV);
	CHECK_OK(fi_scalable_ep_bind(sep, &av->fid, 0));
	CHECK_EQ(fi_enable(tx), -FI_ENOCQ);
	CHECK_EQ(fi_send(tx, &value, 4, NULL, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recv(rx, &value, 4, NULL, 0, NULL), -FI_EOPBADSTATE);
	CHECK_OK(fi_ep_bind(tx, &cq->fid, FI_TRANSMIT));
	CHECK_OK(fi_enable(tx));
	CHECK_OK(fi_enable(rx));
	CHECK_EQ(fi_scalable_ep_bind(sep, &av->fid, 0), -FI_EOPBADSTATE);
	/* One way each, and the scalable endpoint none. */
	CHECK_EQ(fi_recv(tx, &value, 4, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_send(rx, &value, 4, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_send(sep, &value, 4, NULL, 0, NULL), -FI_ENOSYS);
	CHECK_OK(fi_ep_alias(tx, &alias, FI_TRANSMIT | FI_COMPLETION));
	CF_CLOSE(alias);
	CHECK_EQ(fi_close(&av->fid), -FI_EBUSY);
	CF_CLOSE(tx);
	CF_CLOSE(rx);
	CF_CLOSE(sep);
	CF_CLOSE(cq);
	CF_CLOSE(av);
	cf_close(&env);
}

static void a_context_that_is_not_there(void)
{
	struct fi_cq_err_entry err;
	struct fi_context2 context;
	struct sc_pair pair;
	uint32_t value = 5;
	ssize_t ret;

	sc_open_pair(&pair, FI_MSG);
	ret = fi_send(pair.end[0].tx[1], &value, 4, NULL,
		sc_addr(&pair.end[0], SC_CONTEXTS + 1), &context);
	if (!ret) {
		sc_wait_err(&pair, pair.end[0].tx_cq[1], &err);
		CHECK(err.op_context == &context);
		CHECK(err.err > 0);
	} else {
		CHECK(ret < 0);
	}
	/* The others are as they were. */
	CHECK_OK(fi_recv(pair.end[1].rx[1], &value, 4, NULL, FI_ADDR_UNSPEC, &context));
	SC_RETRY(&pair,
		fi_inject(pair.end[0].tx[1], &value, 4, sc_addr(&pair.end[0], 1)));
	sc_wait_for(&pair, pair.end[1].rx_cq[1], &context);
	sc_close_pair(&pair);
}

/* An endpoint of one context in each direction and a scalable one. */
static void with_an_endpoint_of_one_context(void)
{
	struct fi_context2 contexts[2];
	struct sc_pair pair = { .end[1].sep = NULL };
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .rx_ctx_bits = SC_BITS };
	struct sc_end *end = &pair.end[0], *one = &pair.end[1];
	uint32_t in = 0, out = 77;

	sc_open_domain(&pair.env, FI_MSG);
	sc_open_end(&pair.env, end, FI_WAIT_NONE);
	sc_enable_end(end);
	pair.env.info->ep_attr->tx_ctx_cnt = 1;
	pair.env.info->ep_attr->rx_ctx_cnt = 1;
	one->sep = cf_new_ep(&pair.env);
	one->tx_cq[0] = cf_new_cq(&pair.env, FI_WAIT_NONE);
	CHECK_OK(fi_av_open(pair.env.domain, &attr, &one->av, NULL));
	CHECK_OK(fi_ep_bind(one->sep, &one->av->fid, 0));
	CHECK_OK(fi_ep_bind(one->sep, &one->tx_cq[0]->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_enable(one->sep));
	sc_introduce(one, end->sep);
	sc_introduce(end, one->sep);
	for (int i = 0; i < SC_CONTEXTS; i++) {
		CHECK_OK(fi_recv(
			end->rx[i], &in, 4, NULL, FI_ADDR_UNSPEC, &contexts[0]));
		SC_RETRY(&pair, fi_send(one->sep, &out, 4, NULL, sc_addr(one, i),
					&contexts[1]));
		sc_wait_for(&pair, end->rx_cq[i], &contexts[0]);
		sc_wait_for(&pair, one->tx_cq[0], &contexts[1]);
		CHECK_EQ(in, out++);
		CHECK_OK(fi_recv(one->sep, &in, 4, NULL, FI_ADDR_UNSPEC, &contexts[0]));
		SC_RETRY(&pair,
			fi_send(end->tx[i], &out, 4, NULL, end->peer, &contexts[1]));
		sc_wait_for(&pair, one->tx_cq[0], &contexts[0]);
		sc_wait_for(&pair, end->tx_cq[i], &contexts[1]);
		CHECK_EQ(in, out++);
	}
	sc_close_pair(&pair);
}

static void context_counts_come_from_the_info(void)
{
	struct cf_options options = { .caps = FI_NAMED_RX_CTX,
		.adjust = sc_serialised };
	struct sc_end end;
	struct cf_env env;

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	cf_open_domain(&env, &options);
	CHECK_EQ(env.info->ep_attr->tx_ctx_cnt, SC_CONTEXTS);
	CHECK_EQ(env.info->ep_attr->rx_ctx_cnt, SC_CONTEXTS);
	CHECK(env.info->domain_attr->max_ep_tx_ctx >= SC_CONTEXTS);
	CHECK(env.info->domain_attr->max_ep_rx_ctx >= SC_CONTEXTS);
	CHECK(env.info->tx_attr->caps & FI_NAMED_RX_CTX);
	CHECK(!(env.info->rx_attr->caps & FI_NAMED_RX_CTX));
	sc_open_end(&env, &end, FI_WAIT_NONE);
	sc_enable_end(&end);
	sc_close_end(&end);
	cf_close(&env);
}

CF_SUITE(scalable,
	CF_CASE(each_context_is_an_endpoint, "SHC-001 SHC-004 SHC-005 SHC-006", FI_MSG),
	CF_CASE(only_contexts_that_there_are, "SHC-001 SHC-002 SHC-005", FI_MSG),
	CF_CASE(attributes_of_contexts, "SHC-002 SHC-003 EPA-027 EPA-028", FI_MSG),
	CF_CASE(what_is_bound_where, "SHC-004 EP-006 EP-019 EP-020 EP-025", FI_MSG),
	CF_CASE(a_context_that_is_not_there, "SHC-006", FI_MSG),
	CF_CASE(with_an_endpoint_of_one_context, "SHC-006 AV-038", FI_MSG),
	CF_CASE(context_counts_come_from_the_info, "EPA-005 CAP-001 THR-002", FI_MSG));

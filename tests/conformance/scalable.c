/* SPDX-License-Identifier: BSD-2-Clause */
/* Scalable endpoints and shared transmit contexts. */
#include "suites.h"

enum { CONTEXTS = 2 };

struct end {
	struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS];
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer;
};

static void several(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = CONTEXTS;
	hints->ep_attr->rx_ctx_cnt = CONTEXTS;
}

static void open_end(struct cf_env *env, struct end *end)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .rx_ctx_bits = 2 };

	memset(end, 0, sizeof(*end));
	CHECK_OK(fi_scalable_ep(env->domain, env->info, &end->sep, NULL));
	CHECK_EQ(end->sep->fid.fclass, FI_CLASS_SEP);
	CHECK_OK(fi_av_open(env->domain, &attr, &end->av, NULL));
	CHECK_OK(fi_scalable_ep_bind(end->sep, &end->av->fid, 0));
	end->cq = cf_new_cq(env, FI_WAIT_NONE);
	CHECK_EQ(
		fi_tx_context(end->sep, CONTEXTS, NULL, &end->tx[0], NULL), -FI_EINVAL);
	for (int i = 0; i < CONTEXTS; i++) {
		CHECK_OK(fi_tx_context(end->sep, i, NULL, &end->tx[i], NULL));
		CHECK_OK(fi_rx_context(end->sep, i, NULL, &end->rx[i], NULL));
		CHECK_OK(fi_ep_bind(end->tx[i], &end->cq->fid, FI_TRANSMIT));
		CHECK_OK(fi_ep_bind(end->rx[i], &end->cq->fid, FI_RECV));
		CHECK_OK(fi_enable(end->tx[i]));
		CHECK_OK(fi_enable(end->rx[i]));
	}
	CHECK_OK(fi_enable(end->sep));
}

static void close_end(struct end *end)
{
	CHECK_EQ(fi_close(&end->sep->fid), -FI_EBUSY);
	for (int i = 0; i < CONTEXTS; i++) {
		CF_CLOSE(end->tx[i]);
		CF_CLOSE(end->rx[i]);
	}
	CF_CLOSE(end->sep);
	CF_CLOSE(end->cq);
	CF_CLOSE(end->av);
}

static void each_context_is_an_endpoint(void)
{
	struct cf_options options = { .caps = FI_NAMED_RX_CTX, .adjust = several };
	struct end ends[2];
	struct cf_env env;
	char name[256];

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	cf_open_domain(&env, &options);
	for (int i = 0; i < 2; i++)
		open_end(&env, &ends[i]);
	for (int i = 0; i < 2; i++) {
		size_t len = sizeof(name);

		CHECK_OK(fi_getname(&ends[!i].sep->fid, name, &len));
		CHECK_EQ(fi_av_insert(ends[i].av, name, 1, &ends[i].peer, 0, NULL), 1);
	}
	for (int t = 0; t < CONTEXTS; t++) {
		for (int r = 0; r < CONTEXTS; r++) {
			struct fi_cq_data_entry entry;
			struct fi_context2 contexts[2];
			uint32_t out = (uint32_t)(t * 10 + r), in = 99;
			uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

			CHECK_OK(fi_recv(ends[1].rx[r], &in, 4, NULL, FI_ADDR_UNSPEC,
				&contexts[0]));
			CF_RETRY(ends[1].cq,
				fi_send(ends[0].tx[t], &out, 4, NULL,
					fi_rx_addr(ends[0].peer, r, 2), &contexts[1]));
			while (fi_cq_read(ends[1].cq, &entry, 1) != 1) {
				(void)fi_cq_read(ends[0].cq, NULL, 0);
				CHECK(cf_now_ms() < deadline);
			}
			CHECK(entry.op_context == &contexts[0]);
			CHECK_EQ(in, out);
			cf_cq_wait(ends[0].cq, &entry);
		}
	}
	close_end(&ends[0]);
	close_end(&ends[1]);
	cf_close(&env);
}

/* ---- shared transmit contexts ---- */

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

static void endpoints_share_a_transmit_context(void)
{
	struct cf_options options = { .adjust = sharing, .bind = bind_shared };
	struct cf_env env;

	if (!cf_offers(&options))
		SKIP("shared transmit contexts are not offered");
	cf_open_pair(&env, &options);
	CHECK_EQ(stx->fid.fclass, FI_CLASS_STX_CTX);
	for (int i = 0; i < 10; i++)
		cf_exchange(&env, 100);
	CHECK_EQ(fi_close(&stx->fid), -FI_EBUSY);
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

CF_SUITE(scalable,
	CF_CASE(each_context_is_an_endpoint, "SHC-001 SHC-002 SHC-004 SHC-005 SHC-006",
		FI_MSG),
	CF_CASE(endpoints_share_a_transmit_context, "SHC-011 SHC-012 SHC-013", FI_MSG));

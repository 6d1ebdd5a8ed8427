/* SPDX-License-Identifier: BSD-2-Clause */
#include "scalable.h"

void sc_several(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = SC_CONTEXTS;
	hints->ep_attr->rx_ctx_cnt = SC_CONTEXTS;
}

void sc_serialised(struct fi_info *hints)
{
	sc_several(hints);
	hints->domain_attr->threading = FI_THREAD_COMPLETION;
}

void sc_open_domain(struct cf_env *env, uint64_t caps)
{
	struct cf_options options = { .caps = FI_NAMED_RX_CTX | caps,
		.adjust = sc_several };

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("scalable endpoints are not offered");
	cf_open_domain(env, &options);
}

void sc_open_end(struct cf_env *env, struct sc_end *end, enum fi_wait_obj wait)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .rx_ctx_bits = SC_BITS };

	memset(end, 0, sizeof(*end));
	CHECK_OK(fi_scalable_ep(env->domain, env->info, &end->sep, NULL));
	CHECK_EQ(end->sep->fid.fclass, FI_CLASS_SEP);
	CHECK_OK(fi_av_open(env->domain, &attr, &end->av, NULL));
	CHECK_OK(fi_scalable_ep_bind(end->sep, &end->av->fid, 0));
	for (int i = 0; i < SC_CONTEXTS; i++) {
		end->tx_cq[i] = cf_new_cq(env, FI_WAIT_NONE);
		end->rx_cq[i] = cf_new_cq(env, wait);
		CHECK_OK(fi_tx_context(end->sep, i, NULL, &end->tx[i], NULL));
		CHECK_OK(fi_rx_context(end->sep, i, NULL, &end->rx[i], NULL));
		CHECK_OK(fi_ep_bind(end->tx[i], &end->tx_cq[i]->fid, FI_TRANSMIT));
		CHECK_OK(fi_ep_bind(end->rx[i], &end->rx_cq[i]->fid, FI_RECV));
	}
}

void sc_enable_end(struct sc_end *end)
{
	for (int i = 0; i < SC_CONTEXTS; i++) {
		CHECK_OK(fi_enable(end->tx[i]));
		CHECK_OK(fi_enable(end->rx[i]));
	}
	CHECK_OK(fi_enable(end->sep));
}

void sc_introduce(struct sc_end *end, struct fid_ep *peer)
{
	char name[256];
	size_t len = sizeof(name);

	CHECK_OK(fi_getname(&peer->fid, name, &len));
	CHECK_EQ(fi_av_insert(end->av, name, 1, &end->peer, 0, NULL), 1);
}

void sc_open_pair(struct sc_pair *pair, uint64_t caps)
{
	sc_open_domain(&pair->env, caps);
	for (int i = 0; i < 2; i++) {
		sc_open_end(&pair->env, &pair->end[i], FI_WAIT_NONE);
		sc_enable_end(&pair->end[i]);
	}
	sc_introduce(&pair->end[0], pair->end[1].sep);
	sc_introduce(&pair->end[1], pair->end[0].sep);
}

void sc_close_end(struct sc_end *end)
{
	for (int i = 0; i < SC_CONTEXTS; i++) {
		CF_CLOSE(end->tx[i]);
		CF_CLOSE(end->rx[i]);
	}
	CF_CLOSE(end->sep);
	for (int i = 0; i < SC_CONTEXTS; i++) {
		CF_CLOSE(end->tx_cq[i]);
		CF_CLOSE(end->rx_cq[i]);
	}
	CF_CLOSE(end->av);
}

void sc_close_pair(struct sc_pair *pair)
{
	sc_close_end(&pair->end[0]);
	sc_close_end(&pair->end[1]);
	cf_close(&pair->env);
}

void sc_progress(struct sc_pair *pair)
{
	for (int e = 0; e < 2; e++) {
		for (int i = 0; i < SC_CONTEXTS; i++) {
			if (pair->end[e].tx_cq[i])
				(void)fi_cq_read(pair->end[e].tx_cq[i], NULL, 0);
			if (pair->end[e].rx_cq[i])
				(void)fi_cq_read(pair->end[e].rx_cq[i], NULL, 0);
		}
	}
}

static ssize_t next(struct sc_pair *pair, struct fid_cq *cq, void *entry)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		sc_progress(pair);
	}
	return ret;
}

void sc_wait(struct sc_pair *pair, struct fid_cq *cq, struct fi_cq_data_entry *entry)
{
	CHECK_EQ(next(pair, cq, entry), 1);
}

void sc_wait_for(struct sc_pair *pair, struct fid_cq *cq, const void *context)
{
	struct fi_cq_data_entry entry;

	sc_wait(pair, cq, &entry);
	CHECK(entry.op_context == context);
}

void sc_wait_err(struct sc_pair *pair, struct fid_cq *cq, struct fi_cq_err_entry *err)
{
	struct fi_cq_data_entry entry;

	memset(err, 0, sizeof(*err));
	CHECK_EQ(next(pair, cq, &entry), -FI_EAVAIL);
	CHECK_EQ(fi_cq_readerr(cq, err, 0), 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What is bound to an endpoint after it was enabled. */
#include <pthread.h>
#include <rdma/fi_rma.h>

#include "suites.h"

/* The count arrives while the queues of both sides are read. */
static void count_reaches(struct fid_cntr *cntr, uint64_t value)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (fi_cntr_read(cntr) < value && cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(fi_cntr_read(cntr), value);
	CHECK_EQ(fi_cntr_readerr(cntr), 0);
}

static void counters_count_from_then_on(void)
{
	struct cf_options options = { .split_cqs = true };
	struct fid_cntr *sent, *received;
	struct cf_env env;

	cf_open_pair(&env, &options);
	cf_exchange(&env, 8);
	sent = cf_new_cntr(&env, FI_WAIT_NONE);
	received = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_OK(fi_ep_bind(env.side[0].ep, &sent->fid, FI_SEND));
	CHECK_OK(fi_ep_bind(env.side[1].ep, &received->fid, FI_RECV));
	CHECK_EQ(fi_ep_bind(env.side[0].ep, &sent->fid, FI_SEND), -FI_EINVAL);
	CHECK_EQ(fi_close(&sent->fid), -FI_EBUSY);
	for (unsigned int i = 1; i <= 20; i++) {
		cf_exchange(&env, i * 16);
		count_reaches(sent, i);
		count_reaches(received, i);
	}
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(sent);
	CF_CLOSE(received);
	cf_close(&env);
}

/* The counter alone runs the endpoint. */
static void a_counter_makes_progress(void)
{
	struct cf_options options = { .split_cqs = true };
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_cntr *received;
	struct cf_env env;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	char in = 0, out = 6;

	cf_open_pair(&env, &options);
	cf_exchange(&env, 8);
	received = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_OK(fi_ep_bind(env.side[1].ep, &received->fid, FI_RECV));
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	while (!fi_cntr_read(received) && cf_now_ms() < deadline)
		(void)fi_cq_read(env.side[0].tx_cq, NULL, 0);
	CHECK_EQ(fi_cntr_read(received), 1);
	CHECK_EQ(in, 6);
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(received);
	cf_close(&env);
}

static void *wait_for_one(void *arg)
{
	return fi_cntr_wait(arg, 1, 2 * CF_TIMEOUT_MS) ? arg : NULL;
}

/* Nothing could sleep for the endpoint when it was enabled. */
static void a_counter_is_waited_for(void)
{
	static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD };

	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct cf_options options = { .split_cqs = true };
		struct fi_context2 contexts[2];
		struct fi_cq_data_entry entry;
		struct fid_cntr *received;
		struct cf_env env;
		pthread_t thread;
		char in = 0, out = 7;
		void *failed;

		cf_open_pair(&env, &options);
		cf_exchange(&env, 8);
		received = cf_new_cntr(&env, wait_objs[i]);
		CHECK_OK(fi_ep_bind(env.side[1].ep, &received->fid, FI_RECV));
		cf_post_recv(&env, &in, 1, &contexts[0]);
		CHECK_OK(pthread_create(&thread, NULL, wait_for_one, received));
		cf_post_send(&env, &out, 1, &contexts[1]);
		cf_cq_wait(env.side[0].tx_cq, &entry);
		CHECK_OK(pthread_join(thread, &failed));
		CHECK(!failed);
		CHECK_EQ(in, 7);
		CF_CLOSE(env.side[0].ep);
		CF_CLOSE(env.side[1].ep);
		CF_CLOSE(received);
		cf_close(&env);
	}
}

/* As SHMEM libraries have it: the target's counter comes last. */
static void remote_writes_are_counted(void)
{
	struct cf_options options = { .caps = FI_RMA | FI_RMA_EVENT,
		.split_cqs = true };
	struct fi_context2 context;
	struct cf_region region;
	struct fid_cntr *written, *arrived;
	struct cf_env env;
	char out[64];

	if (!cf_offers(&options))
		SKIP("no remote events");
	cf_open_pair(&env, &options);
	cf_exchange(&env, 8);
	cf_open_region(&env, 1, &region, NULL, sizeof(out), FI_REMOTE_WRITE);
	written = cf_new_cntr(&env, FI_WAIT_NONE);
	arrived = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_OK(fi_ep_bind(env.side[0].ep, &written->fid, FI_WRITE));
	CHECK_OK(fi_ep_bind(env.side[1].ep, &arrived->fid, FI_REMOTE_WRITE));
	cf_fill(out, sizeof(out), 3);
	for (unsigned int i = 1; i <= 3; i++) {
		CF_RETRY(env.side[0].tx_cq,
			fi_write(env.side[0].ep, out, sizeof(out), NULL,
				env.side[0].peer, region.addr, region.key, &context));
		count_reaches(arrived, i);
		count_reaches(written, i);
	}
	cf_verify(region.bytes, sizeof(out), 3);
	cf_close_region(&region);
	CF_CLOSE(env.side[0].ep);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(written);
	CF_CLOSE(arrived);
	cf_close(&env);
}

static void a_transmit_context_joins(void)
{
	struct cf_env env;
	struct fid_stx *stx;
	size_t small = 1;
	int ret;

	cf_open_pair(&env, NULL);
	ret = fi_stx_context(env.domain, NULL, &stx, NULL);
	if (ret == -FI_ENOSYS)
		SKIP("shared transmit contexts are not offered");
	CHECK_OK(ret);
	CHECK_OK(fi_ep_bind(env.side[0].ep, &stx->fid, 0));
	cf_exchange(&env, 100);
	/* Limits that are lower than what the endpoint was enabled with. */
	CF_CLOSE(env.side[0].ep);
	CHECK_OK(stx->ops->setopt(&stx->fid, FI_OPT_ENDPOINT, FI_OPT_INJECT_MSG_SIZE,
		&small, sizeof(small)));
	if (!env.side[1].domain)
		CHECK_EQ(fi_ep_bind(env.side[1].ep, &stx->fid, 0), -FI_EOPBADSTATE);
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(stx);
	cf_close(&env);
}

static void queues_and_receive_contexts_are_too_late(void)
{
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *srx;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EITHER(fi_ep_bind(env.side[0].ep, &cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE,
		-FI_EINVAL);
	CF_CLOSE(cq);
	if (cf_target.type != FI_EP_MSG) {
		av = cf_new_av(&env);
		CHECK_EITHER(fi_ep_bind(env.side[0].ep, &av->fid, 0), -FI_EOPBADSTATE,
			-FI_EINVAL);
		CF_CLOSE(av);
	}
	if (!fi_srx_context(env.domain, env.info->rx_attr, &srx, NULL)) {
		CHECK_EITHER(fi_ep_bind(env.side[0].ep, &srx->fid, 0), -FI_EOPBADSTATE,
			-FI_EINVAL);
		CF_CLOSE(srx);
	}
	cf_exchange(&env, 8);
	cf_close(&env);
}

CF_SUITE(late, CF_CASE(counters_count_from_then_on, "EP-010 EP-018 CNT-019", FI_MSG),
	CF_CASE(a_counter_makes_progress, "CNT-008 EP-018", FI_MSG),
	CF_CASE(a_counter_is_waited_for, "CNT-012 EP-018", FI_MSG),
	CF_CASE(remote_writes_are_counted, "CNT-018 CNT-020 EP-018", FI_MSG | FI_RMA),
	CF_CASE(a_transmit_context_joins, "EP-015 EP-018", FI_MSG),
	CF_CASE(queues_and_receive_contexts_are_too_late, "EP-018", FI_MSG));

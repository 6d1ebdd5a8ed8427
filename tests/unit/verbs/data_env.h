/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_DATA_ENV_H
#define TESTS_UNIT_VERBS_DATA_ENV_H

#include "device_fake.h"

/* An endpoint over the device that the test plays. */

enum { SENDS = 8 };

struct env {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av; /* AV of datagram endpoints */
	struct fid_ep *fid, *srx;
	struct verbs_ep *ep;
	char buf[256];
};

/* The owner of the CQ that is imported; NULL: the CQ is the application's. */
static struct fid_peer_cq *cq_owner;

/* Capabilities of the next endpoint; 0: all. */
static uint64_t env_caps;

static void *const desc = (void *)(uintptr_t)(VERBS_DESC_BIT | 5);

static int ask_for(struct env *env, enum fi_ep_type type, uint32_t protocol)
{
	struct fi_info *hints = fi_allocinfo();
	int err;

	hints->ep_attr->type = type;
	hints->ep_attr->protocol = protocol;
	hints->mode = FI_RX_CQ_DATA;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->caps = env_caps;
	err = verbs_fi.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &env->info);
	fi_freeinfo(hints);
	return err;
}

static bool get_info(struct env *env, enum fi_ep_type type)
{
	return !ask_for(env, type, FI_PROTO_UNSPEC);
}

static void open_domain(struct env *env, enum fi_ep_type type)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_FD };
	struct fi_peer_cq_context peer = { .size = sizeof(peer), .cq = cq_owner };

	assert_int_equal(
		verbs_fi.fabric(env->info->fabric_attr, &env->fabric, NULL), 0);
	assert_int_equal(fi_domain(env->fabric, env->info, &env->domain, NULL), 0);
	if (cq_owner)
		attr = (struct fi_cq_attr){ .flags = FI_PEER };
	assert_int_equal(fi_cq_open(env->domain, &attr, &env->cq, &peer), 0);
	if (type == FI_EP_DGRAM)
		assert_int_equal(fi_av_open(env->domain, &av_attr, &env->av, NULL), 0);
}

static void open_ep(struct env *env, uint64_t flags)
{
	assert_int_equal(fi_endpoint(env->domain, env->info, &env->fid, NULL), 0);
	assert_int_equal(fi_ep_bind(env->fid, &env->cq->fid, FI_TRANSMIT | flags), 0);
	assert_int_equal(fi_ep_bind(env->fid, &env->cq->fid, FI_RECV), 0);
	if (env->srx)
		assert_int_equal(fi_ep_bind(env->fid, &env->srx->fid, 0), 0);
	if (env->av)
		assert_int_equal(fi_ep_bind(env->fid, &env->av->fid, 0), 0);
	assert_int_equal(fi_enable(env->fid), 0);
	assert_int_equal(fake_state, env->av ? IBV_QPS_RTS : IBV_QPS_INIT);
	env->ep = verbs_ep_of(wf_ep_of(env->fid));
	atomic_store(&env->ep->ready, true);
}

/* Open an endpoint. False: this machine has no address but the loopback address. */
static inline bool open_env(
	struct env *env, enum fi_ep_type type, uint64_t flags, bool shared)
{
	struct fi_rx_attr attr = { .size = 4 };

	*env = (struct env){ .info = NULL };
	fake_send_count = fake_recv_count = fake_wc_count = 0;
	fake_notified = fake_events = fake_acked = 0;
	fake_attr_count = 0;
	fake_post_error = 0;
	if (!get_info(env, type))
		return false;
	open_domain(env, type);
	if (shared)
		assert_int_equal(
			fi_srx_context(env->domain, &attr, &env->srx, NULL), 0);
	open_ep(env, flags);
	return true;
}

/* Closing flushes: the sends have ended, and a poll must find that before the flush
 * posts a mark, which nothing would complete. */
static void end_sends(const struct env *env)
{
	struct wf_progress *source = env->ep->ep.tx_cq->source;

	if (env->ep->sq.head == atomic_load(&env->ep->sq.tail))
		return;
	fake_complete(env->ep->sq.head - 1, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	source->run(source);
}

static void assert_nothing_lives(void)
{
	assert_int_equal(fake_opened, 0);
	for (int kind = 0; kind < FAKE_KINDS; kind++)
		assert_int_equal(fake_live[kind], 0);
}

static void close_env(struct env *env)
{
	if (env->fid) {
		end_sends(env);
		assert_int_equal(fi_close(&env->fid->fid), 0);
	}
	if (env->srx)
		assert_int_equal(fi_close(&env->srx->fid), 0);
	if (env->av)
		assert_int_equal(fi_close(&env->av->fid), 0);
	assert_int_equal(fi_close(&env->cq->fid), 0);
	assert_int_equal(fi_close(&env->domain->fid), 0);
	assert_int_equal(fi_close(&env->fabric->fid), 0);
	fi_freeinfo(env->info);
	assert_nothing_lives();
}

static inline ssize_t take(struct env *env, struct fi_cq_data_entry *entry)
{
	return fi_cq_read(env->cq, entry, 1);
}

static inline int take_error(struct env *env, struct fi_cq_err_entry *err)
{
	struct fi_cq_data_entry entry;

	assert_int_equal(take(env, &entry), -FI_EAVAIL);
	*err = (struct fi_cq_err_entry){ .err = 0 };
	assert_int_equal(fi_cq_readerr(env->cq, err, 0), 1);
	return err->err;
}

#define OPEN(type, flags, shared)                                                      \
	do {                                                                           \
		if (!open_env(&env, type, flags, shared))                              \
			skip();                                                        \
	} while (0)

#endif

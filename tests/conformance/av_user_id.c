/* SPDX-License-Identifier: BSD-2-Clause */
/* Identifiers that completions report instead of addresses. */
#include "suites.h"

static void want_user_ids(struct fi_info *hints)
{
	hints->domain_attr->caps = FI_AV_USER_ID;
}

static const struct cf_options with_source = { .caps = FI_SOURCE };

/* Send one message from side 0; what side 1 is told of its source. */
static fi_addr_t reported_source(struct cf_env *env)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	fi_addr_t from = 12345;
	char out[4] = "abc", in[4];
	ssize_t ret;

	cf_post_recv(env, in, sizeof(in), &contexts[1]);
	cf_post_send(env, out, sizeof(out), &contexts[0]);
	cf_cq_wait(env->side[0].tx_cq, &entry);
	while ((ret = fi_cq_readfrom(env->side[1].rx_cq, &entry, 1, &from)) ==
			-FI_EAGAIN &&
		cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(ret, 1);
	return from;
}

/* The id is for completions; transfers use the address. */
static void an_id_given_with_the_address(void)
{
	fi_addr_t id = 4711;
	struct cf_env env;
	char name[256];
	size_t len = sizeof(name);

	cf_need_connectionless();
	NEED_API(1, 20);
	cf_open_pair(&env, &with_source);
	CHECK_OK(fi_getname(&env.side[0].ep->fid, name, &len));
	CHECK_OK(fi_av_remove(env.side[1].av, &env.side[1].peer, 1, 0));
	CHECK_EQ(fi_av_insert(env.side[1].av, name, 1, &id, FI_AV_USER_ID, NULL), 1);
	CHECK_EQ(id, env.side[1].peer);
	CHECK_EQ(reported_source(&env), 4711);
	/* A removed address takes its id along. */
	CHECK_OK(fi_av_remove(env.side[1].av, &id, 1, 0));
	CHECK_EQ(fi_av_insert(env.side[1].av, name, 1, &id, 0, NULL), 1);
	CHECK_EQ(reported_source(&env), id);
	cf_close(&env);
}

static void vectors_for_ids_need_the_capability(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = FI_AV_USER_ID };
	struct fid_av *av;
	struct cf_env env;

	NEED_API(2, 0);
	cf_open_domain(&env, NULL);
	if (env.info->domain_attr->caps & FI_AV_USER_ID)
		SKIP("the capability comes unasked");
	CHECK_FAILS(fi_av_open(env.domain, &attr, &av, NULL));
	cf_close(&env);
}

/* Ids of such a vector are unset at first, and then what was set. */
static void ids_are_set_one_by_one(void)
{
	struct cf_options options = { .caps = FI_SOURCE | FI_AV_USER_ID,
		.adjust = want_user_ids,
		.not_enabled = true };
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = FI_AV_USER_ID };
	struct fid_av *av;
	struct fid_ep *ep;
	struct cf_env env;
	char names[2][256];
	size_t len = sizeof(names[0]);
	fi_addr_t peer = 0;

	cf_need_connectionless();
	NEED_API(2, 0);
	cf_open_pair(&env, &options);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CF_CLOSE(env.side[1].ep);
	ep = cf_new_ep(&env);
	CHECK_OK(fi_ep_bind(ep, &env.side[1].rx_cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_enable(env.side[0].ep));
	CHECK_OK(fi_getname(&env.side[0].ep->fid, names[0], &len));
	len = sizeof(names[1]);
	CHECK_OK(fi_getname(&ep->fid, names[1], &len));
	CHECK_EQ(fi_av_insert(env.side[0].av, names[1], 1, &env.side[0].peer, 0, NULL),
		1);
	CHECK_FAILS(fi_av_insert(av, names[0], 1, &peer, FI_AV_USER_ID, NULL));
	CHECK_EQ(fi_av_insert(av, names[0], 1, &peer, 0, NULL), 1);
	env.side[1].ep = ep;
	CHECK(reported_source(&env) == FI_ADDR_NOTAVAIL);
	CHECK_OK(fi_av_set_user_id(av, peer, 99, 0));
	CHECK_EQ(reported_source(&env), 99);
	CHECK_FAILS(fi_av_set_user_id(av, peer + 7, 5, 0));
	CF_CLOSE(env.side[1].ep);
	CF_CLOSE(av);
	cf_close(&env);
}

CF_SUITE(av_user_id,
	CF_CASE(an_id_given_with_the_address, "AV-048 CAP-013",
		FI_MSG | FI_SOURCE | FI_AV_USER_ID),
	CF_CASE(vectors_for_ids_need_the_capability, "DAT-031", FI_AV_USER_ID),
	CF_CASE(ids_are_set_one_by_one, "AV-049 AV-050 AV-051 DAT-031",
		FI_MSG | FI_SOURCE | FI_AV_USER_ID));

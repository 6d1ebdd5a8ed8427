/* SPDX-License-Identifier: BSD-2-Clause */
/* Many endpoints on one queue, most of which are silent most of the time. */
#include "suites.h"

enum {
	COUNT = 20,
	REST = 2000, /* reads of a queue, about twice those after which all are idle */
};

static const struct cf_options no_options;

struct crowd {
	struct cf_env env;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep[2][COUNT];
	fi_addr_t peer[2][COUNT];
};

static struct fid_ep *open_ep(struct crowd *crowd, struct fi_info *info)
{
	struct fid_ep *ep;

	CHECK_OK(fi_endpoint(crowd->env.domain, info, &ep, NULL));
	CHECK_OK(fi_ep_bind(ep, &crowd->cq->fid, FI_TRANSMIT | FI_RECV));
	if (crowd->av)
		CHECK_OK(fi_ep_bind(ep, &crowd->av->fid, 0));
	else
		CHECK_OK(fi_ep_bind(ep, &crowd->env.eq->fid, 0));
	CHECK_OK(fi_enable(ep));
	return ep;
}

static void connect_two(struct crowd *crowd, const void *name, int i)
{
	struct cf_cm_event event;

	crowd->ep[0][i] = open_ep(crowd, crowd->env.info);
	CHECK_OK(fi_connect(crowd->ep[0][i], name, NULL, 0));
	(void)cf_eq_wait(&crowd->env, FI_CONNREQ, &event);
	crowd->ep[1][i] = open_ep(crowd, event.entry.info);
	CHECK_OK(fi_accept(crowd->ep[1][i], NULL, 0));
	fi_freeinfo(event.entry.info);
	(void)cf_eq_wait(&crowd->env, FI_CONNECTED, &event);
	(void)cf_eq_wait(&crowd->env, FI_CONNECTED, &event);
}

static void name_two(struct crowd *crowd, int i)
{
	char name[256];
	size_t len;

	for (int side = 0; side < 2; side++) {
		crowd->ep[side][i] = open_ep(crowd, crowd->env.info);
		len = sizeof(name);
		CHECK_OK(fi_getname(&crowd->ep[side][i]->fid, name, &len));
		CHECK_EQ(fi_av_insert(
				 crowd->av, name, 1, &crowd->peer[!side][i], 0, NULL),
			1);
	}
}

/* A word from side @from of pair @i to the other, and both completions. @sleep: by
 * sleeping for them. */
static void say(struct crowd *crowd, int from, int i, bool sleep)
{
	struct fi_context2 contexts[2];
	char out = (char)i, in = -1;
	struct fi_cq_data_entry entry;
	unsigned int seen = 0;

	CF_RETRY(crowd->cq, fi_recv(crowd->ep[!from][i], &in, 1, NULL, FI_ADDR_UNSPEC,
				    &contexts[0]));
	CF_RETRY(crowd->cq, fi_send(crowd->ep[from][i], &out, 1, NULL,
				    crowd->peer[from][i], &contexts[1]));
	while (seen != 3) {
		if (sleep)
			CHECK_EQ(fi_cq_sread(crowd->cq, &entry, 1, NULL, CF_TIMEOUT_MS),
				1);
		else
			cf_cq_wait(crowd->cq, &entry);
		for (unsigned int k = 0; k < 2; k++)
			seen |= (unsigned int)(entry.op_context == &contexts[k]) << k;
	}
	CHECK_EQ(in, i);
}

static void gather(struct crowd *crowd, enum fi_wait_obj wait_obj)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	char name[256];

	memset(crowd, 0, sizeof(*crowd));
	cf_open_domain(&crowd->env, NULL);
	crowd->cq = cf_new_cq(&crowd->env, wait_obj);
	if (cf_target.type == FI_EP_MSG) {
		CHECK_OK(fi_eq_open(crowd->env.fabric, &eq_attr, &crowd->env.eq, NULL));
		(void)cf_listen(&crowd->env, name, sizeof(name));
	} else {
		crowd->av = cf_new_av(&crowd->env);
	}
	for (int i = 0; i < COUNT; i++) {
		if (cf_target.type == FI_EP_MSG)
			connect_two(crowd, name, i);
		else
			name_two(crowd, i);
		say(crowd, 0, i, false);
	}
}

static void rest(struct crowd *crowd)
{
	for (int i = 0; i < REST; i++)
		CHECK_EQ(fi_cq_read(crowd->cq, NULL, 0), -FI_EAGAIN);
}

static void leave(struct crowd *crowd)
{
	for (int i = 0; i < COUNT; i++)
		for (int side = 0; side < 2; side++)
			CF_CLOSE(crowd->ep[side][i]);
	CF_CLOSE(crowd->av);
	CF_CLOSE(crowd->cq);
	cf_close(&crowd->env);
}

static void one_of_many_is_heard(void)
{
	struct crowd crowd;

	gather(&crowd, FI_WAIT_NONE);
	for (int i = COUNT - 1; i >= 0; i -= 3) {
		rest(&crowd);
		say(&crowd, i % 2, i, false);
		say(&crowd, !(i % 2), i, false);
	}
	rest(&crowd);
	for (int i = 0; i < COUNT; i++)
		say(&crowd, 1, i, false);
	leave(&crowd);
}

static void one_of_many_wakes_a_sleeper(void)
{
	struct crowd crowd;
	char byte;

	gather(&crowd, FI_WAIT_UNSPEC);
	for (int i = COUNT - 1; i >= 0; i -= 7) {
		rest(&crowd);
		say(&crowd, i % 2, i, true);
	}
	for (int i = 0; i < COUNT; i++)
		say(&crowd, 1, i, true);
	CHECK_EQ(fi_cq_sread(crowd.cq, &byte, 1, NULL, 20), -FI_EAGAIN);
	leave(&crowd);
}

/* What is posted in one go on an endpoint that was silent leaves it. */
static void a_burst_of_one_of_many(void)
{
	enum { BURST = 40 };
	struct fi_context2 contexts[2 * BURST];
	struct fi_cq_data_entry entry;
	struct crowd crowd;
	char in[BURST], out[BURST];

	gather(&crowd, FI_WAIT_NONE);
	for (int round = 0; round < 3; round++) {
		memset(in, 0, sizeof(in));
		for (int i = 0; i < BURST; i++)
			CF_RETRY(crowd.cq, fi_recv(crowd.ep[1][3], &in[i], 1, NULL,
						   FI_ADDR_UNSPEC, &contexts[i]));
		rest(&crowd);
		for (int i = 0; i < BURST; i++) {
			out[i] = (char)(i + round);
			CF_RETRY(crowd.cq,
				fi_send(crowd.ep[0][3], &out[i], 1, NULL,
					crowd.peer[0][3], &contexts[BURST + i]));
		}
		for (int i = 0; i < 2 * BURST; i++)
			cf_cq_wait(crowd.cq, &entry);
		CHECK(!memcmp(in, out, BURST));
	}
	leave(&crowd);
}

static void the_end_of_one_of_many_is_told(void)
{
	struct cf_cm_event event;
	struct crowd crowd;

	if (cf_target.type != FI_EP_MSG)
		SKIP("needs connected endpoints");
	gather(&crowd, FI_WAIT_NONE);
	rest(&crowd);
	cf_eq_quiet(&crowd.env);
	CF_CLOSE(crowd.ep[0][5]);
	(void)cf_eq_wait(&crowd.env, FI_SHUTDOWN, &event);
	CHECK(event.entry.fid == &crowd.ep[1][5]->fid);
	leave(&crowd);
}

/* An application that seldom reads its queue, while it has another peer, notices a new
 * peer: every read counts, not only every n-th. */
static void a_rare_reader_hears_of_new_peers(void)
{
	enum { READS = 15, PAUSE_MS = 12 };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_side third = { 0 };
	struct cf_env env;
	char name[256], in = 0, out = 9;
	size_t len = sizeof(name);
	ssize_t ret = -FI_EAGAIN;

	if (cf_target.type != FI_EP_RDM)
		SKIP("needs endpoints that connect on their own");
	cf_open_pair(&env, NULL);
	cf_exchange(&env, 10);
	cf_open_side(&env, &third, env.info, &no_options);
	CHECK_OK(fi_getname(&env.side[1].ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(third.av, name, 1, &third.peer, 0, NULL), 1);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	CF_RETRY(third.tx_cq,
		fi_send(third.ep, &out, 1, NULL, third.peer, &contexts[1]));
	for (int i = 0; i < READS && ret == -FI_EAGAIN; i++) {
		uint64_t end = cf_now_ms() + PAUSE_MS;

		while (cf_now_ms() <= end)
			(void)fi_cq_read(third.tx_cq, NULL, 0);
		ret = fi_cq_read(env.side[1].rx_cq, &entry, 1);
	}
	CHECK_EQ(ret, 1);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EQ(in, 9);
	CF_CLOSE(third.ep);
	CF_CLOSE(third.tx_cq);
	CF_CLOSE(third.av);
	cf_close(&env);
}

CF_SUITE(idle, CF_CASE(one_of_many_is_heard, "CQ-010", FI_MSG),
	CF_CASE(one_of_many_wakes_a_sleeper, "CQ-020", FI_MSG),
	CF_CASE(a_burst_of_one_of_many, "CQ-010", FI_MSG),
	CF_CASE(the_end_of_one_of_many_is_told, "CM-020", FI_MSG),
	CF_CASE(a_rare_reader_hears_of_new_peers, "CQ-010", FI_MSG));

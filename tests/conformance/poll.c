/* SPDX-License-Identifier: BSD-2-Clause */
/* Poll sets and wait sets: deprecated, but old programs have them. */
#include "suites.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static struct fid_poll *open_poll(struct cf_env *env)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *set;
	int ret = fi_poll_open(env->domain, &attr, &set);

	if (ret == -FI_ENOSYS)
		SKIP("poll sets are not offered");
	CHECK_OK(ret);
	CHECK_EQ(set->fid.fclass, FI_CLASS_POLL);
	return set;
}

/* fi_poll until @context is among the answers. */
static void poll_for(struct fid_poll *set, void *context)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	void *ready[4];

	do {
		int ret = fi_poll(set, ready, CF_COUNT(ready));

		CHECK(ret >= 0 && ret <= (int)CF_COUNT(ready));
		for (int i = 0; i < ret; i++) {
			if (ready[i] == context)
				return;
		}
		cf_progress();
	} while (cf_now_ms() < deadline);
	cf_fail(__FILE__, __LINE__, "the poll set did not tell");
}

static void a_poll_set_tells_what_is_ready(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_poll *set;
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct cf_env env;
	int cq_context, cntr_context;

	cf_open_domain(&env, NULL);
	set = open_poll(&env);
	CHECK_OK(fi_cq_open(env.domain, &cq_attr, &cq, &cq_context));
	CHECK_OK(fi_cntr_open(env.domain, &cntr_attr, &cntr, &cntr_context));
	CHECK_OK(fi_poll_add(set, &cq->fid, 0));
	CHECK_OK(fi_poll_add(set, &cntr->fid, 0));
	CHECK_OK(fi_cntr_add(cntr, 1));
	poll_for(set, &cntr_context);
	CHECK_EQ(fi_close(&cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&set->fid), -FI_EBUSY);
	CHECK_OK(fi_poll_del(set, &cntr->fid, 0));
	CHECK_OK(fi_poll_del(set, &cq->fid, 0));
	CHECK_EQ(fi_poll(set, (void *[4]){ NULL }, 4), 0);
	CF_CLOSE(set);
	CF_CLOSE(cntr);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void polling_makes_progress(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_poll *set;
	struct cf_env env;
	char in = 0, out = 2;

	cf_open_pair(&env, NULL);
	set = open_poll(&env);
	CHECK_OK(fi_poll_add(set, &env.side[1].rx_cq->fid, 0));
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	poll_for(set, NULL); /* the queue's context */
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_OK(fi_poll_del(set, &env.side[1].rx_cq->fid, 0));
	CF_CLOSE(set);
	cf_close(&env);
}

static void poll_sets_refuse_the_rest(void)
{
	struct fi_poll_attr bad = { .flags = 1 };
	struct fid_poll *set, *other;
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	set = open_poll(&env);
	CHECK_EQ(fi_poll_open(env.domain, &bad, &other), -FI_EINVAL);
	av = cf_new_av(&env);
	CHECK_EQ(fi_poll_add(set, &av->fid, 0), -FI_EINVAL);
	CF_CLOSE(av);
	CHECK_EQ(fi_close(&env.domain->fid), -FI_EBUSY);
	CF_CLOSE(set);
	cf_close(&env);
}

/* ---- wait sets ---- */

static struct fid_wait *open_wait(struct cf_env *env)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_wait *set;
	int ret = fi_wait_open(env->fabric, &attr, &set);

	if (ret == -FI_ENOSYS)
		SKIP("wait sets are not offered");
	CHECK_OK(ret);
	CHECK_EQ(set->fid.fclass, FI_CLASS_WAIT);
	return set;
}

static void bad_wait_sets_are_refused(void)
{
	static const struct fi_wait_attr bad[] = {
		{ .wait_obj = FI_WAIT_NONE },
		{ .wait_obj = FI_WAIT_SET },
		{ .wait_obj = (enum fi_wait_obj)99 },
		{ .wait_obj = FI_WAIT_UNSPEC, .flags = 1 },
	};
	struct fid_wait *set;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	set = open_wait(&env);
	CF_CLOSE(set);
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		struct fi_wait_attr attr = bad[i];

		CHECK_EQ(fi_wait_open(env.fabric, &attr, &set), -FI_EINVAL);
	}
	cf_close(&env);
}

static void a_wait_set_times_out(void)
{
	struct fid_wait *set;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	set = open_wait(&env);
	CHECK_EQ(fi_wait(set, 5), -FI_ETIMEDOUT);
	CF_CLOSE(set);
	cf_close(&env);
}

static void a_wait_set_is_signalled(void)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_SET };
	struct fi_eq_entry entry = { 0 };
	struct fid_wait *set;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	set = open_wait(&env);
	attr.wait_set = set;
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	CHECK_EQ(fi_close(&set->fid), -FI_EBUSY);
	CHECK_EQ(fi_wait(set, 5), -FI_ETIMEDOUT);
	CHECK_EQ(fi_eq_write(env.eq, FI_NOTIFY, &entry, sizeof(entry), 0),
		sizeof(entry));
	CHECK_OK(fi_wait(set, CF_TIMEOUT_MS));
	CF_CLOSE(env.eq);
	CF_CLOSE(set);
	cf_close(&env);
}

static void a_wait_set_hears_of_messages(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_SET };
	struct cf_options options = { .not_enabled = true };
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_wait *set;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct cf_env env;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	char name[256], in = 0, out = 3;
	size_t len = sizeof(name);
	fi_addr_t self;
	ssize_t ret;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	set = open_wait(&env);
	attr.wait_set = set;
	CHECK_OK(fi_cq_open(env.domain, &attr, &cq, NULL));
	ep = cf_new_ep(&env);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_ep_bind(ep, &env.side[0].av->fid, 0));
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(env.side[0].av, name, 1, &self, 0, NULL), 1);
	CF_RETRY(cq, fi_recv(ep, &in, 1, NULL, FI_ADDR_UNSPEC, &contexts[0]));
	CF_RETRY(cq, fi_send(ep, &out, 1, NULL, self, &contexts[1]));
	for (int have = 0; have < 2;) {
		ret = fi_cq_read(cq, &entry, 1);
		if (ret == -FI_EAGAIN) {
			CHECK(cf_now_ms() < deadline);
			ret = fi_wait(set, CF_TIMEOUT_MS);
			CHECK_EITHER(ret, 0, -FI_ETIMEDOUT);
			continue;
		}
		CHECK_EQ(ret, 1);
		have++;
	}
	CHECK_EQ(in, 3);
	CF_CLOSE(ep);
	CF_CLOSE(cq);
	CF_CLOSE(set);
	cf_close(&env);
}

CF_SUITE(poll, CF_CASE(a_poll_set_tells_what_is_ready, "POL-001 POL-004 POL-008", 0),
	CF_CASE(polling_makes_progress, "POL-004 POL-005", FI_MSG),
	CF_CASE(poll_sets_refuse_the_rest, "POL-002 POL-003 FAB-014", 0),
	CF_CASE(bad_wait_sets_are_refused, "POL-006", 0),
	CF_CASE(a_wait_set_times_out, "POL-007", 0),
	CF_CASE(a_wait_set_is_signalled, "POL-001 POL-007 POL-008 EQ-027", 0),
	CF_CASE(a_wait_set_hears_of_messages, "POL-001 POL-007 CQ-007", FI_MSG));

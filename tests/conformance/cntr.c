/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "suites.h"

/* A counter may show a change late: read it until it is there. */
static void check_value(struct fid_cntr *cntr, uint64_t wanted)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (fi_cntr_read(cntr) != wanted && cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(fi_cntr_read(cntr), wanted);
}

static void values_are_set_and_added_to(void)
{
	struct fid_cntr *cntr;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_cntr_read(cntr), 0);
	CHECK_EQ(fi_cntr_readerr(cntr), 0);
	CHECK_OK(fi_cntr_add(cntr, 5));
	CHECK_OK(fi_cntr_add(cntr, 1ULL << 40));
	check_value(cntr, (1ULL << 40) + 5);
	CHECK_OK(fi_cntr_set(cntr, 3));
	check_value(cntr, 3);
	CHECK_OK(fi_cntr_adderr(cntr, 2));
	CHECK_OK(fi_cntr_adderr(cntr, 2));
	CHECK_EQ(fi_cntr_readerr(cntr), 4);
	CHECK_OK(fi_cntr_seterr(cntr, 1));
	CHECK_EQ(fi_cntr_readerr(cntr), 1);
	check_value(cntr, 3);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void bad_attributes_are_refused(void)
{
	static const struct fi_cntr_attr bad[] = {
		{ .flags = 1ULL << 3 },
		{ .wait_obj = (enum fi_wait_obj)99 },
		{ .events = (enum fi_cntr_events)99 },
	};
	struct fid_cntr *cntr;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		struct fi_cntr_attr attr = bad[i];
		int ret = fi_cntr_open(env.domain, &attr, &cntr, NULL);

		if (ret >= 0 || (!i && ret != -FI_EINVAL))
			cf_fail(__FILE__, __LINE__, "row %zu: %d", i, ret);
	}
	if (cf_target.version >= FI_VERSION(2, 0))
		CHECK_EQ(fi_cntr_open(env.domain, NULL, &cntr, NULL), -FI_EINVAL);
	cf_close(&env);
}

static void transfers_are_counted(void)
{
	enum { COUNT = 10 };
	struct cf_options options = { .counters = true };
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (uint64_t i = 1; i <= COUNT; i++) {
		cf_exchange(&env, 16);
		check_value(env.side[0].tx_cntr, i);
		check_value(env.side[1].rx_cntr, i);
	}
	CHECK_EQ(fi_cntr_read(env.side[0].rx_cntr), 0);
	CHECK_EQ(fi_cntr_read(env.side[1].tx_cntr), 0);
	CHECK_EQ(fi_cntr_readerr(env.side[0].tx_cntr), 0);
	cf_close(&env);
}

/* Nothing but counters is read: they make progress. */
static void reading_makes_progress(void)
{
	struct cf_options options = { .counters = true };
	struct fi_context2 contexts[2];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct cf_env env;
	char in = 0, out = 4;

	cf_open_pair(&env, &options);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	while (fi_cntr_read(env.side[1].rx_cntr) < 1 && cf_now_ms() < deadline)
		(void)fi_cntr_read(env.side[0].tx_cntr);
	CHECK_EQ(fi_cntr_read(env.side[1].rx_cntr), 1);
	CHECK_EQ(in, 4);
	cf_close(&env);
}

static void one_counter_sums_several_events(void)
{
	struct cf_options options = { .not_enabled = true };
	struct fid_cntr *cntr;
	struct cf_env env;
	struct cf_side *side = &env.side[0];
	char name[256];
	size_t len = sizeof(name);
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	char in = 0, out = 4;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_OK(fi_ep_bind(side->ep, &cntr->fid, FI_SEND | FI_RECV));
	CHECK_OK(fi_enable(side->ep));
	CHECK_OK(fi_getname(&side->ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(side->av, name, 1, &side->self, 0, NULL), 1);
	CF_RETRY(side->rx_cq,
		fi_recv(side->ep, &in, 1, NULL, FI_ADDR_UNSPEC, &contexts[0]));
	CF_RETRY(side->tx_cq,
		fi_send(side->ep, &out, 1, NULL, side->self, &contexts[1]));
	cf_cq_wait(side->tx_cq, &entry);
	cf_cq_wait(side->tx_cq, &entry);
	check_value(cntr, 2);
	CF_CLOSE(side->ep);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void bytes_are_counted_or_refused(void)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_BYTES };
	struct cf_options options = { .not_enabled = true };
	struct fid_cntr *cntr[2];
	struct cf_env env;
	char name[2][256], out[32] = "bytes", in[32];
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	if (fi_cntr_open(env.domain, &attr, &cntr[0], NULL))
		SKIP("counters of bytes are not offered");
	CHECK_OK(fi_cntr_open(env.domain, &attr, &cntr[1], NULL));
	for (int i = 0; i < 2; i++) {
		size_t len = sizeof(name[i]);

		CHECK_OK(fi_ep_bind(env.side[i].ep, &cntr[i]->fid, FI_SEND | FI_RECV));
		CHECK_OK(fi_enable(env.side[i].ep));
		CHECK_OK(fi_getname(&env.side[i].ep->fid, name[i], &len));
	}
	CHECK_EQ(fi_av_insert(env.side[0].av, name[1], 1, &env.side[0].peer, 0, NULL),
		1);
	CHECK_EQ(fi_av_insert(env.side[1].av, name[0], 1, &env.side[1].peer, 0, NULL),
		1);
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	cf_post_send(&env, out, 20, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	check_value(cntr[0], 20);
	check_value(cntr[1], 20);
	for (int i = 0; i < 2; i++) {
		CF_CLOSE(env.side[i].ep);
		CF_CLOSE(cntr[i]);
	}
	cf_close(&env);
}

/* ---- waiting ---- */

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD };

static struct fid_cntr *waitable(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	cf_open_domain(env, NULL);
	return cf_new_cntr(env, wait_obj);
}

static void waits_end_or_time_out(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fid_cntr *cntr;
		struct cf_env env;

		cntr = waitable(&env, wait_objs[i]);
		CHECK_OK(fi_cntr_set(cntr, 5));
		CHECK_OK(fi_cntr_wait(cntr, 5, -1));
		CHECK_OK(fi_cntr_wait(cntr, 4, 0));
		CHECK_EQ(fi_cntr_wait(cntr, 6, 0), -FI_ETIMEDOUT);
		CHECK_EQ(fi_cntr_wait(cntr, 6, 5), -FI_ETIMEDOUT);
		CF_CLOSE(cntr);
		cf_close(&env);
	}
}

static void *add_one(void *arg)
{
	CHECK_OK(fi_cntr_add(arg, 1));
	return NULL;
}

struct failing {
	struct fid_cntr *cntr;
	atomic_bool stop;
};

/* One error could come before the wait begins: add them until it has ended. */
static void *add_errors(void *arg)
{
	struct failing *failing = arg;

	while (!atomic_load(&failing->stop)) {
		CHECK_OK(fi_cntr_adderr(failing->cntr, 1));
		(void)usleep(1000);
	}
	return NULL;
}

static void an_addition_ends_a_wait(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fid_cntr *cntr;
		pthread_t thread;
		struct cf_env env;

		cntr = waitable(&env, wait_objs[i]);
		CHECK_OK(pthread_create(&thread, NULL, add_one, cntr));
		CHECK_OK(fi_cntr_wait(cntr, 1, -1));
		CHECK_OK(pthread_join(thread, NULL));
		CF_CLOSE(cntr);
		cf_close(&env);
	}
}

static void an_error_ends_a_wait(void)
{
	struct failing failing = { .stop = false };
	pthread_t thread;
	struct cf_env env;
	int ret;

	failing.cntr = waitable(&env, FI_WAIT_UNSPEC);
	/* Errors from before do not count. */
	CHECK_OK(fi_cntr_adderr(failing.cntr, 3));
	CHECK_EQ(fi_cntr_wait(failing.cntr, 1, 5), -FI_ETIMEDOUT);
	CHECK_OK(pthread_create(&thread, NULL, add_errors, &failing));
	ret = fi_cntr_wait(failing.cntr, 1, -1);
	atomic_store(&failing.stop, true);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_EQ(ret, -FI_EAVAIL);
	CF_CLOSE(failing.cntr);
	cf_close(&env);
}

static void transfers_end_a_wait(void)
{
	struct cf_options options = { .counters = true, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_context2 contexts[2];
	struct cf_env env;
	char in = 0, out = 6;

	cf_open_pair(&env, &options);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	CHECK_OK(fi_cntr_wait(env.side[0].tx_cntr, 1, CF_TIMEOUT_MS));
	CHECK_OK(fi_cntr_wait(env.side[1].rx_cntr, 1, CF_TIMEOUT_MS));
	CHECK_EQ(in, 6);
	cf_close(&env);
}

static void the_descriptor_tells_of_changes(void)
{
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };
	enum fi_wait_obj wait_obj;
	struct fid_cntr *cntr;
	struct fid *fids[1];
	struct cf_env env;

	cf_open_domain(&env, NULL);
	if (fi_cntr_open(env.domain, &attr, &cntr, NULL))
		SKIP("FI_WAIT_FD is not offered");
	CHECK_OK(fi_control(&cntr->fid, FI_GETWAIT, &poll_fd.fd));
	CHECK_OK(fi_control(&cntr->fid, FI_GETWAITOBJ, &wait_obj));
	CHECK_EQ(wait_obj, FI_WAIT_FD);
	fids[0] = &cntr->fid;
	CHECK_OK(fi_trywait(env.fabric, fids, 1));
	CHECK_EQ(poll(&poll_fd, 1, 0), 0);
	CHECK_OK(fi_cntr_add(cntr, 1));
	CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void accelerator_calls_are_absent(void)
{
	struct fid_cntr *cntr;
	struct cf_env env;

	NEED_API(2, 6);
	cf_open_domain(&env, NULL);
	if (env.info->caps & FI_XPU)
		SKIP("the provider works with accelerators");
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_EITHER(fi_cntr_export_xpu(cntr, 0, NULL), -FI_ENOSYS, -FI_EINVAL);
	CF_CLOSE(cntr);
	cf_close(&env);
}

CF_SUITE(cntr, CF_CASE(values_are_set_and_added_to, "CNT-008 CNT-009 CNT-010", 0),
	CF_CASE(bad_attributes_are_refused, "CNT-001 CNT-002 CNT-003", 0),
	CF_CASE(transfers_are_counted, "CNT-004 CNT-019", FI_MSG),
	CF_CASE(reading_makes_progress, "CNT-008 THR-007", FI_MSG),
	CF_CASE(one_counter_sums_several_events, "CNT-021 MSG-017", FI_MSG),
	CF_CASE(bytes_are_counted_or_refused, "CNT-005 CNT-007", FI_MSG),
	CF_CASE(waits_end_or_time_out, "CNT-012 CNT-013", 0),
	CF_CASE(an_addition_ends_a_wait, "CNT-012", 0),
	CF_CASE(an_error_ends_a_wait, "CNT-014 CNT-015", 0),
	CF_CASE(transfers_end_a_wait, "CNT-012 THR-007", FI_MSG),
	CF_CASE(the_descriptor_tells_of_changes, "CNT-017 POL-012", 0),
	CF_CASE(accelerator_calls_are_absent, "CNT-024", 0));

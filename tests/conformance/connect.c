/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive endpoints and connections: requests, data, refusals, ends. */
#include <netinet/in.h>
#include <unistd.h>

#include "suites.h"

static const struct cf_options no_options;

/* Up to the request: side 0 has asked with @data, side 1 does not exist yet. */
static size_t ask_in(struct cf_env *env, const struct cf_options *options,
	const void *data, size_t len, struct cf_cm_event *request)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	char name[256];
	size_t got;

	cf_need_connected();
	cf_open_domain(env, options);
	CHECK_OK(fi_eq_open(env->fabric, &eq_attr, &env->eq, NULL));
	(void)cf_listen(env, name, sizeof(name));
	cf_open_side(env, &env->side[0], env->info, options);
	CHECK_OK(fi_connect(env->side[0].ep, name, data, len));
	got = cf_eq_wait(env, FI_CONNREQ, request);
	CHECK(request->entry.fid == &env->pep->fid);
	CHECK(request->entry.info);
	return got;
}

static size_t ask(
	struct cf_env *env, const void *data, size_t len, struct cf_cm_event *request)
{
	return ask_in(env, &no_options, data, len, request);
}

static void accept_with(struct cf_env *env, struct cf_cm_event *request,
	const void *data, size_t len, struct cf_cm_event connected[2], size_t got[2])
{
	cf_open_side(env, &env->side[1], request->entry.info, &no_options);
	CHECK_OK(fi_accept(env->side[1].ep, data, len));
	fi_freeinfo(request->entry.info);
	for (int i = 0; i < 2; i++) {
		struct cf_cm_event event;
		size_t n = cf_eq_wait(env, FI_CONNECTED, &event);
		int side = event.entry.fid == &env->side[1].ep->fid;

		CHECK(event.entry.fid == &env->side[side].ep->fid);
		connected[side] = event;
		got[side] = n;
	}
}

static size_t cm_size(struct cf_env *env)
{
	size_t size = 0, len = sizeof(size);

	CHECK_OK(fi_getopt(&env->side[0].ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE,
		&size, &len));
	return size;
}

static void data_goes_both_ways(void)
{
	struct cf_cm_event request, connected[2];
	size_t got[2], len;
	uint8_t out[48], back[40];
	struct cf_env env;

	cf_fill(out, sizeof(out), 1);
	cf_fill(back, sizeof(back), 2);
	len = ask(&env, out, sizeof(out), &request);
	CHECK(cm_size(&env) >= sizeof(out));
	CHECK(len >= sizeof(out));
	cf_verify(request.data, sizeof(out), 1);
	accept_with(&env, &request, back, sizeof(back), connected, got);
	CHECK(got[0] >= sizeof(back));
	cf_verify(connected[0].data, sizeof(back), 2);
	CHECK_EQ(got[1], 0);
	CHECK(!connected[0].entry.info && !connected[1].entry.info);
	cf_exchange(&env, 100);
	cf_close(&env);
}

/* Nothing has happened after a refusal: less data goes through. */
static void data_beyond_the_limit_is_refused(void)
{
	struct cf_cm_event request, connected[2];
	uint8_t out[1000];
	size_t got[2], len = sizeof(len), size, most;
	struct fid_ep *ep;
	struct cf_env env;

	cf_fill(out, sizeof(out), 3);
	(void)ask(&env, NULL, 0, &request);
	size = cm_size(&env);
	CHECK(size < sizeof(out));
	CHECK_OK(fi_getopt(
		&env.pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &most, &len));
	CHECK(most <= sizeof(request.data));
	CHECK_EQ(fi_reject(env.pep, request.entry.info->handle, out, most + 1),
		-FI_EINVAL);
	CHECK_OK(fi_endpoint(env.domain, request.entry.info, &ep, NULL));
	CHECK_EQ(fi_accept(ep, out, size + 1), -FI_EINVAL);
	CHECK_EQ(fi_connect(ep, request.entry.info->dest_addr, out, size + 1),
		-FI_EINVAL);
	CF_CLOSE(ep);
	fi_freeinfo(request.entry.info);
	cf_close(&env);

	len = ask(&env, out, size, &request);
	CHECK(len >= size);
	cf_verify(request.data, size, 3);
	accept_with(&env, &request, out, size, connected, got);
	cf_verify(connected[0].data, size, 3);
	cf_close(&env);
}

static void no_data_is_none(void)
{
	struct cf_cm_event request, connected[2];
	size_t got[2];
	struct cf_env env;

	CHECK_EQ(ask(&env, NULL, 0, &request), 0);
	accept_with(&env, &request, NULL, 0, connected, got);
	CHECK_EQ(got[0], 0);
	CHECK_EQ(got[1], 0);
	cf_exchange(&env, 1);
	cf_close(&env);
}

static void a_refusal_carries_data(void)
{
	struct fi_eq_err_entry err = { 0 };
	struct cf_cm_event request;
	uint8_t why[24], seen[64] = { 0 };
	struct cf_env env;

	(void)ask(&env, NULL, 0, &request);
	cf_fill(why, sizeof(why), 4);
	CHECK_OK(fi_reject(env.pep, request.entry.info->handle, why, sizeof(why)));
	fi_freeinfo(request.entry.info);
	err.err_data = seen;
	err.err_data_size = sizeof(seen);
	cf_eq_wait_err(&env, &err);
	CHECK(err.fid == &env.side[0].ep->fid);
	CHECK_EQ(err.err, FI_ECONNREFUSED);
	CHECK(err.err_data_size >= sizeof(why));
	cf_verify(seen, sizeof(why), 4);
	cf_close(&env);
}

static void nobody_listening_is_an_error(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_eq_err_entry err = { 0 };
	struct cf_env env;
	char name[256];
	int ret;

	cf_need_connected();
	cf_own_ports();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	CF_CLOSE(env.pep);
	cf_open_side(&env, &env.side[0], env.info, &no_options);
	ret = fi_connect(env.side[0].ep, name, NULL, 0);
	if (ret == 0) {
		cf_eq_wait_err(&env, &err);
		CHECK(err.fid == &env.side[0].ep->fid);
		CHECK_EQ(err.err, FI_ECONNREFUSED);
	} else {
		CHECK_EQ(ret, -FI_ECONNREFUSED);
	}
	cf_close(&env);
}

/* ---- the end ---- */

static void shutdown_is_told(void)
{
	struct cf_cm_event event;
	struct cf_env env;

	cf_need_connected();
	cf_open_pair(&env, NULL);
	cf_exchange(&env, 10);
	CHECK_FAILS(fi_shutdown(env.side[0].ep, 1));
	CHECK_OK(fi_shutdown(env.side[0].ep, 0));
	do {
		(void)cf_eq_wait(&env, FI_SHUTDOWN, &event);
	} while (event.entry.fid == &env.side[0].ep->fid);
	CHECK(event.entry.fid == &env.side[1].ep->fid);
	CHECK_FAILS(fi_send(env.side[0].ep, "x", 1, NULL, 0, NULL));
	cf_close(&env);
}

static void a_close_is_told(void)
{
	struct cf_cm_event event;
	struct cf_env env;

	cf_need_connected();
	cf_open_pair(&env, NULL);
	cf_exchange(&env, 10);
	CF_CLOSE(env.side[1].ep);
	(void)cf_eq_wait(&env, FI_SHUTDOWN, &event);
	CHECK(event.entry.fid == &env.side[0].ep->fid);
	cf_close(&env);
}

/* What was complete before stays readable, what was not ends in an error. */
static void pending_operations_end(void)
{
	enum { COUNT = 4 };
	struct cf_options options = { .split_cqs = true };
	struct fi_context2 contexts[COUNT], tx;
	struct fi_cq_data_entry entry;
	struct cf_cm_event event;
	char in[COUNT], out = 5;
	struct cf_env env;

	cf_need_connected();
	cf_open_pair(&env, &options);
	for (int i = 0; i < COUNT; i++)
		cf_post_recv(&env, &in[i], 1, &contexts[i]);
	cf_post_send(&env, &out, 1, &tx);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK_OK(fi_shutdown(env.side[0].ep, 0));
	do {
		(void)cf_eq_wait(&env, FI_SHUTDOWN, &event);
	} while (event.entry.fid != &env.side[1].ep->fid);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EQ(in[0], 5);
	for (int i = 1; i < COUNT; i++) {
		struct fi_cq_err_entry err = { 0 };

		cf_cq_wait_err(env.side[1].rx_cq, &err);
		CHECK(err.op_context == &contexts[i]);
		CHECK(err.err > 0);
	}
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

/* Everything sent before the end arrives. */
static void a_shutdown_loses_no_message(void)
{
	enum { COUNT = 20, LEN = 100000 };
	struct cf_options options = { .split_cqs = true };
	struct fi_context2 contexts[COUNT], tx[COUNT];
	struct fi_cq_data_entry entry;
	uint8_t *in = malloc(COUNT * LEN), *out = malloc(LEN);
	struct cf_env env;

	cf_need_connected();
	CHECK(in && out);
	cf_fill(out, LEN, 1);
	cf_open_pair(&env, &options);
	for (int i = 0; i < COUNT; i++)
		cf_post_recv(&env, in + i * LEN, LEN, &contexts[i]);
	for (int i = 0; i < COUNT; i++)
		cf_post_send(&env, out, LEN, &tx[i]);
	for (int i = 0; i < COUNT; i++)
		cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK_OK(fi_shutdown(env.side[0].ep, 0));
	for (int i = 0; i < COUNT; i++) {
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &contexts[i]);
		cf_verify(in + i * LEN, LEN, 1);
	}
	free(in);
	free(out);
	cf_close(&env);
}

/* ---- rules ---- */

static void receives_may_come_early(void)
{
	struct cf_cm_event request, event;
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct cf_env env;
	char in = 0, out = 7;
	ssize_t ret;

	(void)ask(&env, NULL, 0, &request);
	cf_open_side(&env, &env.side[1], request.entry.info, &no_options);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	ret = fi_send(env.side[0].ep, &out, 1, NULL, 0, &contexts[1]);
	if (ret >= 0)
		cf_fail(__FILE__, __LINE__, "a send before FI_CONNECTED: %zd", ret);
	CHECK_OK(fi_accept(env.side[1].ep, NULL, 0));
	fi_freeinfo(request.entry.info);
	(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	cf_post_send(&env, &out, 1, &contexts[1]);
	/* The queue of side 1 is its own. */
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK_EQ(in, 7);
	cf_close(&env);
}

static void automatic(struct fi_info *hints)
{
	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

/* The library's thread sleeps while the application accepts: events of the new
 * connection have to wake it. */
static void a_sleeping_thread_hears_of_the_connection(void)
{
	enum { NAP_US = 50000 }; /* long enough to fall asleep in, usually */
	struct cf_options options = { .adjust = automatic, .split_cqs = true };
	struct cf_cm_event request, event;
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct cf_env env;
	char in = 0, out = 7;

	cf_need_connected();
	/* A thread that both sides share would wake for the other one's sake. */
	cf_target.apart = true;
	if (!cf_offers(&options))
		SKIP("no automatic progress, or no delivery level");
	(void)ask_in(&env, &options, NULL, 0, &request);
	cf_open_other_side(&env, request.entry.info, &options);
	(void)usleep(NAP_US);
	CHECK_OK(fi_accept(env.side[1].ep, NULL, 0));
	fi_freeinfo(request.entry.info);
	for (int i = 0; i < 2; i++)
		(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	/* This makes progress of side 0 only. */
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &contexts[1]);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK_EQ(in, 7);
	cf_close(&env);
}

static void connecting_happens_once(void)
{
	struct cf_cm_event request, connected[2];
	char name[256];
	size_t got[2], len = sizeof(name);
	struct cf_env env;

	(void)ask(&env, NULL, 0, &request);
	CHECK_OK(fi_getname(&env.pep->fid, name, &len));
	CHECK_FAILS(fi_connect(env.side[0].ep, name, NULL, 0));
	accept_with(&env, &request, NULL, 0, connected, got);
	CHECK_FAILS(fi_connect(env.side[0].ep, name, NULL, 0));
	CHECK_FAILS(fi_accept(env.side[1].ep, NULL, 0));
	cf_exchange(&env, 10);
	cf_close(&env);
}

static void connecting_enables(void)
{
	struct cf_options options = { .not_enabled = true };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_cm_event event;
	struct cf_env env;
	char name[256];

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	cf_open_side(&env, &env.side[0], env.info, &options);
	CHECK_OK(fi_connect(env.side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(&env, FI_CONNREQ, &event);
	cf_open_side(&env, &env.side[1], event.entry.info, &options);
	CHECK_OK(fi_accept(env.side[1].ep, NULL, 0));
	fi_freeinfo(event.entry.info);
	(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	cf_exchange(&env, 10);
	cf_close(&env);
}

/* As bytes that are no address, or one of the family that the endpoint has not. */
static void an_address_in_another_format_is_refused(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 nothing = { .sin6_family = AF_UNSPEC };
	struct cf_cm_event request;
	struct cf_env env;
	char name[256];

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &(struct fi_eq_attr){ 0 }, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	cf_open_side(&env, &env.side[0], env.info, &no_options);
	CHECK_FAILS(fi_connect(env.side[0].ep, &nothing, NULL, 0));
	if (env.info->addr_format == FI_SOCKADDR_IN)
		CHECK_FAILS(fi_connect(env.side[0].ep, &in6, NULL, 0));
	else
		CHECK_FAILS(fi_connect(env.side[0].ep, &in, NULL, 0));
	cf_eq_quiet(&env);
	/* It was no attempt: the endpoint can still be connected. */
	CHECK_OK(fi_connect(env.side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(&env, FI_CONNREQ, &request);
	fi_freeinfo(request.entry.info);
	cf_close(&env);
}

/* Side 0 has an event queue of its own, side 1 leaves its events to the domain's. */
static void the_endpoints_queue_comes_before_the_domains(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_eq *own, *domains;
	struct cf_cm_event event;
	struct cf_env env;
	char name[256];

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &own, NULL));
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &domains, NULL));
	CHECK_OK(fi_domain_bind(env.domain, &domains->fid, 0));
	env.eq = own;
	(void)cf_listen(&env, name, sizeof(name));
	cf_open_side(&env, &env.side[0], env.info, &no_options);
	CHECK_OK(fi_connect(env.side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(&env, FI_CONNREQ, &event);
	env.eq = NULL;
	cf_open_side(&env, &env.side[1], event.entry.info, &no_options);
	CHECK_OK(fi_accept(env.side[1].ep, NULL, 0));
	fi_freeinfo(event.entry.info);
	for (int i = 0; i < 2; i++) {
		env.eq = i ? domains : own;
		(void)cf_eq_wait(&env, FI_CONNECTED, &event);
		CHECK(event.entry.fid == &env.side[i].ep->fid);
	}
	cf_eq_quiet(&env);
	env.eq = own;
	cf_eq_quiet(&env);
	for (int i = 0; i < 2; i++) {
		CF_CLOSE(env.side[i].ep);
		CF_CLOSE(env.side[i].tx_cq);
		env.side[i].rx_cq = NULL;
	}
	CF_CLOSE(env.domain);
	CF_CLOSE(domains);
	cf_close(&env);
}

static void names_of_both_ends(void)
{
	char mine[256], peers[256], part[4];
	size_t len[2], peer_len, short_len = 3;
	struct cf_env env;

	cf_need_connected();
	cf_open_pair(&env, NULL);
	for (int i = 0; i < 2; i++) {
		len[i] = sizeof(mine);
		CHECK_OK(fi_getname(&env.side[i].ep->fid, mine, &len[i]));
		peer_len = sizeof(peers);
		CHECK_OK(fi_getpeer(env.side[!i].ep, peers, &peer_len));
		CHECK_EQ(peer_len, len[i]);
		CHECK_EQ(cf_ip_port(peers), cf_ip_port(mine));
	}
	CHECK_EQ(fi_getpeer(env.side[0].ep, part, &short_len), -FI_ETOOSMALL);
	CHECK_EQ(short_len, peer_len);
	cf_close(&env);
}

/* Several clients of one listener, accepted in another order than they asked. */
static void several_clients(void)
{
	enum { COUNT = 10 };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_side sides[2][COUNT];
	struct fi_info *requests[COUNT];
	struct cf_cm_event event;
	struct cf_env env;
	char name[256];
	uint8_t which;

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	memset(sides, 0, sizeof(sides));
	for (which = 0; which < COUNT; which++) {
		cf_open_side(&env, &sides[0][which], env.info, &no_options);
		CHECK_OK(fi_connect(sides[0][which].ep, name, &which, 1));
	}
	for (int i = 0; i < COUNT; i++) {
		CHECK(cf_eq_wait(&env, FI_CONNREQ, &event) >= 1);
		CHECK(event.data[0] < COUNT);
		requests[event.data[0]] = event.entry.info;
	}
	for (int i = COUNT; i-- > 0;) {
		cf_open_side(&env, &sides[1][i], requests[i], &no_options);
		CHECK_OK(fi_accept(sides[1][i].ep, NULL, 0));
		fi_freeinfo(requests[i]);
	}
	for (int i = 0; i < 2 * COUNT; i++)
		(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	for (int i = 0; i < COUNT; i++) {
		env.side[0] = sides[0][i];
		env.side[1] = sides[1][i];
		cf_exchange(&env, 64);
	}
	for (int i = 0; i < COUNT; i++) {
		for (int s = 0; s < 2; s++) {
			CF_CLOSE(sides[s][i].ep);
			CF_CLOSE(sides[s][i].tx_cq);
		}
	}
	memset(env.side, 0, sizeof(env.side));
	cf_close(&env);
}

static void a_refusal_without_data(void)
{
	struct fi_eq_err_entry err = { 0 };
	struct cf_cm_event request;
	struct cf_env env;

	(void)ask(&env, NULL, 0, &request);
	CHECK_OK(fi_reject(env.pep, request.entry.info->handle, NULL, 0));
	fi_freeinfo(request.entry.info);
	cf_eq_wait_err(&env, &err);
	CHECK(err.fid == &env.side[0].ep->fid);
	CF_CLOSE(env.pep);
	cf_close(&env);
}

CF_SUITE(connect,
	CF_CASE(data_goes_both_ways,
		"CM-003 CM-012 CM-016 CM-017 EQ-016 "
		"EQ-017 CM-010 CM-011",
		FI_MSG),
	CF_CASE(data_beyond_the_limit_is_refused, "CM-015 OPT-006", FI_MSG),
	CF_CASE(no_data_is_none, "CM-016 EQ-017", FI_MSG),
	CF_CASE(a_refusal_carries_data, "CM-013 CM-014 EQ-019", FI_MSG),
	CF_CASE(nobody_listening_is_an_error, "CM-014", FI_MSG),
	CF_CASE(shutdown_is_told, "CM-019 CM-020", FI_MSG),
	CF_CASE(a_close_is_told, "CM-020", FI_MSG),
	CF_CASE(pending_operations_end, "CM-021 CM-022", FI_MSG),
	CF_CASE(a_shutdown_loses_no_message, "CM-021", FI_MSG),
	CF_CASE(receives_may_come_early, "CM-018", FI_MSG),
	CF_CASE(a_sleeping_thread_hears_of_the_connection, "THR-006 CM-019", FI_MSG),
	CF_CASE(connecting_happens_once, "CM-007", FI_MSG),
	CF_CASE(connecting_enables, "CM-008", FI_MSG),
	CF_CASE(an_address_in_another_format_is_refused, "CM-009", FI_MSG),
	CF_CASE(the_endpoints_queue_comes_before_the_domains, "EP-014 FAB-011", FI_MSG),
	CF_CASE(names_of_both_ends, "CM-025 CM-027", FI_MSG),
	CF_CASE(several_clients, "CM-003 CM-010 CM-012", FI_MSG),
	CF_CASE(a_refusal_without_data, "CM-013", FI_MSG));

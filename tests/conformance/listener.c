/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive endpoints before a request comes, and the addresses that they hand on. */
#include "suites.h"

static const struct cf_options no_options;

static void a_listener_has_rules(void)
{
	struct fid_pep *pep;
	struct fid_cq *cq;
	struct cf_env env;
	int backlog = 5;
	size_t size = 0, len = sizeof(size);

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_passive_ep(env.fabric, env.info, &pep, &env));
	CHECK_EQ(pep->fid.fclass, FI_CLASS_PEP);
	CHECK(pep->fid.context == &env);
	CHECK_FAILS(fi_listen(pep));
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_FAILS(fi_pep_bind(pep, &cq->fid, 0));
	CF_CLOSE(cq);
	CHECK_OK(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	CHECK_OK(fi_getopt(
		&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len));
	CHECK(size > 0);
	/* Closed without ever having listened. */
	CF_CLOSE(pep);
	cf_close(&env);
}

static void a_listener_gets_a_service(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_env env;
	char name[256];

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	CHECK(cf_ip_port(name) != 0);
	cf_eq_quiet(&env);
	cf_close(&env);
}

/* A passive endpoint with an address of its own choice, from which @env's first side is
 * then made. */
static void take_over(struct cf_env *env, struct fid_pep **ret_pep, void *name)
{
	struct fi_info *info;
	uint8_t any[64];
	size_t len = cf_ip_addr(env->info, any, 0), size = 64;

	CHECK_OK(fi_passive_ep(env->fabric, env->info, ret_pep, NULL));
	CHECK_OK(fi_setname(&(*ret_pep)->fid, any, len));
	CHECK_OK(fi_getname(&(*ret_pep)->fid, name, &size));
	CHECK(cf_ip_port(name) != 0);
	info = fi_dupinfo(env->info);
	CHECK(info);
	info->handle = &(*ret_pep)->fid;
	cf_open_side(env, &env->side[0], info, &no_options);
	fi_freeinfo(info);
}

static void check_name(struct fid_ep *ep, const void *wanted)
{
	uint8_t name[64];
	size_t len = sizeof(name);

	CHECK_OK(fi_getname(&ep->fid, name, &len));
	CHECK_EQ(cf_ip_port(name), cf_ip_port(wanted));
	CHECK(!memcmp(name, wanted, len));
}

static void a_listeners_address_is_taken_over(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	uint8_t own[64], name[64], peer[64];
	struct cf_cm_event event;
	struct fid_pep *pep;
	struct cf_env env;
	size_t len;

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	(void)cf_listen(&env, name, sizeof(name));
	take_over(&env, &pep, own);
	check_name(env.side[0].ep, own);
	/* The rejected connection is over, and does not occupy the address. */
	CHECK_OK(fi_pep_bind(pep, &env.eq->fid, 0));
	CHECK_FAILS(fi_listen(pep));
	CF_CLOSE(pep);
	check_name(env.side[0].ep, own);

	CHECK_OK(fi_connect(env.side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(&env, FI_CONNREQ, &event);
	cf_open_side(&env, &env.side[1], event.entry.info, &no_options);
	CHECK_OK(fi_accept(env.side[1].ep, NULL, 0));
	fi_freeinfo(event.entry.info);
	for (int i = 0; i < 2; i++)
		(void)cf_eq_wait(&env, FI_CONNECTED, &event);
	check_name(env.side[0].ep, own);
	len = sizeof(peer);
	CHECK_OK(fi_getpeer(env.side[1].ep, peer, &len));
	CHECK_EQ(cf_ip_port(peer), cf_ip_port(own));
	cf_exchange(&env, 100);
	cf_close(&env);
}

/* And only from one that does not listen. */
static void an_address_is_taken_over_once(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_pep *pep, *other;
	struct fi_info *info;
	struct fid_ep *ep;
	struct cf_env env;
	uint8_t own[64];

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	take_over(&env, &pep, own);
	info = fi_dupinfo(env.info);
	CHECK(info);
	info->handle = &pep->fid;
	CHECK_FAILS(fi_endpoint(env.domain, info, &ep, NULL));
	CHECK_OK(fi_passive_ep(env.fabric, env.info, &other, NULL));
	CHECK_OK(fi_pep_bind(other, &env.eq->fid, 0));
	CHECK_OK(fi_listen(other));
	info->handle = &other->fid;
	CHECK_FAILS(fi_endpoint(env.domain, info, &ep, NULL));
	fi_freeinfo(info);
	CF_CLOSE(other);
	CF_CLOSE(pep);
	cf_close(&env);
}

/* An endpoint whose info names a port connects from there. */
static void the_source_port_is_kept(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	uint8_t own[64], name[64];
	struct cf_cm_event event;
	struct fid_pep *pep;
	struct fi_info *info;
	struct cf_env env;
	size_t len = sizeof(own);

	cf_need_connected();
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	/* A port that was free a moment ago. */
	CHECK_OK(fi_passive_ep(env.fabric, env.info, &pep, NULL));
	CHECK_OK(fi_setname(&pep->fid, own, cf_ip_addr(env.info, own, 0)));
	CHECK_OK(fi_getname(&pep->fid, own, &len));
	CF_CLOSE(pep);
	info = fi_dupinfo(env.info);
	CHECK(info && info->src_addrlen == len);
	memcpy(info->src_addr, own, len);
	(void)cf_listen(&env, name, sizeof(name));
	cf_open_side(&env, &env.side[0], info, &no_options);
	fi_freeinfo(info);
	check_name(env.side[0].ep, own);
	CHECK_OK(fi_connect(env.side[0].ep, name, NULL, 0));
	(void)cf_eq_wait(&env, FI_CONNREQ, &event);
	CHECK_EQ(cf_ip_port(event.entry.info->dest_addr), cf_ip_port(own));
	check_name(env.side[0].ep, own);
	fi_freeinfo(event.entry.info);
	cf_close(&env);
}

CF_SUITE(listener,
	CF_CASE(a_listener_has_rules, "CM-001 CM-002 CM-036 OPT-006", FI_MSG),
	CF_CASE(a_listener_gets_a_service, "CM-005 CM-006", FI_MSG),
	CF_CASE(a_listeners_address_is_taken_over, "CM-035 CM-026", FI_MSG),
	CF_CASE(an_address_is_taken_over_once, "CM-035", FI_MSG),
	CF_CASE(the_source_port_is_kept, "CM-026", FI_MSG));

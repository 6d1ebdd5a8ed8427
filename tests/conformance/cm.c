/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of endpoints, and what connectionless ones answer to connection calls. */
#include "suites.h"

static void names_differ_and_are_complete(void)
{
	char names[2][256];
	size_t len[2];
	struct cf_env env;

	cf_open_pair(&env, NULL);
	for (int i = 0; i < 2; i++) {
		len[i] = sizeof(names[i]);
		CHECK_OK(fi_getname(&env.side[i].ep->fid, names[i], &len[i]));
		CHECK(len[i] > 0 && len[i] < sizeof(names[i]));
	}
	CHECK(len[0] != len[1] || memcmp(names[0], names[1], len[0]));
	if (env.info->addr_format == FI_ADDR_STR) {
		for (int i = 0; i < 2; i++)
			CHECK_EQ(strnlen(names[i], len[i]) + 1, len[i]);
	} else {
		char any[64];

		CHECK_EQ(len[0], cf_ip_addr(env.info, any, 0));
		CHECK(cf_ip_port(names[0]) != 0);
		CHECK(cf_ip_port(names[0]) != cf_ip_port(names[1]));
	}
	cf_close(&env);
}

static void a_short_buffer_is_told_the_size(void)
{
	char full[256], part[16];
	size_t len = sizeof(full), short_len = 3;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	CHECK_OK(fi_getname(&env.side[0].ep->fid, full, &len));
	memset(part, '#', sizeof(part));
	CHECK_EQ(fi_getname(&env.side[0].ep->fid, part, &short_len), -FI_ETOOSMALL);
	CHECK_EQ(short_len, len);
	CHECK(!memcmp(part, full, 3) && part[3] == '#');
	short_len = 0;
	CHECK_EQ(fi_getname(&env.side[0].ep->fid, NULL, &short_len), -FI_ETOOSMALL);
	CHECK_EQ(short_len, len);
	cf_close(&env);
}

/* The number of an address that no endpoint has. With IP it is a port that was free a
 * moment ago, of an endpoint that has been closed. */
static uint16_t free_number(void)
{
	struct cf_env env;
	char name[256];
	size_t len = sizeof(name);

	if (cf_target.addr_format == FI_ADDR_STR)
		return 7471;
	cf_own_ports();
	cf_open_pair(&env, NULL);
	CHECK_OK(fi_getname(&env.side[0].ep->fid, name, &len));
	cf_close(&env);
	return cf_ip_port(name);
}

/* Enable side 0 of an open but not enabled pair and read the name it then has. */
static void enabled_name(struct cf_env *env, char name[static 256])
{
	size_t len = 256;

	CHECK_OK(fi_enable(env->side[0].ep));
	CHECK_OK(fi_getname(&env->side[0].ep->fid, name, &len));
}

static void a_name_can_be_chosen(void)
{
	struct cf_options options = { .not_enabled = true };
	uint16_t number = free_number();
	struct cf_env env;
	char addr[64], name[256];
	size_t len;
	int ret;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	len = cf_addr(env.info, addr, number);
	ret = fi_setname(&env.side[0].ep->fid, addr, len);
	if (ret == -FI_ENOSYS)
		SKIP("names cannot be chosen");
	CHECK_OK(ret);
	enabled_name(&env, name);
	CHECK_EQ(cf_addr_number(name), number);
	cf_close(&env);
}

static void a_name_without_service_gets_one(void)
{
	struct cf_options options = { .not_enabled = true };
	struct cf_env env;
	char addr[64], name[256];
	size_t len;
	int ret;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	len = cf_ip_addr(env.info, addr, 0);
	ret = fi_setname(&env.side[0].ep->fid, addr, len);
	if (ret == -FI_ENOSYS)
		SKIP("names cannot be chosen");
	CHECK_OK(ret);
	enabled_name(&env, name);
	CHECK(cf_ip_port(name) != 0);
	cf_close(&env);
}

static void bad_names_are_refused(void)
{
	struct cf_options options = { .not_enabled = true };
	struct cf_env env;
	char addr[64], name[256];
	size_t len;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	len = cf_free_addr(env.info, addr);
	CHECK_FAILS(fi_setname(&env.side[0].ep->fid, addr, 1));
	memset(addr, 0x5a, sizeof(addr));
	CHECK_FAILS(fi_setname(&env.side[0].ep->fid, addr, len));
	enabled_name(&env, name);
	CHECK(env.info->addr_format == FI_ADDR_STR || cf_ip_port(name) != 0);
	cf_close(&env);
}

/* Addresses that mean nothing to the application cannot be chosen by it. */
static void need_chosen_names(void)
{
	if (cf_target.addr_format == FI_FORMAT_UNSPEC)
		SKIP("addresses have no format");
}

/* The source address of the info is where the endpoint lives. */
static void the_source_address_is_taken(void)
{
	uint16_t number = free_number();
	char service[16], name[256];
	size_t len = sizeof(name);
	struct fi_info *info;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;

	cf_need_connectionless();
	need_chosen_names();
	snprintf(service, sizeof(service), "%u", number);
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_getinfo(cf_target.version, cf_loopback(), service, FI_SOURCE,
		env.hints, &info));
	CHECK_OK(fi_endpoint(env.domain, info, &ep, NULL));
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	CHECK_EQ(cf_addr_number(name), number);
	CF_CLOSE(ep);
	CF_CLOSE(cq);
	CF_CLOSE(av);
	fi_freeinfo(info);
	cf_close(&env);
}

/* What names the endpoint of @name together with the host. */
static void service_of(const char *name, char *service, size_t size)
{
	const char *node = cf_target.addr_format == FI_ADDR_STR
				   ? strstr(name, cf_loopback())
				   : NULL;

	if (cf_target.addr_format != FI_ADDR_STR) {
		snprintf(service, size, "%u", cf_ip_port(name));
		return;
	}
	CHECK(node && node[strlen(cf_loopback())] == ':');
	snprintf(service, size, "%s", node + strlen(cf_loopback()) + 1);
}

static void a_service_in_use_is_refused(void)
{
	char service[64], name[256];
	size_t len = sizeof(name);
	struct fi_info *info;
	struct fid_ep *ep;
	struct cf_env env;
	int ret;

	cf_need_connectionless();
	need_chosen_names();
	cf_open_pair(&env, NULL);
	CHECK_OK(fi_getname(&env.side[0].ep->fid, name, &len));
	service_of(name, service, sizeof(service));
	CHECK_OK(fi_getinfo(cf_target.version, cf_loopback(), service, FI_SOURCE,
		env.hints, &info));
	ret = fi_endpoint(env.domain, info, &ep, NULL);
	if (!ret) {
		CHECK_OK(
			fi_ep_bind(ep, &env.side[0].tx_cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_ep_bind(ep, &env.side[0].av->fid, 0));
		ret = fi_enable(ep);
		CF_CLOSE(ep);
	}
	CHECK_EQ(ret, -FI_EADDRINUSE);
	fi_freeinfo(info);
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void connection_calls_are_absent(void)
{
	char name[256];
	size_t len = sizeof(name);
	struct fid_ep *ep;
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	ep = env.side[0].ep;
	CHECK_OK(fi_getname(&env.side[1].ep->fid, name, &len));
	CHECK_EQ(fi_connect(ep, name, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_accept(ep, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_shutdown(ep, 0), -FI_ENOSYS);
	CHECK_EQ(fi_getpeer(ep, name, &len), -FI_ENOSYS);
	CHECK_EQ(ep->cm->listen((struct fid_pep *)ep), -FI_ENOSYS);
	CHECK_EQ(ep->cm->reject((struct fid_pep *)ep, &ep->fid, NULL, 0), -FI_ENOSYS);
	cf_exchange(&env, 8);
	cf_close(&env);
}

CF_SUITE(cm, CF_CASE(names_differ_and_are_complete, "CM-025 CM-026", FI_MSG),
	CF_CASE(a_short_buffer_is_told_the_size, "CM-025", FI_MSG),
	CF_CASE(a_name_can_be_chosen, "CM-023 CM-026", FI_MSG),
	CF_CASE(a_name_without_service_gets_one, "CM-024", FI_MSG),
	CF_CASE(bad_names_are_refused, "CM-023", FI_MSG),
	CF_CASE(the_source_address_is_taken, "CM-026 GI-027", FI_MSG),
	CF_CASE(a_service_in_use_is_refused, "CM-026 EP-024", FI_MSG),
	CF_CASE(connection_calls_are_absent, "CM-027 CM-028 VER-017", FI_MSG));

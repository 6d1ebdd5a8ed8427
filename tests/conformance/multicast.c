/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups on the loopback. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "suites.h"

static const struct cf_options with_groups = {
	.caps = FI_MULTICAST | FI_SOURCE, .bind_eq = true, .split_cqs = true
};

/* A group of this host; its port is one that an endpoint of ours holds. */
static void group_addr(struct cf_env *env, void *addr)
{
	struct sockaddr_in *in = addr;
	struct sockaddr_in6 *in6 = addr;
	char name[256];
	size_t len = sizeof(name);

	CHECK_OK(fi_getname(&env->side[1].ep->fid, name, &len));
	(void)cf_ip_addr(env->info, addr, cf_ip_port(name));
	if (env->info->addr_format == FI_SOCKADDR_IN)
		CHECK_EQ(inet_pton(AF_INET, "239.255.74.71", &in->sin_addr), 1);
	else
		CHECK_EQ(inet_pton(AF_INET6, "ff11::7471", &in6->sin6_addr), 1);
}

static struct fid_mc *join(
	struct cf_env *env, int side, const void *addr, uint64_t flags, void *context)
{
	struct fi_eq_entry entry;
	struct fid_mc *mc;
	uint32_t event;
	int ret = fi_join(env->side[side].ep, addr, flags, &mc, context);

	if (ret == -FI_ENODEV || ret == -FI_ENETUNREACH || ret == -FI_EADDRNOTAVAIL)
		SKIP("the loopback has no multicast here: %s", fi_strerror(-ret));
	CHECK_OK(ret);
	CHECK_EQ(fi_eq_sread(env->eq, &event, &entry, sizeof(entry), CF_TIMEOUT_MS, 0),
		sizeof(entry));
	CHECK_EQ(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &mc->fid);
	CHECK(entry.context == context);
	CHECK_EQ(mc->fid.fclass, FI_CLASS_MC);
	CHECK(mc->fid.context == context);
	CHECK(fi_mc_addr(mc) != FI_ADDR_NOTAVAIL);
	return mc;
}

/* Send to the group from side 0; skips where the host does not route it. */
static void send_to(struct cf_env *env, struct fid_mc *mc, const void *buf, size_t len,
	void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = fi_mc_addr(mc),
		.context = context };
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct fid_cq *cq = env->side[0].tx_cq;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	CF_RETRY(cq, fi_sendmsg(env->side[0].ep, &msg, FI_MULTICAST));
	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN &&
		cf_now_ms() < deadline)
		;
	if (ret == -FI_EAVAIL) {
		CHECK_EQ(fi_cq_readerr(cq, &err, 0), 1);
		if (err.err == FI_ENETUNREACH || err.err == FI_EHOSTUNREACH)
			SKIP("the group cannot be reached here: %s",
				fi_strerror(err.err));
		cf_fail(__FILE__, __LINE__, "sending: %s", fi_strerror(err.err));
	}
	CHECK_EQ(ret, 1);
	CHECK(entry.op_context == context);
}

static void joining_needs_a_queue(void)
{
	struct cf_options options = with_groups;
	struct fid_mc *mc;
	struct cf_env env;
	char addr[64];

	options.bind_eq = false;
	cf_open_pair(&env, &options);
	group_addr(&env, addr);
	CHECK_EQ(fi_join(env.side[0].ep, addr, 0, &mc, NULL), -FI_ENOEQ);
	cf_close(&env);
}

static void the_queue_of_the_domain_serves(void)
{
	struct cf_options options = with_groups;
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_mc *mc;
	struct fid_eq *eq;
	struct cf_env env;
	char addr[64];
	int context;

	cf_need_connectionless();
	options.bind_eq = false;
	cf_open_pair(&env, &options);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &eq, NULL));
	CHECK_OK(fi_domain_bind(env.domain, &eq->fid, 0));
	env.eq = eq;
	group_addr(&env, addr);
	mc = join(&env, 0, addr, FI_SEND, &context);
	CF_CLOSE(mc);
	for (int i = 0; i < 2; i++)
		CF_CLOSE(env.side[i].ep);
	for (int i = 0; i < 2; i++) {
		CF_CLOSE(env.side[i].rx_cq);
		CF_CLOSE(env.side[i].tx_cq);
		CF_CLOSE(env.side[i].av);
	}
	CF_CLOSE(env.domain);
	cf_close(&env);
}

static void bad_requests_are_refused(void)
{
	struct fid_mc *mc;
	struct cf_env env;
	char addr[64];

	cf_open_pair(&env, &with_groups);
	group_addr(&env, addr);
	CHECK_FAILS(fi_join(env.side[0].ep, addr, 1ULL << 3, &mc, NULL));
	if (!(env.info->caps & FI_COLLECTIVE))
		CHECK_EQ(fi_join(env.side[0].ep, addr, FI_COLLECTIVE, &mc, NULL),
			-FI_ENOSYS);
	(void)cf_ip_addr(env.info, addr, 4711);
	CHECK_FAILS(fi_join(env.side[0].ep, addr, 0, &mc, NULL));
	cf_close(&env);
}

static void a_direction_that_is_missing_is_refused(void)
{
	struct cf_options options = { .caps = FI_MULTICAST | FI_SEND, .bind_eq = true };
	struct fid_mc *mc;
	struct cf_env env;
	char addr[64];

	cf_open_pair(&env, &options);
	if (env.info->caps & FI_RECV)
		SKIP("the endpoint receives too");
	group_addr(&env, addr);
	CHECK_FAILS(fi_join(env.side[0].ep, addr, FI_RECV, &mc, NULL));
	cf_close(&env);
}

static void members_receive(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_mc *mcs[2];
	struct cf_env env;
	char addr[64], out[24], in[24];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	fi_addr_t from = 0;
	ssize_t ret;

	cf_open_pair(&env, &with_groups);
	group_addr(&env, addr);
	mcs[0] = join(&env, 0, addr, FI_SEND, &contexts[0]);
	mcs[1] = join(&env, 1, addr, FI_RECV, &contexts[1]);
	cf_fill(out, sizeof(out), 5);
	cf_post_recv(&env, in, sizeof(in), &contexts[1]);
	send_to(&env, mcs[0], out, sizeof(out), &contexts[0]);
	while ((ret = fi_cq_readfrom(env.side[1].rx_cq, &entry, 1, &from)) ==
			-FI_EAGAIN &&
		cf_now_ms() < deadline)
		;
	CHECK_EQ(ret, 1);
	CHECK(entry.op_context == &contexts[1]);
	CHECK(entry.flags & FI_MULTICAST);
	CHECK_EQ(from, env.side[1].peer);
	cf_verify(in, sizeof(in), 5);
	CHECK_EQ(fi_close(&env.side[1].ep->fid), -FI_EBUSY);
	/* Unicast works at the same time, and is reported as unicast. */
	cf_post_recv(&env, in, sizeof(in), &contexts[1]);
	cf_post_send(&env, out, sizeof(out), &contexts[0]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(!(entry.flags & FI_MULTICAST));
	CF_CLOSE(mcs[1]);
	CF_CLOSE(mcs[0]);
	cf_close(&env);
}

/* An endpoint without a local address, on the group's port, hears both ways. */
static void members_without_an_address(void)
{
	struct cf_options options = with_groups;
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_mc *mcs[2];
	struct cf_env env;
	char addr[64], name[256], any[64], out[8] = "group", in[8];
	size_t len = sizeof(name), any_len;

	options.not_enabled = true;
	cf_open_pair(&env, &options);
	any_len = cf_ip_addr(env.info, any, 0);
	if (env.info->addr_format == FI_SOCKADDR_IN)
		((struct sockaddr_in *)(void *)any)->sin_addr.s_addr = 0;
	else
		((struct sockaddr_in6 *)(void *)any)->sin6_addr = in6addr_any;
	if (fi_setname(&env.side[1].ep->fid, any, any_len) == -FI_ENOSYS)
		SKIP("names cannot be chosen");
	for (int i = 0; i < 2; i++)
		CHECK_OK(fi_enable(env.side[i].ep));
	group_addr(&env, addr);
	CHECK_OK(fi_getname(&env.side[1].ep->fid, name, &len));
	(void)cf_ip_addr(env.info, any, cf_ip_port(name));
	CHECK_EQ(fi_av_insert(env.side[0].av, any, 1, &env.side[0].peer, 0, NULL), 1);
	mcs[0] = join(&env, 0, addr, FI_SEND, NULL);
	if (fi_join(env.side[1].ep, addr, FI_RECV, &mcs[1], NULL))
		SKIP("no interface has multicast here");
	cf_post_recv(&env, in, sizeof(in), &contexts[1]);
	cf_post_send(&env, out, sizeof(out), &contexts[0]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	CHECK(entry.op_context == &contexts[1]);
	CHECK(!(entry.flags & FI_MULTICAST));
	CF_CLOSE(mcs[1]);
	CF_CLOSE(mcs[0]);
	cf_close(&env);
}

static void who_left_receives_no_more(void)
{
	struct fi_context2 contexts[2];
	struct fid_mc *mcs[2];
	struct cf_env env;
	char addr[64], out[8] = "group", in[8];

	cf_open_pair(&env, &with_groups);
	group_addr(&env, addr);
	mcs[0] = join(&env, 0, addr, FI_SEND, NULL);
	mcs[1] = join(&env, 1, addr, FI_RECV, NULL);
	CF_CLOSE(mcs[1]);
	cf_post_recv(&env, in, sizeof(in), &contexts[1]);
	send_to(&env, mcs[0], out, sizeof(out), &contexts[0]);
	cf_cq_quiet(env.side[1].rx_cq);
	/* Joining again works. */
	mcs[1] = join(&env, 1, addr, FI_RECV, NULL);
	send_to(&env, mcs[0], out, sizeof(out), &contexts[0]);
	cf_cq_wait(env.side[1].rx_cq, &(struct fi_cq_data_entry){ 0 });
	CF_CLOSE(mcs[1]);
	CF_CLOSE(mcs[0]);
	cf_close(&env);
}

static void several_groups(void)
{
	enum { GROUPS = 6 };
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_mc *mcs[2][GROUPS];
	struct cf_env env;
	char addr[64], out, in;

	cf_open_pair(&env, &with_groups);
	group_addr(&env, addr);
	for (int i = 0; i < GROUPS; i++) {
		/* The last byte of the group's address in either format. */
		size_t last = env.info->addr_format == FI_SOCKADDR_IN
				      ? offsetof(struct sockaddr_in, sin_addr) + 3
				      : offsetof(struct sockaddr_in6, sin6_addr) + 15;

		addr[last] = (char)(i + 1);
		mcs[0][i] = join(&env, 0, addr, FI_SEND, NULL);
		mcs[1][i] = join(&env, 1, addr, FI_RECV, NULL);
	}
	for (int i = GROUPS - 1; i >= 0; i--) {
		out = (char)i;
		cf_post_recv(&env, &in, 1, &contexts[1]);
		send_to(&env, mcs[0][i], &out, 1, &contexts[0]);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK_EQ(in, i);
	}
	for (int i = 0; i < GROUPS; i++) {
		CF_CLOSE(mcs[0][i]);
		CF_CLOSE(mcs[1][i]);
	}
	cf_close(&env);
}

CF_SUITE(multicast,
	CF_CASE(joining_needs_a_queue, "CM-029", FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(the_queue_of_the_domain_serves, "FAB-011 CM-030",
		FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(bad_requests_are_refused, "CM-037 COL-015",
		FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(a_direction_that_is_missing_is_refused, "CM-031",
		FI_MSG | FI_MULTICAST),
	CF_CASE(members_receive, "VER-018 CM-030 CM-032 CM-033 MSG-015 CQ-042 EQ-015",
		FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(members_without_an_address, "CM-033 CQ-042",
		FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(who_left_receives_no_more, "CM-034", FI_MSG | FI_MULTICAST | FI_SOURCE),
	CF_CASE(several_groups, "CM-033 CM-034", FI_MSG | FI_MULTICAST | FI_SOURCE));

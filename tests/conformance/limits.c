/* SPDX-License-Identifier: BSD-2-Clause */
/* Absurd sizes and lengths, many objects, and that closing gives everything back. */
#include <dirent.h>

#include "suites.h"

/* Refused or granted, but no crash and no memory beyond reason. */
static void absurd_sizes(void)
{
	struct fi_cq_attr cq_attr = { .size = SIZE_MAX, .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .count = SIZE_MAX };
	struct fi_eq_attr eq_attr = { .size = SIZE_MAX, .wait_obj = FI_WAIT_UNSPEC };
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;
	int ret;

	cf_open_domain(&env, NULL);
	ret = fi_cq_open(env.domain, &cq_attr, &cq, NULL);
	CHECK(ret <= 0);
	if (!ret)
		CF_CLOSE(cq);
	ret = fi_av_open(env.domain, &av_attr, &av, NULL);
	CHECK(ret <= 0);
	if (!ret)
		CF_CLOSE(av);
	ret = fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL);
	CHECK(ret <= 0);
	if (ret)
		env.eq = NULL;
	/* Nothing was left half open. */
	cf_close(&env);
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	if (!dir)
		SKIP("/proc is not mounted");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void use_everything(void)
{
	struct cf_options options = { .wait_obj = FI_WAIT_FD,
		.split_cqs = true,
		.counters = true,
		.bind_eq = true };
	struct fi_cq_data_entry entry;
	struct cf_env env;
	char in[8], out[8] = "all";
	struct fi_context2 contexts[2];

	cf_open_pair(&env, &options);
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	cf_post_send(&env, out, sizeof(out), &contexts[1]);
	CHECK_EQ(fi_cq_sread(env.side[0].tx_cq, &entry, 1, NULL, CF_TIMEOUT_MS), 1);
	CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS), 1);
	CHECK_OK(fi_cntr_wait(env.side[1].rx_cntr, 1, CF_TIMEOUT_MS));
	cf_close(&env);
}

static void closing_returns_descriptors(void)
{
	int before;

	use_everything(); /* what is opened once stays open */
	before = open_descriptors();
	for (int i = 0; i < 10; i++)
		use_everything();
	CHECK_EQ(open_descriptors(), before);
}

static void a_name_chosen_again_replaces_the_first(void)
{
	struct cf_options options = { .not_enabled = true };
	struct fid_ep *ep;
	struct cf_env env;
	char addr[64], name[2][256];
	size_t len, name_len[2] = { sizeof(name[0]), sizeof(name[1]) };
	int before;

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	ep = env.side[0].ep;
	len = cf_free_addr(env.info, addr);
	if (fi_setname(&ep->fid, addr, len) == -FI_ENOSYS)
		SKIP("names cannot be chosen");
	before = open_descriptors();
	CHECK_OK(fi_getname(&ep->fid, name[0], &name_len[0]));
	for (int i = 0; i < 5; i++)
		CHECK_OK(fi_setname(&ep->fid, addr, len));
	CHECK_EQ(open_descriptors(), before);
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_getname(&ep->fid, name[1], &name_len[1]));
	CHECK(cf_addr_number(name[1]) != 0);
	cf_close(&env);
}

static void many_endpoints(void)
{
	enum { COUNT = 100 };
	struct fid_ep *eps[COUNT];
	fi_addr_t addrs[COUNT];
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;

	if (cf_target.type == FI_EP_MSG)
		SKIP("needs connectionless endpoints");
	cf_open_domain(&env, NULL);
	/* One queue of a device takes the completions of all. */
	if (cf_device_matches(&env))
		env.info->tx_attr->size = env.info->rx_attr->size = 64;
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	for (int i = 0; i < COUNT; i++) {
		char name[256];
		size_t len = sizeof(name);

		eps[i] = cf_new_ep(&env);
		CHECK_OK(fi_ep_bind(eps[i], &cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_ep_bind(eps[i], &av->fid, 0));
		CHECK_OK(fi_enable(eps[i]));
		CHECK_OK(fi_getname(&eps[i]->fid, name, &len));
		CHECK_EQ(fi_av_insert(av, name, 1, &addrs[i], 0, NULL), 1);
		CHECK_EQ(addrs[i], i);
	}
	/* Around a ring, each to the next. */
	for (int i = 0; i < COUNT; i++) {
		int to = (i + 1) % COUNT, in = -1;

		CF_RETRY(cq, fi_recv(eps[to], &in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				     &contexts[0]));
		CF_RETRY(cq,
			fi_send(eps[i], &i, sizeof(i), NULL, addrs[to], &contexts[1]));
		cf_cq_wait(cq, &entry);
		cf_cq_wait(cq, &entry);
		CHECK_EQ(in, i);
	}
	for (int i = 0; i < COUNT; i++)
		CF_CLOSE(eps[i]);
	CF_CLOSE(av);
	CF_CLOSE(cq);
	cf_close(&env);
}

/* ---- lengths that no buffer has ---- */

enum { CALLS = 11 };

/* Start the @call-th kind of transfer of @len bytes in two equal pieces, or in one. */
static ssize_t start_long(struct cf_side *from, unsigned int call, uint8_t *buf,
	size_t len, struct fi_context2 *context)
{
	struct iovec iov[2] = { { buf, len / 2 }, { buf, len - len / 2 } };
	struct fi_rma_iov rma = { .len = len };
	struct fi_msg msg = { iov, NULL, 2, from->peer, context, 0 };
	struct fi_msg_tagged tagged = { iov, NULL, 2, from->peer, 1, 0, context, 0 };
	struct fi_msg_rma access = { iov, NULL, 2, from->peer, &rma, 1, context, 0 };

	switch (call) {
	case 0:
		return fi_send(from->ep, buf, len, NULL, from->peer, context);
	case 1:
		return fi_sendv(from->ep, iov, NULL, 2, from->peer, context);
	case 2:
		return fi_sendmsg(from->ep, &msg, 0);
	case 3:
		return fi_tsend(from->ep, buf, len, NULL, from->peer, 1, context);
	case 4:
		return fi_tsendmsg(from->ep, &tagged, 0);
	case 5:
		return fi_write(from->ep, buf, len, NULL, from->peer, 0, 1, context);
	case 6:
		return fi_writev(from->ep, iov, NULL, 2, from->peer, 0, 1, context);
	case 7:
		return fi_writemsg(from->ep, &access, 0);
	case 8:
		return fi_read(from->ep, buf, len, NULL, from->peer, 0, 1, context);
	case 9:
		return fi_readmsg(from->ep, &access, 0);
	default:
		return fi_inject_write(from->ep, buf, len, from->peer, 0, 1);
	}
}

/* Also such as overflow in a sum; the peer is there, and goes on. */
static void lengths_that_no_buffer_has(void)
{
	static const size_t lens[] = { ((size_t)1 << 47) + 1, ((size_t)1 << 62) - 9,
		(size_t)1 << 62, SIZE_MAX / 2, SIZE_MAX - 9, SIZE_MAX };
	struct cf_options options = { .caps = FI_TAGGED | FI_RMA, .split_cqs = true };
	struct cf_side *from;
	struct cf_env env;
	struct fi_context2 context;
	uint8_t buf[64] = { 0 };

	cf_open_pair(&env, &options);
	if (env.info->tx_attr->iov_limit < 2)
		SKIP("one buffer only");
	cf_meet(&env);
	from = &env.side[0];
	CHECK(env.info->ep_attr->max_msg_size <= lens[0]);
	for (size_t i = 0; i < CF_COUNT(lens); i++) {
		for (unsigned int call = 0; call < CALLS; call++)
			CHECK_EQ(start_long(from, call, buf, lens[i], &context),
				-FI_EMSGSIZE);
	}
	cf_cq_quiet(from->tx_cq);
	cf_exchange(&env, sizeof(buf));
	cf_close(&env);
}

CF_SUITE(limits, CF_CASE(absurd_sizes, "CQ-001 AV-001 EQ-001", 0),
	CF_CASE(closing_returns_descriptors, "VER-019 EP-027", FI_MSG),
	CF_CASE(a_name_chosen_again_replaces_the_first, "CM-023 CM-026", FI_MSG),
	CF_CASE(lengths_that_no_buffer_has, "MSG-005", FI_MSG | FI_TAGGED | FI_RMA),
	CF_CASE(many_endpoints, "EP-009 DAT-034", FI_MSG));

/* SPDX-License-Identifier: BSD-2-Clause */
/* Where messages go and come from. */
#include "suites.h"

static void an_unknown_destination_fails(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;
	char out[4] = "who";
	ssize_t ret;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	ret = fi_send(env.side[0].ep, out, sizeof(out), NULL, 4711, &context);
	if (ret == 0) {
		cf_cq_wait_err(env.side[0].tx_cq, &err);
		CHECK(err.op_context == &context);
		CHECK(err.err > 0);
	} else {
		CHECK_FAILS(ret);
		CHECK(ret != -FI_EAGAIN);
	}
	cf_exchange(&env, 4);
	cf_close(&env);
}

static void a_removed_destination_fails(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_context2 context;
	struct cf_env env;
	char out[4] = "who";
	ssize_t ret;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	CHECK_OK(fi_av_remove(env.side[0].av, &env.side[0].peer, 1, 0));
	ret = fi_send(
		env.side[0].ep, out, sizeof(out), NULL, env.side[0].peer, &context);
	if (ret == 0)
		cf_cq_wait_err(env.side[0].tx_cq, &err);
	else
		CHECK_FAILS(ret);
	cf_close(&env);
}

static void sending_to_oneself(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	struct cf_side *side = &env.side[0];
	char out[16], in[16];
	bool sent = false, received = false;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	cf_fill(out, sizeof(out), 2);
	CF_RETRY(side->rx_cq,
		fi_recv(side->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &contexts[0]));
	CF_RETRY(side->tx_cq,
		fi_send(side->ep, out, sizeof(out), NULL, side->self, &contexts[1]));
	for (int i = 0; i < 2; i++) {
		cf_cq_wait(side->tx_cq, &entry);
		sent |= entry.op_context == &contexts[1];
		received |= entry.op_context == &contexts[0];
	}
	CHECK(sent && received);
	cf_verify(in, sizeof(in), 2);
	cf_close(&env);
}

/* Without FI_DIRECTED_RECV a receive takes what comes, whatever source it names. */
static void the_source_of_a_receive_is_ignored(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	struct cf_side *to = &env.side[1];
	char out[4] = "abc", in[4];

	cf_open_pair(&env, NULL);
	CHECK(!(env.info->caps & FI_DIRECTED_RECV));
	CF_RETRY(to->rx_cq,
		fi_recv(to->ep, in, sizeof(in), NULL, to->self, &contexts[0]));
	cf_post_send(&env, out, sizeof(out), &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(to->rx_cq, &entry);
	CHECK(entry.op_context == &contexts[0]);
	CHECK(!memcmp(in, out, sizeof(in)));
	cf_close(&env);
}

static void a_message_without_a_receive_may_be_dropped(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	char out[4] = "any";

	if (cf_target.type != FI_EP_DGRAM)
		SKIP("is about datagrams");
	cf_open_pair(&env, NULL);
	cf_post_send(&env, out, sizeof(out), &context);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(entry.op_context == &context);
	cf_cq_quiet(env.side[1].rx_cq);
	cf_close(&env);
}

static void a_missing_peer_hurts_nobody(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	char out[4] = "any", addr[64];
	fi_addr_t nobody;
	size_t len = sizeof(addr);

	if (cf_target.type != FI_EP_DGRAM)
		SKIP("is about datagrams");
	/* An address that was in use a moment ago: the kernel refuses with an error
	 * on the sending socket, which must not reach later operations. */
	cf_open_pair(&env, NULL);
	{
		struct fid_ep *ep = cf_new_ep(&env);

		CHECK_OK(
			fi_ep_bind(ep, &env.side[0].tx_cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_ep_bind(ep, &env.side[0].av->fid, 0));
		CHECK_OK(fi_enable(ep));
		CHECK_OK(fi_getname(&ep->fid, addr, &len));
		CF_CLOSE(ep);
	}
	CHECK_EQ(fi_av_insert(env.side[0].av, addr, 1, &nobody, 0, NULL), 1);
	for (int i = 0; i < 5; i++) {
		CF_RETRY(env.side[0].tx_cq, fi_send(env.side[0].ep, out, sizeof(out),
						    NULL, nobody, &context));
		cf_cq_wait(env.side[0].tx_cq, &entry);
		cf_exchange(&env, 8);
	}
	cf_close(&env);
}

/* An address that cannot be connected to. A provider that has connections refuses the
 * message, and delivers the next one over the connection that the peer made. */
static void a_peer_behind_a_firewall_connects_itself(void)
{
	struct fi_context2 contexts[4];
	struct cf_side *own, *other;
	struct cf_env env;
	char out[4] = "any", in[4], name[256];
	size_t len = sizeof(name);
	ssize_t ret;

	cf_need_connectionless();
	cf_open_pair(&env, NULL);
	own = &env.side[0];
	other = &env.side[1];
	CHECK_OK(fi_getname(&other->ep->fid, name, &len));
	CHECK_OK(fi_av_remove(own->av, &own->peer, 1, 0));
	CHECK_EQ(fi_av_insert(own->av, name, 1, &own->peer, FI_FIREWALL_ADDR, NULL), 1);
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	ret = fi_send(own->ep, out, sizeof(out), NULL, own->peer, &contexts[1]);
	if (!strcmp(cf_target.provider, "tcp") && !cf_target.greeted)
		CHECK_EQ(ret, -FI_EFIREWALLADDR);
	CHECK_EITHER(ret, 0, -FI_EFIREWALLADDR);
	if (!ret) {
		(void)cf_cq_wait_for(own->tx_cq, &contexts[1]);
		(void)cf_cq_wait_for(other->rx_cq, &contexts[0]);
		cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	}
	CF_RETRY(own->rx_cq,
		fi_recv(own->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &contexts[2]));
	CF_RETRY(other->tx_cq,
		fi_send(other->ep, out, sizeof(out), NULL, other->peer, &contexts[3]));
	(void)cf_cq_wait_for(other->tx_cq, &contexts[3]);
	(void)cf_cq_wait_for(own->rx_cq, &contexts[2]);
	memset(in, 0, sizeof(in));
	cf_post_send(&env, out, sizeof(out), &contexts[1]);
	(void)cf_cq_wait_for(own->tx_cq, &contexts[1]);
	(void)cf_cq_wait_for(other->rx_cq, &contexts[0]);
	CHECK(!memcmp(in, out, sizeof(in)));
	cf_close(&env);
}

CF_SUITE(msg_addr, CF_CASE(an_unknown_destination_fails, "MSG-008", FI_MSG),
	CF_CASE(a_removed_destination_fails, "MSG-008 AV-029", FI_MSG),
	CF_CASE(sending_to_oneself, "MSG-017", FI_MSG),
	CF_CASE(the_source_of_a_receive_is_ignored, "MSG-009 CAP-009", FI_MSG),
	CF_CASE(a_message_without_a_receive_may_be_dropped, "MSG-019", FI_MSG),
	CF_CASE(a_peer_behind_a_firewall_connects_itself, "AV-023", FI_MSG),
	CF_CASE(a_missing_peer_hurts_nobody, "THR-011 THR-013", FI_MSG));

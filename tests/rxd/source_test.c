/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets an endpoint of udp;ofi_rxd believes: those that come from the address
 * of a peer, and name the index that was given to it. And what it does for a peer from
 * which none comes. */
#include <poll.h>

#include "raw.h"

/* A message of the peer arrives, which is its next one. */
static void expect_msg(struct rdm_end *env, struct raw *raw, uint32_t value)
{
	struct fi_context2 context;
	uint32_t got = 0;

	assert_int_equal(fi_recv(env->ep, &got, sizeof(got), NULL, 0, &context), 0);
	raw_msg(raw, env, raw->next++, &value, sizeof(value));
	await(env, &context);
	assert_int_equal(got, value);
}

static void another_address_names_the_index_of_a_peer(void **state)
{
	struct raw peer, stranger;
	struct fi_context2 context;
	uint32_t got = 0, lie = 66;
	struct rdm_end env;

	(void)state;
	setup(&env);
	raw_open(&peer);
	raw_open(&stranger);
	raw_greet(&peer, &env);
	stranger.index = peer.index;
	assert_int_equal(fi_recv(env.ep, &got, sizeof(got), NULL, 0, &context), 0);
	raw_msg(&stranger, &env, peer.next, &lie, sizeof(lie));
	/* The answer shows that the message before the RTS has been read. */
	raw_greet(&stranger, &env);
	assert_int_equal(got, 0);
	lie = 1;
	raw_msg(&peer, &env, peer.next, &lie, sizeof(lie));
	await(&env, &context);
	assert_int_equal(got, 1);
	raw_close(&peer);
	raw_close(&stranger);
	rdm_end_close(&env);
}

/* Another address says that it is the peer, restarted: the messages of the peer go on,
 * in both directions, and the one that says it is a peer of its own. */
static void another_address_greets_by_the_name_of_a_peer(void **state)
{
	struct raw peer, stranger;
	struct fi_context2 context;
	uint8_t packet[PACKET_MAX];
	uint32_t value = 5;
	struct rdm_end env;
	fi_addr_t to;

	(void)state;
	setup(&env);
	raw_open(&peer);
	raw_open(&stranger);
	assert_int_equal(fi_av_insert(env.av, &peer.addr, 1, &to, 0, NULL), 1);
	raw_greet(&peer, &env);
	expect_msg(&env, &peer, 1);
	assert_int_equal(fi_sendmsg(env.ep,
				 &(struct fi_msg){ .msg_iov = &(struct iovec){ &value,
							   sizeof(value) },
					 .iov_count = 1,
					 .addr = to,
					 .context = &context },
				 FI_COMPLETION | FI_TRANSMIT_COMPLETE),
		0);
	(void)raw_get(&peer, &env, RXD_MSG, packet);
	stranger.own = 99;
	raw_rts(&stranger, &env, &peer.addr, 0);
	raw_rts(&stranger, &env, &peer.addr, rxd_epoch_new());
	/* It gets the answers itself. */
	(void)raw_get(&stranger, &env, RXD_CTS, packet);
	raw_ack(&peer, &env, 1);
	await(&env, &context);
	expect_msg(&env, &peer, 2);
	raw_close(&peer);
	raw_close(&stranger);
	rdm_end_close(&env);
}

/* A peer whose endpoint is bound to all addresses does not know its own. */
static void a_name_without_an_address(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	uint8_t packet[PACKET_MAX];
	struct rxd_cts cts;
	struct rdm_end env;
	struct raw peer;
	size_t len;

	(void)state;
	setup(&env);
	raw_open(&peer);
	any.sin_port = peer.addr.sin_port;
	raw_rts(&peer, &env, &any, 0);
	len = raw_get(&peer, &env, RXD_CTS, packet);
	assert_true(rxd_cts_read(packet, len, 0, &cts));
	peer.index = (uint32_t)cts.index;
	expect_msg(&env, &peer, 3);
	raw_close(&peer);
	rdm_end_close(&env);
}

/* All bits of an index are random: of 64, each bit is sometimes set and sometimes
 * not. */
static void indices_are_random(void **state)
{
	enum { COUNT = 64 };
	uint32_t ones = 0, zeros = 0;
	struct rdm_end env;

	(void)state;
	setup(&env);
	for (int i = 0; i < COUNT; i++) {
		struct raw peer;

		raw_open(&peer);
		raw_greet(&peer, &env);
		ones |= peer.index;
		zeros |= ~peer.index;
		raw_close(&peer);
	}
	assert_int_equal(ones, UINT32_MAX);
	assert_int_equal(zeros, UINT32_MAX);
	rdm_end_close(&env);
}

/* A greeting that is not answered is sent again: for that alone the descriptor wakes the
 * thread that sleeps. */
static void a_greeting_is_due_during_a_sleep(void **state)
{
	struct fi_info *info = loopback_info("udp;ofi_rxd", FI_MSG | FI_TAGGED, 0);
	struct pollfd wait = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	struct raw peer;
	struct fid *cq;
	fi_addr_t to;

	(void)state;
	info->domain_attr->progress = FI_PROGRESS_MANUAL;
	rdm_end_open(&env, info, 0, FI_WAIT_FD);
	raw_open(&peer);
	assert_int_equal(fi_av_insert(env.av, &peer.addr, 1, &to, 0, NULL), 1);
	assert_int_equal(fi_control(&env.cq->fid, FI_GETWAIT, &wait.fd), 0);
	assert_int_equal(fi_tinject(env.ep, "abcd", 4, to, 1), 0);
	cq = &env.cq->fid;
	while (fi_trywait(env.fabric, &cq, 1))
		assert_int_equal(step(&env, &entry), 0);
	assert_int_equal(poll(&wait, 1, limit_ms(1000)), 1);
	rdm_end_close(&env);
	raw_close(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_address_names_the_index_of_a_peer),
		cmocka_unit_test(another_address_greets_by_the_name_of_a_peer),
		cmocka_unit_test(a_name_without_an_address),
		cmocka_unit_test(indices_are_random),
		cmocka_unit_test(a_greeting_is_due_during_a_sleep),
	};

	/* Closing does not wait for a peer that never answers. */
	(void)setenv("FI_FLUSH_TIMEOUT", "50", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

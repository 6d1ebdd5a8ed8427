/* SPDX-License-Identifier: BSD-2-Clause */
/* What peers of udp;ofi_rxd may take of the memory of an endpoint. */
#include "../log_lines.h"
#include "raw.h"

enum {
	LIMIT = 1 << 20, /* of unexpected messages */
	PEERS = 8,       /* limit of peers without an address in the address vector */
	SMALL = 1400,
};

/* The endpoint acknowledges all packets of @raw, and wants more. */
static void expect_taken(struct raw *raw, struct rdm_end *env)
{
	uint8_t packet[PACKET_MAX];
	struct rxd_ack ack;
	size_t len;

	do {
		len = raw_get(raw, env, RXD_ACK, packet);
		assert_true(rxd_ack_read(packet, len, false, &ack));
		assert_int_not_equal(ack.window, 0);
	} while (ack.next < raw->next);
}

/* A message that is announced, and does not come, takes no memory from others. */
static void an_announced_message(void **state)
{
	uint8_t data[SMALL] = { 0 };
	struct raw liar, peer;
	struct rdm_end env;

	(void)state;
	setup(&env);
	raw_open(&liar);
	raw_open(&peer);
	raw_greet(&liar, &env);
	raw_first(&liar, &env, LIMIT - 1000, data, 8);
	expect_taken(&liar, &env);
	raw_greet(&peer, &env);
	for (int i = 0; i < 100; i++) {
		raw_msg(&peer, &env, peer.next++, data, sizeof(data));
		expect_taken(&peer, &env);
	}
	raw_close(&liar);
	raw_close(&peer);
	rdm_end_close(&env);
}

/* Memory for a long message grows while it arrives: it is whole at the end, whether its
 * receive comes before that or after. */
static void a_long_unexpected_message(void **state)
{
	enum { LEN = 400000 };
	static uint8_t out[LEN], in[LEN];

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 7 + i / 251);
	for (int late = 0; late < 2; late++) {
		struct fi_context2 context;
		struct rdm_end env;
		struct raw peer;
		uint8_t packet[PACKET_MAX];
		size_t at = 100;

		setup(&env);
		raw_open(&peer);
		raw_greet(&peer, &env);
		raw_first(&peer, &env, LEN, out, at);
		memset(in, 0, LEN);
		for (size_t len; at < LEN; at += len) {
			len = WF_MIN((size_t)SEGMENT, LEN - at);
			/* Its socket takes only so many acknowledgements. */
			(void)raw_get(&peer, &env, RXD_ACK, packet);
			if (!late && at < LEN / 2 && at + len >= LEN / 2)
				assert_int_equal(
					fi_recv(env.ep, in, LEN, NULL, 0, &context), 0);
			raw_more(&peer, &env, out + at, len);
		}
		if (late) {
			expect_taken(&peer, &env);
			assert_int_equal(
				fi_recv(env.ep, in, LEN, NULL, 0, &context), 0);
		}
		await(&env, &context);
		assert_memory_equal(in, out, LEN);
		raw_close(&peer);
		rdm_end_close(&env);
	}
}

/* Greet the endpoint without an answer to its answer. */
static void only_greet(struct rdm_end *env)
{
	struct raw raw;

	raw_open(&raw);
	raw_rts(&raw, env, &raw.addr, 0);
	idle(env, 0);
	raw_close(&raw);
}

/* A message without a receive, which shows that the peer has its address. */
static void prove(struct raw *raw, struct rdm_end *env)
{
	raw_msg(raw, env, raw->next++, "x", 1);
	expect_taken(raw, env);
}

/* As many peers as there may be have said that they exist, and nothing else: others are
 * peers as before, and those that were there stay. */
static void many_that_only_greet(void **state)
{
	struct raw first, last;
	struct rdm_end env;

	(void)state;
	setup(&env);
	raw_open(&first);
	raw_open(&last);
	raw_greet(&first, &env);
	prove(&first, &env);
	for (int i = 0; i < 3 * PEERS; i++)
		only_greet(&env);
	raw_greet(&last, &env);
	prove(&last, &env);
	prove(&first, &env);
	raw_close(&first);
	raw_close(&last);
	rdm_end_close(&env);
}

/* As many peers as there may be have sent something, and one of them goes on: a new one
 * gets the place of another one that is silent. */
static void many_that_are_silent(void **state)
{
	uint64_t end = now_ms() + limit_ms(WAIT_MS);
	uint8_t packet[PACKET_MAX];
	struct raw raw[PEERS], last;
	struct rdm_end env;

	(void)state;
	setup(&env);
	for (int i = 0; i < PEERS; i++) {
		raw_open(&raw[i]);
		raw_greet(&raw[i], &env);
		prove(&raw[i], &env);
	}
	raw_open(&last);
	do {
		assert_true(now_ms() < end);
		prove(&raw[0], &env);
		raw_rts(&last, &env, &last.addr, 0);
	} while (!raw_get_within(&last, &env, packet, 50));
	assert_int_equal(packet[1], RXD_CTS);
	prove(&raw[0], &env);
	for (int i = 0; i < PEERS; i++)
		raw_close(&raw[i]);
	raw_close(&last);
	rdm_end_close(&env);
}

/* Send @count requests to read 8 bytes at key 7, and acknowledge no answer: the number
 * of requests that the endpoint took. */
static uint64_t request(struct raw *raw, struct rdm_end *env, unsigned int count)
{
	const struct rxd_segment_head head = {
		.size = 8, .packets = 1, .rma_count = 1
	};
	const struct fi_rma_iov rma = { .len = 8, .key = 7 };
	uint8_t packet[PACKET_MAX];
	uint64_t taken = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct rxd_base base = raw_base(raw, RXD_READ, i);
		struct rxd_ack ack;
		size_t len;

		memcpy(packet, &base, sizeof(base));
		memcpy(packet + sizeof(base), &head, sizeof(head));
		memcpy(packet + sizeof(base) + sizeof(head), &rma, sizeof(rma));
		raw_send(raw, env, packet, sizeof(base) + sizeof(head) + sizeof(rma));
		len = raw_get(raw, env, RXD_ACK, packet);
		assert_true(rxd_ack_read(packet, len, false, &ack));
		taken = WF_MAX(taken, ack.next);
	}
	return taken;
}

/* Peers that request much, and take none of it, get limited memory together. */
static void many_requests(void **state)
{
	enum { REQUESTS = 700, ANSWERS_ALL = 4096 };
	static uint8_t region[8];
	struct raw raw[PEERS];
	struct rdm_end env;
	uint64_t taken = 0;
	struct fid_mr *mr;

	(void)state;
	setup(&env);
	assert_int_equal(fi_mr_reg(env.domain, region, sizeof(region), FI_REMOTE_READ,
				 0, 7, 0, &mr, NULL),
		0);
	for (int i = 0; i < PEERS; i++) {
		raw_open(&raw[i]);
		raw_greet(&raw[i], &env);
		taken += request(&raw[i], &env, REQUESTS);
	}
	assert_true(taken > 0);
	assert_true(taken <= ANSWERS_ALL);
	for (int i = 0; i < PEERS; i++)
		raw_close(&raw[i]);
	assert_int_equal(fi_close(&mr->fid), 0);
	rdm_end_close(&env);
}

/* Packets that cannot be used are a few lines of the log, however many they are. */
static void many_wrong_packets(void **state)
{
	enum { COUNT = 500 };
	struct rxd_base base;
	struct rdm_end env;
	struct raw peer;
	int lines = 0;

	(void)state;
	setup(&env);
	raw_open(&peer);
	raw_greet(&peer, &env);
	log_lines_start();
	/* A write without its headers. */
	base = raw_base(&peer, RXD_WRITE, 0);
	for (int i = 0; i < COUNT; i++) {
		raw_send(&peer, &env, &base, sizeof(base));
		idle(&env, 0);
	}
	for (const char *at = log_lines; (at = strstr(at, "malformed")); at++)
		lines++;
	assert_true(lines > 0);
	assert_true(lines < COUNT / 4);
	raw_close(&peer);
	rdm_end_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_announced_message),
		cmocka_unit_test(a_long_unexpected_message),
		cmocka_unit_test(many_that_only_greet),
		cmocka_unit_test(many_that_are_silent),
		cmocka_unit_test(many_requests),
		cmocka_unit_test(many_wrong_packets),
	};

	setenv("FI_OFI_RXD_UNEXPECTED_SIZE", "1048576", 1);
	setenv("FI_OFI_RXD_MAX_PEERS", "8", 1);
	setenv("FI_FLUSH_TIMEOUT", "0", 1);
	setenv("FI_OFI_RXD_PEER_TIMEOUT", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

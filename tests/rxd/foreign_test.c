/* SPDX-License-Identifier: BSD-2-Clause */
/* ofi_rxd over a provider that is not of this library: datagram_module.c, in the
 * directory that the first argument names. */
#include "raw.h"

static struct rdm_end left, right;

static void open_over_module(struct rdm_end *end)
{
	loopback_open(end, "testdgram;ofi_rxd", FI_MSG | FI_TAGGED | FI_RMA);
}

static int open_both(void **state)
{
	(void)state;
	open_over_module(&left);
	open_over_module(&right);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	rdm_end_close(&left);
	rdm_end_close(&right);
	return 0;
}

static void fill(uint8_t *bytes, size_t len, uint8_t start)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(start + i * 7);
}

/* Completions of both ends, until each has one. */
static void await_both(void)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + limit_ms(WAIT_MS);
	int sent = 0, got = 0, ret;

	while (!sent || !got) {
		assert_true(now_ms() < end);
		sent += ret = step(&left, &entry);
		assert_true(ret >= 0);
		got += ret = step(&right, &entry);
		assert_true(ret >= 0);
	}
}

/* Messages of all numbers of packets and buffers arrive as they were sent. */
static void messages_of_all_sizes(void **state)
{
	static const size_t sizes[] = { 0, 8, 255, 257, 1000, 1024, 1400, 1500, 3000,
		100000, 1000000 };
	static uint8_t out[1000000], in[1000000];
	fi_addr_t to;

	(void)state;
	assert_int_equal(fi_av_insert(left.av, &right.addr, 1, &to, 0, NULL), 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i];
		const struct iovec iov[2] = { { out, len / 2 },
			{ out + len / 2, len - len / 2 } };

		fill(out, len, (uint8_t)i);
		memset(in, 0, len);
		assert_int_equal(fi_recv(right.ep, in, len, NULL, 0, &right), 0);
		assert_int_equal(fi_sendv(left.ep, iov, NULL, 2, to, &left), 0);
		await_both();
		assert_memory_equal(in, out, len);
	}
}

/* The source of an RTS is known there by the address vector only: one that claims the
 * name of a peer is not that peer. */
static void the_name_of_a_peer(void **state)
{
	struct raw peer, stranger;
	uint8_t packet[PACKET_MAX];
	struct fi_context2 context;
	uint32_t got = 0, value = 3;

	(void)state;
	raw_open(&peer);
	raw_open(&stranger);
	raw_greet(&peer, &left);
	stranger.own = 99;
	raw_rts(&stranger, &left, &peer.addr, 0);
	stranger.index = peer.index;
	assert_int_equal(fi_recv(left.ep, &got, sizeof(got), NULL, 0, &context), 0);
	raw_msg(&stranger, &left, 0, &(uint32_t){ 66 }, sizeof(value));
	raw_rts(&stranger, &left, &stranger.addr, 0);
	(void)raw_get(&stranger, &left, RXD_CTS, packet);
	raw_msg(&peer, &left, 0, &value, sizeof(value));
	await(&left, &context);
	assert_int_equal(got, value);
	raw_close(&peer);
	raw_close(&stranger);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			messages_of_all_sizes, open_both, close_both),
		cmocka_unit_test_setup_teardown(
			the_name_of_a_peer, open_both, close_both),
	};

	setenv("FI_PROVIDER_PATH", argc > 1 ? argv[1] : ".", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint of tcp;ofi_rxm with peers that are plain sockets: invalid bytes cost the
 * peer that sent them its connection, and do not affect others. */
#include "raw.h"

/* After each of them, the connection is closed. */
static const char *const bad[] = {
	EAGER("0500000000000000") "61626364",
	EAGER("ffffffffffffffff") "61626364",
	EAGER("0000000000000000") "61626364",
	"09 00 0000 00000000" ID OLD OLD
	"02 00 01 00 00000000 0000000000000000" OLD OLD,
	"04 4d 0000 00000000" ID OLD OLD
	"02 00 01 00 00000000 0000000000000000" OLD OLD,
	/* Answers to what was not asked. */
	BARE("03"),
	BARE("08"),
	BARE("09"),
	RDV("0400000000000000", "0300000000000000", OLD),
	"04 05 0000 00000000" ID OLD OLD "02 00 07 00 00000000 0800000000000000" OLD
	"07 02 00 00 00000000 00000000 00000000",
	/* Segments of no message, of one that is too short, of an immense one. */
	SEGMENT(OLD, "0300000000000000", "0800000000000000"),
	SEGMENT(OLD, "0200000000000000", "0800000000000000"),
	SEGMENT(OLD, "0000000000000000", "0800000000000000"),
	SEGMENT(OLD, "0100000000000000", "0400000000000000"),
	SEGMENT(OLD, "0100000000000000", "00000000000000ff"),
	SEGMENT(OLD, "0100000000000000", "0000000000000010"),
};

/* EPA-034: others are not disturbed. */
static void good_message(struct rdm_end *env)
{
	struct fi_cq_tagged_entry entry;
	char buf[8] = { 0 };
	uint64_t id;
	int fd = join(env, &id), ret;

	assert_int_equal(
		fi_trecv(env->ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 9, 0, buf),
		0);
	packet(fd, id, TAGGED("0400000000000000", "0900000000000000") "61626364");
	while (!(ret = step(env, &entry)))
		;
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, buf);
	assert_int_equal(entry.len, 4);
	assert_memory_equal(buf, "abcd", 4);
	close(fd);
}

static void test_bad_packets_close_their_connection(void **state)
{
	struct rdm_end env;
	uint8_t more;

	(void)state;
	setup(&env);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t id;
		int fd = join(&env, &id);

		packet(fd, id, bad[i]);
		assert_int_equal(get(&env, fd, &more, 1), 0);
		close(fd);
		good_message(&env);
	}
	rdm_end_close(&env);
}

/* EPA-034. Messages that all begin and never end: each segment is looked for among
 * them, so a peer has few of them. */
static void test_messages_that_only_begin(void **state)
{
	enum { ID_AT = 8, MSG_AT = 16, MESSAGES = 5000 };
	struct bytes core = hex("03 00 0000 00 00 10 00 0000000000000000");
	struct bytes body = hex(SEGMENT(OLD, "0100000000000000", "0800000000000000"));
	uint64_t id, total = core.len + body.len;
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	uint8_t more;
	int fd;

	(void)state;
	setup(&env);
	fd = join(&env, &id);
	memcpy(core.at + 8, &total, sizeof(total));
	memcpy(core.at + core.len, body.at, body.len);
	memcpy(core.at + core.len + ID_AT, &id, sizeof(id));
	for (uint64_t i = 1; i <= MESSAGES; i++) {
		memcpy(core.at + core.len + MSG_AT, &i, sizeof(i));
		if (send(fd, core.at, total, MSG_NOSIGNAL) < 0)
			break;
		(void)step(&env, &entry);
	}
	assert_int_equal(get(&env, fd, &more, 1), 0);
	close(fd);
	good_message(&env);
	rdm_end_close(&env);
}

/* A receive that got a part of a message, or waits for the sender's memory, fails when
 * the sender is gone. */
static void lost(const char *text)
{
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	char buf[8];
	uint64_t id;
	int fd, ret;

	setup(&env);
	fd = join(&env, &id);
	assert_int_equal(
		fi_trecv(env.ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 7, 0, buf), 0);
	packet(fd, id, text);
	for (int i = 0; i < 100; i++)
		assert_int_equal(step(&env, &entry), 0);
	close(fd);
	while (!(ret = step(&env, &entry)))
		;
	assert_true(ret < 0);
	good_message(&env);
	rdm_end_close(&env);
}

static void test_lost_with_half_a_message(void **state)
{
	(void)state;
	lost(SEGMENT(OLD, "0100000000000000", "0800000000000000"));
}

static void test_lost_before_it_was_read(void **state)
{
	(void)state;
	lost(RDV("0800000000000000", "0800000000000000", OLD));
}

/* The memory is to be written, and nothing comes. */
static void test_lost_before_it_was_written(void **state)
{
	(void)state;
	lost(RDV("0800000000000000", "0800000000000000", "ffffffffffffffff"));
}

/* Unexpected, and closed with the endpoint. */
static void test_unexpected_ones_are_freed(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	uint64_t id;
	int fd;

	(void)state;
	setup(&env);
	fd = join(&env, &id);
	packet(fd, id, SEGMENT(OLD, "0100000000000000", "0800000000000000"));
	packet(fd, id, RDV("0800000000000000", "0800000000000000", OLD));
	packet(fd, id, EAGER("0400000000000000") "61626364");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(step(&env, &entry), 0);
	rdm_end_close(&env);
	close(fd);
}

/* ---- the order of messages ---- */

enum { SIZE_AT = 40, MIX_MAX = 8, LONG = 5000, MIX_BYTES = MIX_MAX * (LONG + 100) };

/* Append the packet of a message of @len bytes @byte with tag 7. */
static size_t add_message(uint8_t *to, uint64_t id, uint64_t len, int byte)
{
	struct bytes core = hex("03 00 0000 00 00 10 00 0000000000000000");
	struct bytes head = hex(EAGER("0000000000000000"));
	uint64_t total = core.len + head.len + len;

	memcpy(core.at + 8, &total, sizeof(total));
	memcpy(head.at + 8, &id, sizeof(id));
	memcpy(head.at + SIZE_AT, &len, sizeof(len));
	memcpy(to, core.at, core.len);
	memcpy(to + core.len, head.at, head.len);
	memset(to + core.len + head.len, byte, len);
	return total;
}

/* Messages of these lengths come with one read, and complete in order. */
static void check_mix(struct rdm_end *env, int fd, uint64_t id, const size_t *len)
{
	static char in[MIX_MAX][LONG];
	static uint8_t out[MIX_BYTES];
	struct fi_cq_tagged_entry entry;
	size_t size = 0;
	int ret;

	for (int i = 0; i < MIX_MAX; i++) {
		assert_int_equal(fi_trecv(env->ep, in[i], LONG, NULL, FI_ADDR_UNSPEC, 7,
					 0, in[i]),
			0);
		size += add_message(out + size, id, len[i], 'a' + i);
	}
	put(fd, out, size);
	for (int i = 0; i < MIX_MAX; i++) {
		while (!(ret = step(env, &entry)))
			;
		assert_int_equal(ret, 1);
		assert_ptr_equal(entry.op_context, in[i]);
		assert_int_equal(entry.len, len[i]);
		for (size_t at = 0; at < len[i]; at++)
			assert_int_equal(in[i][at], 'a' + i);
	}
}

/* Short packets and those that need a posted buffer. */
static void test_short_and_long_ones_stay_in_order(void **state)
{
	static const size_t mixes[][MIX_MAX] = {
		{ 4, LONG, 4, 4, LONG, LONG, 4, 1 },
		{ LONG, 4, LONG, 4, 4, 4, 4, LONG },
		{ 1, 2, 3, 4, 5, 6, 7, LONG },
		{ LONG, 2, 3, 4, 5, 6, 7, 8 },
	};
	struct rdm_end env;
	uint64_t id;
	int fd;

	(void)state;
	setup(&env);
	fd = join(&env, &id);
	for (size_t i = 0; i < 4 * sizeof(mixes) / sizeof(mixes[0]); i++)
		check_mix(&env, fd, id, mixes[i % (sizeof(mixes) / sizeof(mixes[0]))]);
	close(fd);
	rdm_end_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_packets_close_their_connection),
		cmocka_unit_test(test_messages_that_only_begin),
		cmocka_unit_test(test_lost_with_half_a_message),
		cmocka_unit_test(test_lost_before_it_was_read),
		cmocka_unit_test(test_lost_before_it_was_written),
		cmocka_unit_test(test_unexpected_ones_are_freed),
		cmocka_unit_test(test_short_and_long_ones_stay_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

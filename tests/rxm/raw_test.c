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
static void good_message(struct loopback *env)
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
	struct loopback env;
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
	loopback_close(&env);
}

/* A receive that got a part of a message, or waits for the sender's memory, fails when
 * the sender is gone. */
static void lost(const char *text)
{
	struct fi_cq_tagged_entry entry;
	struct loopback env;
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
	loopback_close(&env);
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
	struct loopback env;
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
	loopback_close(&env);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_packets_close_their_connection),
		cmocka_unit_test(test_lost_with_half_a_message),
		cmocka_unit_test(test_lost_before_it_was_read),
		cmocka_unit_test(test_lost_before_it_was_written),
		cmocka_unit_test(test_unexpected_ones_are_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

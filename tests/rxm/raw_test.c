/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint of tcp;ofi_rxm with peers that are plain sockets: invalid bytes cost the
 * peer that sent them its connection, and do not affect others. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "../hex.h"
#include "../time_limits.h"
#include "env.h"

enum { CM_LEN = 32, REQUEST_LEN = 24, ACCEPT_LEN = 16, CORE_LEN = 16, HDR_LEN = 64 };

/* One step of the endpoint: 1 and *@ret, 0, or minus the error of a completion. */
static int step(struct env *env, struct fi_cq_tagged_entry *ret)
{
	struct fi_cq_err_entry err = { 0 };
	ssize_t n = fi_cq_read(env->cq, ret, 1);

	if (n == 1)
		return 1;
	if (n == -FI_EAGAIN)
		return 0;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(env->cq, &err, 0), 1);
	return -err.err;
}

static void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Read @len bytes, or to the end (then the result is less), while the endpoint runs,
 * which completes nothing. */
static size_t get(struct env *env, int fd, void *to, size_t len)
{
	struct fi_cq_tagged_entry entry;
	size_t done = 0;

	while (done < len) {
		ssize_t n = recv(fd, (uint8_t *)to + done, len - done, MSG_DONTWAIT);

		if (!n || (n < 0 && errno == ECONNRESET))
			break;
		if (n > 0)
			done += (size_t)n;
		(void)step(env, &entry);
	}
	return done;
}

/* A connection, as release 1.17 asks for it; *@ret_id: what its packets carry. */
static int join(struct env *env, uint64_t *ret_id)
{
	static unsigned int port = 100;
	struct bytes request =
		hex("03 00 0018 00000000 0000000000000000 0000000000000000"
		    "0100000000000000"
		    "01 02 04 03 0000 02 00 00400000 00100000 05000000 7f1b0000");
	uint8_t reply[CM_LEN + ACCEPT_LEN];
	uint32_t id;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* Another peer each time. */
	request.at[CM_LEN + 4] = (uint8_t)++port;
	request.at[CM_LEN + 5] = (uint8_t)(port >> 8);
	assert_int_equal(connect(fd, (void *)&env->addr, sizeof(env->addr)), 0);
	put(fd, request.at, request.len);
	assert_int_equal(get(env, fd, reply, sizeof(reply)), sizeof(reply));
	assert_int_equal(reply[1], 1);
	memcpy(&id, reply + CM_LEN, sizeof(id));
	*ret_id = id;
	return fd;
}

/* The packet of @text, with the connection's id. */
static void packet(int fd, uint64_t id, const char *text)
{
	struct bytes core = hex("03 00 0000 00 00 10 00 0000000000000000");
	struct bytes body = hex(text);
	uint64_t total = core.len + body.len;

	memcpy(core.at + 8, &total, sizeof(total));
	if (body.len >= 16)
		memcpy(body.at + 8, &id, sizeof(id));
	put(fd, core.at, core.len);
	put(fd, body.at, body.len);
}

#define OLD "0101010101010101"
#define ID  "0000000000000000"
#define TAGGED(size, tag)                                                              \
	"04 00 0000 00000000" ID OLD OLD "02 00 01 00 00000000" size OLD tag
#define EAGER(size) TAGGED(size, "0700000000000000")
#define SEGMENT(msg, place, size)                                                      \
	"04 01 0400 00000000" ID msg place "02 00 01 00 00000000" size OLD             \
	"0700000000000000 61626364"
#define RDV(size, len, key)                                                            \
	"04 02 0000 00000000" ID OLD OLD "02 00 01 00 00000000" size OLD               \
	"0700000000000000"                                                             \
	"0000000000000000" len key OLD OLD OLD OLD OLD OLD OLD OLD OLD                 \
	"01 01010101010101"
#define BARE(kind) "04" kind "0000 00000000" ID OLD OLD OLD OLD OLD OLD

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
static void good_message(struct env *env)
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
	struct env env;
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
	teardown(&env);
}

/* A receive that got a part of a message, or waits for the sender's memory, fails when
 * the sender is gone. */
static void lost(const char *text)
{
	struct fi_cq_tagged_entry entry;
	struct env env;
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
	teardown(&env);
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
	struct env env;
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
	teardown(&env);
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

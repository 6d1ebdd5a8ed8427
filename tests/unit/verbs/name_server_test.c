/* SPDX-License-Identifier: BSD-2-Clause */
/* The name server of datagram endpoints, its clients, and what others may send to
 * it. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ns.h"

static const char *const here = "127.0.0.1";

static struct verbs_ud open_service(uint16_t service, uint32_t qpn)
{
	struct verbs_ud ud = {
		.name = { .gid = { 0xfe, 0x80, [15] = 9 },
			.qpn = qpn,
			.pkey = 0xffff,
			.service = service },
	};

	verbs_ns_register(&ud);
	return ud;
}

static uint16_t free_port(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(any);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &len), 0);
	assert_int_equal(close(fd), 0);
	return ntohs(any.sin_port);
}

static int setup(void **state)
{
	(void)state;
	verbs_params.use_name_server = true;
	verbs_params.name_server_port = free_port();
	return 0;
}

static int dial(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)verbs_params.name_server_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Send bytes and receive what the server answers until it closes. */
static size_t say(const void *bytes, size_t len, void *answer, size_t size)
{
	size_t got = 0;
	int fd = dial();
	ssize_t n;

	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
	while (got < size && (n = recv(fd, (char *)answer + got, size - got, 0)) > 0)
		got += (size_t)n;
	assert_int_equal(close(fd), 0);
	return got;
}

static void a_service_is_found_until_it_is_gone(void **state)
{
	struct verbs_ud a = open_service(4711, 5), b = open_service(4712, 6);
	struct verbs_ud_name name;

	(void)state;
	assert_true(a.registered && b.registered);
	assert_int_equal(verbs_ns_query(here, 4711, &name), 0);
	assert_memory_equal(&name, &a.name, sizeof(name));
	assert_int_equal(verbs_ns_query(here, 4712, &name), 0);
	assert_int_equal(name.qpn, 6);
	assert_int_equal(verbs_ns_query(here, 4713, &name), -FI_ENODATA);
	verbs_ns_unregister(&a);
	assert_int_equal(verbs_ns_query(here, 4711, &name), -FI_ENODATA);
	assert_int_equal(verbs_ns_query(here, 4712, &name), 0);
	verbs_ns_unregister(&b);
	/* No endpoint is left: no process serves. */
	assert_int_equal(verbs_ns_query(here, 4712, &name), -FI_ENODATA);
}

static void the_latest_endpoint_has_the_service(void **state)
{
	struct verbs_ud a = open_service(9, 5), b = open_service(9, 6);
	struct verbs_ud_name name;

	(void)state;
	assert_int_equal(verbs_ns_query(here, 9, &name), 0);
	assert_int_equal(name.qpn, 6);
	/* The end of the first one does not concern it. */
	verbs_ns_unregister(&a);
	assert_int_equal(verbs_ns_query(here, 9, &name), 0);
	assert_int_equal(name.qpn, 6);
	verbs_ns_unregister(&b);
}

static void without_a_service_nothing_is_served(void **state)
{
	struct verbs_ud ud = open_service(0, 5);
	struct verbs_ud_name name;

	(void)state;
	assert_false(ud.registered || ud.serves);
	assert_int_equal(verbs_ns_query(here, 0, &name), -FI_ENODATA);
	verbs_params.use_name_server = false;
	ud = open_service(5, 5);
	assert_false(ud.registered || ud.serves);
}

/* The bytes of Debian's libfabric 1.17. */
static void the_bytes_are_those_of_other_implementations(void **state)
{
	const uint8_t query[12] = { 0, 2, 0, 0, 0, 0, 0, 0, 0x67, 0x12 };
	const uint8_t unknown[12] = { 0, 2, 0, 0, 0, 0, 0, 0, 0x68, 0x12 };
	const uint8_t no[8] = { 0, 3, 0, 0, 0xff, 0xff, 0xff, 0xfe };
	uint8_t add[44] = { 0, 0, 0, 0, 0, 0, 0, 0, 0x68, 0x12, 0, 0, 0xfe, 0x80 };
	struct verbs_ud ud = open_service(0x1267, 5);
	uint8_t answer[64];

	(void)state;
	assert_int_equal(say(query, sizeof(query), answer, sizeof(answer)), 44);
	assert_memory_equal(answer, "\0\3\0\0\0\0\0\0\x67\x12\0\0", 12);
	assert_memory_equal(answer + 12, &ud.name, sizeof(ud.name));
	assert_int_equal(say(unknown, sizeof(unknown), answer, sizeof(answer)), 8);
	assert_memory_equal(answer, no, sizeof(no));
	add[28] = 7; /* the number of the queue pair */
	assert_int_equal(say(add, sizeof(add), answer, sizeof(answer)), 0);
	assert_int_equal(say(unknown, sizeof(unknown), answer, sizeof(answer)), 44);
	assert_memory_equal(answer + 12, add + 12, 32);
	add[1] = 1;
	assert_int_equal(say(add, sizeof(add), answer, sizeof(answer)), 0);
	assert_int_equal(say(unknown, sizeof(unknown), answer, sizeof(answer)), 8);
	verbs_ns_unregister(&ud);
}

static void garbage_is_dropped(void **state)
{
	struct verbs_ud ud = open_service(4711, 5);
	uint8_t bytes[44], answer[64];
	struct verbs_ud_name name;

	(void)state;
	for (int type = 0; type < 256; type++) {
		memset(bytes, 0xa5, sizeof(bytes));
		bytes[0] = (uint8_t)(type & 1); /* another version */
		bytes[1] = (uint8_t)type;
		if (bytes[1] != 2)
			(void)say(bytes, sizeof(bytes), answer, sizeof(answer));
	}
	assert_int_equal(verbs_ns_query(here, 4711, &name), 0);
	assert_int_equal(name.qpn, 5);
	verbs_ns_unregister(&ud);
}

/* Nearly as many as the server keeps. */
static void silent_clients_keep_nobody_waiting(void **state)
{
	enum { SILENT = 60 };
	struct verbs_ud ud = open_service(4711, 5);
	struct verbs_ud_name name;
	int fds[SILENT];

	(void)state;
	for (int i = 0; i < SILENT; i++) {
		fds[i] = dial();
		assert_int_equal(send(fds[i], "\0\2\0", 3, MSG_NOSIGNAL), 3);
	}
	assert_int_equal(verbs_ns_query(here, 4711, &name), 0);
	for (int i = 0; i < SILENT; i++)
		assert_int_equal(close(fds[i]), 0);
	verbs_ns_unregister(&ud);
}

static void a_node_and_a_service_resolve(void **state)
{
	struct verbs_ud ud = open_service(4711, 5);
	struct verbs_ud_name *name;
	void *addr = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(verbs_ud_resolve(here, "4711", 0, &addr, &len), 0);
	assert_int_equal(len, sizeof(*name));
	assert_memory_equal(addr, &ud.name, sizeof(*name));
	free(addr);
	assert_int_equal(verbs_ud_resolve(NULL, "4712", FI_SOURCE, &addr, &len), 0);
	name = addr;
	assert_int_equal(name->service, 4712);
	assert_int_equal(name->qpn, 0);
	free(addr);
	assert_int_equal(verbs_ud_resolve(here, "4712", 0, &addr, &len), -FI_ENODATA);
	assert_int_equal(
		verbs_ud_resolve(here, "no service", 0, &addr, &len), -FI_ENODATA);
	verbs_ns_unregister(&ud);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(a_service_is_found_until_it_is_gone),
		TEST(the_latest_endpoint_has_the_service),
		TEST(without_a_service_nothing_is_served),
		TEST(the_bytes_are_those_of_other_implementations),
		TEST(garbage_is_dropped),
		TEST(silent_clients_keep_nobody_waiting),
		TEST(a_node_and_a_service_resolve),
	};

	return cmocka_run_group_tests_name("verbs_name_server", tests, NULL, NULL);
}

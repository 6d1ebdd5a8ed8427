/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "objects/info/call.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/socket.h"

struct fi_provider shm_fi = { .name = "shm" };
static const struct wf_prov prov = { .fi = &shm_fi, .node_known = shm_socket_knows };

static int known(const char *node, uint64_t flags)
{
	return wf_info_node_known(&prov, node, flags);
}

/* Names of this test alone. */
static const char *own(const char *rest)
{
	static char name[4][SHM_NAME_MAX];
	static unsigned int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(name[turn], sizeof(name[turn]), "weft-node-test-%ld%s",
		(long)getpid(), rest);
	return name[turn];
}

static void told_by_itself(void **state)
{
	assert_int_equal(known(NULL, 0), 0);
	assert_int_equal(known("17", FI_NUMERICHOST), 0);
	assert_int_equal(known("fi_ns://n0where", FI_NUMERICHOST), 0);
	assert_int_equal(known("n0where", FI_NUMERICHOST | FI_SOURCE), 0);
	assert_int_equal(known("n0where", FI_NUMERICHOST), -FI_ENODATA);
	assert_int_equal(known("17x", FI_NUMERICHOST), -FI_ENODATA);
}

/* A bare machine may have no /etc/hosts. */
static bool has_localhost(void)
{
	struct addrinfo *list;

	if (getaddrinfo("localhost", NULL, NULL, &list))
		return false;
	freeaddrinfo(list);
	return true;
}

static void told_by_the_system(void **state)
{
	char host[256] = "";

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_int_equal(known(host, FI_NUMERICHOST), 0);
	assert_int_equal(known("127.0.0.1", FI_NUMERICHOST), 0);
	assert_int_equal(known("::1", FI_NUMERICHOST), 0);
	assert_int_equal(known(own("-n0where.invalid"), 0), -FI_ENODATA);
}

static void told_by_name_resolution(void **state)
{
	if (!has_localhost())
		skip();
	assert_int_equal(known("localhost", 0), 0);
}

static void told_by_endpoints(void **state)
{
	char name[SHM_NAME_MAX];
	int fd;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":9228"));
	assert_false(shm_socket_knows(own("")));
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_true(shm_socket_knows(own("")));
	assert_true(shm_socket_knows(own(":9228")));
	assert_false(shm_socket_knows(own(":922")));
	assert_false(shm_socket_knows("weft-node-test"));
	assert_int_equal(known(own(""), FI_NUMERICHOST), 0);
	shm_socket_unlisten(fd);
	assert_false(shm_socket_knows(own("")));
}

/* Of one that was killed the name is left, until the next one opens. */
static void left_behind(void **state)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	char name[SHM_NAME_MAX];
	int fd;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":1"));
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(access(addr.sun_path, F_OK), 0);
	assert_false(shm_socket_knows(own("")));
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_true(shm_socket_knows(own("")));
	shm_socket_unlisten(fd);
}

static void too_long_for_a_file(void **state)
{
	char node[200], name[SHM_NAME_MAX];
	int fd;

	memset(node, 'n', sizeof(node));
	node[sizeof(node) - 1] = '\0';
	(void)snprintf(name, sizeof(name), "fi_ns://%s", node);
	assert_false(shm_socket_knows(node));
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_true(shm_socket_knows(node));
	shm_socket_unlisten(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_by_itself),
		cmocka_unit_test(told_by_the_system),
		cmocka_unit_test(told_by_name_resolution),
		cmocka_unit_test(told_by_endpoints),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(too_long_for_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

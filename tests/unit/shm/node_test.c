/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "objects/info/call.h"
#include "providers/shm/conn/dir.h"
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
	shm_socket_unlisten(fd, name);
	assert_false(shm_socket_knows(own("")));
}

/* The path of @file in the directory that names are in. */
static const char *path_of(const char *file)
{
	static char path[SHM_DIR_LEN + SHM_NAME_MAX];
	struct shm_dirs dirs;

	shm_dirs_find(SHM_DIR_ROOT, &dirs);
	assert_true(dirs.count > 0);
	(void)snprintf(path, sizeof(path), "%s/%s", dirs.path[0], file);
	return path;
}

/* Of one that was killed the name is left, until the next one opens. */
static void left_behind(void **state)
{
	char name[SHM_NAME_MAX], other[SHM_NAME_MAX];
	int fd;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":1"));
	(void)snprintf(other, sizeof(other), "fi_ns://%s", own(":2"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shm_socket_listen(name, &fd), 0);
		assert_int_equal(close(fd), 0);
		assert_int_equal(access(path_of(own(":1")), F_OK), 0);
		assert_false(shm_socket_knows(own("")));
		/* One of the same name, and one of another. */
		assert_int_equal(shm_socket_listen(i ? other : name, &fd), 0);
		assert_true(shm_socket_knows(own("")));
		assert_int_equal(access(path_of(own(":1")), F_OK), i ? -1 : 0);
		shm_socket_unlisten(fd, i ? other : name);
		assert_false(shm_socket_knows(own("")));
	}
}

static void one_at_a_time(void **state)
{
	char name[SHM_NAME_MAX];
	int fd, second;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":1"));
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_int_equal(shm_socket_listen(name, &second), -EADDRINUSE);
	assert_true(shm_socket_knows(own(":1")));
	shm_socket_unlisten(fd, name);
	assert_false(shm_socket_knows(own(":1")));
}

/* Who removes leftovers keeps nobody from starting or ending, if another endpoint is
 * there. */
static void nobody_waits_for_the_tidy(void **state)
{
	char name[SHM_NAME_MAX], other[SHM_NAME_MAX];
	struct shm_dirs_lock lock;
	int fd, other_fd;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":1"));
	(void)snprintf(other, sizeof(other), "fi_ns://%s", own(":2"));
	assert_int_equal(shm_socket_listen(other, &other_fd), 0);
	assert_int_equal(shm_dirs_lock(SHM_DIR_ROOT, &lock), 0);
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	shm_socket_unlisten(fd, name);
	shm_dirs_unlock(&lock);
	shm_socket_unlisten(other_fd, other);
}

static void bind_at(int *ret_fd, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	assert_true(strlen(path) < sizeof(addr.sun_path));
	memcpy(addr.sun_path, path, strlen(path));
	*ret_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_true(*ret_fd >= 0);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

/* Of a process that was killed before its socket had its name. */
static void drafts(void **state)
{
	char name[SHM_NAME_MAX], draft[64];
	int fd, bound;

	(void)snprintf(name, sizeof(name), "fi_ns://%s", own(":1"));
	(void)snprintf(
		draft, sizeof(draft), "%%%%%%weft-node-test-%ld", (long)getpid());
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	bind_at(&bound, path_of(draft));
	shm_socket_unlisten(fd, name);
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_int_equal(access(path_of(draft), F_OK), 0);
	assert_int_equal(close(bound), 0);
	shm_socket_unlisten(fd, name);
	assert_int_equal(shm_socket_listen(name, &fd), 0);
	assert_int_equal(access(path_of(draft), F_OK), -1);
	shm_socket_unlisten(fd, name);
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
	shm_socket_unlisten(fd, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_by_itself),
		cmocka_unit_test(told_by_the_system),
		cmocka_unit_test(told_by_name_resolution),
		cmocka_unit_test(told_by_endpoints),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(nobody_waits_for_the_tidy),
		cmocka_unit_test(drafts),
		cmocka_unit_test(too_long_for_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

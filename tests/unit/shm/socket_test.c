/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/shm/conn/dir.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/socket.h"
#include "providers/shm/name.h"

struct fi_provider shm_fi = { .name = "shm" };

enum { PASSED_MAX = 64 };

static unsigned int open_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(list);
	while (readdir(list))
		count++;
	assert_int_equal(closedir(list), 0);
	return count;
}

/* A greeting with @count descriptors of one file. */
static void greet(int to, size_t count)
{
	static struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = SHM_HELLO,
		.name = "fi_shm://x",
	};
	struct iovec iov = { &hello, sizeof(hello) };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(null >= 0);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(null), &null, sizeof(null));
	assert_int_equal(sendmsg(to, &msg, 0), sizeof(hello));
	close(null);
}

/* A greeting has one descriptor. Of one with more none stays open, whether the control
 * buffer had room for them or not. */
static void descriptors_that_come_along(void **state)
{
	static const size_t counts[] = { 2, 3, PASSED_MAX };
	struct shm_hello hello;
	unsigned int before;
	int pair[2], pass;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	before = open_descriptors();
	for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++) {
		greet(pair[0], counts[i]);
		assert_int_equal(
			shm_hello_recv(pair[1], &hello, &pass, &(pid_t){ 0 }), -EPROTO);
		assert_int_equal(pass, -1);
		assert_int_equal(open_descriptors(), before);
	}
	greet(pair[0], 1);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &(pid_t){ 0 }), 0);
	assert_true(pass >= 0);
	close(pass);
	assert_int_equal(open_descriptors(), before);
	close(pair[0]);
	close(pair[1]);
}

/* No number is left for the descriptor: that is what is said, and the socket goes
 * on. */
static void no_number_for_the_descriptor(void **state)
{
	struct rlimit old, none;
	struct shm_hello hello;
	int pair[2], pass, lowest;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	greet(pair[0], 1);
	greet(pair[0], 1);
	lowest = dup(pair[0]);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ (rlim_t)lowest, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(
		shm_hello_recv(pair[1], &hello, &pass, &(pid_t){ 0 }), -EMFILE);
	assert_int_equal(pass, -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &(pid_t){ 0 }), 0);
	assert_true(pass >= 0);
	close(pass);
	close(pair[0]);
	close(pair[1]);
}

/* The other end is closed, has sent nothing, or something that is no greeting. */
static void packets_that_are_no_greeting(void **state)
{
	const struct shm_hello good = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.type = SHM_HELLO,
		.name = "x",
	};
	struct shm_hello hello, bad[4] = { good, good, good, good };
	pid_t sender = -1;
	int pair[2], pass = -2;
	char byte;

	bad[0].magic++;
	bad[1].version++;
	memset(bad[2].name, 'x', sizeof(bad[2].name));
	*bad[3].name = '\0';
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &sender), -EAGAIN);
	assert_int_equal(pass, -1);
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++) {
		assert_int_equal(shm_hello_send(pair[0], &bad[i], -1), 0);
		assert_int_equal(
			shm_hello_recv(pair[1], &hello, &pass, &sender), -EPROTO);
	}
	assert_int_equal(send(pair[0], &good, sizeof(good) - 1, 0), sizeof(good) - 1);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &sender), -EPROTO);
	/* Nobody asked the kernel for the sender. */
	assert_int_equal(shm_hello_send(pair[0], &good, -1), 0);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &sender), 0);
	assert_memory_equal(&hello, &good, sizeof(good));
	assert_int_equal(sender, 0);
	assert_int_equal(pass, -1);
	close(pair[0]);
	assert_int_equal(shm_hello_recv(pair[1], &hello, &pass, &sender), -ECONNRESET);
	assert_int_equal(pass, -1);
	errno = EIO;
	assert_int_equal(shm_socket_recv(pair[1], &byte, 1, &pass), 0);
	close(pair[1]);
}

/* Sockets of a connection tell who sent a packet, and who is at the other end. */
static void processes_are_known(void **state)
{
	struct shm_hello hello = {
		.magic = SHM_HELLO_MAGIC,
		.version = SHM_HELLO_VERSION,
		.name = "x",
	};
	pid_t sender = 0, peer = 0;
	int pair[2], fd = -1, pass;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(shm_socket_own(pair[1], &fd), 0);
	assert_int_equal(fd, pair[1]);
	assert_int_equal(shm_socket_peer(fd, &peer), 0);
	assert_int_equal(peer, getpid());
	assert_int_equal(shm_hello_send(pair[0], &hello, pair[0]), 0);
	assert_int_equal(shm_hello_recv(fd, &hello, &pass, &sender), 0);
	assert_int_equal(sender, getpid());
	assert_true(pass >= 0);
	close(pass);
	assert_false(shm_socket_ended(fd));
	close(pair[0]);
	assert_true(shm_socket_ended(fd));
	assert_int_equal(shm_hello_send(fd, &hello, -1), -EPIPE);
	shm_socket_close(fd);
	assert_int_equal(shm_socket_peer(pair[1], &peer), -EBADF);
}

/* ---- connecting, with directories of the test ---- */

static struct shm_dirs played; /* with none, the real ones are used */

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void __wrap_shm_dirs_plain(const char *root, struct shm_dirs *ret);
VISIBLE void __wrap_shm_dirs_find(const char *root, struct shm_dirs *ret);
void __real_shm_dirs_plain(const char *root, struct shm_dirs *ret);
void __real_shm_dirs_find(const char *root, struct shm_dirs *ret);

void __wrap_shm_dirs_plain(const char *root, struct shm_dirs *ret)
{
	__real_shm_dirs_plain(root, ret);
	if (played.count)
		*ret = played;
	if (played.count)
		ret->count = 1;
}

void __wrap_shm_dirs_find(const char *root, struct shm_dirs *ret)
{
	__real_shm_dirs_find(root, ret);
	if (played.count)
		*ret = played;
}

enum place { MISSING, LEFT_BEHIND, DATAGRAMS, LISTENING };

/* Have something at the name in a directory. Returns its descriptor, or -1. */
static int put(const char *dir, enum place place)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	assert_int_equal(
		shm_name_path(dir, "fi_ns://x", addr.sun_path, sizeof(addr.sun_path)),
		0);
	(void)unlink(addr.sun_path);
	if (place == MISSING)
		return -1;
	fd = socket(AF_UNIX, place == DATAGRAMS ? SOCK_DGRAM : SOCK_SEQPACKET, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (place == LISTENING)
		assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* A name is looked for in the plain directory first. In others it is where the plain
 * one has none, or one whose process was killed. */
static void names_in_several_directories(void **state)
{
	static const struct {
		enum place place[2];
		unsigned int dirs;
		int ret;
	} rows[] = {
		{ { LISTENING, LISTENING }, 2, 0 },
		{ { MISSING, LISTENING }, 2, 0 },
		{ { LEFT_BEHIND, LISTENING }, 2, 0 },
		{ { DATAGRAMS, LISTENING }, 2, -EPROTOTYPE },
		{ { MISSING, LISTENING }, 1, -ENOENT },
		{ { LEFT_BEHIND, LISTENING }, 1, -ECONNREFUSED },
		{ { MISSING, LEFT_BEHIND }, 2, -ECONNREFUSED },
		{ { LEFT_BEHIND, MISSING }, 2, -ENOENT },
	};
	unsigned int before = open_descriptors();

	for (unsigned int i = 0; i < 2; i++) {
		(void)strcpy(played.path[i], "/tmp/weft-socket-XXXXXX");
		assert_non_null(mkdtemp(played.path[i]));
	}
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		int fd = -1, listener[2];

		for (unsigned int k = 0; k < 2; k++)
			listener[k] = put(played.path[k], rows[i].place[k]);
		played.count = rows[i].dirs;
		assert_int_equal(shm_socket_connect("fi_ns://x", &fd), rows[i].ret);
		assert_int_equal(fd >= 0, !rows[i].ret);
		if (!rows[i].ret)
			shm_socket_close(fd);
		for (unsigned int k = 0; k < 2; k++)
			if (listener[k] >= 0)
				close(listener[k]);
		assert_int_equal(open_descriptors(), before);
	}
	played.count = 0;
	for (unsigned int i = 0; i < 2; i++) {
		(void)put(played.path[i], MISSING);
		assert_int_equal(rmdir(played.path[i]), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_that_come_along),
		cmocka_unit_test(no_number_for_the_descriptor),
		cmocka_unit_test(packets_that_are_no_greeting),
		cmocka_unit_test(processes_are_known),
		cmocka_unit_test(names_in_several_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

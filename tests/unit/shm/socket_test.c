/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/shm/conn/listen.h"
#include "providers/shm/conn/socket.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_that_come_along),
		cmocka_unit_test(no_number_for_the_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

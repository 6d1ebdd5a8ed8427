/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <linux/userfaultfd.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../refuse.h"
#include "child.h"
#include "sys/compiler.h"
#include "sys/fds.h"
#include "sys/machine.h"
#include "sys/netif.h"
#include "sys/pages.h"
#include "sys/pool.h"
#include "sys/route.h"
#include "sys/uffd.h"

/* What is reported, and undone, when the system refuses a call. */

/* ---- descriptors --------------------------------------------------------------- */

static void no_memory_to_own_a_descriptor(void **state)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 300), next = refuse_next_fd();

	assert_true(fd >= 300);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(wf_fds_own(fd), -ENOMEM);
	assert_true(refuse_end());
	(void)close(fd);
	refuse_one("memory", 1, ENOMEM);
	errno = 0;
	assert_int_equal(wf_epoll(), -1);
	assert_int_equal(errno, ENOMEM);
	assert_true(refuse_end());
	refuse_one("epoll_create1", 1, ENFILE);
	assert_int_equal(wf_epoll(), -1);
	assert_int_equal(errno, ENFILE);
	assert_true(refuse_end());
	assert_int_equal(refuse_next_fd(), next);
}

/* What limits descriptors is not known: nothing is raised. */
static int unknown_limit(void)
{
	refuse_from("getrlimit", 1, 2, EPERM);
	errno = EMFILE;
	if (wf_fds_is_short(-1) || errno != EMFILE || !refuse_end())
		return 1;
	return 0;
}

static rlim_t soft_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : limit.rlim_cur;
}

static int set_limits(rlim_t soft, rlim_t hard)
{
	return setrlimit(RLIMIT_NOFILE, &(struct rlimit){ soft, hard });
}

/* It is raised when one sixteenth is left, and to the hard one. */
static int limit_comes_near(void)
{
	if (set_limits(64, 128))
		return 1;
	wf_fds_note(59);
	if (soft_limit() != 64)
		return 2;
	if (wf_fds_is_short(60) || soft_limit() != 128)
		return 3;
	/* Once. */
	if (set_limits(64, 128) || wf_fds_more() || soft_limit() != 64)
		return 4;
	return 0;
}

static int limit_is_the_hard_one(void)
{
	return set_limits(64, 64) || wf_fds_more() || soft_limit() != 64;
}

static void limit_of_descriptors(void **state)
{
	in_a_child(unknown_limit);
	in_a_child(limit_comes_near);
	in_a_child(limit_is_the_hard_one);
	/* One that is refused for another reason is not tried again. */
	errno = ENFILE;
	assert_false(wf_fds_is_short(-1));
	assert_int_equal(errno, ENFILE);
}

static void routes(void **state)
{
	union wf_sockaddr dest, from = wf_sockaddr_any(AF_INET6);
	int next = refuse_next_fd();
	size_t mtu = 7;

	assert_int_equal(wf_sockaddr_from_host("127.0.0.1", &dest), 0);
	refuse_one("socket", 1, EMFILE);
	assert_int_equal(wf_route_source(&dest, &from), -EMFILE);
	refuse_one("socket", 1, ENFILE);
	assert_int_equal(wf_route_mtu(&dest, &mtu), -ENFILE);
	refuse_one("getsockname", 1, ENOBUFS);
	assert_int_equal(wf_route_source(&dest, &from), -ENOBUFS);
	assert_true(refuse_end());
	assert_int_equal(from.sa.sa_family, AF_INET6);
	refuse_one("getsockopt", 1, ENOTCONN);
	assert_int_equal(wf_route_mtu(&dest, &mtu), -ENOTCONN);
	assert_true(refuse_end());
	assert_int_equal(mtu, 7);
	assert_int_equal(wf_route_mtu(&dest, &mtu), 0);
	assert_true(mtu >= 1280);
	assert_int_equal(wf_sockaddr_from_host("::1", &dest), 0);
	if (!wf_route_source(&dest, &from)) {
		mtu = 7;
		assert_int_equal(wf_route_mtu(&dest, &mtu), 0);
		assert_true(mtu >= 1280);
	}
	assert_int_equal(refuse_next_fd(), next);
}

/* ---- memory --------------------------------------------------------------------- */

static void pages(void **state)
{
	enum { SIZE = 1 << 16 };
	char *mem = wf_pages_get(SIZE);

	assert_non_null(mem);
	assert_int_equal((uintptr_t)mem % SIZE, 0);
	mem[0] = 1;
	/* A hole that the system has no room to note: the pages go, the range stays. */
	refuse_one("munmap", 1, ENOMEM);
	wf_pages_put(mem, SIZE);
	assert_true(refuse_end());
	assert_int_equal(mem[0], 0);
	refuse_one("madvise", 0, 0);
	wf_pages_put(mem, SIZE);
	assert_int_equal(refuse.calls, 0);
	refuse_from("mmap", 1, 2, ENOMEM);
	assert_null(wf_pages_get(SIZE));
	assert_true(refuse_end());
	assert_int_equal(refuse.calls, 1);
}

/* Nothing is aligned by chance: what is cut off is unmapped. */
static void pages_out_of_line(void **state)
{
	enum { SIZE = 1 << 30 };
	char *mem;

	refuse_one("munmap", 0, 0);
	mem = wf_pages_get(SIZE);
	assert_non_null(mem);
	assert_int_equal((uintptr_t)mem % SIZE, 0);
	if (refuse.calls) {
		refuse_one("mmap", 2, ENOMEM);
		if (!wf_pages_get(SIZE))
			assert_true(refuse_end());
	}
	(void)refuse_end();
	wf_pages_put(mem, SIZE);
}

static void pools(void **state)
{
	struct wf_handles handles = { .base = WF_POOL_SLAB };
	struct wf_pool pool;
	size_t kept = 0;

	wf_pool_init_handles(&pool, 100, &kept, &handles);
	refuse_one("mmap", 1, ENOMEM);
	assert_null(wf_pool_get(&pool));
	assert_true(refuse_end());
	/* No memory for the number of a slab far from the first: the slab is given
	 * back. */
	refuse_one("memory", 1, ENOMEM);
	assert_null(wf_pool_get(&pool));
	assert_true(refuse_end());
	assert_int_equal(pool.slabs, 0);
	assert_int_equal(handles.slabs, 0);
	assert_int_equal(kept, 0);
	assert_non_null(wf_pool_get(&pool));
	assert_int_equal(handles.slabs, 1);
	refuse_one("munmap", 0, 0);
	wf_pool_done(&pool);
	assert_int_equal(refuse.calls, 1);
	assert_int_equal(handles.slabs, 0);
	assert_int_equal(handles.base, 0);
	(void)refuse_end();
}

/* A slab that gets no number is unmapped. */
static void slab_without_number(void **state)
{
	struct wf_handles handles = { .base = WF_POOL_SLAB };
	struct wf_pool pool;
	size_t kept = 0;
	unsigned int cut;

	/* How many pieces are cut off is the same as long as nothing else is mapped. */
	refuse_one("munmap", 0, 0);
	wf_pages_put(wf_pages_get(WF_POOL_SLAB), WF_POOL_SLAB);
	cut = refuse.calls;
	wf_pool_init_handles(&pool, 100, &kept, &handles);
	handles.outside.capacity = handles.outside.used = UINT32_MAX;
	refuse_one("munmap", 0, 0);
	assert_null(wf_pool_get(&pool));
	assert_int_equal(refuse.calls, cut);
	(void)refuse_end();
	wf_pool_done(&pool);
}

/* ---- the watch of memory ------------------------------------------------------------ */

static void watch_of_memory(void **state)
{
	static const struct {
		const char *call;
		int code;
	} rows[] = {
		{ "memory", ENOMEM },
		{ "syscall", EPERM },
		{ "ioctl", EINVAL },
		{ "eventfd", EMFILE },
		{ "pthread_create", EAGAIN },
	};
	static struct wf_mem_changes changes = WF_MEM_CHANGES_INIT;
	struct wf_uffd *uffd = NULL;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		int next = refuse_next_fd();

		refuse_one(rows[i].call, 1, rows[i].code);
		assert_int_equal(wf_uffd_open(&changes, &uffd), -rows[i].code);
		assert_true(refuse_end());
		assert_null(uffd);
		assert_int_equal(refuse_next_fd(), next);
	}
	assert_int_equal(wf_uffd_open(&changes, &uffd), 0);
	refuse_one("ioctl", 1, EBUSY);
	assert_int_equal(wf_uffd_watch(uffd, &changes, 1), -EBUSY);
	assert_true(refuse_end());
	wf_uffd_close(uffd);
}

/* What stands for the userfaultfd: its other end, or -1. */
static int events = -1;

static int watch_with_descriptor_0(void)
{
	static struct wf_mem_changes changes = WF_MEM_CHANGES_INIT;
	struct wf_uffd *uffd = NULL;

	(void)close(0);
	if (wf_uffd_open(&changes, &uffd) || fcntl(0, F_GETFD) < 0)
		return 1;
	wf_uffd_close(uffd);
	/* The eventfd as well. */
	if (dup(1) != 0 || fcntl(0, F_GETFD) < 0 || eventfd(0, 0) < 3)
		return 2;
	events = fcntl(1, F_DUPFD, 50);
	(void)close(0);
	if (wf_uffd_open(&changes, &uffd) || fcntl(0, F_GETFD) < 0)
		return 3;
	wf_uffd_close(uffd);
	return fcntl(0, F_GETFD) < 0 ? 0 : 4;
}

/* 0 is a descriptor like all others. */
static void watch_without_standard_input(void **state)
{
	in_a_child(watch_with_descriptor_0);
}

static void events_of_memory(void **state)
{
	static struct wf_mem_changes changes = WF_MEM_CHANGES_INIT;
	static const struct uffd_msg told[] = {
		{ .event = UFFD_EVENT_UNMAP,
			.arg.remove = { .start = 4096, .end = 8192 } },
		{ .event = UFFD_EVENT_PAGEFAULT,
			.arg.remove = { .start = 1, .end = 2 } },
		{ .event = UFFD_EVENT_REMOVE,
			.arg.remove = { .start = 12288, .end = 20480 } },
		{ .event = UFFD_EVENT_REMAP,
			.arg.remap = { .from = 40960, .to = 4096, .len = 8192 } },
	};
	static const struct wf_mem_range ranges[] = { { 4096, 8192 }, { 12288, 20480 },
		{ 40960, 49152 } };
	uint64_t pos = wf_mem_changes_now(&changes);
	struct wf_mem_range range;
	struct wf_uffd *uffd;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(write(pair[1], told, sizeof(told)), sizeof(told));
	events = pair[0];
	assert_int_equal(wf_uffd_open(&changes, &uffd), 0);
	/* The thread looks once at least, and what it finds then is read. */
	wf_uffd_close(uffd);
	for (size_t i = 0; i < WF_ARRAY_SIZE(ranges); i++) {
		assert_true(wf_mem_changes_next(&changes, &pos, &range));
		assert_int_equal(range.start, ranges[i].start);
		assert_int_equal(range.end, ranges[i].end);
	}
	assert_false(wf_mem_changes_next(&changes, &pos, &range));
	events = -1;
	(void)close(pair[1]);
	assert_int_equal(fcntl(pair[0], F_GETFD), -1);
}

/* The kernel may have no userfaultfd, or refuse it to this user: an eventfd takes its
 * place. */
REFUSE_EXPORTED long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	if (refuse_this("syscall"))
		return -1;
	return events >= 0 ? events : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

REFUSE_EXPORTED int __wrap_ioctl(int fd, unsigned long command, void *arg);
int __wrap_ioctl(int fd, unsigned long command, void *arg)
{
	return refuse_this("ioctl") ? -1 : 0;
}

/* ---- identity and interfaces --------------------------------------------------------- */

static char text_path[] = "/tmp/weft-refused-XXXXXX";

/* What is opened next has this content. */
static void opened_as(const char *text)
{
	int fd = open(text_path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
	refuse.path = text_path;
}

static int content_begin(void **state)
{
	int fd = mkstemp(text_path);

	(void)close(fd);
	return fd < 0;
}

static int content_end(void **state)
{
	refuse.path = NULL;
	(void)refuse_end();
	(void)unlink(text_path);
	(void)strcpy(text_path + strlen(text_path) - 6, "XXXXXX");
	return 0;
}

#define ID "0123456789abcdef-0123-4567-FEDCBA98"

static void identity_of_the_machine(void **state)
{
	static const uint8_t wanted[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
		0xef, 0x01, 0x23, 0x45, 0x67, 0xfe, 0xdc, 0xba, 0x98 };
	int next = refuse_next_fd();
	uint8_t id[16];

	opened_as(ID "\n");
	assert_int_equal(wf_machine_boot_id(id), 0);
	assert_memory_equal(id, wanted, sizeof(id));
	opened_as(ID);
	assert_int_equal(wf_machine_boot_id(id), 0);
	opened_as(ID "0\n");
	assert_int_equal(wf_machine_boot_id(id), -EINVAL);
	opened_as("0123456789abcdef-0123-4567-FEDCBA9\n");
	assert_int_equal(wf_machine_boot_id(id), -EINVAL);
	opened_as("");
	errno = 0;
	assert_int_equal(wf_machine_boot_id(id), -EINVAL);
	opened_as("0123456789abcdeg-0123-4567-FEDCBA98\n");
	assert_int_equal(wf_machine_boot_id(id), -EINVAL);
	refuse_one("open", 1, EACCES);
	assert_int_equal(wf_machine_boot_id(id), -EACCES);
	refuse_one("read", 1, EIO);
	assert_int_equal(wf_machine_boot_id(id), -EIO);
	assert_true(refuse_end());
	assert_int_equal(refuse_next_fd(), next);
}

#define FIELDS "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "

static void state_of_a_process(void **state)
{
	uint64_t started = 0;
	char letter = '?';

	opened_as("7 (a) b) c) S " FIELDS "4711 23\n");
	assert_int_equal(wf_process_stat(7, &letter, &started), 0);
	assert_int_equal(letter, 'S');
	assert_int_equal(started, 4711);
	opened_as("7 (a) S " FIELDS);
	assert_int_equal(wf_process_stat(7, &letter, &started), 0);
	assert_int_equal(started, 0);
	opened_as("7 a S " FIELDS "4711 23\n");
	assert_int_equal(wf_process_stat(7, &letter, &started), -EINVAL);
	opened_as("7 (a)");
	assert_int_equal(wf_process_stat(7, &letter, &started), -EINVAL);
	opened_as("7 (a) S 1 2 3");
	assert_int_equal(wf_process_stat(7, &letter, &started), -EINVAL);
	opened_as("7 (a) S " FIELDS "99999999999999999999999\n");
	assert_int_equal(wf_process_stat(7, &letter, &started), -EINVAL);
}

/* -1 and the largest number stand for an unknown speed. */
static void speed_of_a_link(void **state)
{
	static const struct {
		const char *text;
		uint64_t bps;
	} rows[] = {
		{ "25000\n", UINT64_C(25000000000) },
		{ "1\n", 1000000 },
		{ "0\n", 0 },
		{ "-1\n", 0 },
		{ "4294967294\n", UINT64_C(4294967294000000) },
		{ "4294967295\n", 0 },
		{ "", 0 },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct wf_netif link = {
			.name = "bond0", .kind = WF_NETIF_BOND, .up = true
		};

		opened_as(rows[i].text);
		wf_netif_read_device(&link);
		assert_int_equal(link.speed_bps, rows[i].bps);
		link.speed_bps = 0;
		link.up = false;
		wf_netif_read_device(&link);
		assert_int_equal(link.speed_bps, 0);
	}
}

static void list_of_interfaces(void **state)
{
	struct wf_netifs *ifs = NULL;

	REFUSE_EACH("memory", ENOMEM, int err = wf_netifs_list(&ifs), {
		assert_int_equal(err, -ENOMEM);
		assert_null(ifs);
	});
	assert_non_null(ifs);
	assert_null(wf_netifs_free(ifs));
}

int main(void)
{
#define CONTENT(test) cmocka_unit_test_setup_teardown(test, content_begin, content_end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_to_own_a_descriptor),
		cmocka_unit_test(limit_of_descriptors),
		cmocka_unit_test(routes),
		cmocka_unit_test(pages),
		cmocka_unit_test(pages_out_of_line),
		cmocka_unit_test(pools),
		cmocka_unit_test(slab_without_number),
		cmocka_unit_test(watch_of_memory),
		cmocka_unit_test(watch_without_standard_input),
		cmocka_unit_test(events_of_memory),
		CONTENT(identity_of_the_machine),
		CONTENT(state_of_a_process),
		CONTENT(speed_of_a_link),
		cmocka_unit_test(list_of_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

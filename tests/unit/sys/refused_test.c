/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../refuse.h"
#include "sys/compiler.h"
#include "sys/fds.h"
#include "sys/forks.h"
#include "sys/lock.h"
#include "sys/machine.h"
#include "sys/netif.h"
#include "sys/pages.h"
#include "sys/pool.h"
#include "sys/route.h"
#include "sys/sealed.h"
#include "sys/shm_file.h"
#include "sys/uffd.h"

/* What is reported, and undone, when the system refuses a call. */

/* @body, which returns 0, in a process of its own. */
static void in_a_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- forks: these come first, because handlers are registered once ------------- */

static unsigned int nth_handler;

static void never_called(struct wf_fork_hook *hook)
{
	abort();
}

static int without_handlers(void)
{
	struct wf_fork_hook hook = { .in_child = NULL };
	int next = refuse_next_fd(), fd = dup(0);

	refuse_one("pthread_atfork", nth_handler, ENOMEM);
	if (wf_fork_hook_add(&hook, never_called) != -ENOMEM || !refuse_end())
		return 1;
	/* It is not in the list. */
	if (hook.in_child)
		return 2;
	wf_fork_hook_remove(&hook);
	/* The first answer stays. */
	if (wf_forks_count() != -ENOMEM || wf_fds_own(fd) != -ENOMEM)
		return 3;
	(void)close(fd);
	errno = 0;
	if (wf_epoll() != -1 || errno != ENOMEM)
		return 4;
	return refuse_next_fd() == next ? 0 : 5;
}

static void no_handlers_of_forks(void **state)
{
	for (nth_handler = 1; nth_handler <= 2; nth_handler++)
		in_a_child(without_handlers);
}

/* Without a set of its own, a child has none: that of its parent is closed. */
static void no_epoll_in_a_child(void **state)
{
	int fd = wf_epoll(), next = refuse_next_fd(), status;
	pid_t pid;

	assert_true(fd >= 0);
	refuse_one("epoll_create1", 1, EMFILE);
	pid = fork();
	if (!pid) {
		if (!refuse_end())
			_exit(1);
		_exit(fcntl(fd, F_GETFD) == -1 && refuse_next_fd() == fd ? 0 : 2);
	}
	assert_false(refuse_end());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* With one, it has the same number, and nothing is left open. */
	pid = fork();
	if (!pid)
		_exit(fcntl(fd, F_GETFD) == FD_CLOEXEC && refuse_next_fd() == next ? 0
										   : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	wf_fds_close(fd);
}

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

static void limit_that_cannot_be_read(void **state)
{
	in_a_child(unknown_limit);
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

/* ---- sealed files ---------------------------------------------------------------- */

#define NAME "weft-refused-test"

enum { SIZE = 2 * 4096 };

static void sealed_files(void **state)
{
	int next = refuse_next_fd(), fd = -7;
	void *mem = NULL;

	refuse_one("memfd_create", 1, EMFILE);
	assert_int_equal(wf_sealed_check(), -EMFILE);
	refuse_one("memfd_create", 1, EMFILE);
	assert_int_equal(wf_sealed_file(NAME, SIZE), -EMFILE);
	refuse_one("ftruncate", 1, EFBIG);
	assert_int_equal(wf_sealed_check(), -EFBIG);
	assert_true(refuse_end());
	assert_int_equal(wf_sealed_check(), 0);
	refuse_one("fcntl", 1, EPERM);
	assert_int_equal(wf_sealed_file(NAME, SIZE), -EPERM);
	assert_true(refuse_end());
	assert_int_equal(refuse_next_fd(), next);

	refuse_one("memfd_create", 1, ENFILE);
	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), -ENFILE);
	refuse_one("mmap", 1, ENOMEM);
	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), -ENOMEM);
	assert_true(refuse_end());
	refuse_from("fcntl", 1, 2, EPERM);
	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), -EPERM);
	assert_int_equal(refuse.calls, 2);
	assert_true(refuse_end());
	assert_int_equal(fd, -7);
	assert_null(mem);
	assert_int_equal(refuse_next_fd(), next);
}

/* An old kernel: future writes are not sealed, the size is. */
static void kernel_without_write_seals(void **state)
{
	const void *seen = NULL;
	void *mem;
	int fd, next;

	refuse_one("fcntl", 1, EINVAL);
	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), 0);
	assert_true(refuse_end());
	assert_int_equal(
		fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	next = refuse_next_fd();
	refuse_one("mmap", 1, ENOMEM);
	assert_int_equal(
		wf_sealed_map(NAME, (uint32_t)getpid(), fd, SIZE, &seen), -ENOMEM);
	assert_true(refuse_end());
	assert_null(seen);
	refuse_one("open", 1, EMFILE);
	assert_int_equal(
		wf_sealed_map(NAME, (uint32_t)getpid(), fd, SIZE, &seen), -EMFILE);
	assert_int_equal(
		wf_sealed_open(NAME, (uint32_t)getpid(), fd, SIZE + 1), -EINVAL);
	assert_int_equal(refuse_next_fd(), next);
	wf_sealed_unmap(mem, SIZE);
	(void)close(fd);
}

/* ---- named memory ----------------------------------------------------------------- */

static char name[64];

static int named(void **state)
{
	static int serial;

	(void)snprintf(
		name, sizeof(name), "/weft-refused-%d-%d", (int)getpid(), serial++);
	return 0;
}

static int unnamed(void **state)
{
	(void)refuse_end();
	(void)shm_unlink(name);
	return 0;
}

static bool shm_exists(void)
{
	int fd = shm_open(name, O_RDONLY, 0);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static void opening_named_memory(void **state)
{
	int next = refuse_next_fd();
	struct wf_shm shm;

	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), -ENOMEM);
	assert_true(refuse_end());
	/* The first call looks for one that exists. */
	refuse_one("shm_open", 1, EMFILE);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), -EMFILE);
	refuse_one("shm_open", 2, ENFILE);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), -ENFILE);
	assert_true(refuse_end());
	assert_false(shm_exists());
	assert_int_equal(refuse_next_fd(), next);
	assert_int_equal(shm.fd, -1);
}

/* Another process takes the new object for a leftover: it is made again. */
static void losing_the_new_object(void **state)
{
	int next = refuse_next_fd();
	struct wf_shm shm;

	/* The lock, and then the lock of the second attempt, which finds the leftover
	 * of the first. */
	refuse_one("fcntl", 1, EAGAIN);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), 0);
	assert_true(refuse_end());
	assert_true(shm.created);
	wf_shm_close(&shm);
	assert_false(shm_exists());
	assert_int_equal(refuse_next_fd(), next);
	refuse_one("fstat", 1, EIO);
	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), 0);
	assert_true(refuse_end());
	assert_true(shm.created);
	wf_shm_close(&shm);
	assert_int_equal(refuse_next_fd(), next);
}

static void attaching_to_named_memory(void **state)
{
	struct wf_shm one, two;
	int next;

	assert_int_equal(wf_shm_open(&one, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_resize(&one, SIZE), 0);
	assert_int_equal(wf_shm_map(&one, NULL), 0);
	assert_int_equal(wf_shm_ready(&one), 0);
	next = refuse_next_fd();
	refuse_one("fstat", 1, EOVERFLOW);
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), -EOVERFLOW);
	assert_true(refuse_end());
	/* The lock of one that is attached: the first try for a leftover, then that of
	 * all. */
	refuse_one("fcntl", 2, ENOLCK);
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), -ENOLCK);
	assert_true(refuse_end());
	/* A signal does not end the wait. */
	refuse_one("fcntl", 2, EINTR);
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	assert_true(refuse_end());
	wf_shm_close(&two);
	/* Whether others have it is not known: they may. */
	refuse_one("fcntl", 1, EINVAL);
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_READ), 0);
	assert_true(refuse_end());
	wf_shm_close(&two);
	assert_int_equal(refuse_next_fd(), next);
	wf_shm_close(&one);
}

static void sizing_named_memory(void **state)
{
	struct wf_shm shm;
	int next = refuse_next_fd();

	assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), 0);
	refuse_one("ftruncate", 1, ENOSPC);
	assert_int_equal(wf_shm_resize(&shm, SIZE), -ENOSPC);
	refuse_one("memfd_create", 1, EMFILE);
	assert_int_equal(wf_shm_resize(&shm, SIZE), -EMFILE);
	assert_true(refuse_end());
	wf_shm_close(&shm);
	for (unsigned int nth = 1; nth <= 2; nth++) {
		assert_int_equal(wf_shm_open(&shm, name, WF_SHM_CREATE), 0);
		refuse_one("pwrite", nth, EDQUOT);
		assert_int_equal(wf_shm_resize(&shm, SIZE), -EDQUOT);
		assert_true(refuse_end());
		assert_int_equal(shm.slot, -1);
		wf_shm_close(&shm);
	}
	assert_int_equal(refuse_next_fd(), next);
}

static void mapping_named_memory(void **state)
{
	struct wf_shm one, two;
	int next;

	assert_int_equal(wf_shm_open(&one, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_resize(&one, SIZE), 0);
	assert_int_equal(one.slot, 0);
	refuse_one("mmap", 1, ENOMEM);
	assert_int_equal(wf_shm_map(&one, NULL), -ENOMEM);
	assert_true(refuse_end());
	assert_null(one.mem);
	assert_int_equal(wf_shm_map(&one, NULL), 0);
	assert_int_equal(wf_shm_ready(&one), 0);
	next = refuse_next_fd();
	/* Without the lock it is mapped, and not in the roster. */
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	refuse_one("fcntl", 2, ENOLCK);
	assert_int_equal(wf_shm_map(&two, NULL), 0);
	assert_int_equal(two.slot, -1);
	(void)refuse_end();
	wf_shm_close(&two);
	/* An entry that cannot be written is none. */
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	refuse_one("pwrite", 1, ENOSPC);
	assert_int_equal(wf_shm_map(&two, NULL), 0);
	assert_true(refuse_end());
	assert_int_equal(two.slot, -1);
	wf_shm_close(&two);
	/* The next one has a place. */
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	refuse_one("pread", 1, EIO);
	assert_int_equal(wf_shm_map(&two, NULL), -EINVAL);
	assert_true(refuse_end());
	assert_int_equal(wf_shm_map(&two, NULL), 0);
	assert_int_equal(two.slot, 1);
	wf_shm_close(&two);
	assert_int_equal(refuse_next_fd(), next);
	wf_shm_close(&one);
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

/* The kernel may have no userfaultfd, or refuse it to this user: an eventfd takes its
 * place. */
REFUSE_EXPORTED long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	return refuse_this("syscall") ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
#define NAMED(test)   cmocka_unit_test_setup_teardown(test, named, unnamed)
#define CONTENT(test) cmocka_unit_test_setup_teardown(test, content_begin, content_end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_handlers_of_forks),
		cmocka_unit_test(no_epoll_in_a_child),
		cmocka_unit_test(no_memory_to_own_a_descriptor),
		cmocka_unit_test(limit_that_cannot_be_read),
		cmocka_unit_test(routes),
		cmocka_unit_test(pages),
		cmocka_unit_test(pages_out_of_line),
		cmocka_unit_test(pools),
		cmocka_unit_test(slab_without_number),
		cmocka_unit_test(sealed_files),
		cmocka_unit_test(kernel_without_write_seals),
		NAMED(opening_named_memory),
		NAMED(losing_the_new_object),
		NAMED(attaching_to_named_memory),
		NAMED(sizing_named_memory),
		NAMED(mapping_named_memory),
		cmocka_unit_test(watch_of_memory),
		CONTENT(identity_of_the_machine),
		CONTENT(state_of_a_process),
		CONTENT(speed_of_a_link),
		cmocka_unit_test(list_of_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "../refuse.h"
#include "child.h"
#include "sys/fds.h"
#include "sys/machine.h"
#include "sys/route.h"
#include "sys/sealed.h"
#include "sys/shm_file.h"

/* Sealed files and named memory, when the system refuses a call. */

/* ---- sealed files ---------------------------------------------------------------- */

#define NAME "weft-refused-test"

enum { SIZE = 2 * 4096 };

static char name[64]; /* of named memory */

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

/* A name that another process made between the two looks. */
static void name_made_meanwhile(void **state)
{
	struct wf_shm one, two;

	assert_int_equal(wf_shm_open(&one, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_ready(&one), 0);
	refuse_one("shm_open", 1, ENOENT);
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	assert_int_equal(refuse.calls, 3);
	assert_true(refuse_end());
	assert_false(two.created);
	wf_shm_close(&two);
	wf_shm_close(&one);
}

struct roster_entry {
	uint32_t pid;
	int32_t fd;
};

static struct roster_entry entry_of(const struct wf_shm *shm, int slot)
{
	struct roster_entry entry;

	assert_int_equal(
		pread(shm->fd, &entry, sizeof(entry), 16 + slot * (off_t)sizeof(entry)),
		sizeof(entry));
	return entry;
}

static void write_entry(const struct wf_shm *shm, int slot, struct roster_entry entry)
{
	assert_int_equal(pwrite(shm->fd, &entry, sizeof(entry),
				 16 + slot * (off_t)sizeof(entry)),
		sizeof(entry));
}

static void roster_of_named_memory(void **state)
{
	struct wf_shm one, two, three;
	pid_t pid;

	assert_int_equal(wf_shm_open(&one, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_resize(&one, SIZE), 0);
	assert_int_equal(wf_shm_map(&one, NULL), 0);
	assert_int_equal(wf_shm_ready(&one), 0);
	assert_int_equal(entry_of(&one, 0).pid, getpid());
	assert_int_equal(entry_of(&one, 0).fd, one.mem_fd);
	/* A place of a process that is gone is free; one that lives keeps it. */
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	write_entry(&one, 1, (struct roster_entry){ 1, 0 });
	write_entry(&one, 2, (struct roster_entry){ (uint32_t)pid, 0 });
	assert_int_equal(wf_shm_open(&two, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_map(&two, NULL), 0);
	assert_int_equal(two.slot, 2);
	assert_int_equal(entry_of(&one, 2).pid, getpid());
	/* The first entry goes with its process; others find the memory by the next
	 * one. */
	wf_shm_forget(&one);
	assert_int_equal(entry_of(&two, 0).pid, 0);
	one.mem = NULL;
	one.mem_fd = one.slot = -1;
	assert_int_equal(wf_shm_open(&three, name, WF_SHM_CREATE), 0);
	assert_int_equal(wf_shm_map(&three, NULL), 0);
	assert_int_equal(three.slot, 0);
	/* A child leaves the entries of its parent. */
	pid = fork();
	if (!pid) {
		wf_shm_forget(&three);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(entry_of(&two, 0).pid, getpid());
	wf_shm_close(&three);
	wf_shm_close(&two);
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

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* 0 is a descriptor like all others, where a program has closed its standard input. */
static int descriptor_0(void)
{
	union wf_sockaddr dest, from;
	struct wf_shm one, two;
	uint8_t id[16];
	size_t mtu;
	void *mem;
	int fd;

	(void)close(0);
	if (wf_sealed_check() || is_open(0))
		return 1;
	if (wf_sealed_file("weft-0", 4096) != 0 || close(0))
		return 2;
	if (wf_sealed_new("weft-0", 4096, &fd, &mem) || fd || close(0))
		return 3;
	wf_sealed_unmap(mem, 4096);
	fd = wf_epoll();
	wf_fds_close(fd);
	if (fd || is_open(0))
		return 4;
	if (wf_socket(AF_UNIX, SOCK_STREAM, 0) || close(0))
		return 5;
	if (wf_machine_boot_id(id) || is_open(0))
		return 6;
	if (wf_sockaddr_from_host("127.0.0.1", &dest) ||
		wf_route_source(&dest, &from) || wf_route_mtu(&dest, &mtu) ||
		is_open(0))
		return 7;
	if (wf_shm_open(&one, name, WF_SHM_CREATE) || one.fd ||
		wf_shm_resize(&one, 4096) || wf_shm_map(&one, NULL) ||
		wf_shm_ready(&one))
		return 10;
	/* The memory's descriptor is 0, and others open it by that. */
	(void)dup2(one.mem_fd, 100);
	(void)close(one.mem_fd);
	if (dup2(one.fd, 101) != 101 || dup2(100, 0) || close(100))
		return 11;
	one.fd = 101;
	one.mem_fd = 0;
	wf_shm_forget(&one);
	one.mem = NULL;
	one.mem_fd = -1;
	wf_shm_close(&one);
	if (is_open(0) || is_open(101))
		return 12;
	if (wf_shm_open(&one, name, WF_SHM_CREATE) || wf_shm_ready(&one) ||
		dup2(one.fd, 101) != 101 || close(one.fd))
		return 13;
	one.fd = 101;
	if (wf_shm_resize(&one, 4096) || one.mem_fd || wf_shm_map(&one, NULL))
		return 14;
	if (wf_shm_open(&two, name, WF_SHM_CREATE) || wf_shm_map(&two, NULL) ||
		two.len != 4096)
		return 15;
	wf_shm_close(&two);
	wf_shm_close(&one);
	return 0;
}

static void descriptor_0_is_one(void **state)
{
	in_a_child(descriptor_0);
}

int main(void)
{
#define NAMED(test) cmocka_unit_test_setup_teardown(test, named, unnamed)
	const struct CMUnitTest tests[] = {
		NAMED(descriptor_0_is_one),
		cmocka_unit_test(sealed_files),
		cmocka_unit_test(kernel_without_write_seals),
		NAMED(opening_named_memory),
		NAMED(losing_the_new_object),
		NAMED(attaching_to_named_memory),
		NAMED(name_made_meanwhile),
		NAMED(roster_of_named_memory),
		NAMED(sizing_named_memory),
		NAMED(mapping_named_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

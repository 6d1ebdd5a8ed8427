/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/sealed.h"

#define NAME "weft-sealed-test"

enum { SIZE = 3 * 4096 };

static uint32_t own_pid(void)
{
	return (uint32_t)getpid();
}

static void refused(const char *name, uint32_t pid, int fd, size_t size, int err)
{
	const void *mem = NULL;

	assert_int_equal(wf_sealed_map(name, pid, fd, size, &mem), err);
	assert_null(mem);
}

/* Another process reads what its parent writes after both have mapped it. */
static void another_process_reads(void **state)
{
	uint32_t parent = own_pid();
	int fd, to_child[2], status;
	char *mem;
	pid_t pid;

	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, (void **)&mem), 0);
	assert_int_equal(mem[SIZE - 1], 0);
	assert_int_equal(pipe(to_child), 0);
	pid = fork();
	if (!pid) {
		const char *seen;
		char byte;

		/* The child has the descriptor as well, and reads by its parent's. */
		close(fd);
		if (wf_sealed_map(NAME, parent, fd, SIZE, (const void **)&seen))
			_exit(1);
		if (read(to_child[0], &byte, 1) != 1)
			_exit(2);
		_exit(seen[SIZE - 1] == 7 ? 0 : 3);
	}
	mem[SIZE - 1] = 7;
	assert_int_equal(write(to_child[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	wf_sealed_unmap(mem, SIZE);
	close(fd);
	close(to_child[0]);
	close(to_child[1]);
}

static void other_files_are_refused(void **state)
{
	int fd, pipes[2], plain;
	void *mem;

	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), 0);
	assert_int_equal(pipe(pipes), 0);
	plain = memfd_create(NAME, MFD_CLOEXEC);
	assert_true(plain >= 0);
	assert_int_equal(ftruncate(plain, SIZE), 0);
	refused("another-name", own_pid(), fd, SIZE, -EINVAL);
	refused(NAME, own_pid(), fd, SIZE + 1, -EINVAL);
	refused(NAME, own_pid(), pipes[0], SIZE, -EINVAL);
	refused(NAME, own_pid(), plain, SIZE, -EINVAL);
	refused(NAME, own_pid(), -1, SIZE, -ENOENT);
	refused(NAME, 0, fd, SIZE, -ENOENT);
	refused(NAME, UINT32_MAX, fd, SIZE, -ENOENT);
	close(plain);
	close(pipes[0]);
	close(pipes[1]);
	wf_sealed_unmap(mem, SIZE);
	close(fd);
	refused(NAME, own_pid(), fd, SIZE, -ENOENT);
}

/* The size cannot change, and no other mapping may write. */
static void it_is_sealed(void **state)
{
	int fd;
	void *mem;

	assert_int_equal(wf_sealed_new(NAME, SIZE, &fd, &mem), 0);
	assert_int_not_equal(ftruncate(fd, 0), 0);
	assert_int_not_equal(ftruncate(fd, 2 * SIZE), 0);
	assert_int_not_equal(fcntl(fd, F_GET_SEALS) & F_SEAL_SEAL, 0);
	wf_sealed_unmap(mem, SIZE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_reads),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(it_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

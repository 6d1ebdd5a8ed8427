/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <sys/mman.h>

#include "../refuse.h"
#include "sys/mapping.h"

/* Mappings of a process, and the files behind them. */

enum { LEN = 8192, NO_PID = 0x7ffffff0 };

static char path[] = "/tmp/weft-mapping-XXXXXX";
static char *mem;
static int file;

static int setup(void **state)
{
	file = mkstemp(path);
	assert_int_equal(ftruncate(file, LEN), 0);
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return mem == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)munmap(mem, LEN);
	(void)close(file);
	return unlink(path);
}

static uint64_t at(size_t offset)
{
	return (uintptr_t)mem + offset;
}

static void found_mappings(void **state)
{
	struct wf_mapping found = { .inode = 7 };
	struct stat st;

	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(wf_mapping_find(0, at(0), LEN, &found), 0);
	assert_int_equal(found.start, at(0));
	assert_int_equal(found.end, at(LEN));
	assert_int_equal(found.inode, st.st_ino);
	assert_true(found.shared && found.readable && found.writable && !found.sysv);
	assert_int_equal(wf_mapping_find(getpid(), at(1), LEN - 1, &found), 0);
	/* More than one, or none. */
	found.inode = 7;
	assert_int_equal(wf_mapping_find(0, at(1), LEN, &found), -ENOENT);
	assert_int_equal(wf_mapping_find(0, at(1), SIZE_MAX, &found), -ENOENT);
	assert_int_equal(wf_mapping_find(0, 0, 1, &found), -ENOENT);
	assert_int_equal(wf_mapping_find(NO_PID, at(0), 1, &found), -ENOENT);
	refuse_one("fopen", 1, EACCES);
	assert_int_equal(wf_mapping_find(0, at(0), LEN, &found), -EACCES);
	assert_true(refuse_end());
	assert_int_equal(found.inode, 7);
}

/* A line that is none of the format is passed over. */
static void odd_lines(void **state)
{
	static const char text[] = "nonsense\n1000-3000 r--s 00000000\n"
				   "1000-3000 r--s 00002000 08:01 42 /x\n"
				   "5000-6000 rw-s 00000000 00:05 9 /SYSV0 (deleted)\n";
	struct wf_mapping found;

	assert_int_equal(pwrite(file, text, sizeof(text) - 1, 0), sizeof(text) - 1);
	refuse.path = path;
	assert_int_equal(wf_mapping_find(0, 0x1000, 0x2000, &found), 0);
	assert_int_equal(found.offset, 0x2000);
	assert_int_equal(found.major, 8);
	assert_int_equal(found.minor, 1);
	assert_int_equal(found.inode, 42);
	assert_false(found.writable);
	assert_int_equal(wf_mapping_find(0, 0x5000, 0x1000, &found), 0);
	assert_true(found.sysv);
	refuse.path = NULL;
}

static void files_of_mappings(void **state)
{
	struct wf_mapping found;
	struct stat st, other;
	int fd, next = refuse_next_fd();

	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(wf_mapping_find(0, at(0), LEN, &found), 0);
	fd = wf_mapping_open(0, &found, true);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &other), 0);
	assert_int_equal(other.st_ino, st.st_ino);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	(void)close(fd);
	fd = wf_mapping_open(0, &found, false);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	(void)close(fd);
	/* It cannot be opened, or has become another one meanwhile. */
	refuse_from("open", 1, 100, EACCES);
	assert_int_equal(wf_mapping_open(0, &found, true), -ENOENT);
	assert_true(refuse_end());
	refuse_from("fstat", 1, 100, EIO);
	assert_int_equal(wf_mapping_open(0, &found, true), -ENOENT);
	assert_true(refuse_end());
	assert_int_equal(wf_mapping_open(NO_PID, &found, true), -ENOENT);
	found.inode++;
	assert_int_equal(wf_mapping_open(0, &found, true), -ENOENT);
	assert_int_equal(refuse_next_fd(), next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_mappings),
		cmocka_unit_test(files_of_mappings),
		cmocka_unit_test(odd_lines),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

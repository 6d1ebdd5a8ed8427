/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_size.h"
#include "sys/sealed.h"

enum { LIMIT = 8192 };

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* Up to the limit, and one byte more, which would end the process by SIGXFSZ. */
static void limited(void **state)
{
	struct rlimit limit = { LIMIT, LIMIT };
	int fd = memfd_create("weft-file-test", MFD_CLOEXEC), sealed;
	char bytes[16] = { 0 };
	int pipes[2];

	(void)state;
	assert_true(fd >= 0);
	assert_true(wf_file_may_have(UINT64_MAX));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(wf_file_may_have(LIMIT));
	assert_false(wf_file_may_have(LIMIT + 1));
	assert_int_equal(wf_file_resize(fd, LIMIT + 1), -ENOSPC);
	assert_int_equal(wf_file_resize(fd, LIMIT - sizeof(bytes)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), LIMIT - sizeof(bytes));
	assert_int_equal(wf_file_append(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(wf_file_append(fd, bytes, 1), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(size_of(fd), LIMIT);
	close(fd);
	/* What is no file has no limit. */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(wf_file_append(pipes[1], bytes, sizeof(bytes)), sizeof(bytes));
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(wf_sealed_file("weft-file-test", LIMIT + 1), -ENOSPC);
	sealed = wf_sealed_file("weft-file-test", LIMIT);
	assert_true(sealed >= 0);
	assert_int_equal(ftruncate(sealed, 1), -1);
	assert_int_equal(size_of(sealed), LIMIT);
	close(sealed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/lnx/locality.h"

static struct fi_fabric_attr fabric = { .name = (char *)"10.0.0.0/24" };

static struct fi_info info_of(uint64_t caps, uint32_t format)
{
	return (struct fi_info){
		.caps = caps, .addr_format = format, .fabric_attr = &fabric
	};
}

static void a_locality_is_always_the_same(void **state)
{
	struct fi_info near = info_of(FI_LOCAL_COMM, FI_ADDR_STR);
	struct fi_info lo = info_of(FI_LOCAL_COMM, FI_SOCKADDR_IN);
	struct fi_info far = info_of(FI_LOCAL_COMM | FI_REMOTE_COMM, FI_SOCKADDR_IN);

	assert_true(lnx_locality_of(&near) == lnx_locality_of(&near));
	assert_true(lnx_locality_of(&lo) == lnx_locality_of(&lo));
	assert_true(lnx_locality_of(&far) == lnx_locality_of(&far));
	assert_true(lnx_locality_of(&near) != lnx_locality_of(&far));
	assert_true(lnx_locality_of(&near) != lnx_locality_of(&lo));
	assert_true(lnx_locality_is_local(&near) && lnx_locality_is_local(&lo));
	assert_false(lnx_locality_is_local(&far));
	assert_true(lnx_locality_is_memory(&near));
	assert_false(lnx_locality_is_memory(&lo));
}

/* ---- a machine that tells nothing ---- */

static enum { TELLS, NO_FILE, SHORT_FILE, NO_STATUS } machine;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int __wrap_wf_sys_open(const char *path, int flags);
VISIBLE ssize_t __wrap_wf_sys_read(int fd, void *buf, size_t len);
VISIBLE int __wrap_stat64(const char *path, struct stat64 *ret);
int __real_wf_sys_open(const char *path, int flags);
ssize_t __real_wf_sys_read(int fd, void *buf, size_t len);
int __real_stat64(const char *path, struct stat64 *ret);

int __wrap_wf_sys_open(const char *path, int flags)
{
	errno = ENOENT;
	return machine == NO_FILE ? -1 : __real_wf_sys_open(path, flags);
}

ssize_t __wrap_wf_sys_read(int fd, void *buf, size_t len)
{
	return machine == SHORT_FILE ? 15 : __real_wf_sys_read(fd, buf, len);
}

int __wrap_stat64(const char *path, struct stat64 *ret)
{
	errno = ENOENT;
	return machine == NO_STATUS ? -1 : __real_stat64(path, ret);
}

/* Then a locality is a random number, which is not twice the same. */
static void the_machine_is_not_known(void **state)
{
	struct fi_info near = info_of(FI_LOCAL_COMM, FI_ADDR_STR);
	struct fi_info lo = info_of(FI_LOCAL_COMM, FI_SOCKADDR_IN);
	struct fi_info far = info_of(FI_LOCAL_COMM | FI_REMOTE_COMM, FI_SOCKADDR_IN);

	for (machine = NO_FILE; machine <= NO_STATUS; machine++) {
		assert_true(lnx_locality_of(&near) != lnx_locality_of(&near));
		assert_true(lnx_locality_of(&lo) != lnx_locality_of(&lo));
		/* The fabric tells which one this is. */
		assert_true(lnx_locality_of(&far) == lnx_locality_of(&far));
	}
	machine = TELLS;
	assert_true(lnx_locality_of(&near) == lnx_locality_of(&near));
}

static void the_fabric_counts(void **state)
{
	struct fi_info far = info_of(FI_REMOTE_COMM, FI_SOCKADDR_IN);
	uint64_t locality = lnx_locality_of(&far);

	fabric.name = (char *)"10.0.1.0/24";
	assert_true(lnx_locality_of(&far) != locality);
	fabric.name = (char *)"10.0.0.0/24";
}

/* The locality in another process that is @apart from this one; 0: not permitted. */
static uint64_t locality_apart(struct fi_info *info, int apart)
{
	uint64_t locality = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (!fork()) {
		if (!unshare(apart))
			locality = lnx_locality_of(info);
		_exit(write(fds[1], &locality, sizeof(locality)) != sizeof(locality));
	}
	assert_int_equal(read(fds[0], &locality, sizeof(locality)), sizeof(locality));
	(void)wait(NULL);
	close(fds[0]);
	close(fds[1]);
	return locality;
}

/* Of containers: one network namespace for loopback addresses, none for memory. */
static void a_namespace_of_its_own_is_another_locality(void **state)
{
	struct fi_info near = info_of(FI_LOCAL_COMM, FI_ADDR_STR);
	struct fi_info lo = info_of(FI_LOCAL_COMM, FI_SOCKADDR_IN);
	struct fi_info far = info_of(FI_REMOTE_COMM, FI_SOCKADDR_IN);

	assert_true(locality_apart(&lo, 0) == lnx_locality_of(&lo));
	if (!locality_apart(&lo, CLONE_NEWNET))
		skip();
	assert_true(locality_apart(&lo, CLONE_NEWNET) != lnx_locality_of(&lo));
	assert_true(locality_apart(&near, CLONE_NEWNET) == lnx_locality_of(&near));
	assert_true(locality_apart(&far, CLONE_NEWNET) == lnx_locality_of(&far));
}

/* Host names mean nothing. */
static void a_name_of_its_own_is_not(void **state)
{
	struct fi_info near = info_of(FI_LOCAL_COMM, FI_ADDR_STR);

	if (!locality_apart(&near, CLONE_NEWUTS))
		skip();
	assert_true(locality_apart(&near, CLONE_NEWUTS) == lnx_locality_of(&near));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_locality_is_always_the_same),
		cmocka_unit_test(the_machine_is_not_known),
		cmocka_unit_test(the_fabric_counts),
		cmocka_unit_test(a_namespace_of_its_own_is_another_locality),
		cmocka_unit_test(a_name_of_its_own_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/file_size.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/calls.h"

/* Bytes that a file may have; RLIM_INFINITY: as many as there is space for. */
static rlim_t file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

bool wf_file_may_have(uint64_t end)
{
	rlim_t limit = file_limit();

	return limit == RLIM_INFINITY || end <= limit;
}

int wf_file_resize(int fd, size_t len)
{
	if (!wf_file_may_have(len))
		return -ENOSPC;
	return ftruncate(fd, (off_t)len) ? -errno : 0;
}

long wf_file_append(int fd, const void *from, size_t len)
{
	struct stat st;

	if (file_limit() != RLIM_INFINITY && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		!wf_file_may_have((uint64_t)st.st_size + len)) {
		errno = ENOSPC;
		return -1;
	}
	return wf_sys_write(fd, from, len);
}

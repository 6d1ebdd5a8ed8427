/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/file_size.h"

int wf_log_file_open(const char *location, mode_t mode, int *ret_err)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, len;

	*ret_err = 0;
	if (!location || strcmp(location, "stderr") == 0)
		return STDERR_FILENO;
	if (strcmp(location, "stdout") == 0)
		return STDOUT_FILENO;
	/* A program with more rights than its user does not create files where the
	 * user's environment says. */
	if (getauxval(AT_SECURE)) {
		*ret_err = -EPERM;
		return STDERR_FILENO;
	}
	if (stat(location, &st) == 0 && S_ISDIR(st.st_mode))
		len = snprintf(
			path, sizeof(path), "%s/ofi_%ld.log", location, (long)getpid());
	else
		len = snprintf(path, sizeof(path), "%s", location);
	if (len < 0 || (size_t)len >= sizeof(path)) {
		*ret_err = -ENAMETOOLONG;
		return STDERR_FILENO;
	}
	fd = wf_sys_openat(AT_FDCWD, path,
		O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
	if (fd < 0) {
		*ret_err = -errno;
		return STDERR_FILENO;
	}
	return fd;
}

void wf_log_file_write(int fd, const char *text, size_t len)
{
	ssize_t done;

	while (len > 0) {
		done = wf_file_append(fd, text, len);
		if (done < 0 && errno == EINTR)
			continue;
		/* A full pipe or disk loses the line; the application goes on. */
		if (done <= 0)
			return;
		text += done;
		len -= (size_t)done;
	}
}

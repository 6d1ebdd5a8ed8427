/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_FILE_H
#define WF_CORE_LOG_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Where log lines go. @location is "stderr", "stdout", a directory in which
 * ofi_<pid>.log is made, or the path of a file that does not exist yet; NULL is
 * stderr. Returns a descriptor, or STDERR_FILENO with *ret_err set to a negative
 * fabric errno.
 */
int wf_log_file_open(const char *location, mode_t mode, int *ret_err);

/* All of it in one system call if the kernel lets it, so that lines of several
 * threads and processes do not mix. */
void wf_log_file_write(int fd, const char *text, size_t len);

#endif

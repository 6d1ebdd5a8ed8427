/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_FILE_H
#define WF_CORE_LOG_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Open the destination of log lines. @location is "stderr" (or NULL), "stdout", a
 * directory, in which ofi_<pid>.log is created, or the path of a file that does not
 * exist yet. Returns a file descriptor; on failure STDERR_FILENO, and *ret_err is a
 * negative fabric errno (success: 0).
 */
int wf_log_file_open(const char *location, mode_t mode, int *ret_err);

/* Write @len bytes, in one system call where the kernel accepts them, so that lines of
 * several threads and processes do not mix. Errors lose the rest of the text. */
void wf_log_file_write(int fd, const char *text, size_t len);

#endif

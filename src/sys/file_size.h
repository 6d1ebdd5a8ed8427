/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FILE_SIZE_H
#define WF_SYS_FILE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files that grow within the limit of the process (RLIMIT_FSIZE, ulimit -f). Growing
 * beyond it raises SIGXFSZ instead of failing, so all of the library's files are
 * checked here first, also files in memory. Any thread.
 */

/* May a file have @end bytes? */
bool wf_file_may_have(uint64_t end);

/* ftruncate(2). 0 or a negative errno; -ENOSPC: the limit. */
int wf_file_resize(int fd, size_t len);

/* write(2) to a descriptor that may be a file which is written at its end. -1 with
 * errno ENOSPC: the limit. */
long wf_file_append(int fd, const void *from, size_t len);

#endif

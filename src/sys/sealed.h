/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SEALED_H
#define WF_SYS_SEALED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory without a name in the file system, which the process that made it writes and
 * other processes of the same user and process namespace map for reading: they open it
 * by /proc. Its size is sealed, so no access behind its end can raise SIGBUS, and from
 * Linux 5.1 on only the mapping of its maker can write. The kernel frees the memory
 * with the last process that has it open or mapped. Any thread may call; functions
 * return 0 or a negative errno.
 */

/* Make memory of @size bytes, all zero. @name, at most 32 bytes, is shown in
 * /proc/PID/maps, and readers have to know it. A forked child does not have the
 * mapping. */
int wf_sealed_new(const char *name, size_t size, int *ret_fd, void **ret_mem);

/* Make a file in memory that all processes that get its descriptor may write, of @size
 * bytes, which are sealed. The descriptor, or a negative errno. */
int wf_sealed_file(const char *name, size_t size);

/* Can the process make such files? 0 or a negative errno: a sandbox may forbid
 * memfd_create(2). */
int wf_sealed_check(void);

/* Open the memory that the process @pid has open as descriptor @of, made with @name and
 * @size, for reading and writing. The descriptor, or a negative errno: -EINVAL for
 * another file, which is not opened. The arguments need not be trusted. */
int wf_sealed_open(const char *name, uint32_t pid, int of, size_t size);

/* Map the memory that the process @pid made with @name and @size, and that is open
 * there as descriptor @of. The arguments need not be trusted: a file of another kind,
 * name, owner or size is refused, with -EINVAL or the kernel's error, before it is
 * read. */
int wf_sealed_map(
	const char *name, uint32_t pid, int of, size_t size, const void **ret_mem);

void wf_sealed_unmap(const void *mem, size_t size);

#endif

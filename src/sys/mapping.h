/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MAPPING_H
#define WF_SYS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The mapping that a range of a process's memory belongs to, from /proc/PID/maps. The
 * kernel tells that of another process to one that may trace it. Any thread may call.
 * Functions return 0 or a negative errno.
 */
struct wf_mapping {
	uint64_t start, end;   /* addresses of the first byte, and behind the last */
	uint64_t offset;       /* position of @start in the file, in bytes */
	uint64_t inode;        /* inode of the file; id of a System V segment */
	uint32_t major, minor; /* device of the file */
	bool shared;           /* mapped with MAP_SHARED */
	bool readable, writable;
	bool sysv; /* a System V segment (shmat) */
};

/* The mapping of process @pid, 0 for this one, that contains all of the range. -ENOENT:
 * none, or several. */
int wf_mapping_find(pid_t pid, uint64_t addr, size_t len, struct wf_mapping *ret);

/* A new descriptor of the file that process @pid has mapped, close-on-exec, for
 * reading, and for writing if @writable: opened through a descriptor that the process
 * has, or through the mapping if the kernel permits that. -ENOENT: neither is
 * possible. */
int wf_mapping_open(pid_t pid, const struct wf_mapping *mapping, bool writable);

#endif

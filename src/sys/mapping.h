/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MAPPING_H
#define WF_SYS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The mapping that a range of this process's memory belongs to, from /proc/self/maps.
 * Any thread may call. Functions return 0 or a negative errno.
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

/* The mapping that contains all of the range. -ENOENT: none, or several. */
int wf_mapping_find(const void *addr, size_t len, struct wf_mapping *ret);

/* A new descriptor of the mapped file, close-on-exec: a duplicate of a descriptor that
 * this process has, or opened through /proc if the kernel permits that. It is open for
 * reading, and for writing if @writable. -ENOENT: neither is possible. */
int wf_mapping_open(const struct wf_mapping *mapping, bool writable);

#endif

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
	uint64_t start, end;   /* addresses */
	uint64_t offset;       /* in the file, of @start */
	uint64_t inode;        /* of a System V segment: its id */
	uint32_t major, minor; /* device of the file */
	bool shared;           /* MAP_SHARED */
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

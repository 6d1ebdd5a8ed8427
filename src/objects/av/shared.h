/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_SHARED_H
#define WF_OBJECTS_AV_SHARED_H

#include <stdalign.h>

#include "objects/av/table.h"
#include "sys/shm_file.h"

/*
 * A table in a named shared memory object (sys/shm_file.h: which process creates,
 * unlinks and replaces it). The object is as long as the largest number of addresses
 * needs; memory is committed as the table grows, so each process maps all of it once.
 *
 * The contents are not trusted, because other processes write them: the header is
 * checked when the object is opened and its numbers are copied; from then on only the
 * copies bound what is touched. A writer that died during a change leaves
 * @state.writing set, and the next writer rebuilds everything from the slots.
 */
struct wf_av_header {
	_Atomic uint64_t magic; /* WF_AV_SHARED_MAGIC; written last */
	uint32_t version;       /* WF_AV_SHARED_VERSION */
	uint32_t addr_format;   /* FI_SOCKADDR_IN, ... */
	uint32_t addr_len;      /* bytes of a stored address */
	uint32_t max_bits;      /* log2 of the largest number of addresses */
	alignas(WF_CACHELINE) struct wf_av_state state; /* state of the table */
};

struct wf_av_shared {
	struct wf_shm shm;          /* the shared memory object */
	struct wf_av_memory memory; /* the table in it */
};

enum {
	WF_AV_SHARED_VERSION = 2,
	/* Bytes at the start of the object that are reserved for the header. */
	WF_AV_SHARED_START = 4096,
	/* log2 of the addresses that a shared AV can hold by default, and at most, if
	 * the application asks for more by fi_av_attr.count. */
	WF_AV_SHARED_BITS = 22,
	WF_AV_SHARED_MAX_BITS = 28,
};

#define WF_AV_SHARED_MAGIC UINT64_C(0x0a76612d74666577) /* "weft-av\n" */

/* Write the header of an empty table into zeroed memory. */
void wf_av_shared_format(struct wf_av_header *header, const struct wf_av_format *format,
	uint32_t max_bits);

/* Check that @header begins a table of @format in an object of @len bytes, and return
 * its max_bits. 0, or -FI_EINVAL. */
int wf_av_shared_check(const struct wf_av_header *header, size_t len,
	const struct wf_av_format *format, uint32_t *ret_max_bits);

/*
 * Attach @table to the shared table called @name: create it unless @readonly or it
 * exists, map it at @hint if possible. Names are separate for each user and @scope.
 * @count: addresses that a new table has to hold. -FI_ENOENT: read-only, and no process
 * has the table open. -FI_EACCES: the object of this name belongs to another user.
 * -FI_EINVAL: the name is too long, or the object is a table of another format.
 */
int wf_av_shared_open(struct wf_av_table *table, const struct wf_av_format *format,
	const char *scope, const char *name, size_t count, bool readonly, void *hint,
	struct wf_av_shared **ret_shared);
void wf_av_shared_close(struct wf_av_shared *shared);

#endif

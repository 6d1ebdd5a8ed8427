/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_SHARED_H
#define WF_OBJECTS_AV_SHARED_H

#include <stdalign.h>

#include "objects/av/table.h"
#include "sys/shm.h"

/*
 * A table in a named shared memory object (sys/shm.h tells who makes, unlinks and
 * replaces it). Its length is fixed for the largest number of addresses that it can
 * hold, and it takes memory as it grows, so that all mappings see all of it at once.
 *
 * What others write is not believed: the header is checked when the object is opened
 * and its numbers copied; from then on only those copies bound what is touched. A
 * writer that died half-way leaves @state.writing set, and the next one rebuilds
 * everything from the slots.
 */
struct wf_av_header {
	_Atomic uint64_t magic; /* written last */
	uint32_t version;
	uint32_t addr_format;
	uint32_t addr_len;
	uint32_t max_bits;
	alignas(WF_CACHELINE) struct wf_av_state state;
};

struct wf_av_shared {
	struct wf_shm shm;
	struct wf_av_memory memory;
};

enum {
	WF_AV_SHARED_VERSION = 1,
	/* Room for the header. */
	WF_AV_SHARED_START = 4096,
	/* Addresses that any shared AV can hold, and the most for one that asks. */
	WF_AV_SHARED_BITS = 22,
	WF_AV_SHARED_MAX_BITS = 28,
};

#define WF_AV_SHARED_MAGIC UINT64_C(0x0a76612d74666577) /* "weft-av\n" */

/* Write the header of an empty table into zeroed memory. */
void wf_av_shared_format(struct wf_av_header *header, const struct wf_av_format *format,
	uint32_t max_bits);

/* Is this @len bytes of a table of @format? 0, or -FI_EINVAL. */
int wf_av_shared_check(const struct wf_av_header *header, size_t len,
	const struct wf_av_format *format, uint32_t *ret_max_bits);

/*
 * Open the table called @name for @table: create it unless @readonly, map it at @hint
 * if possible. The name lives among those of this user, @scope and no one else.
 * -FI_ENOENT: read-only and no process has it open. -FI_EACCES: the name belongs to
 * somebody else. -FI_EINVAL: the name is too long, or it is a table of another kind.
 */
int wf_av_shared_open(struct wf_av_table *table, const struct wf_av_format *format,
	const char *scope, const char *name, size_t count, bool readonly, void *hint,
	struct wf_av_shared **ret_shared);
void wf_av_shared_close(struct wf_av_shared *shared);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_COPY_REGIONS_H
#define WF_SHM_COPY_REGIONS_H

#include "objects/mr/mr.h"
#include "providers/shm/wire/wire.h"

struct shm_conn;
struct shm_ep;
struct wf_ep;

/*
 * The regions of an endpoint, published: a table in a file in memory that only this
 * process writes and each peer maps for reading, so that peers find and access the
 * regions without asking (remote.h). This file is the owner's side.
 *
 * Nothing in the table is secret from processes of the same user, and nothing in it is
 * trusted: addresses are those of this process, in which the peer can access no memory
 * that the kernel would not let it access anyway.
 */

/* Size of the table, and how many entries a key may have its own among. */
enum { SHM_TABLE_SIZE = 8192, SHM_TABLE_PROBES = 16 };

/* The name of the file, for sys/sealed.h. */
#define SHM_TABLE_NAME "weft-regions"

/* What a region permits, and of which accesses the owner wants to be told. */
enum {
	SHM_MAY_READ = 1 << 0,
	SHM_MAY_WRITE = 1 << 1,
	SHM_TELL_READ = 1 << 2,
	SHM_TELL_WRITE = 1 << 3,
};

/* Description of a region. */
struct shm_described {
	uint64_t key, base, len; /* as in struct wf_mr */
	uint32_t flags;
	uint32_t count; /* number of pieces */
	struct {
		uint64_t base, len; /* addresses in the owner's process */
	} piece[SHM_IOV_LIMIT];
};

/* Serial numbers of entries: there is no region; the one of the key is about to get
 * another serial number. Higher ones are those of regions. */
enum { SHM_SERIAL_NONE, SHM_SERIAL_CHANGING, SHM_SERIAL_FIRST };

/* An entry is valid if @serial was the same before and after it was read. */
struct shm_entry {
	alignas(2 * WF_CACHELINE) _Atomic uint64_t serial;
	struct shm_described region;
};

static_assert(sizeof(struct shm_entry) == 2 * WF_CACHELINE, "two cache lines");

/* Bits of shm_table.flags. FENCE: the owner cannot execute a barrier for both ends, so
 * initiators need fences. NO_COPIES: the kernel is not to copy. */
enum { SHM_TABLE_FENCE = 1 << 0, SHM_TABLE_NO_COPIES = 1 << 1 };

struct shm_table {
	uint64_t instance; /* of the endpoint, as in its hello */
	uint32_t flags;
	/* Number of regions that have no entry: operations on keys that are not found
	 * are requests. */
	_Atomic uint32_t left_out;
	alignas(4096) struct shm_entry entry[SHM_TABLE_SIZE];
};

/* The first entry that a key may have; the others follow. */
static inline uint32_t shm_table_first(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) % SHM_TABLE_SIZE;
}

/* An endpoint's table, at its owner. Guarded by the lock of the map of regions. */
struct shm_regions {
	struct wf_mr_watch watch;
	struct shm_ep *ep;
	struct shm_table *table; /* NULL: no regions are published */
	int fd;
	/* The region that each entry describes; NULL: none. */
	const struct wf_mr **owner;
	uint64_t serial;       /* the last one that was used */
	struct wf_list visits; /* struct shm_conn by visit_link */
	bool is_watching, is_full;
	bool fence; /* SHM_TABLE_FENCE is set */
};

/* Begin to publish the endpoint's regions. Without memory for the table, or where
 * regions are not to be accessed directly, none are published. */
void shm_regions_init(struct shm_ep *ep);
void shm_regions_open(struct shm_ep *ep);
/* All connections have ended. Also called in a forked child, for the copies there. */
void shm_regions_done(struct shm_ep *ep);
/* wf_xfer_ops.cntr_bound: other accesses are told of from now on. */
int shm_regions_change(struct wf_ep *wf);

/* The peer of @conn may access regions from now on, and does not any more when the
 * second function returns. ep.lock is held. */
void shm_regions_enter(struct shm_conn *conn);
void shm_regions_leave(struct shm_conn *conn);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_MR_MR_H
#define WF_OBJECTS_MR_MR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_domain.h>

#include "sys/list.h"
#include "sys/lock.h"

struct wf_domain;
struct wf_cntr;

/* A registered memory region (fi_mr(3)): one or several pieces of memory with one key,
 * whose remote addresses are contiguous. */
struct wf_mr {
	struct fid_mr fid; /* fid.key is FI_KEY_NOTAVAIL without remote access */
	struct wf_domain *domain;
	uint64_t access; /* FI_SEND, FI_REMOTE_READ, ... */
	uint64_t flags;  /* flags of the registration call */
	uint64_t base;   /* remote address of the first byte: 0, or its local address */
	size_t len;      /* bytes of all pieces */
	size_t iov_count;        /* number of pieces in @iov */
	struct iovec *iov;       /* the pieces of memory */
	struct wf_mr *base_mr;   /* the region that a sub-region is in, else NULL */
	struct wf_cntr *cntr;    /* counts remote writes; NULL unless bound */
	bool no_events;          /* accesses are counted nowhere; see wf_mr_hide */
	bool deferred;           /* registered disabled: bind, then fi_mr_enable */
	bool enabled;            /* peers may access the region */
	atomic_int refs;         /* number of sub-regions */
	struct wf_mr *hash_next; /* next region in the bucket, or NULL */
};

/*
 * Is told which regions of a map peers may access, for a transport whose peers access
 * memory without a request to this process. Its functions are called with the map's
 * lock held, also in a forked child.
 */
struct wf_mr_watch {
	struct wf_list link; /* in wf_mr_map.watches */
	/* Peers may access @mr from now on; @again: after such a close(). */
	void (*open)(struct wf_mr_watch *watch, struct wf_mr *mr, bool again);
	/* They may not any more: when this returns, no access without a request is
	 * under way. @again: open() follows at once, because something about the region
	 * has changed. */
	void (*close)(struct wf_mr_watch *watch, struct wf_mr *mr, bool again);
};

/*
 * The regions with remote access, by key.
 *
 * @lock guards the table and each region's @enabled and @cntr. A thread that serves a
 * remote access holds @lock from wf_mr_lookup until the access is done, so that
 * fi_close of the region waits for it; a long access takes the lock and looks up the
 * key again for every piece.
 */
struct wf_mr_map {
	struct wf_lock lock;
	struct wf_mr **buckets; /* hash table, chained by hash_next */
	size_t bucket_count;    /* a power of two */
	size_t count;           /* number of regions in the table */
	uint64_t next_key;      /* where the search for a free key starts */
	struct wf_list watches; /* struct wf_mr_watch by link */
};

int wf_mr_map_init(struct wf_mr_map *map, enum wf_lock_kind kind);
void wf_mr_map_done(struct wf_mr_map *map);

/* Add a watch, which is told of the regions that exist, and remove it. Nothing is told
 * any more then; the caller ends the accesses of its peers itself. */
void wf_mr_map_watch(struct wf_mr_map *map, struct wf_mr_watch *watch);
void wf_mr_map_unwatch(struct wf_mr_map *map, struct wf_mr_watch *watch);
/* Close and open all regions again for one watch, because what it tells peers of them
 * has changed. */
void wf_mr_map_refresh(struct wf_mr_map *map, struct wf_mr_watch *watch);

/* Peers' accesses to the region are no events of the endpoints (FI_RMA_EVENT): a
 * layered provider registered memory that its peers move messages through. Before a
 * peer knows the key. Nothing to do for a region of another library. */
void wf_mr_hide(struct fid_mr *fid);

/* The region of @key, when it grants @access (FI_REMOTE_READ, FI_REMOTE_WRITE) to all
 * of [@addr, @addr + @len), which are remote addresses (wf_mr.base). @map->lock is
 * held. -FI_EKEYREJECTED: no such key, or not enabled; -FI_EACCES: access not granted;
 * -FI_EINVAL: outside the region. */
int wf_mr_lookup(struct wf_mr_map *map, uint64_t key, uint64_t addr, size_t len,
	uint64_t access, struct wf_mr **ret_mr);

/* The local memory behind a range that wf_mr_lookup granted: at most @max pieces are
 * written, the number of pieces is returned. */
size_t wf_mr_pieces(const struct wf_mr *mr, uint64_t addr, size_t len,
	struct iovec *iov, size_t max);

#endif

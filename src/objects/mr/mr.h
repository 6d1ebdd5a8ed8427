/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_MR_H
#define WF_OBJECTS_MR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_domain.h>

#include "sys/lock.h"

struct wf_domain;
struct wf_cntr;

/* A registered region: one or several pieces that a key addresses as one. */
struct wf_mr {
	struct fid_mr fid;
	struct wf_domain *domain;
	uint64_t access;
	uint64_t flags;
	uint64_t base; /* what a peer adds offsets to: 0, or the first address */
	size_t len;
	size_t iov_count;
	struct iovec *iov;
	struct wf_mr *base_mr; /* of a sub-region, else NULL */
	struct wf_cntr *cntr;  /* counts remote writes; NULL unless bound */
	bool deferred;         /* registered disabled: bind, then fi_mr_enable */
	bool enabled;
	atomic_int refs; /* sub-regions */
	struct wf_mr *hash_next;
};

/*
 * Key to region. Only regions with remote access are in it.
 *
 * @lock guards the table and each region's @enabled and @cntr. Whoever serves a remote
 * access holds it from wf_mr_lookup until the access is done, so that fi_close of the
 * region waits for him; a long access looks the key up again for every piece.
 */
struct wf_mr_map {
	struct wf_lock lock;
	struct wf_mr **buckets;
	size_t bucket_count;
	size_t count;
	uint64_t next_key;
};

int wf_mr_map_init(struct wf_mr_map *map, enum wf_lock_kind kind);
void wf_mr_map_done(struct wf_mr_map *map);

/* The region of @key, when it grants @access (FI_REMOTE_READ, FI_REMOTE_WRITE) to all
 * of [@addr, @addr + @len), as a peer counts addresses. @map->lock is held.
 * -FI_EKEYREJECTED: no such key or not enabled; -FI_EACCES: not that access;
 * -FI_EINVAL: out of its range. */
int wf_mr_lookup(struct wf_mr_map *map, uint64_t key, uint64_t addr, size_t len,
	uint64_t access, struct wf_mr **ret_mr);

/* The local memory behind a range that wf_mr_lookup granted: at most @max pieces are
 * written, the number of pieces is returned. */
size_t wf_mr_pieces(const struct wf_mr *mr, uint64_t addr, size_t len,
	struct iovec *iov, size_t max);

#endif

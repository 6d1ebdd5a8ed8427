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
	struct wf_cntr *cntr; /* counts remote writes; NULL unless bound */
	bool enabled;
	atomic_int refs; /* sub-regions */
	struct wf_mr *hash_next;
};

/* Key to region. @lock guards the table; remote accesses look keys up under it. */
struct wf_mr_map {
	struct wf_lock lock;
	struct wf_mr **buckets;
	size_t bucket_count;
	size_t count;
	uint64_t next_key;
};

int wf_mr_map_init(struct wf_mr_map *map, enum wf_lock_kind kind);
void wf_mr_map_done(struct wf_mr_map *map);

/* The table that a domain hands out. */
extern struct fi_ops_mr wf_mr_ops;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_TARGET_H
#define WF_OBJECTS_ENDPOINT_LIFE_TARGET_H

#include "objects/endpoint/endpoint.h"
#include "objects/mr/mr.h"
#include "objects/op/op.h"

/*
 * Access of peers to local memory, as the records of a transport request it: segments,
 * each with a key. All segments are checked before any byte is accessed. They are
 * looked up again for each piece, because the application may close a region meanwhile.
 */

/* Check all segments for @access (FI_REMOTE_READ, FI_REMOTE_WRITE). 0,
 * -FI_EKEYREJECTED, -FI_EACCES or -FI_EINVAL; see wf_mr_lookup. Segments of length 0
 * are not checked. Takes the map's lock. */
int wf_target_check(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t access);

/* Local memory of the segments from byte @offset on, at most @max pieces; *@ret_count
 * 0: there is none. After 0 the map's lock is held, until wf_target_release. */
int wf_target_pieces(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t offset, uint64_t access, struct iovec *iov, size_t max,
	size_t *ret_count);

/* The local address of a segment that is one piece of a region, *@ret_mr; the map's
 * lock is held then, until wf_target_release. NULL: the access is not granted, or there
 * are several pieces; the lock is not held. */
static inline uint8_t *wf_target_one_piece(struct wf_mr_map *map,
	const struct fi_rma_iov *seg, uint64_t access, struct wf_mr **ret_mr)
{
	struct iovec iov;

	wf_lock(&map->lock);
	if (wf_likely(
		    !wf_mr_lookup(map, seg->key, seg->addr, seg->len, access, ret_mr) &&
		    wf_mr_pieces(*ret_mr, seg->addr, seg->len, &iov, 1) == 1 &&
		    iov.iov_len == seg->len))
		return iov.iov_base;
	wf_unlock(&map->lock);
	return NULL;
}

/* Release the lock that one of the functions above returned with. */
static inline void wf_target_release(struct wf_mr_map *map)
{
	wf_unlock(&map->lock);
}

/* The access has ended: update the counters, also the region's, and write remote CQ
 * data. Arguments as for wf_ep_remote_done. */
void wf_target_done(struct wf_ep *ep, const struct fi_rma_iov *seg, size_t count,
	uint64_t flags, size_t len, uint64_t data, fi_addr_t src);

/* An atomic operation of a peer on segments that wf_target_check accepted. */
struct wf_target_atomic {
	enum wf_op_kind kind; /* WF_OP_ATOMIC, _FETCH, _COMPARE */
	enum fi_datatype datatype;
	enum fi_op op;
	const struct fi_rma_iov *seg; /* Segments at the target. */
	size_t count;                 /* Number of segments. */
	size_t len;                   /* Bytes of all segments. */
	const uint8_t *src;           /* Operands; NULL: FI_ATOMIC_READ. */
	const uint8_t *compare;       /* Compare operands of WF_OP_COMPARE. */
	/* Values before the operation are stored here; NULL: not wanted. */
	uint8_t *result;
};

/* The access that the operation needs at the target: FI_REMOTE_READ, FI_REMOTE_WRITE or
 * both. */
uint64_t wf_target_atomic_access(enum wf_op_kind kind, enum fi_op op);

/* Execute an atomic operation. Codes of wf_target_check; -FI_EINVAL also for an element
 * that is split between pieces of a region. Takes the map's lock. */
int wf_target_atomic(struct wf_mr_map *map, const struct wf_target_atomic *atomic);

#endif

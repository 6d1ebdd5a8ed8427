/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_TARGET_H
#define WF_OBJECTS_ENDPOINT_TARGET_H

#include "objects/endpoint/endpoint.h"
#include "objects/mr/mr.h"
#include "objects/op/copy.h"

/*
 * Peers' access to our memory, as the records of a transport ask for it: some segments,
 * each with a key. All of them are checked before anything is done, and looked up again
 * for each piece that is moved, because the application may close a region meanwhile.
 */

/* -FI_EKEYREJECTED, -FI_EACCES, -FI_EINVAL; see wf_mr_lookup. Segments of no length are
 * not looked at. */
int wf_target_check(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t access);

/* Local memory from @offset on: at most @max pieces; *ret_count 0: there is none. The
 * map's lock is held from a good return until the caller lets it go. */
int wf_target_pieces(struct wf_mr_map *map, const struct fi_rma_iov *seg, size_t count,
	uint64_t offset, uint64_t access, struct iovec *iov, size_t max,
	size_t *ret_count);

/* The access is done: counters, those of the region too, and remote CQ data. Arguments
 * as for wf_ep_remote_done. */
void wf_target_done(struct wf_ep *ep, const struct fi_rma_iov *seg, size_t count,
	uint64_t flags, size_t len, uint64_t data, fi_addr_t src);

/* An atomic operation on checked segments. */
struct wf_target_atomic {
	enum wf_op_kind kind; /* WF_OP_ATOMIC, _FETCH, _COMPARE */
	enum fi_datatype datatype;
	enum fi_op op;
	const struct fi_rma_iov *seg;
	size_t count;
	size_t len;         /* bytes of all segments */
	const uint8_t *src; /* NULL: FI_ATOMIC_READ */
	const uint8_t *compare;
	uint8_t *result; /* may be NULL */
};

/* What it needs to be allowed at the target. */
uint64_t wf_target_atomic_access(enum wf_op_kind kind, enum fi_op op);

/* -FI_EINVAL for an element that is split in a region. */
int wf_target_atomic(struct wf_mr_map *map, const struct wf_target_atomic *atomic);

/*
 * Serve an access of a peer that transports the copy of its operation (read, write or
 * atomic): check all segments, read, write or update them, then wf_target_done with
 * @src. Results are left in copy->found. Codes of wf_target_check and wf_target_atomic.
 */
int wf_target_serve(struct wf_ep *ep, const struct wf_op_copy *copy, fi_addr_t src);

#endif

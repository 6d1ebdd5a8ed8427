/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OP_H
#define WF_OBJECTS_OP_H

#include <stdbool.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum wf_op_kind {
	WF_OP_SEND,
	WF_OP_RECV,
	WF_OP_TSEND,
	WF_OP_TRECV,
	WF_OP_READ,
	WF_OP_WRITE,
	WF_OP_ATOMIC,
	WF_OP_FETCH,
	WF_OP_COMPARE,
	WF_OP_COUNT,
};

/*
 * A flag of ours among those of an operation: it is the start of deferred work, and
 * @context is its struct fi_deferred_work. A transport only has to hand flags and
 * context back when the operation ends.
 */
#define WF_OP_WORK (1ULL << 63)

/* Does the application hear of its success? Not of what it injected. */
static inline bool wf_op_is_reported(uint64_t flags)
{
	return (flags & (FI_INJECT | FI_COMPLETION)) != FI_INJECT;
}

/*
 * What an atomic operation has beyond the others. The operation's own buffers are the
 * operands: none for FI_ATOMIC_READ. Fetching has results, comparing has results and
 * what to compare with; each is @count elements long.
 */
struct wf_op_atomic {
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count; /* elements */
	size_t size;  /* bytes of all elements */
	const struct iovec *result;
	void **result_desc;
	size_t result_count;
	const struct iovec *compare;
	void **compare_desc;
	size_t compare_count;
};

/*
 * One data transfer call, whichever of the many it was. Lives on the caller's stack;
 * a transport copies what it needs beyond its start().
 *
 * @flags holds the flags in force (the call's, or the endpoint's default ones), with
 * FI_COMPLETION already settled: it is set exactly when success writes a CQ entry.
 * An inject call has FI_INJECT set and FI_COMPLETION clear. Of tagged receives the
 * combinations of FI_PEEK, FI_CLAIM and FI_DISCARD are checked; what only looks or
 * drops has no buffers. A read has no FI_INJECT: nothing can be given back early.
 */
struct wf_op {
	enum wf_op_kind kind;
	uint64_t flags;
	const struct iovec *iov; /* local buffers; fi_ioc was scaled to bytes */
	void **desc;
	size_t iov_count;
	size_t len; /* sum of iov */
	fi_addr_t addr;
	void *context;
	uint64_t data; /* remote CQ data, with FI_REMOTE_CQ_DATA */
	uint64_t tag, ignore;
	/* RMA and atomics: as many bytes as the local side, in at least one piece
	 * unless the application named none for a transfer of no bytes. */
	const struct fi_rma_iov *rma;
	size_t rma_count;
	const struct wf_op_atomic *atomic; /* NULL but for atomics */
	struct iovec one; /* what iov points to for the calls with a single buffer */
};

#endif

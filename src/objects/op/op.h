/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OP_OP_H
#define WF_OBJECTS_OP_OP_H

#include <stdbool.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/* Limit of max_msg_size in bytes: no process has a longer buffer, so sums of a few
 * addresses and lengths do not overflow. Longer transfers are refused in one place, by
 * wf_op_check_len. */
#define WF_MAX_MSG ((size_t)1 << 47)

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
 * An internal bit in an operation's flags: the operation is deferred work, and @context
 * is its struct fi_deferred_work. A transport only has to pass flags and context back
 * when the operation ends.
 */
#define WF_OP_WORK (1ULL << 63)

/* An internal bit in an operation's flags: if there is no connection to the peer, the
 * operation is refused with -FI_ENOTCONN instead of waiting for one. Only for endpoints
 * with wf_xfer_ops.reach. */
#define WF_OP_REACHED (1ULL << 62)

/* Bit in the tag of every peer transfer on an endpoint with FI_COLLECTIVE, and of no
 * message of the application there. */
#define WF_OP_PEER_TAG (1ULL << 63)

/* True if the operation's success is reported to the application: false for an inject
 * call. */
static inline bool wf_op_is_reported(uint64_t flags)
{
	return (flags & (FI_INJECT | FI_COMPLETION)) != FI_INJECT;
}

/*
 * The additional arguments of an atomic operation (fi_atomic(3)). The operation's own
 * buffers are the operands: none for FI_ATOMIC_READ. WF_OP_FETCH has results,
 * WF_OP_COMPARE has results and compare operands; each is @count elements long.
 */
struct wf_op_atomic {
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count;                /* elements */
	size_t size;                 /* bytes of all elements */
	const struct iovec *result;  /* buffers for the fetched values; NULL: none */
	void **result_desc;          /* their memory descriptors, or NULL */
	size_t result_count;         /* entries in @result */
	const struct iovec *compare; /* buffers of compare operands; NULL: none */
	void **compare_desc;         /* their memory descriptors, or NULL */
	size_t compare_count;        /* entries in @compare */
};

/*
 * One data transfer call of any kind. It is on the caller's stack; a transport copies
 * what it needs after its start() returns.
 *
 * @flags holds the flags in force (the call's, or the endpoint's default ones), with
 * FI_COMPLETION already settled: it is set exactly when success writes a CQ entry.
 * An inject call has FI_INJECT set and FI_COMPLETION clear. In tagged receives the
 * combination of FI_PEEK, FI_CLAIM and FI_DISCARD is checked already; a receive that
 * only peeks or discards has no buffers. A read never has FI_INJECT: its buffers are in
 * use until it completes.
 */
struct wf_op {
	enum wf_op_kind kind;
	uint64_t flags;          /* flags in force, see above */
	const struct iovec *iov; /* local buffers; fi_ioc was scaled to bytes */
	void **desc;             /* memory descriptors of @iov, or NULL */
	size_t iov_count;        /* entries in @iov */
	size_t len;              /* bytes of all local buffers */
	fi_addr_t addr; /* destination, or source of a receive; FI_ADDR_UNSPEC: any */
	void *context;  /* the application's; see WF_OP_WORK */
	uint64_t data;  /* remote CQ data, with FI_REMOTE_CQ_DATA */
	uint64_t tag, ignore; /* tagged messages; ignore only for receives */
	/* RMA and atomics: the remote segments, as many bytes as the local buffers. At
	 * least one, unless the application gave none for a transfer of 0 bytes. */
	const struct fi_rma_iov *rma;
	size_t rma_count;                  /* entries in @rma */
	const struct wf_op_atomic *atomic; /* NULL but for atomics */
	struct iovec one; /* @iov points to this for calls with a single buffer */
};

#endif
